import type { DaveStatus } from '../../voice/daveflow.ts';
import type { Json } from '../../voice/wire.ts';

/** Messages from the page to the key worker, for the voice session with this number. */
export type ToWorker = { readonly session: number } & (
  | /** A voice session begins; state of earlier sessions is dropped. */
  { readonly type: 'start'; readonly userId: string; readonly groupId: string }
  /** Op 4 (session description) arrived. */
  | { readonly type: 'begin'; readonly version: number }
  | { readonly type: 'json'; readonly op: number; readonly d: Json }
  | { readonly type: 'binary'; readonly op: number; readonly payload: Uint8Array }
  | { readonly type: 'joined'; readonly userIds: readonly string[] }
  | { readonly type: 'left'; readonly userId: string }
  /** The user who sends frames under an SSRC. */
  | { readonly type: 'speaker'; readonly ssrc: number; readonly userId: string }
  | { readonly type: 'end' }
);

export type FromWorker =
  | { readonly type: 'loaded' }
  /** The encryption library could not be loaded. */
  | { readonly type: 'unloaded'; readonly reason: string }
  /** 20 ms timer tick: timers of workers keep running where those of hidden pages are throttled. */
  | { readonly type: 'tick' }
  | FromSession;

/** Messages from the key worker about one voice session. */
export type FromSession = { readonly session: number } & (
  | { readonly type: 'send'; readonly op: number; readonly d: Json }
  | { readonly type: 'sendBinary'; readonly op: number; readonly payload: Uint8Array }
  | { readonly type: 'status'; readonly status: DaveStatus }
  | { readonly type: 'failed'; readonly reason: string }
);

/** Options of an encoded transform. */
export interface TransformOptions {
  readonly session: number;
  readonly direction: 'send' | 'receive';
}
