import type { GatewayPresenceUpdateData } from 'discord-api-types/v10';
import { DispatchBody } from '../../../engine/fanout/body.ts';
import { isDirect } from '../../../engine/fanout/direct.ts';
import type { Cursor } from '../../../engine/session/cursors.ts';
import { guildsOfShard } from '../../../engine/session/identify.ts';
import { LinkFault, NotServed } from '../../../protocol/faults.ts';
import type { GuildId } from '../../../protocol/ids.ts';
import { INTENTS } from '../../../protocol/intents.ts';
import type { Entering } from '../../guild/guild.subscription.ts';
import type { Guilds } from '../../guild/guilds.ts';
import type { AskContext, Placement, Subscribed } from '../../placement/ports.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { TimerWheel } from '../../runtime/wheel.ts';
import type { LiveSession, Reopening, SessionBackend } from '../../session/backend.ts';
import type { MembersRequest, SessionRequest } from '../../session/requests.ts';
import type { Links } from '../ports.ts';
import type { Direct } from './direct.ts';
import { Followed, type Subscription } from './followed.ts';
import { SessionHome } from './home.ts';
import type { HomeSession, Peer } from './peer.ts';
import { type RemoteSession, RemoteSessions, type SessionReference } from './remote.ts';
import { type UserBackend, UserLine } from './userline.ts';

/** All that a session asks; sessions of other shards reach through their homes what owners of users and guilds do here. */
export type OwnerBackend = SessionBackend & UserBackend;

interface ClusterSessionPorts {
  readonly cluster: Placement;
  readonly links: Links;
  readonly guilds: Guilds;
  readonly direct: Direct | null;
  /** What this shard does for sessions as the owner of their users and guilds. */
  readonly local: OwnerBackend;
  readonly clock: Clock;
  readonly wheel: TimerWheel;
  readonly resumeWindowMs: number;
  /** The stream of a guild is interrupted for the sessions of this shard, until each is told `following`. */
  readonly interrupted: (guildId: string) => void;
  /** A session does not hear a guild of this shard any more. */
  readonly unattended: (guildId: GuildId, userId: string) => void;
  /** What a shard has told this one may be missing. */
  readonly broken: () => void;
  readonly onFault: (error: unknown, id: string) => void;
}

/** Sessions of this shard among many: what it asks of the owners of their users and guilds. */
export interface ClusterSessions {
  readonly backend: SessionBackend;
  /** Subscribes a session to a guild that its user has joined, wherever the session lives. */
  join(session: LiveSession, guildId: GuildId): void;
  /** The actor of a guild has ended; it has told everything up to `n`, and goes on elsewhere. */
  departed(guildId: GuildId, n: number): void;
  /** The user has left a guild of this shard. */
  dismissed(guildId: GuildId, userId: string): void;
  /** The actor of a guild has ended, and these were told that it is unavailable. */
  darkened(guildId: GuildId, sessions: readonly LiveSession[]): void;
  /** Another object stands for the session now: with its user (null), or with a guild whose stream it has up to `n`. */
  displaced(session: LiveSession, guildId: GuildId | null, n: number): void;
  /** Sessions of other shards that this one delivers to. */
  readonly remote: RemoteSessions;
  readonly home: SessionHome;
  close(): void;
}

/** A list of all members takes as long as its reader does. */
const MEMBERS_DEADLINE_MS = 5 * 60_000;

type From = AskContext & { readonly from: string };
type Named = Subscription<SessionReference>;
type Presence = GatewayPresenceUpdateData | null;

export function createClusterSessions(ports: ClusterSessionPorts): ClusterSessions {
  const { cluster, links, local, clock, wheel, onFault, direct } = ports;
  const { ownership, router } = cluster;
  const nowMs = () => clock.monotonic();
  const remote = new RemoteSessions({
    ...{ links, ownership, clock, wheel, resumeWindowMs: ports.resumeWindowMs },
    ended: (session) => endRemote(session, ports),
  });
  const talk = {
    peer: (shardId: string, instance: string): Peer => home.peer(shardId, instance),
    isCurrent: (peer: Peer) => home.isCurrent(peer),
    reference: (entered: HomeSession, peer: Peer) => home.reference(entered, peer),
  };
  const followed = new Followed({
    ...{ ownership, router, wheel, nowMs, ...talk, interrupted: ports.interrupted, onFault },
    subscribeHere: (guildId, wanted) => ports.guilds.enter(guildId as GuildId, wanted.map(entering)),
    unsubscribeHere: (guildId, session) => unsubscribeHere(ports, guildId as GuildId, session),
  });
  const line = new UserLine({
    ...{ ownership, router, wheel, nowMs, ...talk, onFault },
    here: local,
    cursors: (session) => direct?.heard.cursors(session) ?? [],
    // Word of a guild that its user has joined may have been lost on the way.
    reopened: ({ session, guildIds }, now) => {
      for (const guildId of heardBy(session, now)) if (!guildIds.has(guildId)) join(session, guildId);
    },
    keptMs: ports.resumeWindowMs,
  });
  const home: SessionHome = new SessionHome(
    {
      ...{ links, ownership, nowMs },
      direct: (session, body) => direct?.heard.deliver(session, body),
      doubted: () => direct?.inboxes.doubt(),
      broken: (peer) => {
        followed.lost(peer);
        line.lost(peer);
        ports.broken();
      },
    },
    followed,
  );
  const parts: Parts = { ...ports, home, followed, line, remote };
  router.sessions(home);
  serveOthers(parts);
  const join = (session: LiveSession, guildId: GuildId): void => {
    if (isRemote(session)) session.join(guildId);
    else follow(parts, home.enter(session), guildId);
  };
  const displaced: ClusterSessions['displaced'] = (session, guildId, n) => {
    if (isRemote(session)) session.displaced(guildId, n);
    else displacedHere(parts, home.get(session), guildId, n);
  };

  return {
    ...{ remote, home },
    backend: homeBackend(parts),
    ...{ join, displaced },
    departed: (guildId, n) => followed.departed(guildId, n),
    dismissed: (guildId, userId) => followed.dismissed(guildId, userId),
    darkened: (guildId, sessions) => followed.darkened(guildId, new Set(sessions)),
    close() {
      line.close();
      followed.close();
      home.close();
      remote.close();
    },
  };
}

interface Parts extends ClusterSessionPorts {
  readonly home: SessionHome;
  readonly followed: Followed;
  readonly line: UserLine;
  readonly remote: RemoteSessions;
}

const entering = ({
  session,
  ...rest
}: Subscription<LiveSession> & Pick<Entering, 'caughtUp'>): Entering => ({
  subscriber: session,
  largeThreshold: session.largeThreshold,
  ...rest,
});

const isRemote = (session: LiveSession): session is RemoteSession => 'join' in session;

/** A guild that cannot be had now goes on being asked for; the first failure is noted. */
function follow({ followed, onFault }: Parts, entered: HomeSession, guildId: GuildId): void {
  // It may have the guild already, up to a cursor that is looked at then.
  if (entered.joining) {
    entered.joining.add(guildId);
    return;
  }
  followed.follow(entered, guildId, null).catch((fault) => onFault(fault, guildId));
}

/** Unless it has gone from here, it says everything anew. */
function displacedHere(
  { followed, line }: Parts,
  entered: HomeSession | undefined,
  guildId: GuildId | null,
  n: number,
): void {
  if (!entered) return;
  if (guildId === null) line.displaced(entered);
  else followed.displaced(entered, guildId, n);
}

function unsubscribeHere(
  { guilds, unattended }: Pick<ClusterSessionPorts, 'guilds' | 'unattended'>,
  guildId: GuildId,
  session: LiveSession,
): void {
  guilds.unsubscribe(guildId, session);
  unattended(guildId, session.userId);
}

function endRemote(session: RemoteSession, ports: ClusterSessionPorts): void {
  const { cluster, local } = ports;
  for (const guildId of session.guildIds) unsubscribeHere(ports, guildId, session);
  if (session.opened && cluster.ownership.owns(session.userId)) local.ended(session);
}

type Act = [session: SessionReference, name: string, args: readonly [input: unknown]];

/** What this shard does for the sessions of others, as the owner of a guild or a user; and for its own, told by owners. */
function serveOthers(parts: Parts): void {
  const { cluster, guilds, local, home, remote } = parts;
  const { ownership, router } = cluster;
  const mine = (id: string, epoch = ownership.ownerOf(id)?.epoch): void => {
    if (!ownership.owns(id) || ownership.ownerOf(id)?.epoch !== epoch)
      throw new LinkFault('notOwner', `This shard does not own ${id} under ${epoch}.`);
  };
  const named = (from: string, session: SessionReference, ownerId: string): RemoteSession => {
    mine(ownerId);
    // Its sessions may be at other homes by now; before it is a member again it lets go of those that are.
    if (!ownership.view.shards.some(({ instance }) => instance === session.home))
      throw new LinkFault('unreachable', `The shard ${from} is not seen in the cluster.`);
    return remote.of(from, session);
  };
  const opening = (from: string, reference: SessionReference): RemoteSession => {
    const session = named(from, reference, reference.session.principal.userId);
    session.opened = true;
    return session;
  };
  router.serve('remoteSessions.subscribe', (args: [GuildId, Named[], number], { from }: From) => {
    const [guildId, wanted, epoch] = args;
    mine(guildId, epoch);
    const sessions = wanted.map(({ session, after }) => ({ session: named(from, session, guildId), after }));
    for (const { session } of sessions) session.guildIds.add(guildId);
    return guilds.enter(guildId, sessions.map(entering));
  });
  router.serve('remoteSessions.open', ([session]: [SessionReference], { from }: From) =>
    local.open(opening(from, session)),
  );
  router.serve(
    'remoteSessions.reopen',
    ([session, presence, cursors]: [SessionReference, Presence, Cursor[]], { from }: From) =>
      local.openAgain(opening(from, session), presence, cursors),
  );
  router.serve('remoteSessions.ask', ([reference, name, [input]]: Act, { from }: From) => {
    const session = named(from, reference, reference.session.principal.userId);
    return local.ask(session, { name, input } as SessionRequest);
  });
  router.serve(
    'remoteSessions.members',
    ([reference, request]: [SessionReference, MembersRequest], { from }: From) =>
      local.ask(named(from, reference, request.guildId), { name: 'members', input: request }),
  );
  router.serve(
    'remoteSessions.channelInfo',
    ([reference, guildId, fields]: [SessionReference, GuildId, string[]], { from }: From) =>
      local.ask(named(from, reference, guildId), { name: 'channelInfo', input: { guildId, fields } }),
  );
  router.serve('remoteSessions.ended', ([instance, talk, handle, kept]: [string, number, number, boolean]) =>
    remote.ended(instance, talk, handle, kept),
  );
  router.serve('remoteSessions.writable', ([instance, talk, ticket]: [string, number, number]) =>
    remote.hasRoom(instance, talk, ticket),
  );
  router.serve(
    'localSessions.whenWritable',
    async ([talk, handle, ticket]: [number, number, number], { from }: From) => {
      await home.named(from, talk, handle)?.session.writable();
      router.tellShard(from, 'remoteSessions.writable', [ownership.self?.instance ?? '', talk, ticket]);
    },
  );
  type Displaced = [talk: number, handle: number, guildId: GuildId | null, n: number];
  router.serve('localSessions.replaced', ([talk, handle, guildId, n]: Displaced, { from }: From) =>
    displacedHere(parts, home.named(from, talk, handle), guildId, n),
  );
  router.serve('localSessions.join', ([talk, handle, guildId]: [number, number, GuildId], { from }: From) => {
    const entered = home.named(from, talk, handle);
    if (entered) follow(parts, entered, guildId);
  });
}

/** What the sessions of this shard ask, of whoever owns their users and guilds. */
function homeBackend(parts: Parts): SessionBackend {
  const { local, home, followed, line, clock, direct, resumeWindowMs } = parts;
  const { router } = parts.cluster;
  const leave = (session: LiveSession, kept: boolean): void => {
    const entered = home.get(session);
    if (!entered) return;
    followed.leave(entered, kept ? resumeWindowMs : null);
    home.leave(entered, kept);
    line.ended(entered, kept);
  };
  return {
    authenticate: local.authenticate,
    open(session) {
      direct?.heard.begin(session, null);
      return line.open(home.enter(session));
    },
    reopen: (session, reopening) => reopen(session, reopening, parts),
    surrendered: (session) => leave(session, true),
    ended: (session) => leave(session, false),

    async subscribe(session, guildId) {
      const how = await followed.follow(home.enter(session), guildId, null);
      if (how === 'member' || (session.bot && (session.intents & INTENTS.GUILDS) === 0)) return;
      // READY named a guild that its user has left since: without a word it would stay unavailable for ever.
      session.deliver(new DispatchBody('GUILD_DELETE', { id: guildId }, clock.monotonic()));
    },

    ask(session, request) {
      const here = async () => local.ask(session, request);
      if (request.name === 'members') {
        const { input } = request;
        return atGuild(session, input.guildId, parts, here, (owner, reference) =>
          router.askShard(owner, 'remoteSessions.members', [reference, input], MEMBERS_DEADLINE_MS),
        );
      }
      if (request.name === 'channelInfo') {
        const { guildId, fields } = request.input;
        return atGuild(session, guildId, parts, here, (owner, reference) =>
          router.askShard(owner, 'remoteSessions.channelInfo', [reference, guildId, fields]),
        );
      }
      const entered = home.get(session);
      if (entered && request.name === 'presence') line.presence(entered, request.input);
      else if (entered) line.act(entered, request);
      return undefined;
    },
  };
}

/** Asks the owner of a guild for something that is delivered to the session. Done at most once. */
async function atGuild(
  session: LiveSession,
  guildId: GuildId,
  { cluster, home }: Parts,
  here: () => Promise<void>,
  there: (ownerShardId: string, reference: SessionReference) => Promise<unknown>,
): Promise<void> {
  const { ownership } = cluster;
  const entered = home.get(session);
  if (!entered) return;
  if (ownership.owns(guildId)) return here();
  const owner = ownership.ownerOf(guildId);
  if (!owner || owner.shardId === ownership.self?.id) throw new NotServed(`Nobody serves ${guildId} now.`);
  const reference = home.reference(entered, home.peer(owner.shardId, owner.instance));
  await there(owner.shardId, reference);
}

/** Those of a user's guilds that a session hears: none while an application acts for the user. */
const heardBy = ({ authorization, shard }: LiveSession, guildIds: readonly GuildId[]): readonly GuildId[] =>
  authorization ? [] : guildsOfShard(guildIds, shard);

/**
 * A session that was open at another home: what it heard there it hears here, from where it was. A guild that cannot be
 * had for long does not hold it up: what it has missed of it comes when the guild is back, or the guild anew.
 */
async function reopen(
  session: LiveSession,
  { presence, cursors }: Reopening,
  { home, followed, line, clock, direct, onFault }: Parts,
): Promise<boolean> {
  const entered = home.enter(session);
  direct?.heard.begin(session, cursors());
  entered.joining = new Set();
  const { guildIds, isWhole } = await line.reopen(entered, presence);
  const joined = new Set<string>([...heardBy(session, guildIds), ...entered.joining]);
  entered.joining = null;
  const following: Promise<Subscribed>[] = [];
  // Its user has left and joined them while it was nowhere; the user's owner may hear of it later than the guild's.
  const leaving = (id: string) => (how: Subscribed) => {
    if (how === 'gone' && (!session.bot || (session.intents & INTENTS.GUILDS) !== 0))
      session.deliver(new DispatchBody('GUILD_DELETE', { id }, clock.monotonic()));
    return how;
  };
  for (const [guildId, n] of cursors().filter(([streamId]) => !isDirect(streamId)))
    if (joined.delete(guildId))
      following.push(followed.follow(entered, guildId, n, true).then(leaving(guildId)));
    else {
      // Nobody is asked for it, who would say that it is not followed: the next home would ask from the cursor.
      session.left?.(guildId);
      leaving(guildId)('gone');
    }
  for (const guildId of joined) following.push(followed.follow(entered, guildId, null));
  const back = await Promise.allSettled(following);
  for (const each of back) if (each.status === 'rejected') onFault(each.reason, session.sessionId);
  return isWhole && !back.some((each) => each.status === 'fulfilled' && each.value === 'tooOld');
}
