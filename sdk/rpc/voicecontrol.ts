import { isDeepStrictEqual } from 'node:util';
import { type Args, RpcError } from './link.ts';
import { changedVoice, numberIn, VOICE_DEFAULTS, type VoiceSettings } from './voicesettings.ts';

interface UserSettings {
  readonly volume: number;
  readonly mute: boolean;
}

const USERS_MAX = 500;
const USER_DEFAULTS: UserSettings = { volume: 100, mute: false };

interface VoicePorts {
  /** Called with the settings after each change. */
  changed(settings: VoiceSettings): void;
  /** Applies the settings to the person's call. */
  apply(settings: VoiceSettings): void;
  changedUser(userId: string, settings: UserSettings): void;
  /** Presses or releases the push-to-talk key. @returns false in a host without sound */
  hold(isHeld: boolean): boolean;
}

/** The person's voice settings. One connection controls them until it ends; then they are as before. */
export class VoiceControl {
  readonly #ports: VoicePorts;
  readonly #users = new Map<string, UserSettings>();
  #settings: VoiceSettings = VOICE_DEFAULTS;
  #holder: { readonly connection: object; readonly before: VoiceSettings } | null = null;

  constructor(ports: VoicePorts) {
    this.#ports = ports;
  }

  get settings(): VoiceSettings {
    return this.#settings;
  }

  of(userId: string): UserSettings {
    return this.#users.get(userId) ?? USER_DEFAULTS;
  }

  /** @throws RpcError when another connection has control, or a setting is invalid. */
  change(connection: object, given: Args): VoiceSettings {
    this.#checkFree(connection);
    const next = changedVoice(this.#settings, given);
    this.#holder ??= { connection, before: this.#settings };
    this.#apply(next);
    return next;
  }

  /** PUSH_TO_TALK. @throws RpcError when another connection has control, or the host has no sound. */
  hold(connection: object, isHeld: unknown): void {
    if (typeof isHeld !== 'boolean') throw new RpcError('INVALID_PAYLOAD', 'active must be true or false.');
    this.#checkFree(connection);
    if (!this.#ports.hold(isHeld))
      throw new RpcError('INVALID_COMMAND', 'PUSH_TO_TALK is not available: this host has no sound.');
    this.#holder ??= { connection, before: this.#settings };
  }

  /**
   * Takes the settings that the person has in the linked page; null: the page is gone. What the person changes while an
   * application has control stays when the application gives it back.
   */
  adopt(reported: VoiceSettings | null): void {
    const next = reported ?? VOICE_DEFAULTS;
    const isChanged = (key: string) =>
      !isDeepStrictEqual(Reflect.get(next, key), Reflect.get(this.#settings, key));
    const changes = Object.entries(next).filter(([key]) => isChanged(key));
    if (changes.length === 0) return;
    if (this.#holder !== null)
      this.#holder = {
        connection: this.#holder.connection,
        before: { ...this.#holder.before, ...Object.fromEntries(changes) },
      };
    this.#settings = next;
    this.#ports.changed(next);
  }

  changeUser(userId: string, given: Args): object {
    const before = this.of(userId);
    const { mute = before.mute } = given;
    if (typeof mute !== 'boolean') throw new RpcError('INVALID_PAYLOAD', 'mute must be true or false.');
    const volume = Number(numberIn(given, 'volume', [0, 200], before.volume));
    const [oldest] = this.#users.keys();
    if (this.#users.size >= USERS_MAX && oldest !== undefined) this.#users.delete(oldest);
    this.#users.set(userId, { volume, mute });
    this.#ports.changedUser(userId, { volume, mute });
    return { user_id: userId, pan: { left: 1, right: 1 }, volume, mute };
  }

  /** A connection has ended. */
  release(connection: object): void {
    if (this.#holder?.connection !== connection) return;
    const { before } = this.#holder;
    this.#holder = null;
    this.#ports.hold(false);
    this.#apply(before);
  }

  #checkFree(connection: object): void {
    if (this.#holder !== null && this.#holder.connection !== connection)
      throw new RpcError('INVALID_PERMISSIONS', 'Another application controls the voice settings.');
  }

  #apply(settings: VoiceSettings): void {
    this.#settings = settings;
    this.#ports.apply(settings);
    this.#ports.changed(settings);
  }
}
