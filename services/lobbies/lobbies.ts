import type { LobbyListener } from '../../actors/lobby/lobby.notifications.ts';
import { keyedMutex } from '../../actors/runtime/keyedmutex.ts';
import type { SessionRef } from '../../engine/fanout/direct.ts';
import { type Reply, refused } from '../../engine/kernel/aggregate.ts';
import { type Authority, SYSTEM } from '../../engine/kernel/authority.ts';
import type { LobbyLink } from '../../engine/lobby/lobby.ts';
import { foundingRefusal, type Person } from '../../engine/lobby/members.ts';
import { type LobbyObject, messageObject } from '../../engine/lobby/objects.ts';
import { type ApplicationId, type ChannelId, snowflakeAt, type UserId } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import type { APIUser } from '../../protocol/objects.ts';
import { refusal } from '../../protocol/refusal.ts';
import type { Mergeable } from '../players/ports.ts';
import { createReadCache } from '../readcache.ts';
import { createRepeating, served } from '../repeating.ts';
import { Attachments, type DetachSession } from './attachments.ts';
import {
  applicationOf,
  commandCaller,
  createEmptyLobby,
  createLobbyOwners,
  foundingOf,
  type LobbiesPorts,
  type LobbyContext,
  personReader,
  personsOf,
  type SecretRequest,
} from './context.ts';
import { Deadlines } from './deadlines.ts';
import { extensionOperations } from './extensions.ts';
import { Links } from './links.ts';
import type { Lobbies, LobbyOperations, MemberEntry } from './ports.ts';
import { LobbySecrets } from './secrets.ts';
import { Sweep } from './sweep.ts';

/** Attempts of a join whose lobby ends while it joins. */
const TRIES = 4;
/**
 * So long after their users moved, lobbies ask for sessions that have ended. The users' homes have opened the others again at
 * the next owners by then.
 */
const CHECK_MS = 30_000;
/** How long the webhook settings of an application are cached when the notice of a change is lost, and of how many applications. */
const APPLICATIONS = { freshMs: 5_000, keptMax: 10_000 };

/** Lobbies of an adopted application that are deleted at a time. */
const FORGOTTEN_AT_ONCE = 64;

const UNKNOWN_LOBBY = refusal('UNKNOWN_LOBBY');
const OVERLOADED = refusal('API_OVERLOADED');

export interface LobbyAssembly {
  readonly lobbies: Lobbies;
  /** Called by the actors of lobbies. */
  readonly listener: LobbyListener;
  /** Sends a lobby again to sessions that have missed a part of its state. */
  readonly outdated: Attachments['outdated'];
  /** Number of members with an open session. */
  membersConnected(): number;
}

/** Joins the operations on lobbies with sessions, guilds and deadlines. */
export function assembleLobbies(ports: LobbiesPorts): LobbyAssembly {
  const { registry, storage, clock, wheel, routing, scope, onFault } = ports;
  const call = commandCaller(ports);
  const fault = (error: unknown): void => onFault(error, 'lobbies');
  scope.own(() => registry.close());
  const common = { call, lobbies: storage.lobbies, clock, wheel, routing, scope, onFault };
  const { repeat, wake } = createRepeating({ wheel, scope, onFault });
  const detach = detaching(ports, call);
  const attachments = new Attachments({ ...common, repeat, wake, writer: storage.writer, detach });
  const applications = createReadCache(
    (id: ApplicationId) => storage.applications.get(id),
    () => clock.monotonic(),
    APPLICATIONS,
  );
  const application = (id: ApplicationId) => applications.read([id]);
  const links = new Links({ ...ports, ...common, invites: storage.guilds, application });
  const secrets = new LobbySecrets(storage.lobbies, () => clock.now());
  const sweep = new Sweep({ ...common, onFault: fault });
  const system = (type: 'expire' | 'settle') => (id: ChannelId) => call(id, type, {}, SYSTEM);
  const deadlines = new Deadlines({
    ...{ ...common, expire: system('expire'), settle: system('settle'), onFault: fault },
  });
  void deadlines.start();
  sweep.start();
  routing.onMoved((moved) => {
    ports.fresh.forget(moved);
    deadlines.moved(moved);
    attachments.moved(moved);
    wheel.after(() => checkSessions(ports, moved), CHECK_MS);
  });

  const idle = routing.tell('lobbies.idle', (_id: ChannelId, atMs: number) => deadlines.schedule(atMs));
  const own = {
    attachments,
    links,
    secrets,
    ...{ repeat, wake },
    deadlines,
    application,
    idle,
    person: personReader(storage),
  };
  const owners = createLobbyOwners({ ...ports, ...own, call });
  const context: LobbyContext = { ...ports, ...own, call, owners };
  const lobbies: Lobbies = {
    ...operations(context),
    ...merging(context),
    extensions: extensionOperations(context),
    opened: (session, isBack) => attachments.opened(session, isBack),
    ended: (session) => attachments.ended(session),
    voiceStates: (session, wanted) => attachments.voiceStates(session, wanted),
    voiceServerPing: (session, lobbyId) => attachments.voiceServerPing(session, lobbyId),
    owns: (callId) => registry.peek(callId) !== undefined,
    invited: (voiceMember, token, endpoint) =>
      attachments.tell.invited(voiceMember.userId, voiceMember, token, endpoint),
    drop: ({ callId, userId, sessionId }) => {
      attachments.tell.left(userId, callId, [sessionId], true);
      return call(callId, 'dropVoice', { userId, sessionId }, SYSTEM);
    },
    userChanged: (user) => void changeUser(context, user).catch(fault),
    channelNews: (news) => links.news(news),
    applicationChanged: (id) => applications.forget(id),
  };
  return {
    lobbies,
    listener: listenerOf(context, sweep),
    outdated: attachments.outdated,
    membersConnected: () => attachments.members,
  };
}

async function changeUser({ storage, owners }: LobbyContext, user: APIUser): Promise<void> {
  for (const id of await storage.lobbies.all(user.id)) owners.changeUser(id, user);
}

function checkSessions({ registry }: LobbiesPorts, moved: (id: string) => boolean): void {
  for (const shell of registry.shells()) shell.usersMoved(moved);
}

/** Only resident lobbies know sessions. */
const detaching =
  ({ registry }: LobbiesPorts, call: LobbyOperations['call']): DetachSession =>
  async (id, userId, sessionId) => {
    if (registry.peek(id)) served(await call(id, 'detachSession', { userId, sessionId }, SYSTEM));
    return null;
  };

/** Forwards news of a lobby's actor to the owner shards of its users. */
const listenerOf = (
  { attachments, links, secrets, deadlines, wake }: LobbyContext,
  sweep: Sweep,
): LobbyListener => ({
  memberJoined: (id, applicationId, userId, isRest) =>
    attachments.tell.joined(userId, id, applicationId, isRest),
  left(id, sessions: Iterable<SessionRef>) {
    for (const [userId, sessionIds] of byUser(sessions)) attachments.tell.left(userId, id, sessionIds, false);
  },
  usersMoved(id, sessions: Iterable<SessionRef>) {
    for (const [userId, sessionIds] of byUser(sessions)) attachments.tell.check(userId, id, sessionIds);
  },
  said(id, link, message) {
    sweep.wake();
    if (link) links.said(id, link, message);
  },
  idle: (atMs) => deadlines.schedule(atMs),
  deleted(id, link: LobbyLink | null) {
    secrets.forget(id);
    if (link) links.deleted(id, link);
  },
  lost(id, sessions) {
    for (const [userId, sessionIds] of byUser(sessions)) attachments.tell.lost(userId, id, sessionIds);
  },
  loaded(id, lost) {
    wake(id);
    for (const userId of byUser(lost).keys()) attachments.tell.back(userId, id);
  },
});

function byUser(sessions: Iterable<SessionRef>): ReadonlyMap<UserId, readonly string[]> {
  const found = new Map<UserId, string[]>();
  for (const { userId, sessionId } of sessions) found.set(userId, [...(found.get(userId) ?? []), sessionId]);
  return found;
}

function operations(context: LobbyContext): LobbyOperations {
  const { call, links, storage, clock, application } = context;
  return {
    call,
    create: (input, authority) => create(context, input, authority),
    createOrJoin: joiner(context),
    update: (lobbyId, input, authority) => update(context, lobbyId, input, authority),
    ...membership(context),
    link: (lobbyId, channelId, authority) => links.link(lobbyId, channelId, authority),
    unlinkChannel: (channelId, authority) => links.unlinkChannel(channelId, authority),
    invite: (lobbyId, userId, authority) => links.invite(lobbyId, userId, authority),
    async send(lobbyId, draft, authority) {
      const own = applicationOf(authority);
      if (!own.ok) return own;
      const input = { draft, application: await application(own.value) };
      return call(lobbyId, 'createMessage', input, authority);
    },
    async history(lobbyId, limit, authority) {
      const may = await call(lobbyId, 'authorizeHistory', {}, authority);
      if (!may.ok) return may;
      const sinceId = snowflakeAt(clock.now() - LIMITS.lobby_messages_ms);
      const found = await storage.lobbies.messages(lobbyId, sinceId, limit);
      return { ok: true, value: found.map((message) => messageObject(message)) };
    },
    moderate: (lobbyId, messageId, metadata, authority) =>
      call(lobbyId, 'setModeration', { messageId, metadata }, authority),
  };
}

async function create(
  context: LobbyContext,
  { change, members }: Parameters<LobbyOperations['create']>[0],
  authority: Authority,
): Promise<Reply<LobbyObject>> {
  const own = applicationOf(authority);
  if (!own.ok) return own;
  const persons = await personsOf(context, own.value, idsOf(members));
  if (!persons.ok) return persons;
  const created = await createEmptyLobby(context, {
    ...{ applicationId: own.value, change, metadataKey: 'metadata', byClient: false },
    drafts: members.map(({ draft }) => draft),
  });
  if (!created.ok) return created;
  const id = created.value;
  const entries = members.map(({ userId, draft }) => ({ person: persons.value(id, userId), draft }));
  return context.call(id, 'updateLobby', { change: {}, members: entries }, authority);
}

async function update(
  context: LobbyContext,
  lobbyId: ChannelId,
  { change, members }: Parameters<LobbyOperations['update']>[1],
  authority: Authority,
): Promise<Reply<LobbyObject>> {
  const own = applicationOf(authority);
  if (!own.ok) return own;
  const persons = await personsOf(context, own.value, idsOf(members ?? []));
  if (!persons.ok) return persons;
  const entries =
    members?.map(({ userId, draft }) => ({ person: persons.value(lobbyId, userId), draft })) ?? null;
  const reply = await context.call(lobbyId, 'updateLobby', { change, members: entries }, authority);
  if (reply.ok && change.flags != null && reply.value.linked_channel) await context.links.refresh(lobbyId);
  return reply;
}

/**
 * Joins by secret. Joins of one user run in order, so that the limit of lobbies per user is exact. When the lobby has
 * just ended, the secret is looked up again after that end is durable.
 */
function joiner(context: LobbyContext): LobbyOperations['createOrJoin'] {
  const { secretHash, owners, call } = context;
  const mutex = keyedMutex<string>();
  return async ({ secret, lobby, member }, authority) => {
    const own = applicationOf(authority);
    if (!own.ok) return own;
    const applicationId = own.value;
    const hash = await secretHash(applicationId, secret);
    const { userId } = authority.by;
    return mutex(`${applicationId}:${userId}`, async () => {
      let not: ChannelId | null = null;
      for (let tries = 0; tries < TRIES; tries += 1) {
        const persons = await personsOf(context, applicationId, [userId]);
        if (!persons.ok) return persons;
        const full = persons.full(userId);
        const send = sending(context, { applicationId, userId }, { user: persons.user(userId), full });
        const request: SecretRequest = { applicationId, lobby, member, full, not };
        const found = await send(
          (person) => owners.ofSecret(hash, request, person, authority),
          (answer) => (typeof answer === 'object' && answer?.reply.ok ? answer.lobbyId : null),
        );
        // The owner of the secret says only that it founds no lobby; the same rule says why.
        if (!found) return refused(foundingRefusal(foundingOf(request)) ?? OVERLOADED);
        const { id, reply } =
          typeof found === 'object'
            ? { id: found.lobbyId, reply: found.reply }
            : {
                id: found,
                reply: await send(
                  (person) => call(found, 'joinLobby', { person, lobby, member }, authority),
                  (answer) => (answer.ok ? found : null),
                ),
              };
        if (reply.ok || reply.refusal.code !== UNKNOWN_LOBBY.code) return reply;
        not = id;
        await owners.settled(id);
      }
      return refused(OVERLOADED);
    });
  };
}

/**
 * Sends joins of a user with the user's open sessions, which the lobby serves once the join is durable. `joinedIn` is the lobby of
 * an answer, or null when the user did not join.
 */
const sending =
  (
    { attachments, routing }: LobbyContext,
    { applicationId, userId }: { readonly applicationId: ApplicationId; readonly userId: UserId },
    of: Omit<Person, 'sessions'>,
  ) =>
  async <Answer>(
    send: (person: Person) => Promise<Answer>,
    joinedIn: (answer: Answer) => ChannelId | null,
  ): Promise<Answer> => {
    // Sessions of a user of another shard are attached by their owner when it learns of the new member.
    if (!routing.owns(userId)) return send({ ...of, sessions: [] });
    const { sessions, areAll, end } = attachments.joining(applicationId, userId);
    try {
      const answer = await send({ ...of, sessions, ...(areAll && { allSessions: true }) });
      const lobbyId = joinedIn(answer);
      end(lobbyId ? { kind: 'joined', lobbyId } : { kind: 'refused' });
      return answer;
    } catch (fault) {
      end({ kind: 'unknown' });
      throw fault;
    }
  };

function membership(context: LobbyContext): Pick<LobbyOperations, 'setMember' | 'setMembers'> {
  const { call } = context;
  async function entering<Value>(
    entries: readonly MemberEntry[],
    authority: Authority,
    then: (person: (lobbyId: ChannelId, userId: UserId) => Person) => Promise<Reply<Value>>,
  ): Promise<Reply<Value>> {
    const own = applicationOf(authority);
    if (!own.ok) return own;
    const persons = await personsOf(context, own.value, idsOf(entries));
    return persons.ok ? then(persons.value) : persons;
  }
  return {
    setMember: (lobbyId, entry, authority) =>
      entering([entry], authority, (person) => {
        const input = { person: person(lobbyId, entry.userId), draft: entry.draft };
        return call(lobbyId, 'setMember', input, authority);
      }),
    setMembers: (lobbyId, entries, authority) =>
      entering(entries, authority, (person) => {
        const completed = entries.map(({ userId, draft, remove }) => ({
          person: person(lobbyId, userId),
          draft,
          remove,
        }));
        return call(lobbyId, 'setMembers', { entries: completed }, authority);
      }),
  };
}

function merging(context: LobbyContext): Mergeable {
  const { call, storage } = context;
  async function move(
    lobbyIds: readonly ChannelId[],
    type: 'mergeMember' | 'copyMember',
    from: UserId,
    to: UserId,
  ): Promise<void> {
    for (const id of lobbyIds) {
      const lobby = await call(id, 'getLobby', {}, SYSTEM);
      if (!lobby.ok) continue;
      const persons = await personsOf(context, lobby.value.application_id, [to]);
      if (persons.ok) await call(id, type, { from, to: persons.value(id, to) }, SYSTEM);
    }
  }
  return {
    merge: async (from, to) => move(await storage.lobbies.all(from), 'mergeMember', from, to),
    unmerge: async (from, to, applicationId) =>
      move(await storage.lobbies.ofUser(from, applicationId), 'copyMember', from, to),
    async forgetGame(applicationId) {
      for (let after: ChannelId | null = null; ; ) {
        const page: ChannelId[] = await storage.lobbies.ofApplication(
          applicationId,
          after,
          FORGOTTEN_AT_ONCE,
        );
        await Promise.all(page.map((id) => call(id, 'deleteLobby', {}, SYSTEM)));
        after = page.at(-1) ?? null;
        if (page.length < FORGOTTEN_AT_ONCE) return;
      }
    },
  };
}

const idsOf = (entries: readonly MemberEntry[]): UserId[] => entries.map(({ userId }) => userId);
