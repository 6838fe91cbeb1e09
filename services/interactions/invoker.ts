import type { CommitAndNotify, DirectDispatch } from '../../actors/user/notifier.ts';
import { OWN_SESSIONS, oneSession } from '../../engine/fanout/direct.ts';
import type { Interaction, InteractionFact } from '../../engine/interaction/interaction.ts';
import type { DispatchName } from '../../protocol/dispatches.ts';
import type { UserId } from '../../protocol/ids.ts';

/** A dispatch about an interaction: to the session that invoked it, or to all clients of the invoker. */
export interface InvokerDispatch {
  readonly t: DispatchName;
  readonly d: object;
  readonly to: 'session' | 'clients';
}

/** The user and session that invoked an interaction, and the id under which its facts are written. */
export type Invoker = Pick<Interaction, 'ownerId' | 'userId'> & { readonly sessionId?: string };

/** Commits facts of an interaction, and then sends the dispatches, which are written together with them. */
export type CommitToInvoker = (
  invoker: Invoker,
  facts: readonly InteractionFact[],
  dispatches: readonly InvokerDispatch[],
) => Promise<void>;

/** The answer has arrived. */
export const success = (
  { id, nonce }: Pick<Interaction, 'id' | 'nonce'>,
  more: { readonly activity_instance_id?: string } = {},
): InvokerDispatch => ({ t: 'INTERACTION_SUCCESS', d: { id, nonce, ...more }, to: 'session' });

/** The dispatches for the notifier. An invocation without a session has nobody who waits for its end. */
const addressed = ({ userId, sessionId = '' }: Invoker, { t, d, to }: InvokerDispatch): DirectDispatch[] => {
  if (to === 'clients') return [{ userIds: [userId], filter: OWN_SESSIONS, t, d }];
  return sessionId === '' ? [] : [{ userIds: [userId], filter: oneSession(sessionId), t, d }];
};

interface CommitPorts {
  readonly commitAndNotify: CommitAndNotify;
  /** Shows the embedding program what is dispatched. */
  readonly see: (t: string, d: object, userId: UserId) => void;
}

export const committing =
  ({ commitAndNotify, see }: CommitPorts): CommitToInvoker =>
  async (invoker, facts, dispatches) => {
    const notifications = dispatches.flatMap((each) => addressed(invoker, each));
    // The channels that interactions belong to may have notifications of their own.
    const send = await commitAndNotify(invoker.ownerId, facts, notifications, 'partition');
    for (const { t, d } of dispatches) see(t, d, invoker.userId);
    send();
  };
