import type { DaveStatus } from '../voice/daveflow.ts';
import type { Json } from '../voice/wire.ts';

export interface AudioDevice {
  readonly id: string;
  readonly name: string;
  readonly isDefault: boolean;
}

/** 20 ms of one member's audio, after the member's volume. */
export interface ReceivedAudio {
  readonly userId: string;
  /** Interleaved samples; the callback may change them. */
  readonly samples: Int16Array;
  readonly sampleRate: number;
  readonly channels: number;
  /** Keeps the frame from being played. */
  mute(): void;
}

/** 20 ms of audio to send: the microphone's input, or silence. */
export interface CapturedAudio {
  /** Interleaved samples; the callback may change them. */
  readonly samples: Int16Array;
  readonly sampleRate: number;
  readonly channels: number;
}

export interface AudioCallbacks {
  readonly received: (audio: ReceivedAudio) => void;
  readonly captured: (audio: CapturedAudio) => void;
}

/**
 * Audio of this process or page, for all of its calls; the only part that differs between Node and browsers.
 * Volumes are factors: 1 is unchanged.
 */
export interface CallAudio {
  /** Loads what calls need; idempotent. @throws ClientError when a part is missing. */
  load(): Promise<void>;
  open(options: CallMediaOptions): CallMedia;
  inputDevices(): Promise<readonly AudioDevice[]>;
  outputDevices(): Promise<readonly AudioDevice[]>;
  /** The id of a device, or `DEFAULT_DEVICE`. */
  readonly inputDevice: string;
  readonly outputDevice: string;
  /** @throws ClientError when there is no such device; the current device is kept. */
  useInput(deviceId: string): Promise<void>;
  useOutput(deviceId: string): Promise<void>;
  setInputVolume(volume: number): void;
  setOutputVolume(volume: number): void;
  setProcessing(processing: AudioProcessing): void;
  /** Called when a device is added or removed. @returns the function that unsubscribes. */
  watchDevices(changed: () => void): () => void;
  close(): void;
}

export const DEFAULT_DEVICE = 'default';

/** Processing of the microphone's input, where the environment supports it. */
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
  /** Whether the transport carries audio. */
  sound(isUp: boolean): void;
  /**
   * Microphone level, every 20 to 50 ms, before the measured frame is sent. Null: the microphone is open and
   * cannot be measured.
   */
  level(levelDb: number | null): void;
  dave(status: DaveStatus): void;
  /** A problem for the user that does not end the call; null: it is resolved. */
  complaint(sentence: string | null): void;
  /** The media transport failed. */
  failed(sentence: string): void;
}

export interface MediaFigures {
  /** Share of lost packets since the last call, 0 to 1; null when none were expected. */
  readonly loss: number | null;
  readonly jitterMs: number | null;
  readonly roundTripMs: number | null;
}

/** Audio and keys of one voice session, from READY on. */
export interface CallMedia {
  /** READY of a new voice session. */
  begin(d: Json): void;
  /** Op 4. */
  described(d: Json): void;
  /** The server's end of the media transport is gone, whatever the local connection state says. */
  broken(): void;
  /** The voice session was resumed. */
  resumed(): void;
  joined(userIds: readonly string[]): void;
  left(userId: string): void;
  /** Maps an SSRC to a member. */
  speaks(userId: string, ssrc: number): void;
  /** Ops 21 to 24 and 31. */
  json(op: number, d: Json): void;
  /** Ops 25, 27, 29 and 30. */
  binary(op: number, payload: Uint8Array): void;
  /** Whether the microphone is sent. */
  send(isOpen: boolean): void;
  /** Volume factor of a member; 0 mutes. */
  setGain(userId: string, gain: number): void;
  deafen(isDeaf: boolean): void;
  /** Level of each member now: root mean square, 1 is full scale. */
  levels(): Map<string, number>;
  /** Quality of the media transport. */
  figures(): Promise<MediaFigures>;
  close(): void;
}
