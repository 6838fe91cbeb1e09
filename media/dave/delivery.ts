import type { ServerVoiceOp } from '../../protocol/voiceframing.ts';

/**
 * The delivery service of DAVE for one call: orders proposals and commits of the MLS group, routes welcomes, and counts
 * which members are ready for a transition. It holds no key that decrypts a frame, only the external sender's signing key
 * and what members publish. Sans-IO and synchronous: every input returns the effects to carry out.
 *
 * @source https://daveprotocol.com; version 1.1.4
 */
export interface DaveDelivery {
  /** Protocol version that clients in the call use now (sent in op 4); 0 means not encrypted. */
  readonly version: number;
  /** MLS epoch as the server knows it; null when there is no group. */
  readonly epoch: bigint | null;
  /** `deadlineMs` is null when no transition is announced, or all are executed. */
  readonly transitions: { readonly deadlineMs: number | null };
  /** Users whose key package has not been added to the group yet. */
  readonly pendingCount: number;
  /**
   * Adds a member whose Session Description is being sent; `maxVersion` 0 means no DAVE. Read `version` afterwards, and carry
   * out the effects after op 4 and op 11: clients refuse earlier messages, and Adds of users not announced by op 11.
   */
  join(userId: string, maxVersion: number, nowMs: number): readonly DaveEffect[];
  /** Removes a user who may be a member. Call it also for a member whose connection was closed by a `close` effect. */
  leave(userId: string, nowMs: number): readonly DaveEffect[];
  /** Handles the payload of a binary frame of op 26 or 28, without its opcode byte. The payload is untrusted. */
  received(userId: string, op: number, payload: Uint8Array, nowMs: number): readonly DaveEffect[];
  transitionReady(userId: string, transitionId: number, nowMs: number): readonly DaveEffect[];
  invalidCommitWelcome(userId: string, transitionId: number, nowMs: number): readonly DaveEffect[];
  /** When `tick` is due next, in the clock of `nowMs`; null when no timeout is running. */
  readonly deadlineMs: number | null;
  tick(nowMs: number): readonly DaveEffect[];
}

export type DaveEffect =
  | { readonly type: 'json'; readonly to: readonly string[]; readonly op: ServerVoiceOp; readonly d: object }
  | {
      readonly type: 'binary';
      readonly to: readonly string[];
      readonly op: ServerVoiceOp;
      readonly payload: Uint8Array;
    }
  /** `code` is one of `VOICE_CLOSE`: 4017 without DAVE where it is required, 4020 for invalid input, 4021 for too much of it. */
  | { readonly type: 'close'; readonly userId: string; readonly code: number; readonly reason: string }
  /** For metrics: what ended, and its result. */
  | {
      readonly type: 'counted';
      readonly what: 'transition' | 'commit' | 'recovery';
      readonly result: string;
    };

export interface DaveOptions {
  /** Group id: the channel (or lobby) of the call. */
  readonly groupId: string;
  /** When false, a call with a member of version 0 falls back to version 0. */
  readonly required: boolean;
  /** How long members have to become ready for a transition, milliseconds. */
  readonly transitionMs: number;
  readonly randomBytes: (size: number) => Uint8Array;
}

export type OpenDaveDelivery = (options: DaveOptions) => DaveDelivery;
