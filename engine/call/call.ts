import type { UserId } from '../../protocol/ids.ts';
import { present } from '../../protocol/present.ts';
import type { CallMember } from './member.ts';

/** State of the call aggregate. Members in it are replaced, never edited. */
export interface CallState {
  /** Media without end-to-end encryption are never forwarded. */
  readonly e2eeRequired: boolean;
  /** The users with a voice session, in the order of joining. */
  readonly members: Map<UserId, CallMember>;
  readonly bySsrc: Map<number, UserId>;
  /** Whether media drop what is not end-to-end encrypted. */
  encryptedOnly: boolean;
}

export const newCallState = (e2eeRequired: boolean): CallState => ({
  e2eeRequired,
  members: new Map(),
  bySsrc: new Map(),
  encryptedOnly: e2eeRequired,
});

/** The member that a fact names. */
export const memberOf = ({ members }: CallState, { userId }: { readonly userId: UserId }): CallMember =>
  present(members.get(userId));

/** Replaces parts of the member that a fact names. */
export function change(
  state: CallState,
  { userId }: { readonly userId: UserId },
  parts: Partial<CallMember>,
): void {
  state.members.set(userId, { ...memberOf(state, { userId }), ...parts });
}

/** The members as they are once this one has changed. */
export const withMember = ({ members }: CallState, changed: CallMember): ReadonlyMap<UserId, CallMember> =>
  new Map(members).set(changed.voiceMember.userId, changed);
