import type { ApplicationId, UserId } from '../../../protocol/ids.ts';
import type { ArgsOf, ReplyOf, ShardAsk } from '../../../protocol/link.ts';
import type { Placement } from '../../placement/ports.ts';
import type { GatewaySessions } from '../../session/sessions.ts';

/** Requests to link a user's account, shown by sessions that opted in. */
export interface AuthorizeRequests {
  /**
   * Sets whether the session's application receives requests to link its user. False: the session is not the caller's.
   */
  want(
    caller: { readonly userId: UserId; readonly applicationId: ApplicationId | null },
    sessionId: string,
    wanted: boolean,
  ): Promise<boolean>;
  /** Delivers a request to the sessions that opted in; returns their number. */
  ask(userId: UserId, applicationId: ApplicationId, requestId: string): Promise<number>;
}

type Sessions = Pick<GatewaySessions, 'wantAuthorizeRequests' | 'requestAuthorization'>;
type Wanting = Parameters<AuthorizeRequests['want']>;

/** Bounds the delay that an unresponsive shard adds to the reply. */
const DEADLINE_MS = 2000;

/**
 * Calls every shard, because a user's sessions may live on any of them. An unresponsive shard counts as having none.
 */
export function createAuthorizeRequests(
  sessions: () => Sessions,
  { ownership, router }: Placement,
): AuthorizeRequests {
  const here = {
    want: async (...args: Wanting) => sessions().wantAuthorizeRequests(...args),
    ask: async (userId: UserId, applicationId: ApplicationId, requestId: string) =>
      sessions().requestAuthorization(userId, applicationId, requestId),
  };
  router.serve('sessions.wantAuthorizeRequests', (args) => here.want(...args));
  router.serve('sessions.requestAuthorization', (args) => here.ask(...args));
  const elsewhere = <M extends ShardAsk>(method: M, args: ArgsOf<M>): Promise<ReplyOf<M> | null>[] =>
    ownership.view.shards
      .filter(({ id }) => id !== ownership.self?.id)
      .map(({ id }) => router.askShard(id, method, args, DEADLINE_MS).catch(() => null));
  return {
    async want({ userId, applicationId }, sessionId, wanted) {
      const caller = { userId, applicationId };
      if (await here.want(caller, sessionId, wanted)) return true;
      return (
        await Promise.all(elsewhere('sessions.wantAuthorizeRequests', [caller, sessionId, wanted]))
      ).includes(true);
    },
    async ask(...args) {
      const counts = await Promise.all([
        here.ask(...args),
        ...elsewhere('sessions.requestAuthorization', args),
      ]);
      return counts.reduce<number>((sum, count) => sum + (count ?? 0), 0);
    },
  };
}
