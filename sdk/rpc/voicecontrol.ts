import { type Args, RpcError } from './link.ts';
import { changedVoice, numberIn, VOICE_DEFAULTS, type VoiceSettings } from './voicesettings.ts';

interface UserSettings {
  readonly volume: number;
  readonly mute: boolean;
}

const USERS_MAX = 500;
const USER_DEFAULTS: UserSettings = { volume: 100, mute: false };

/** The person's voice settings. One connection controls them until it ends; then they are as before. */
export class VoiceControl {
  readonly #changed: (settings: VoiceSettings) => void;
  readonly #users = new Map<string, UserSettings>();
  #settings: VoiceSettings = VOICE_DEFAULTS;
  #holder: { readonly connection: object; readonly before: VoiceSettings } | null = null;

  /** @param changed Called with the settings after each change. */
  constructor(changed: (settings: VoiceSettings) => void) {
    this.#changed = changed;
  }

  get settings(): VoiceSettings {
    return this.#settings;
  }

  of(userId: string): UserSettings {
    return this.#users.get(userId) ?? USER_DEFAULTS;
  }

  /** @throws RpcError when another connection has control, or a setting is invalid. */
  change(connection: object, given: Args): VoiceSettings {
    if (this.#holder !== null && this.#holder.connection !== connection)
      throw new RpcError('INVALID_PERMISSIONS', 'Another application controls the voice settings.');
    const next = changedVoice(this.#settings, given);
    this.#holder ??= { connection, before: this.#settings };
    this.#apply(next);
    return next;
  }

  changeUser(userId: string, given: Args): object {
    const before = this.of(userId);
    const { mute = before.mute } = given;
    if (typeof mute !== 'boolean') throw new RpcError('INVALID_PAYLOAD', 'mute must be true or false.');
    const volume = Number(numberIn(given, 'volume', [0, 200], before.volume));
    const [oldest] = this.#users.keys();
    if (this.#users.size >= USERS_MAX && oldest !== undefined) this.#users.delete(oldest);
    this.#users.set(userId, { volume, mute });
    return { user_id: userId, pan: { left: 1, right: 1 }, volume, mute };
  }

  /** A connection has ended. */
  release(connection: object): void {
    if (this.#holder?.connection !== connection) return;
    const { before } = this.#holder;
    this.#holder = null;
    this.#apply(before);
  }

  #apply(settings: VoiceSettings): void {
    this.#settings = settings;
    this.#changed(settings);
  }
}
