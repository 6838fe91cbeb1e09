import type { Json, OpenSocket } from '../voice/wire.ts';
import type { CallAudio } from './media.ts';

/** Requirements of calls on a client that is connected to the gateway. */
export interface CallHost {
  /** The current user; null before READY. */
  readonly userId: string | null;
  /** The gateway session; null while there is none. */
  readonly sessionId: string | null;
  /** Whether the current user is a member of the lobby; null without a session. */
  isMember(lobbyId: string): boolean | null;
  /** Messages sent while disconnected may be lost: calls repeat them after READY and RESUMED. */
  send(op: number, d: unknown): void;
  /** Subscribes to every dispatch, READY and RESUMED included, in order. @returns the function that unsubscribes. */
  subscribe(hear: (name: string, d: Json) => void): () => void;
  readonly openSocket: OpenSocket;
  readonly audio: CallAudio;
  /**
   * Maps the endpoint that the gateway named to the URL of the voice gateway; default: `wss://` plus the endpoint.
   */
  voiceUrl?(endpoint: string): string;
  /** Reports an exception of an application callback. */
  complain(error: unknown): void;
  /** Writes a log line about calls. It contains no secret. */
  log?(line: string): void;
}
