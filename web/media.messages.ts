import type { DaveStatus } from '../sdk/voice/daveflow.ts';
import type { Json } from '../sdk/voice/wire.ts';

/** What the page tells the worker that has the keys. */
export type ToMedia =
  /** A session in a call begins; what was known of an earlier one is forgotten. */
  | { readonly type: 'start'; readonly userId: string; readonly channelId: string }
  /** Op 4 came. */
  | { readonly type: 'begin'; readonly version: number }
  | { readonly type: 'json'; readonly op: number; readonly d: Json }
  | { readonly type: 'binary'; readonly op: number; readonly payload: Uint8Array }
  | { readonly type: 'joined'; readonly userIds: readonly string[] }
  | { readonly type: 'left'; readonly userId: string }
  /** Whose frames come under an SSRC. */
  | { readonly type: 'speaker'; readonly ssrc: number; readonly userId: string }
  | { readonly type: 'end' };

export type FromMedia =
  | { readonly type: 'loaded' }
  | { readonly type: 'failed'; readonly reason: string }
  | { readonly type: 'send'; readonly op: number; readonly d: Json }
  | { readonly type: 'sendBinary'; readonly op: number; readonly payload: Uint8Array }
  | { readonly type: 'status'; readonly status: DaveStatus };

/** Options of an encoded transform. */
export interface TransformOptions {
  readonly direction: 'send' | 'receive';
}
