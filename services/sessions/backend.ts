import type { GatewayPresenceUpdateData } from 'discord-api-types/v10';
import type { DirectDelivery } from '../../actors/cluster/delivery/direct.ts';
import type { PublishPresence } from '../../actors/cluster/delivery/presences.ts';
import type { OwnerBackend } from '../../actors/cluster/delivery/sessions.ts';
import type { UserBackend } from '../../actors/cluster/delivery/userchannel.ts';
import type { Guilds } from '../../actors/guild/guilds.ts';
import type { Routing } from '../../actors/placement/routing.ts';
import type { Clock, Lifetime } from '../../actors/runtime/clock.ts';
import type { Wheel } from '../../actors/runtime/wheel.ts';
import type { LiveSession, Opening, RequestHandlers } from '../../actors/session/backend.ts';
import type { Notifier } from '../../actors/user/notifier.ts';
import type { Users } from '../../actors/user/users.ts';
import { directRecipients } from '../../engine/fanout/audience.ts';
import { DispatchBody } from '../../engine/fanout/body.ts';
import { channelInfo as channelInfoOf } from '../../engine/guild/voicechannels.ts';
import { userAuthority } from '../../engine/kernel/authority.ts';
import type { Presence } from '../../engine/presence/merge.ts';
import { guildsOfShard } from '../../engine/session/identify.ts';
import type { GuildId, UserId } from '../../protocol/ids.ts';
import { INTENTS } from '../../protocol/intents.ts';
import type { APIUser } from '../../protocol/objects.ts';
import type { Scopes } from '../../protocol/scopes.ts';
import type { Storage } from '../../storage/ports.ts';
import { deliverMembers } from '../guilds/memberlist.ts';
import { TemporaryMemberships } from '../guilds/temporary.ts';
import type { Identity } from '../identity/identity.ts';
import type { Lobbies } from '../lobbies/ports.ts';
import type { OAuth } from '../oauth/ports.ts';
import type { Provisional } from '../players/ports.ts';
import type { Social } from '../social/ports.ts';
import type { VoicePlaces } from '../voice/places.ts';
import { CredentialCheck } from './credentials.ts';
import { openingOf } from './ready.ts';

interface SessionFeatures {
  readonly oauth: Pick<OAuth, 'endRevoked'>;
  readonly social: Social;
  readonly lobbies: Lobbies;
  readonly provisional: Provisional;
}

interface BackendPorts {
  readonly identity: Pick<Identity, 'authenticate' | 'endRevoked'>;
  readonly guilds: Guilds;
  readonly users: Users;
  readonly storage: Pick<Storage, 'guilds' | 'privateChannels' | 'users' | 'applications'>;
  readonly clock: Clock;
  readonly wheel: Wheel;
  readonly routing: Pick<Routing, 'owns' | 'onMoved'>;
  readonly scope: Pick<Lifetime, 'over' | 'own'>;
  readonly resumeWindowMs: number;
  readonly places: VoicePlaces;
  readonly publishPresence: PublishPresence;
  readonly notifier: Pick<Notifier, 'sessionOpened'>;
  /** Go Live; requests are ignored when calls are disabled. */
  readonly stream: RequestHandlers['stream'];
  /**
   * Subscribes a session to a guild, or retries later when the guild is unavailable. False when its user is not a
   * member.
   */
  readonly subscribe: (session: LiveSession, guildId: GuildId) => Promise<boolean>;
  /** Friends, lobbies and players; available once the engine is assembled. */
  readonly features: () => SessionFeatures;
  /** The session's own user with the fields that its scopes allow. */
  readonly ownUser: (user: APIUser, scopes: Scopes | null) => Promise<APIUser>;
  readonly direct: Pick<DirectDelivery, 'userDelivery'> | null;
  /**
   * True once the engine is closing: sessions that end then have not left, so their memberships and voice states stay.
   */
  readonly isClosing: () => boolean;
  /** Notes that a person is here, or was until now. */
  readonly seen: (userId: UserId) => void;
  /** Reports faults of work that no caller awaits. */
  readonly onFault: (error: unknown, id: string) => void;
}

/**
 * Sends the presence of a session's user to guilds and friends. Null means offline; undefined, that the session was not
 * open.
 */
const appearing =
  ({ features, publishPresence }: BackendPorts) =>
  (session: LiveSession, guildIds: readonly GuildId[], presence: Presence | null | undefined): void => {
    if (presence === undefined) return;
    publishPresence(session.userId, guildIds, presence);
    if (!session.bot) features().social.presented(session.userId, presence);
  };

/**
 * When several sessions of a user reopen, others receive one presence merged from all of them instead of that of the
 * first.
 */
const BATCH_MS = 1000;

type Appear = ReturnType<typeof appearing>;
type Note = ReturnType<typeof noting>;

/** Stores the presence of a session. The user's is merged when it is sent: a bot may have thousands of sessions. */
const noting =
  ({ users, clock, features }: BackendPorts) =>
  (session: LiveSession, presence: GatewayPresenceUpdateData): boolean =>
    users.present(session, {
      sessionId: session.sessionId,
      status: presence.status,
      platform: session.bot ? 'web' : session.authorization ? 'embedded' : 'desktop',
      activities: features().social.visibleActivities(session, presence.activities),
      changedMs: clock.monotonic(),
    });

/** Sends a user's presence after a delay, merged from all sessions that reopened meanwhile. */
function batchingPresences({ users, wheel }: BackendPorts, appear: Appear): (session: LiveSession) => void {
  const gathered = new Set<string>();
  return (session) => {
    const { userId } = session;
    if (gathered.has(userId)) return;
    gathered.add(userId);
    wheel.after(() => {
      gathered.delete(userId);
      if (users.sessions(userId).length > 0)
        appear(session, users.guildIds(userId), users.presenceOf(userId));
    }, BATCH_MS);
  };
}

/** Handlers of client requests, routed to the owner of the session's user or of the named guild. */
function handling(ports: BackendPorts, appear: Appear, note: Note): RequestHandlers {
  const { guilds, users, storage, clock, places, features } = ports;
  return {
    presence(session, presence) {
      const { userId } = session;
      if (note(session, presence)) appear(session, users.guildIds(userId), users.presenceOf(userId));
    },
    members: (session, request) => deliverMembers(session, request, { guilds, store: storage.guilds, clock }),
    memberList: (session, request) => guilds.showMembers(session, request),
    voiceState: (session, request) => places.ask(session, request),
    soundboard: (session, guildIds) => soundboard(session, guildIds, ports),
    channelInfo: (session, { guildId, fields }) => channelInfo(session, guildId, fields, ports),
    lobbyVoice: (session, wanted) => features().lobbies.voiceStates(session, wanted),
    lobbyVoiceServer: (session, lobbyId) => features().lobbies.voiceServerPing(session, lobbyId),
    stream: ports.stream,
  };
}

/** Ends everything that was set up for a session; a session that continues at another shard has not ended. */
const ending = (ports: BackendPorts, appear: Appear) => {
  const { guilds, users, places, features } = ports;
  const temporary = new TemporaryMemberships(ports);
  return (session: LiveSession): void => {
    if (users.hasAnother(session)) return;
    const guildIds = users.guildIds(session.userId);
    const presence = users.close(session);
    if (!session.bot) ports.seen(session.userId);
    for (const guildId of guildIds) guilds.unsubscribe(guildId, session);
    places.ended(session, guildIds);
    if (session.authorization) features().lobbies.ended(session);
    features().social.ended(session);
    appear(session, guildIds, presence);
    if (session.bot || ports.isClosing() || users.sessions(session.userId).length > 0) return;
    temporary.ended(session.userId);
  };
};

/** Reopens a session that was open at another shard: it first receives what its user has missed. */
function reopening(ports: BackendPorts, appear: Appear, note: Note): UserBackend['reopenAtOwner'] {
  const { users, direct, notifier, features, places } = ports;
  const appearGathered = batchingPresences(ports, appear);
  const credentials = new CredentialCheck(ports);
  return async (session, presence, cursors) => {
    const enter = () => users.open(session);
    const { entered: opened, isWhole } = direct
      ? await direct.userDelivery.rejoin(session, cursors, enter)
      : { entered: await enter(), isWhole: true };
    if (!opened) throw new Error("The session's user does not exist.");
    places.reopened(session);
    credentials.reopened(session);
    if (!session.bot) ports.seen(session.userId);
    notifier.sessionOpened(session);
    if (session.authorization?.scopes.has('lobbies.write')) await features().lobbies.opened(session, true);
    if (presence) note(session, presence);
    appearGathered(session);
    return { guildIds: session.authorization ? [] : opened.guildIds, isWhole };
  };
}

/** Operations of sessions on the rest of the engine, over the actors and stores. */
export function createBackend(ports: BackendPorts): OwnerBackend {
  const { users, storage, clock, places } = ports;
  const appear = appearing(ports);
  const note = noting(ports);
  const handlers = handling(ports, appear, note);
  const reopenAtOwner = reopening(ports, appear, note);
  const backend: OwnerBackend = {
    authenticate: (token) => ports.identity.authenticate(token),

    async open(session): Promise<Opening> {
      const opened = await users.open(session);
      if (!opened) throw new Error("The token's user does not exist.");
      if (!session.bot) ports.seen(session.userId);
      ports.direct?.userDelivery.sessionOpened(session.userId);
      // After a lost answer it is opened again at the next owner, where dispatches of the first opening may wait.
      ports.notifier.sessionOpened(session);
      const [user, opening] = await Promise.all([
        ports.ownUser(opened.user, session.authorization?.scopes ?? null),
        openingOf(session, { ...ports.features(), storage }),
      ]);
      if (directRecipients([session], 'CALL_CREATE').length > 0)
        places.greet(session, opening.privateChannels);
      // Applications that act for users receive no dispatches of guilds.
      return { ...opening, user, guildIds: session.authorization ? [] : opened.guildIds };
    },

    async subscribe(session, guildId) {
      if (await ports.subscribe(session, guildId)) return;
      // READY named a guild that its user has left meanwhile; without GUILD_DELETE the guild would stay unavailable
      // forever.
      if (session.bot && (session.intents & INTENTS.GUILDS) === 0) return;
      session.deliver(new DispatchBody('GUILD_DELETE', { id: guildId }, clock.monotonic()));
    },

    reopenAtOwner,

    async reopen(session, { presence, cursors }) {
      const reopened = await reopenAtOwner(session, presence, cursors());
      const guildIds = guildsOfShard(reopened.guildIds, session.shard);
      await Promise.all(guildIds.map((guildId) => ports.subscribe(session, guildId)));
      return true;
    },

    transferred: () => undefined,

    ended: ending(ports, appear),

    ask(session, { name, input }) {
      // A shard of another version may name an unknown request.
      if (!Object.hasOwn(handlers, name)) return undefined;
      const handle = handlers[name] as (session: LiveSession, input: unknown) => Promise<void> | void;
      return handle(session, input);
    },
  };
  return backend;
}

/** Guilds' own sounds; the default sounds come from another operation. Guilds that do not answer are left out. */
async function soundboard(
  session: LiveSession,
  guildIds: readonly GuildId[],
  { guilds, users, clock }: BackendPorts,
): Promise<void> {
  const mine = new Set(users.guildIds(session.userId));
  for (const guildId of guildIds) {
    if (!mine.has(guildId)) continue;
    const sounds = await guilds.call(guildId, 'listSounds', {}, userAuthority(session.userId));
    if (!sounds.ok) continue;
    const d = { guild_id: guildId, soundboard_sounds: sounds.value };
    session.deliver(new DispatchBody('SOUNDBOARD_SOUNDS', d, clock.monotonic()));
  }
}

/** Ignored for users who are not in the guild, and for unknown guilds. */
async function channelInfo(
  session: LiveSession,
  guildId: GuildId,
  fields: readonly string[],
  { guilds, clock }: BackendPorts,
): Promise<void> {
  const userId = session.userId;
  const d = await guilds.look(
    guildId,
    (guild) => (guild.members.get(userId) ? channelInfoOf(guild, userId, fields, clock.now()) : null),
    () => ({ members: [userId] }),
  );
  if (d && !('refusal' in d)) session.deliver(new DispatchBody('CHANNEL_INFO', d, clock.monotonic()));
}
