import type { DaveStatus } from '../../voice/daveflow.ts';
import type { Json } from '../../voice/wire.ts';

/** What the page tells the worker that has the keys, about the stay in a call that has this number. */
export type ToWorker = { readonly stay: number } & (
  | /** A session in a call begins; what was known of an earlier one is forgotten. */
  { readonly type: 'start'; readonly userId: string; readonly groupId: string }
  /** Op 4 came. */
  | { readonly type: 'begin'; readonly version: number }
  | { readonly type: 'json'; readonly op: number; readonly d: Json }
  | { readonly type: 'binary'; readonly op: number; readonly payload: Uint8Array }
  | { readonly type: 'joined'; readonly userIds: readonly string[] }
  | { readonly type: 'left'; readonly userId: string }
  /** Whose frames come under an SSRC. */
  | { readonly type: 'speaker'; readonly ssrc: number; readonly userId: string }
  | { readonly type: 'end' }
);

export type FromWorker =
  | { readonly type: 'loaded' }
  /** The keys' library could not be loaded. */
  | { readonly type: 'unloaded'; readonly reason: string }
  /** 20 ms have passed: workers' clocks go on where those of hidden pages do not. */
  | { readonly type: 'tick' }
  | FromStay;

/** What the worker tells of one stay. */
export type FromStay = { readonly stay: number } & (
  | { readonly type: 'send'; readonly op: number; readonly d: Json }
  | { readonly type: 'sendBinary'; readonly op: number; readonly payload: Uint8Array }
  | { readonly type: 'status'; readonly status: DaveStatus }
  | { readonly type: 'failed'; readonly reason: string }
);

/** Options of an encoded transform. */
export interface TransformOptions {
  readonly stay: number;
  readonly direction: 'send' | 'receive';
}
