import type { DaveStatus } from '../voice/daveflow.ts';
import type { Json } from '../voice/wire.ts';

export interface AudioDevice {
  readonly id: string;
  readonly name: string;
  readonly isDefault: boolean;
}

/** 20 ms of one member's voice, after their volume. */
export interface ReceivedAudio {
  readonly userId: string;
  /** Interleaved; they may be changed. */
  readonly samples: Int16Array;
  readonly sampleRate: number;
  readonly channels: number;
  /** What was received is not played. */
  mute(): void;
}

/** 20 ms to be sent: what the microphone gave, or silence. */
export interface CapturedAudio {
  /** Interleaved; the callback fills or changes them. */
  readonly samples: Int16Array;
  readonly sampleRate: number;
  readonly channels: number;
}

export interface AudioCallbacks {
  readonly received: (audio: ReceivedAudio) => void;
  readonly captured: (audio: CapturedAudio) => void;
}

/**
 * The sound of this process or page, for all of its calls: the one thing in which Node and browsers differ. Volumes are
 * shares: 1 is unchanged.
 */
export interface CallAudio {
  /** Gets ready what calls need; again it does nothing. @throws ClientError when something is not there. */
  load(): Promise<void>;
  open(options: CallMediaOptions): CallMedia;
  inputDevices(): Promise<readonly AudioDevice[]>;
  outputDevices(): Promise<readonly AudioDevice[]>;
  /** The id of a device, or `DEFAULT_DEVICE`. */
  readonly inputDevice: string;
  readonly outputDevice: string;
  /** @throws ClientError when there is no such device; the one in use stays. */
  useInput(deviceId: string): Promise<void>;
  useOutput(deviceId: string): Promise<void>;
  setInputVolume(volume: number): void;
  setOutputVolume(volume: number): void;
  setProcessing(processing: AudioProcessing): void;
  /** Called when devices come or go. @returns how to stop. */
  watchDevices(changed: () => void): () => void;
  close(): void;
}

export const DEFAULT_DEVICE = 'default';

/** What is done to the microphone's sound, where something can do it. */
export interface AudioProcessing {
  readonly echoCancellation: boolean;
  readonly noiseSuppression: boolean;
  readonly automaticGainControl: boolean;
}

export interface CallMediaOptions {
  readonly userId: string;
  /** The DAVE group. */
  readonly groupId: string;
  readonly callbacks: AudioCallbacks | null;
  readonly events: CallMediaEvents;
}

export interface CallMediaEvents {
  /** Op 1. */
  select(d: Json): void;
  send(op: number, d: Json): void;
  sendBinary(op: number, payload: Uint8Array): void;
  /** Whether sound can travel. */
  sound(isUp: boolean): void;
  /**
   * How loud the microphone is, every 20 to 50 ms; before the frame is sent of which that is said. Null: it is open, and
   * nothing can measure it.
   */
  level(levelDb: number | null): void;
  dave(status: DaveStatus): void;
  /** Something that a person should know, and that does not end the call; null: it is well again. */
  complaint(sentence: string | null): void;
  /** There is no way for sound. */
  failed(sentence: string): void;
}

export interface MediaFigures {
  /** Share of packets that did not arrive, 0 to 1, since the last look; null: none were due. */
  readonly loss: number | null;
  readonly jitterMs: number | null;
  readonly roundTripMs: number | null;
}

/** Sound and keys of one stay in a call, from READY on. */
export interface CallMedia {
  /** READY, of a session that nothing is known of. */
  begin(d: Json): void;
  /** Op 4. */
  described(d: Json): void;
  /** The server's end of the way for sound is gone, whatever ours still believes. */
  broken(): void;
  /** The session goes on. */
  resumed(): void;
  joined(userIds: readonly string[]): void;
  left(userId: string): void;
  /** A member's sound comes under this SSRC. */
  speaks(userId: string, ssrc: number): void;
  /** Ops 21 to 24 and 31. */
  json(op: number, d: Json): void;
  /** Ops 25, 27, 29 and 30. */
  binary(op: number, payload: Uint8Array): void;
  /** Whether the microphone is sent. */
  send(isOpen: boolean): void;
  /** How loud a member is played: 0 is not at all. */
  setGain(userId: string, gain: number): void;
  deafen(isDeaf: boolean): void;
  /** How loud each member is now, root mean square, 1 is full scale. */
  levels(): Map<string, number>;
  /** How good the way for sound is. */
  figures(): Promise<MediaFigures>;
  close(): void;
}
