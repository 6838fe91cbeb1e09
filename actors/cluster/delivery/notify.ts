import { DispatchBody, type Recipient } from '../../../engine/fanout/body.ts';
import { ALL_SESSIONS, refOf, type SessionFilter, type SessionRef } from '../../../engine/fanout/direct.ts';
import type { Presence } from '../../../engine/presence/merge.ts';
import type { DispatchName } from '../../../protocol/dispatches.ts';
import { NotServed } from '../../../protocol/faults.ts';
import type { ApplicationId, GuildId, UserId } from '../../../protocol/ids.ts';
import type { Placement } from '../../placement/ports.ts';
import type { Clock, Timer } from '../../runtime/clock.ts';
import { RecentMoves } from '../../runtime/recentmoves.ts';
import { matchingSessions, type Notifier } from '../../user/notifier.ts';
import type { UserDelivery } from '../../user/userdelivery.ts';
import type { Users } from '../../user/users.ts';
import { ownerShardOf } from './ownershard.ts';

export interface NotifierPorts {
  readonly users: Pick<Users, 'listeners' | 'sessions' | 'presenceOf' | 'guildIds'>;
  readonly clock: Clock;
  readonly cluster: Placement;
  /** Delivery to users of this shard; null in standalone mode. */
  readonly userDelivery: UserDelivery | null;
}

/** The recipients of a dispatch: sessions of a user, or one of them by its id. */
type NotifyTarget = readonly [userId: UserId, to: SessionFilter | string];

/** Bounds the delay that a friends list adds to READY: users whose shard does not answer in time appear offline. */
const PRESENCES_DEADLINE_MS = 2_000;

/**
 * Delivers to users of this shard at once, and to other users through their owner's link: one message for each dispatch
 * and shard.
 */
export function createNotifier(ports: NotifierPorts): Notifier {
  const { users, clock, userDelivery } = ports;
  const bodyOf = (t: DispatchName, d: object) => new DispatchBody(t, d, clock.monotonic());
  const { send, sessionOpened } = userDelivery ? clusterSender(userDelivery, ports) : localSender(users);
  const route = (session: SessionRef): Recipient => {
    const { sessionId, userId } = session;
    const open = userDelivery
      ? undefined
      : users.sessions(userId).find((each) => each.sessionId === sessionId);
    return open ?? { ...refOf(session), deliver: (body) => send([[userId, sessionId]], body) };
  };
  return {
    ...userQueries(ports),
    sessionOpened,
    notify: (userId, t, d, filter = ALL_SESSIONS) => send([[userId, filter]], bodyOf(t, d)),
    notifyEach: (to, t, d) => send(to, bodyOf(t, d)),
    notifySession: (userId, sessionId, t, d) => send([[userId, sessionId]], bodyOf(t, d)),
    listeners: (userId) =>
      userDelivery ? [recipientOf([[userId, ALL_SESSIONS]], send)] : users.listeners(userId),
    recipientOf: (to) => recipientOf(to, send),
    route,
  };
}

/** How long dispatches wait for a session that is moving between shards, and how many may wait. */
const SESSION_WAIT_MS = 30_000;
const WAITING_MAX = 10_000;

type SendDispatch = (to: readonly NotifyTarget[], body: DispatchBody) => void;
interface Sender {
  readonly send: SendDispatch;
  readonly sessionOpened: Notifier['sessionOpened'];
}

/** Stands in where a dispatch has no target. */
const NOBODY = '' as UserId;

/** Accepts every dispatch: the owners of the users select the sessions. */
const recipientOf = (to: readonly NotifyTarget[], spread: SendDispatch): Recipient => ({
  ...{ userId: to[0]?.[0] ?? NOBODY, sessionId: '', intents: 0, bot: false, authorization: null },
  deliver: (body) => spread(to, body),
});

function deliver(users: NotifierPorts['users'], to: readonly NotifyTarget[], body: DispatchBody): void {
  for (const [userId, which] of to)
    if (typeof which === 'string')
      users
        .sessions(userId)
        .find(({ sessionId }) => sessionId === which)
        ?.deliver(body);
    else
      for (const session of matchingSessions(users.listeners(userId), body.t as DispatchName, which))
        session.deliver(body);
}

const localSender = (users: NotifierPorts['users']): Sender => ({
  send: (to, body) => deliver(users, to, body),
  sessionOpened: () => undefined,
});

/** A session that is not open here. */
type SessionKey = readonly [userId: UserId, sessionId: string];

/**
 * Dispatches for sessions that are not open yet: a user that moved from another shard may arrive before the sessions.
 */
class WaitingDispatches {
  readonly #clock: Pick<Clock, 'setTimer'>;
  /** Called for each dispatch, in order, when its session opens or the wait times out. */
  readonly #onRelease: (of: SessionKey, body: DispatchBody) => void;
  readonly #bySession = new Map<string, { of: SessionKey; bodies: DispatchBody[]; timer: Timer }>();
  #size = 0;

  constructor(clock: Pick<Clock, 'setTimer'>, release: (of: SessionKey, body: DispatchBody) => void) {
    this.#clock = clock;
    this.#onRelease = release;
  }

  has(sessionId: string): boolean {
    return this.#bySession.has(sessionId);
  }

  add(of: SessionKey, body: DispatchBody): void {
    if (this.#size >= WAITING_MAX) return;
    const [, sessionId] = of;
    this.#size += 1;
    const known = this.#bySession.get(sessionId);
    if (known) known.bodies.push(body);
    else {
      const timer = this.#clock.setTimer(() => this.release(sessionId), SESSION_WAIT_MS);
      this.#bySession.set(sessionId, { of, bodies: [body], timer });
    }
  }

  /** The ownership of users has changed: releases what waits for users of other shards now. */
  releaseMoved(owns: (userId: UserId) => boolean): void {
    for (const [sessionId, { of }] of [...this.#bySession]) if (!owns(of[0])) this.release(sessionId);
  }

  release(sessionId: string): void {
    const known = this.#bySession.get(sessionId);
    if (!known) return;
    known.timer.cancel();
    this.#bySession.delete(sessionId);
    this.#size -= known.bodies.length;
    for (const body of known.bodies) this.#onRelease(known.of, body);
  }
}

function clusterSender(userDelivery: UserDelivery, { clock, cluster }: NotifierPorts): Sender {
  const { ownership, routing } = cluster;
  const waiting = new WaitingDispatches(clock, (of, body) => send([of], body, true));
  // Sent late, such a dispatch would show an old state after newer dispatches.
  ownership.onChange(() => waiting.releaseMoved((userId) => ownership.owns(userId)));
  /** Dispatches to be sent at the end of the tick, in order. */
  let queued: { readonly body: DispatchBody; readonly to: NotifyTarget[] }[] = [];

  // Some of the users may have moved to another owner while the message was in flight.
  const deliverAtOwner = routing.tell(
    'users.deliver',
    (to, t, json, origin, asOf) =>
      send(to, DispatchBody.ofJson(t, json, clock.monotonic(), origin, asOf ?? null)),
    ([first]) => first?.[0] ?? '',
  );

  function flush(): void {
    const due = queued;
    queued = [];
    for (const { body, to } of due) {
      const { t, json, origin, asOf } = body;
      const byShard = new Map<string | null, NotifyTarget[]>();
      for (const entry of to) {
        const shardId = ownership.ownerOf(entry[0])?.shardId ?? null;
        const group = byShard.get(shardId);
        if (group) group.push(entry);
        else byShard.set(shardId, [entry]);
      }
      // Users without an owner are notified by whichever shard takes over each of them.
      for (const [shardId, group] of byShard)
        if (shardId === null) for (const entry of group) deliverAtOwner([entry], t, json, origin, asOf);
        else deliverAtOwner(group, t, json, origin, asOf);
    }
  }

  function send(to: readonly NotifyTarget[], body: DispatchBody, isRetry = false): void {
    const others = to.filter(([userId]) => !ownership.owns(userId));
    const here = others.length === 0 ? to : to.filter(([userId]) => ownership.owns(userId));
    for (const [userId, which] of here) {
      const waits = typeof which === 'string' && waiting.has(which);
      const isHeard = !waits && userDelivery.deliver(userId, which, body);
      if (!isHeard && !isRetry && typeof which === 'string') waiting.add([userId, which], body);
    }
    if (others.length === 0) return;
    const last = queued.at(-1);
    if (last?.body === body) last.to.push(...others);
    else if (queued.push({ body, to: others }) === 1) clock.defer(flush);
  }

  return { send, sessionOpened: ({ sessionId }) => waiting.release(sessionId) };
}

/** How long after a change of its user's owner a session that is not open there may still be opened once more. */
const REOPENING_MS = 5_000;

/** Queries about users, answered by their owners. */
function userQueries({
  users,
  clock,
  cluster,
}: NotifierPorts): Pick<Notifier, 'guildIdsOf' | 'hasSession' | 'keepsSession' | 'plays' | 'presencesOf'> {
  const { ownership, router } = cluster;
  const reopening = new RecentMoves(clock, REOPENING_MS);
  cluster.routing.onMoved((moved) => reopening.add(moved));
  const { ask } = cluster.routing;
  const presencesHere = (userIds: readonly UserId[]): Map<UserId, Presence> =>
    new Map(
      userIds.flatMap((userId) => {
        const presence = ownership.owns(userId) ? users.presenceOf(userId) : null;
        return presence ? [[userId, presence] as const] : [];
      }),
    );
  router.serve('users.presences', ([userIds]) => presencesHere(userIds));
  const guildIdsOf = ask(
    'users.guildIdsOf',
    async (userId: UserId): Promise<readonly GuildId[]> => users.guildIds(userId),
  );
  const hasSession = ask('users.hasSession', async (userId: UserId, sessionId: string): Promise<boolean> => {
    const session = users.sessions(userId).find((each) => each.sessionId === sessionId);
    // The router asks again, until the session is open or its user has had this owner for a while.
    if (!session && reopening.has(userId))
      throw new NotServed('The sessions of the user are not open here yet.');
    return session?.authorization === null;
  });
  const keepsSession = ask(
    'users.keepsSession',
    async (userId: UserId, sessionId: string): Promise<boolean> =>
      users.sessions(userId).some((session) => session.sessionId === sessionId),
  );
  const plays = ask(
    'users.plays',
    async (userId: UserId, applicationId: ApplicationId): Promise<boolean> =>
      users.listeners(userId).some(({ authorization }) => authorization?.applicationId === applicationId),
  );
  return {
    guildIdsOf,
    hasSession,
    keepsSession,
    plays,
    async presencesOf(userIds) {
      const known = presencesHere(userIds);
      const elsewhere = new Map<string, UserId[]>();
      for (const userId of userIds) {
        const shard = ownerShardOf(ownership, userId);
        if (shard.at !== 'peer') continue;
        const { shardId } = shard.owner;
        elsewhere.set(shardId, [...(elsewhere.get(shardId) ?? []), userId]);
      }
      const ask = async ([shardId, group]: readonly [string, readonly UserId[]]) => {
        const asking = router.askShard(shardId, 'users.presences', [group], PRESENCES_DEADLINE_MS);
        const answer = await asking.catch(() => []);
        for (const [userId, presence] of answer) known.set(userId, presence);
      };
      await Promise.all([...elsewhere].map(ask));
      return known;
    },
  };
}
