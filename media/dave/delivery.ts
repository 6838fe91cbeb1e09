/**
 * The delivery service of DAVE for one call: orders proposals and commits of the MLS group, routes welcomes, and counts
 * who is ready for a transition. It holds no key that opens a frame: only the external sender's signing key and what
 * members publish. Sans-IO and synchronous: every input answers with what is to be sent.
 *
 * @source the DAVE protocol document 1.1.4
 */
export interface DaveDelivery {
  /** Version that clients in the call use now (what op 4 says); 0: not encrypted. */
  readonly version: number;
  /** MLS epoch as this side knows it; null when there is no group. */
  readonly epoch: bigint | null;
  /** Users whose key package has not led into the group yet. */
  readonly pendingCount: number;
  /**
   * A member whose Session Description is sent now; `maxVersion` 0 has no DAVE. Ask for `version` afterwards, and carry
   * out the effects behind op 4 and op 11: clients refuse what comes before, and Adds of users they have not heard of.
   */
  join(userId: string, maxVersion: number, nowMs: number): readonly DaveEffect[];
  /** Also whoever was told to close leaves by this. */
  leave(userId: string, nowMs: number): readonly DaveEffect[];
  /** Payload of a binary frame of op 26 or 28, without its opcode byte; untrusted. */
  received(userId: string, op: number, payload: Uint8Array, nowMs: number): readonly DaveEffect[];
  transitionReady(userId: string, transitionId: number, nowMs: number): readonly DaveEffect[];
  invalidCommitWelcome(userId: string, transitionId: number, nowMs: number): readonly DaveEffect[];
  /** When `tick` is due next, in the clock of `nowMs`; null: no time-out runs. */
  readonly deadlineMs: number | null;
  tick(nowMs: number): readonly DaveEffect[];
}

export type DaveEffect =
  | { readonly type: 'json'; readonly to: readonly string[]; readonly op: number; readonly d: object }
  | {
      readonly type: 'binary';
      readonly to: readonly string[];
      readonly op: number;
      readonly payload: Uint8Array;
    }
  /** `code` is one of `VOICE_CLOSE`: 4017 without DAVE where it is required, 4020 for what no client sends, 4021 for a flood. */
  | { readonly type: 'close'; readonly userId: string; readonly code: number; readonly reason: string }
  /** For metrics: what came to an end, and how. */
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
  /** How long members have to get ready for a transition. */
  readonly transitionMs: number;
  readonly randomBytes: (size: number) => Uint8Array;
}

export type OpenDaveDelivery = (options: DaveOptions) => DaveDelivery;
