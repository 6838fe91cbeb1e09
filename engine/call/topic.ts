import type { UserId } from '../../protocol/ids.ts';
import { accepted, type Commands, type Outcome, type Topic } from '../kernel/aggregate.ts';
import type { By } from '../kernel/authority.ts';
import type { CallState } from './call.ts';
import type { CallDispatch } from './dispatch.ts';
import type { CallFact, CallFacts } from './facts.ts';
import type { CallMember } from './member.ts';

/** The time and random bytes that a rule may use. */
export interface CallEnv {
  /** Monotonic milliseconds: nothing of a call outlives the process. */
  readonly nowMs: number;
  readonly randomBytes: (size: number) => Uint8Array;
}

export interface CallShape {
  readonly state: CallState;
  readonly facts: CallFacts;
  readonly needs: Record<never, never>;
  readonly dispatch: CallDispatch;
  readonly env: CallEnv;
  readonly row: object;
}

/** One topic of the call: the commands `C`, and the facts named `K`. */
export type CallTopic<C extends Commands, K extends keyof CallFacts> = Topic<CallShape, C, K>;

/** A command for one member: its input besides the user. No client waits for a value. */
export interface ForMember<Input extends object = object> {
  input: { readonly userId: UserId } & Input;
  value: null;
}

/** A rule for a connected member. The command changes nothing when the user is not, or no longer, connected. */
export const ofMember =
  <Input extends { readonly userId: UserId }>(
    rule: (member: CallMember, input: Input, state: CallState, env: CallEnv) => readonly CallFact[],
  ) =>
  (state: CallState, input: Input, _by: By, env: CallEnv): Outcome<null, CallFact> => {
    const member = state.members.get(input.userId);
    return accepted(null, member ? rule(member, input, state, env) : []);
  };
