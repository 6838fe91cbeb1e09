import { vi } from 'vitest';
import { OP } from '../../../protocol/opcodes.ts';
import { VOICE_OP } from '../../../protocol/voice.ts';
import { Calls } from '../../../sdk/call/calls.ts';
import type { CallAudio, CallMedia, CallMediaOptions } from '../../../sdk/call/media.ts';
import type { Json, SocketEvents } from '../../../sdk/voice/wire.ts';

export const ME = '100';
export const OTHER = '200';
export const LOBBY = '700';

/** The voice server's end of a connection. */
interface VoiceConnection {
  readonly url: string;
  readonly events: SocketEvents;
  readonly sent: { readonly op: number; readonly d: Json }[];
  code: number | null;
}

/** Sound that the test controls. */
export class ScriptedMedia implements CallMedia {
  readonly options: CallMediaOptions;
  readonly told: string[] = [];
  readonly gains = new Map<string, number>();
  readonly loud = new Map<string, number>();
  isOpen = false;
  isDeaf = false;
  isClosed = false;

  constructor(options: CallMediaOptions) {
    this.options = options;
  }
  begin(d: Json): void {
    this.told.push(`begin ${d.ssrc}`);
  }
  described(): void {
    this.told.push('described');
    this.options.events.sound(true);
  }
  broken(): void {
    this.told.push('broken');
    this.options.events.sound(false);
  }
  resumed(): void {
    this.told.push('resumed');
  }
  joined(userIds: readonly string[]): void {
    this.told.push(`joined ${userIds}`);
  }
  left(userId: string): void {
    this.told.push(`left ${userId}`);
  }
  speaks(userId: string, ssrc: number): void {
    this.told.push(`${userId} speaks ${ssrc}`);
  }
  json(op: number): void {
    this.told.push(`json ${op}`);
  }
  binary(op: number): void {
    this.told.push(`binary ${op}`);
  }
  send(isOpen: boolean): void {
    this.isOpen = isOpen;
  }
  setGain(userId: string, gain: number): void {
    this.gains.set(userId, gain);
  }
  deafen(isDeaf: boolean): void {
    this.isDeaf = isDeaf;
  }
  levels(): Map<string, number> {
    return this.loud;
  }
  figures() {
    return Promise.resolve({ loss: 0.5, jitterMs: null, roundTripMs: null });
  }
  close(): void {
    this.isClosed = true;
  }
}

const quiet = (): void => {};

/** A client whose gateway and voice server are the test. */
export class World {
  readonly sent: { readonly op: number; readonly d: unknown }[] = [];
  readonly connections: VoiceConnection[] = [];
  readonly medias: ScriptedMedia[] = [];
  readonly complaints: unknown[] = [];
  readonly processing: object[] = [];
  readonly volumes = { input: 1, output: 1 };
  readonly calls: Calls;
  userId: string | null = ME;
  sessionId: string | null = 'session';
  loading: Promise<void> = Promise.resolve();
  isMember: boolean | null = true;
  isClosed = false;
  #hear: (name: string, d: Json) => void = quiet;

  constructor() {
    const world = this;
    this.calls = new Calls({
      get userId() {
        return world.userId;
      },
      get sessionId() {
        return world.sessionId;
      },
      isMember: () => world.isMember,
      send: (op, d) => void world.sent.push({ op, d: structuredClone(d) }),
      subscribe: (hear) => {
        world.#hear = hear;
        return () => {
          world.#hear = quiet;
        };
      },
      openSocket: (url, events) => world.#open(url, events),
      audio: world.#audio(),
      complain: (error) => void world.complaints.push(error),
    });
  }

  /** A dispatch of the gateway. */
  say(name: string, d: Json): void {
    this.#hear(name, d);
  }

  voiceState(userId: string, more: Json = {}): void {
    const session = userId === ME ? this.sessionId : `of ${userId}`;
    const state = { lobby_id: LOBBY, channel_id: LOBBY, user_id: userId, session_id: session };
    this.say('LOBBY_VOICE_STATE_UPDATE', { ...state, self_mute: false, self_deaf: false, ...more });
  }

  voiceServer(more: Json = {}): void {
    const server = { lobby_id: LOBBY, token: 'ticket', endpoint: 'voice.test:443' };
    this.say('LOBBY_VOICE_SERVER_UPDATE', { ...server, ...more });
  }

  get line(): VoiceConnection {
    return this.connections.at(-1)!;
  }

  get media(): ScriptedMedia {
    return this.medias.at(-1)!;
  }

  /** Sends a payload of the voice server. */
  voice(op: number, d: Json = {}): void {
    this.line.events.message(JSON.stringify({ op, d }));
  }

  /** Payloads that the voice server received with an opcode, on its newest connection. */
  heard(op: number): Json[] {
    return this.line.sent.filter((each) => each.op === op).map(({ d }) => d);
  }

  /** Everything that was said with op 17. */
  get places(): unknown[] {
    return this.sent.filter(({ op }) => op === OP.LOBBY_VOICE_STATES).map(({ d }) => d);
  }

  /** The gateway and the voice server let us in, to the point where sound can travel. */
  async letIn(): Promise<void> {
    this.voiceState(ME);
    this.voiceServer();
    await vi.advanceTimersByTimeAsync(0);
    this.welcome();
  }

  welcome(): void {
    this.voice(VOICE_OP.HELLO, { heartbeat_interval: 5000 });
    this.voice(VOICE_OP.READY, { ssrc: 7 });
    this.voice(VOICE_OP.SESSION_DESCRIPTION, {});
  }

  #open(url: string, events: SocketEvents) {
    const connection: VoiceConnection = { url, events, sent: [], code: null };
    this.connections.push(connection);
    return {
      send: (data: string | Uint8Array) => {
        if (typeof data === 'string') connection.sent.push(JSON.parse(data));
      },
      close: (code: number) => {
        connection.code = code;
      },
    };
  }

  #audio(): CallAudio {
    const devices = [{ id: 'default', name: 'Default', isDefault: true }];
    return {
      load: () => this.loading,
      open: (options) => {
        const media = new ScriptedMedia(options);
        this.medias.push(media);
        return media;
      },
      inputDevices: () => Promise.resolve(devices),
      outputDevices: () => Promise.resolve(devices),
      inputDevice: 'default',
      outputDevice: 'gone',
      useInput: () => Promise.resolve(),
      useOutput: () => Promise.resolve(),
      setInputVolume: (volume) => {
        this.volumes.input = volume;
      },
      setOutputVolume: (volume) => {
        this.volumes.output = volume;
      },
      setProcessing: (processing) => void this.processing.push(processing),
      watchDevices: () => quiet,
      close: () => {
        this.isClosed = true;
      },
    };
  }
}
