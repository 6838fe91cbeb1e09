import type { Json, OpenSocket } from '../voice/wire.ts';
import type { CallAudio } from './media.ts';

/** What calls need of a client that is connected to the gateway. */
export interface CallHost {
  /** Of the person who is signed in; null before READY. */
  readonly userId: string | null;
  /** Of the gateway session; null while there is none. */
  readonly sessionId: string | null;
  /** Whether one is in the lobby; null while there is no session to say so. */
  isMember(lobbyId: string): boolean | null;
  /** What is sent while there is no connection may be lost: calls send it again after READY and RESUMED. */
  send(op: number, d: unknown): void;
  /** Tells of every dispatch, READY and RESUMED among them, in order. @returns how to stop. */
  subscribe(hear: (name: string, d: Json) => void): () => void;
  readonly openSocket: OpenSocket;
  readonly audio: CallAudio;
  /** The address of a voice gateway, of the endpoint that the gateway named; unless given, `wss://` before it. */
  voiceUrl?(endpoint: string): string;
  /** A callback of the application threw. */
  complain(error: unknown): void;
  /** A line for the log of calls. It holds no secret. */
  log?(line: string): void;
}
