import { receivesGuilds } from '../../../engine/fanout/audience.ts';
import { DispatchBody } from '../../../engine/fanout/body.ts';
import { isDirect } from '../../../engine/fanout/direct.ts';
import { guildsOfShard } from '../../../engine/session/identify.ts';
import { LinkFault, NotServed } from '../../../protocol/faults.ts';
import { type GuildId, isGuildId, type UserId } from '../../../protocol/ids.ts';
import { dropOldest } from '../../../protocol/oldest.ts';
import {
  answererOf,
  type GuildRequest,
  isGuildRequest,
  requestRow,
} from '../../../protocol/sessionrequests.ts';
import type { Entering } from '../../guild/guild.subscription.ts';
import type { Guilds } from '../../guild/guilds.ts';
import type { Placement, Subscribed } from '../../placement/ports.ts';
import type { Clock, Lifetime } from '../../runtime/clock.ts';
import type { TimerWheel } from '../../runtime/wheel.ts';
import type { LiveSession, Reopening, SessionBackend } from '../../session/backend.ts';
import { requestOf } from '../../session/requests.ts';
import type { Links } from '../ports.ts';
import type { DirectDelivery } from './direct.ts';
import type { GuildSubscription } from './guildstream.ts';
import { GuildSubscriptions } from './guildsubscriptions.ts';
import { LocalSessions } from './localsessions.ts';
import { isOwnedElsewhere, ownerShardOf } from './ownershard.ts';
import type { LocalSession, Peer } from './peer.ts';
import { type RemoteSession, RemoteSessions, type SessionReference } from './remote.ts';
import { type UserBackend, UserChannels } from './userchannel.ts';

/**
 * The requests of sessions to owners of users and guilds. Sessions of other shards reach this backend through links.
 */
export type OwnerBackend = SessionBackend & UserBackend;

interface ClusterSessionPorts {
  readonly cluster: Placement;
  readonly links: Links;
  readonly guilds: Guilds;
  readonly direct: DirectDelivery | null;
  /** Handles requests as the owner of users and guilds. */
  readonly userBackend: OwnerBackend;
  readonly clock: Clock;
  readonly wheel: TimerWheel;
  readonly lifetime: Pick<Lifetime, 'child'>;
  readonly resumeWindowMs: number;
  /** The stream of a guild is interrupted for this shard's sessions, until each of them receives `following`. */
  readonly streamInterrupted: (guildId: string) => void;
  /** A session no longer subscribes to a guild that this shard owns. */
  readonly noSubscribers: (guildId: GuildId, userId: UserId) => void;
  /** Dispatches from another shard may be missing. */
  readonly dispatchesMissed: () => void;
  readonly onFault: (error: unknown, id: string) => void;
}

/** Most guilds of which other shards are notified that they are loaded again; sessions of others retry by themselves. */
const LOST_MAX = 16_384;

/** This shard's sessions in a cluster: requests to the owners of their users and guilds, and deliveries from them. */
export interface ClusterSessions {
  readonly backend: SessionBackend;
  /** Subscribes a session to a guild that its user joined, on whichever shard the session lives. */
  join(session: LiveSession, guildId: GuildId): void;
  /** The actor of a guild ended. It delivered everything up to `n`; another shard continues the stream. */
  guildReleased(guildId: GuildId, n: number): void;
  /** The user left a guild that this shard owns, whose actor has issued numbers up to `n`. */
  memberRemoved(guildId: GuildId, userId: UserId, n: number): void;
  /** The actor of a guild failed; it delivered everything up to `n`. This shard continues the stream. */
  guildLost(guildId: GuildId, n: number): void;
  /** A guild of this shard is loaded: the sessions of all shards that wait for it subscribe at once. */
  guildLoaded(guildId: GuildId): void;
  /**
   * Another object replaced the session: with its user's owner (`guildId` null), or with the owner of a guild whose
   * stream the session has up to `n`.
   */
  sessionReplaced(session: LiveSession, guildId: GuildId | null, n: number): void;
  /** Sessions of other shards to which this shard delivers. */
  readonly remoteSessions: RemoteSessions;
  readonly localSessions: LocalSessions;
  close(): Promise<void>;
}

export function createClusterSessions(ports: ClusterSessionPorts): ClusterSessions {
  const { cluster, links, userBackend, clock, wheel, onFault, direct } = ports;
  const { ownership, router } = cluster;
  const nowMs = () => clock.monotonic();
  const scope = ports.lifetime.child();
  const remoteSessions = new RemoteSessions({
    ...{ links, router, ownership, clock, wheel, resumeWindowMs: ports.resumeWindowMs },
    ended: (session) => endRemote(session, ports),
  });
  const common = {
    ...{ ownership, router, wheel, scope, nowMs, onFault },
    peer: (shardId: string, instance: string): Peer => localSessions.peer(shardId, instance),
    isCurrent: (peer: Peer) => localSessions.isCurrent(peer),
    reference: (local: LocalSession, peer: Peer) => localSessions.reference(local, peer),
  };
  const subscriptions = new GuildSubscriptions({
    ...{ ...common, streamInterrupted: ports.streamInterrupted },
    subscribeHere: (guildId, wanted) => ports.guilds.enter(guildId, wanted.map(enteringOf)),
    unsubscribeHere: (guildId, session) => unsubscribeHere(ports, guildId as GuildId, session),
  });
  const userChannels = new UserChannels({
    ...{ ...common, userBackend },
    opening: (session) => direct?.deliveryCursors.beginOpening(session),
    cursors: (session) => direct?.deliveryCursors.cursors(session) ?? [],
    // The notification of a joined guild may have been lost in transit.
    reopened: ({ session, guildIds }, now) => {
      for (const guildId of guildsOf(session, now)) if (!guildIds.has(guildId)) join(session, guildId);
    },
    resumeWindowMs: ports.resumeWindowMs,
  });
  const localSessions: LocalSessions = new LocalSessions(
    {
      ...{ links, router, ownership, nowMs },
      direct: (session, body) => direct?.deliveryCursors.deliver(session, body),
      deliveriesMissed: () => direct?.userDelivery.recheckAll(),
      peerLost: (peer) => {
        subscriptions.peerLost(peer);
        userChannels.peerLost(peer);
        ports.dispatchesMissed();
      },
    },
    subscriptions,
  );
  const context: Context = { ...ports, localSessions, subscriptions, userChannels, remoteSessions };
  router.sessions(localSessions);
  servePeers(context);
  serveOwners(context);
  const join = (session: LiveSession, guildId: GuildId): void => {
    if (isRemote(session)) session.join(guildId);
    else follow(context, localSessions.add(session), guildId);
  };
  const sessionReplaced: ClusterSessions['sessionReplaced'] = (session, guildId, n) => {
    if (isRemote(session)) session.replaced(guildId, n);
    else localReplaced(context, localSessions.get(session), guildId, n);
  };

  return {
    ...{ remoteSessions, localSessions, join, sessionReplaced },
    ...lostGuilds(context),
    backend: localBackend(context),
    guildReleased: (guildId, n) => subscriptions.guildReleased(guildId, n),
    memberRemoved: (guildId, userId, n) => subscriptions.memberRemoved(guildId, userId, n),
    close() {
      localSessions.close();
      remoteSessions.close();
      return scope.close();
    },
  };
}

/** Has the sessions of all shards subscribe again to a guild that was lost: at once, and when it is loaded. */
function lostGuilds({
  subscriptions,
  remoteSessions,
}: Context): Pick<ClusterSessions, 'guildLoaded' | 'guildLost'> {
  /** Guilds that were not loaded since; the oldest first. */
  const lost = new Set<GuildId>();
  return {
    guildLoaded(guildId) {
      subscriptions.guildLoaded(guildId);
      if (lost.delete(guildId)) remoteSessions.guildLoaded(guildId);
    },
    guildLost(guildId, n) {
      lost.add(guildId);
      dropOldest(lost, LOST_MAX);
      subscriptions.guildLost(guildId, null, n);
      remoteSessions.guildLost(guildId);
    },
  };
}

interface Context extends ClusterSessionPorts {
  readonly localSessions: LocalSessions;
  readonly subscriptions: GuildSubscriptions;
  readonly userChannels: UserChannels;
  readonly remoteSessions: RemoteSessions;
}

const enteringOf = ({
  session,
  ...rest
}: GuildSubscription<LiveSession> & Pick<Entering, 'caughtUp'>): Entering => ({
  subscriber: session,
  largeThreshold: session.largeThreshold,
  ...rest,
});

const isRemote = (session: LiveSession): session is RemoteSession => 'join' in session;

/** Subscribes in the background. A guild that is unreachable now is retried; only the first failure is reported. */
function follow({ subscriptions, onFault }: Context, local: LocalSession, guildId: GuildId): void {
  // A session that is being reopened may have the guild already: its cursor decides once the reopening completes.
  if (local.joinedMeanwhile) {
    local.joinedMeanwhile.add(guildId);
    return;
  }
  subscriptions.subscribe(local, guildId, null).catch((fault) => onFault(fault, guildId));
}

/** Repeats the session's subscriptions or its open request, unless the session has left this shard. */
function localReplaced(
  { subscriptions, userChannels }: Context,
  local: LocalSession | undefined,
  guildId: GuildId | null,
  n: number,
): void {
  if (!local) return;
  if (guildId === null) userChannels.sessionReplaced(local);
  else subscriptions.sessionReplaced(local, guildId, n);
}

function unsubscribeHere(
  { guilds, noSubscribers }: Pick<ClusterSessionPorts, 'guilds' | 'noSubscribers'>,
  guildId: GuildId,
  session: LiveSession,
): void {
  guilds.unsubscribe(guildId, session);
  noSubscribers(guildId, session.userId);
}

function endRemote(session: RemoteSession, ports: ClusterSessionPorts): void {
  const { cluster, userBackend } = ports;
  for (const guildId of session.guildIds ?? []) unsubscribeHere(ports, guildId, session);
  // Also without a safe lease or a membership: nothing would end the session here later.
  if (session.isOpen && !isOwnedElsewhere(cluster.ownership, session.userId)) userBackend.ended(session);
}

/** Serves the sessions of other shards as the owner of their guilds and users. */
function servePeers(context: Context): void {
  const { cluster, guilds, userBackend, remoteSessions } = context;
  const { ownership, router } = cluster;
  const checkOwned = (id: string, epoch = ownership.ownerOf(id)?.epoch): void => {
    if (!ownership.owns(id) || ownership.ownerOf(id)?.epoch !== epoch)
      throw new LinkFault('notOwner', `This shard does not own ${id} under ${epoch}.`);
  };
  const named = (from: string, session: SessionReference, ownerId: string): RemoteSession => {
    checkOwned(ownerId);
    // The caller's sessions may have moved to other shards. Before it is a member again it abandons those that did.
    if (!ownership.view.shards.some(({ instance }) => instance === session.home))
      throw new LinkFault('unreachable', `The shard ${from} is not seen in the cluster.`);
    return remoteSessions.of(from, session);
  };
  const opening = (from: string, reference: SessionReference): RemoteSession => {
    const session = named(from, reference, reference.session.principal.userId);
    session.open();
    return session;
  };
  router.serve('remoteSessions.subscribe', ([guildId, wanted, epoch], { from }) => {
    checkOwned(guildId, epoch);
    const sessions = wanted.map((each) => ({ ...each, session: named(from, each.session, guildId) }));
    for (const { session } of sessions) {
      session.guildIds ??= new Set();
      session.guildIds.add(guildId);
    }
    return guilds.enter(guildId, sessions.map(enteringOf));
  });
  // When the user's owner changed during the read, the result may be incomplete: the caller asks the next owner.
  const owning = async <T>(
    { session: { principal } }: SessionReference,
    open: () => Promise<T>,
  ): Promise<T> => {
    const epoch = ownership.ownerOf(principal.userId)?.epoch;
    const opened = await open();
    checkOwned(principal.userId, epoch);
    return opened;
  };
  router.serve('remoteSessions.open', ([session], { from }) =>
    owning(session, () => userBackend.open(opening(from, session))),
  );
  router.serve('remoteSessions.reopen', ([session, presence, cursors], { from }) =>
    owning(session, () => userBackend.reopenAtOwner(opening(from, session), presence, cursors)),
  );
  router.serve('remoteSessions.ask', ([reference, name, [input]], { from }) => {
    const request = requestOf(name, input);
    const answerer = answererOf(request, reference.session.principal.userId);
    return userBackend.ask(named(from, reference, answerer), request);
  });
  router.serve('remoteSessions.begin', ([instance, peerEpoch], { from }) =>
    remoteSessions.begin(from, instance, peerEpoch),
  );
  router.serve('remoteSessions.ended', ([instance, peerEpoch, handle, kept]) =>
    remoteSessions.ended(instance, peerEpoch, handle, kept),
  );
  router.serve('remoteSessions.writable', ([instance, peerEpoch, ticket]) =>
    remoteSessions.becameWritable(instance, peerEpoch, ticket),
  );
}

/** Receives the owners' messages for local sessions. */
function serveOwners(context: Context): void {
  const { cluster, localSessions } = context;
  const { ownership, router } = cluster;
  router.serve('localSessions.whenWritable', async ([peerEpoch, handle, ticket], { from }) => {
    await localSessions.byHandle(from, peerEpoch, handle)?.session.writable();
    router.tellShard(from, 'remoteSessions.writable', [ownership.self?.instance ?? '', peerEpoch, ticket]);
  });
  router.serve('localSessions.replaced', ([peerEpoch, handle, guildId, n], { from }) =>
    localReplaced(context, localSessions.byHandle(from, peerEpoch, handle), guildId, n),
  );
  router.serve('localSessions.join', ([peerEpoch, handle, guildId], { from }) => {
    const local = localSessions.byHandle(from, peerEpoch, handle);
    if (local) follow(context, local, guildId);
  });
  router.serve('localSessions.guildLost', ([guildId], { from }) =>
    context.subscriptions.guildLost(guildId, from, 0),
  );
  router.serve('localSessions.guildLoaded', ([guildId]) => context.subscriptions.guildLoaded(guildId));
}

/** Sends the requests of local sessions to the owners of their users and guilds. */
function localBackend(context: Context): SessionBackend {
  const { userBackend, localSessions, subscriptions, userChannels, clock, resumeWindowMs } = context;
  const leave = (session: LiveSession, isMoving: boolean): void => {
    const local = localSessions.get(session);
    if (!local) return;
    subscriptions.leave(local, isMoving ? resumeWindowMs : null);
    localSessions.remove(local, isMoving);
    userChannels.ended(local, isMoving);
  };
  return {
    authenticate: userBackend.authenticate,
    open: (session) => userChannels.open(localSessions.add(session)),
    reopen: (session, reopening) => reopen(session, reopening, context),
    transferred: (session) => leave(session, true),
    ended: (session) => leave(session, false),

    async subscribe(session, guildId) {
      const how = await subscriptions.subscribe(localSessions.add(session), guildId, null);
      if (how === 'member' || !receivesGuilds(session)) return;
      // READY listed a guild that the user has left since. Without GUILD_DELETE the client would show it as unavailable
      // for ever.
      session.deliver(new DispatchBody('GUILD_DELETE', { id: guildId }, clock.monotonic()));
    },

    ask(session, request) {
      if (isGuildRequest(request)) return askGuildOwner(session, request, context);
      const local = localSessions.get(session);
      if (local && request.name === 'presence') userChannels.presence(local, request.input);
      else if (local) userChannels.request(local, request);
      return undefined;
    },
  };
}

/** Sends a request to the owner of its guild, which delivers the result to the session. Runs at most once. */
async function askGuildOwner(
  session: LiveSession,
  request: GuildRequest,
  { cluster, localSessions, userBackend }: Context,
): Promise<void> {
  const { ownership, router } = cluster;
  const local = localSessions.get(session);
  if (!local) return;
  const { guildId } = request.input;
  const shard = ownerShardOf(ownership, guildId);
  if (shard.at === 'nobody') throw new NotServed(`No shard serves the guild ${guildId} now.`);
  if (shard.at === 'here') return userBackend.ask(session, request);
  const { shardId, instance } = shard.owner;
  const reference = localSessions.reference(local, localSessions.peer(shardId, instance));
  const { name, input } = request;
  const args = [reference, name, [input]] as const;
  await router.askShard(shardId, 'remoteSessions.ask', args, requestRow(name).deadlineMs);
}

/** The user's guilds that a session receives: none for a session of an application that acts for the user. */
const guildsOf = ({ authorization, shard }: LiveSession, guildIds: readonly GuildId[]): readonly GuildId[] =>
  authorization ? [] : guildsOfShard(guildIds, shard);

/**
 * Reopens a session that moved from another shard and resumes its streams from their cursors. A guild that is
 * unreachable for long does not delay it: its missed dispatches, or a new GUILD_CREATE, follow when the guild is
 * available.
 */
async function reopen(
  session: LiveSession,
  { presence, cursors }: Reopening,
  { localSessions, subscriptions, userChannels, clock, direct, onFault }: Context,
): Promise<boolean> {
  const local = localSessions.add(session);
  direct?.deliveryCursors.begin(session, cursors());
  local.joinedMeanwhile = new Set();
  const { guildIds, isWhole } = await userChannels.reopen(local, presence);
  const joined = new Set<GuildId>([...guildsOf(session, guildIds), ...local.joinedMeanwhile]);
  local.joinedMeanwhile = null;
  const following: Promise<Subscribed>[] = [];
  // The user left the guild while no shard held the session; the user's owner may learn of it after the guild's owner.
  const leaving = (id: string) => (how: Subscribed) => {
    if (how === 'gone' && receivesGuilds(session))
      session.deliver(new DispatchBody('GUILD_DELETE', { id }, clock.monotonic()));
    return how;
  };
  for (const [guildId, n] of cursors().filter(([streamId]) => !isDirect(streamId)))
    if (isGuildId(guildId) && joined.delete(guildId))
      following.push(subscriptions.subscribe(local, guildId, n, true).then(leaving(guildId)));
    else {
      // No subscription is requested, so nothing else would remove the cursor, and the next shard would resume from it.
      session.left?.(guildId);
      leaving(guildId)('gone');
    }
  for (const guildId of joined) following.push(subscriptions.subscribe(local, guildId, null));
  const back = await Promise.allSettled(following);
  for (const each of back) if (each.status === 'rejected') onFault(each.reason, session.sessionId);
  return isWhole && !back.some((each) => each.status === 'fulfilled' && each.value === 'tooOld');
}
