import type { Clock } from '../actors/runtime/clock.ts';
import { deliverTo, type Ears, EVERY_EAR, type Telling } from '../actors/user/telling.ts';
import type { Users } from '../actors/user/users.ts';
import { DispatchBody } from '../engine/fanout/body.ts';
import type { Presence } from '../engine/presence/merge.ts';
import type { DispatchName } from '../protocol/dispatches.ts';
import type { ApplicationId, GuildId, UserId } from '../protocol/ids.ts';
import { routingOver } from './cluster.routed.ts';
import type { Cluster } from './cluster.ts';

export interface TellingPorts {
  readonly users: Pick<Users, 'listeners' | 'sessions' | 'presenceOf' | 'guildIds'>;
  readonly clock: Clock;
  readonly cluster: Cluster;
}

type Entry = readonly [userId: UserId, ears: Ears];

/** How long a friends list may hold up READY: who does not answer in time appears offline. */
const PRESENCES_DEADLINE_MS = 2_000;

/** To the users of this shard at once; to others over their owner's link, one message for all of a shard. */
export function createTelling(ports: TellingPorts): Telling {
  const { users, clock, cluster } = ports;
  const { ownership, router } = cluster;
  const deliver = (to: readonly Entry[], body: DispatchBody): void => {
    for (const [userId, ears] of to) deliverTo(users.listeners(userId), body, ears);
  };
  if (ownership.alone) return hereOnly(ports, deliver);

  /** Users by the shard that answers for them; those that nobody does are left out. */
  function elsewhere<T>(entries: readonly T[], userIdOf: (entry: T) => UserId): ReadonlyMap<string, T[]> {
    const byShard = new Map<string, T[]>();
    for (const entry of entries) {
      const shardId = ownership.ownerOf(userIdOf(entry))?.shardId;
      if (shardId !== undefined) byShard.set(shardId, [...(byShard.get(shardId) ?? []), entry]);
    }
    return byShard;
  }

  function spread(to: readonly Entry[], body: DispatchBody): void {
    const others = to.filter(([userId]) => !ownership.owns(userId));
    deliver(others.length === 0 ? to : to.filter(([userId]) => ownership.owns(userId)), body);
    if (others.length === 0) return;
    const { json } = body;
    const send = (group: readonly Entry[]): void => {
      const [userId] = group[0] as Entry;
      router.tell(userId, 'users.tell', [group, body.t, json], () => deliver(group, body));
    };
    const byShard = elsewhere(others, ([userId]) => userId);
    for (const group of byShard.values()) send(group);
    // Whom nobody serves now is told by the next owner.
    for (const entry of others) if (!ownership.ownerOf(entry[0])) send([entry]);
  }

  const bodyOf = (t: DispatchName, d: object) => new DispatchBody(t, d, clock.monotonic());
  const ofSession = (userId: UserId, sessionId: string, body: DispatchBody): void => {
    for (const session of users.sessions(userId)) if (session.sessionId === sessionId) session.deliver(body);
  };
  router.handle('users.tell', ([to, t, json]: [Entry[], DispatchName, string]) =>
    // Some may have gone on to another owner while it was on its way.
    spread(to, DispatchBody.ofJson(t, json, clock.monotonic())),
  );
  router.handle('users.tellSession', ([userId, sessionId, t, json]: [UserId, string, DispatchName, string]) =>
    ofSession(userId, sessionId, DispatchBody.ofJson(t, json, clock.monotonic())),
  );
  const presencesHere = (userIds: readonly UserId[]): Map<UserId, Presence> =>
    new Map(
      userIds.flatMap((userId) => {
        const presence = ownership.owns(userId) ? users.presenceOf(userId) : null;
        return presence ? [[userId, presence] as const] : [];
      }),
    );
  router.handle('users.presences', ([userIds]: [UserId[]]) => presencesHere(userIds));
  const routing = routingOver(cluster);
  const asked = routing.asks('users', answersOf(ports), { again: true });

  return {
    ...asked,
    tell: (userId, t, d, ears = EVERY_EAR) => spread([[userId, ears]], bodyOf(t, d)),
    tellEach: (to, t, d) => spread(to, bodyOf(t, d)),
    tellSession(userId, sessionId, t, d) {
      const body = bodyOf(t, d);
      const here = () => ofSession(userId, sessionId, body);
      router.tell(userId, 'users.tellSession', [userId, sessionId, t, body.json], here);
    },
    async presencesOf(userIds) {
      const known = presencesHere(userIds);
      const others = userIds.filter((userId) => !ownership.owns(userId));
      const ask = async ([shardId, group]: readonly [string, readonly UserId[]]) => {
        const answer = await router
          .ask(shardId, 'users.presences', [group], PRESENCES_DEADLINE_MS)
          .catch(() => []);
        for (const [userId, presence] of answer as Map<UserId, Presence>) known.set(userId, presence);
      };
      await Promise.all([...elsewhere(others, (userId) => userId)].map(ask));
      return known;
    },
  };
}

/** What an owner knows of its user. */
const answersOf = ({ users }: TellingPorts) => ({
  guildIdsOf: async (userId: UserId): Promise<readonly GuildId[]> => users.guildIds(userId),
  plays: async (userId: UserId, applicationId: ApplicationId): Promise<boolean> =>
    users.listeners(userId).some(({ authorization }) => authorization?.applicationId === applicationId),
});

function hereOnly(ports: TellingPorts, deliver: (to: readonly Entry[], body: DispatchBody) => void): Telling {
  const { users, clock } = ports;
  const bodyOf = (t: DispatchName, d: object) => new DispatchBody(t, d, clock.monotonic());
  return {
    ...answersOf(ports),
    tell: (userId, t, d, ears = EVERY_EAR) => deliver([[userId, ears]], bodyOf(t, d)),
    tellEach: (to, t, d) => deliver(to, bodyOf(t, d)),
    tellSession(userId, sessionId, t, d) {
      const body = bodyOf(t, d);
      for (const session of users.sessions(userId))
        if (session.sessionId === sessionId) session.deliver(body);
    },
    presencesOf: async (userIds) =>
      new Map(
        userIds.flatMap((userId) => {
          const presence = users.presenceOf(userId);
          return presence ? [[userId, presence] as const] : [];
        }),
      ),
  };
}
