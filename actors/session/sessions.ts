import type { GatewayPresenceUpdateData } from 'discord-api-types/v10';
import { directRecipients, receivesGuilds } from '../../engine/fanout/audience.ts';
import { guildsOfShard, judgeIdentify, judgeScopes } from '../../engine/session/identify.ts';
import { asksForAll, grantedRequest, MemberListRequests } from '../../engine/session/memberlists.ts';
import { type ReadyAuthorization, readyPayload } from '../../engine/session/ready.ts';
import { isSamePrincipal, type SessionClaim } from '../../engine/session/record.ts';
import { sessionIdAt } from '../../engine/session/sessionid.ts';
import { UNLIMITED_STARTS } from '../../engine/session/starts.ts';
import { CAPABILITY } from '../../protocol/capabilities.ts';
import { CLOSE } from '../../protocol/closecodes.ts';
import type { ApplicationId, SessionId, UserId } from '../../protocol/ids.ts';
import { sessionIntents } from '../../protocol/intents.ts';
import { OP } from '../../protocol/opcodes.ts';
import type { MembersRequest, SessionRequest } from '../../protocol/sessionrequests.ts';
import type { Timer } from '../runtime/clock.ts';
import { Semaphore } from '../runtime/semaphore.ts';
import { createSupervisor, type Supervisor } from '../runtime/supervisor.ts';
import type { Opening } from './backend.ts';
import { BearerSessions, staticSessionIdOf } from './bearers.ts';
import type { SessionJournal, TakeResult } from './journal.ports.ts';
import { Migrations } from './migrations.ts';
import type { FrameSink, GatewayPort, Identify, OpenOutcome, Principal, SessionIdentity } from './ports.ts';
import { frameOf } from './record.ts';
import { keepLobbyVoice, mayAsk, requestMemberList } from './requests.ts';
import { GatewaySessionActor, type SessionHost } from './session.shell.ts';
import type { SessionDeps } from './sessions.ports.ts';
import { startsOf } from './starts.ts';
import type { ViewedSession } from './views.ts';

const INVALID: OpenOutcome = { kind: 'invalid' };
const closed = ({ code, reason }: { code: number; reason: string }): OpenOutcome => ({
  kind: 'closed',
  code,
  reason,
});
const ONLINE = {
  since: null,
  activities: [],
  status: 'online',
  afk: false,
} as GatewayPresenceUpdateData;
const INVISIBLE = { ...ONLINE, status: 'invisible' } as GatewayPresenceUpdateData;
/** Data that a session receives after READY when its opening failed. */
const NOTHING = { guildIds: [], lobbies: [] };

const TRIM_MS = 30_000;
/** Upper bound on the replay buffer of one session; a chunk of a thousand members weighs one megabyte. */
const REPLAY_WEIGHT_BYTES_MAX = 16 * 1_048_576;

/**
 * All gateway sessions of this process, by id: starts them, hands them over to the connections that resume them, and
 * forwards their requests to the backend.
 */
export class GatewaySessions implements GatewayPort, SessionHost {
  readonly replay;
  readonly resumeWindowMs: number;
  readonly wheel;
  readonly supervisor: Supervisor;
  readonly journal: SessionJournal | null;
  readonly #deps: SessionDeps;
  readonly #migrations: Migrations | null;
  readonly #sessions = new Map<string, GatewaySessionActor>();
  readonly #bearers = new BearerSessions();
  /** Sessions that receive their first guilds, or whose user is being loaded. */
  readonly #starting = new Set<GatewaySessionActor>();
  readonly #requests = new WeakMap<GatewaySessionActor, Semaphore>();
  readonly #hydrations: Semaphore;
  readonly #starts: ReturnType<typeof startsOf>;
  readonly #memberLists = new MemberListRequests();
  #trimming: Timer | null = null;
  #handles = 0;

  constructor(deps: SessionDeps) {
    const { settings } = deps;
    this.#deps = deps;
    this.replay = {
      framesMax: settings.replayFramesMax,
      ageMs: settings.replayAgeMs,
      weightBytesMax: REPLAY_WEIGHT_BYTES_MAX,
    };
    this.resumeWindowMs = settings.resumeWindowMs;
    this.wheel = deps.wheel;
    this.supervisor = deps.supervisor ?? createSupervisor();
    this.journal = deps.journal ?? null;
    this.#migrations = deps.archive
      ? new Migrations({
          archive: deps.archive,
          backend: deps.backend,
          find: (sessionId) => this.#sessions.get(sessionId),
          make: (identity) => this.#make(identity, null),
          began: (session) => void this.#starting.add(session),
          settled: (session) => this.#settled(session),
          wheel: deps.wheel,
          limiter: deps.migrationLimiter ?? null,
          journal: this.journal,
        })
      : null;
    this.#hydrations = new Semaphore(settings.hydrationsMax);
    this.#starts = startsOf(deps);
  }

  get size(): number {
    return this.#sessions.size;
  }

  /**
   * Number of sessions of one kind: bots, people themselves, or applications that act for people. O(n) in all sessions.
   */
  sizeOf(kind: 'bot' | 'person' | 'application'): number {
    let size = 0;
    for (const { bot, authorization } of this.#sessions.values())
      if (kind === (bot ? 'bot' : authorization ? 'application' : 'person')) size += 1;
    return size;
  }

  nowMs(): number {
    return this.#deps.nowMs();
  }

  nextHandle(): number {
    this.#handles += 1;
    return this.#handles;
  }

  get hydrationsWaiting(): number {
    return this.#hydrations.waiting;
  }

  /** The `session_start_limit` object of `GET /gateway/bot`. */
  async startLimitOf(userId: UserId) {
    return this.#deps.settings.limited ? this.#starts.limitOf(userId) : UNLIMITED_STARTS;
  }

  async identify(identify: Identify, sink: FrameSink): Promise<OpenOutcome> {
    const { admission, backend, settings } = this.#deps;
    if (admission && !(await admission.turn())) return INVALID;
    const principal = await backend.authenticate(identify.token);
    if (!principal) return closed(CLOSE.AUTHENTICATION_FAILED);
    const wrong = judgeIdentify(identify, principal);
    if (wrong) return closed(wrong);
    if (this.#sessions.size >= settings.sessionsMax)
      return closed({ ...CLOSE.RATE_LIMITED, reason: 'The server has no room for another session.' });
    const refused = await this.#refuseStart(principal, identify.shard[0]);
    if (refused) return refused;

    const { shard, largeThreshold } = identify;
    const intents = sessionIntents(identify.intents, identify.capabilities);
    const session = this.#make({ sessionId: this.#newId(), principal, intents, shard, largeThreshold }, sink);
    this.#starting.add(session);
    let toCome: Pick<Opening, 'guildIds' | 'lobbies'> = NOTHING;
    try {
      const opening = await backend.open(session);
      const mine = guildsOfShard(opening.guildIds, session.shard);
      if (session.over) return closed(CLOSE.AUTHENTICATION_FAILED);
      if (principal.bot && mine.length > settings.shardingRequiredGuilds) {
        session.detach(sink, false);
        return closed(CLOSE.SHARDING_REQUIRED);
      }
      const following = this.#greet(session, identify, { ...opening, guildIds: mine });
      toCome = { guildIds: mine, lobbies: following };
      return { kind: 'open', session };
    } catch (error) {
      session.detach(sink, false);
      throw error;
    } finally {
      void this.#hydrate(session, toCome).catch((error) => this.#deps.onFault(error, session.id));
    }
  }

  async resume(
    resume: { readonly token: string; readonly sessionId: string; readonly seq: number },
    sink: FrameSink,
  ): Promise<OpenOutcome> {
    const principal = await this.#deps.backend.authenticate(resume.token);
    if (!principal) return closed(CLOSE.AUTHENTICATION_FAILED);
    const session = this.#migrations
      ? await this.#migrations.migrate({ ...resume, principal })
      : this.#sessions.get(resume.sessionId);
    if (session === 'seqUnknown') return closed(CLOSE.INVALID_SEQ);
    if (!session || !isSamePrincipal(session.principal, principal)) return INVALID;
    const unscoped = principal.authorization && judgeScopes(principal.authorization);
    if (unscoped) return closed(unscoped);
    // No await from here to the attachment: a dispatch in between would be missed.
    const missed = session.feed.missedSince(resume.seq);
    if (missed.kind === 'missed') {
      session.renew(principal);
      this.journal?.opened(session);
      session.attach(sink, resume.seq);
      return { kind: 'open', session };
    }
    session.end(CLOSE.SESSION_TIMED_OUT);
    return missed.kind === 'seqUnknown' ? closed(CLOSE.INVALID_SEQ) : INVALID;
  }

  /**
   * Transfers a session out to another shard that claims it; `busy`: it is still opening. The returned record is
   * complete, and the journal records the session as claimed under this key before this returns.
   */
  transferOut(
    { sessionId, principal, seq }: SessionClaim,
    claimKey: string,
  ): TakeResult | { readonly kind: 'busy' } {
    const session = this.#sessions.get(sessionId);
    if (!session || !isSamePrincipal(session.principal, principal)) return { kind: 'unknown' };
    if (session.feed.greeting || this.#migrations?.has(sessionId)) return { kind: 'busy' };
    const found = session.feed.missedSince(seq);
    if (found.kind !== 'missed') {
      session.end(CLOSE.SESSION_TIMED_OUT);
      return found;
    }
    const nowMs = this.nowMs();
    const record = {
      ...session.record,
      missed: found.bodies.map((body) => frameOf(body, nowMs)),
      cursors: this.journal?.cursors.of(session.handle) ?? [],
    };
    this.journal?.ended(session.handle, claimKey);
    session.transferOut();
    this.journal?.flush();
    return { kind: 'taken', record };
  }

  /**
   * Ends a session that another shard has taken. @param handle Only this incarnation: the session may have moved back
   * since.
   */
  abandon(sessionId: string, handle?: number): void {
    const session = this.#sessions.get(sessionId);
    if (session && (handle === undefined || session.handle === handle)) session.transferOut();
  }

  /** All sessions of this shard, by id. */
  get live(): ReadonlyMap<string, ViewedSession & { readonly seq: number }> {
    return this.#sessions;
  }

  /** Reopens a session with its owners, after another shard briefly held a session of the same id. */
  async reassert(sessionId: string): Promise<void> {
    await this.#migrations?.reopen(sessionId);
  }

  /**
   * Ends the sessions of a user's own tokens, or of one of them, for example after a revocation. Sessions of grants are
   * ended by `closeSessionsOfGrant`.
   */
  closeSessionsOf(
    userId: UserId,
    close: { readonly code: number; readonly reason: string },
    tokenId?: string,
  ): void {
    for (const session of [...this.#sessions.values()]) {
      if (session.userId !== userId || session.authorization) continue;
      if (tokenId === undefined || session.principal.tokenId === tokenId) session.end(close);
    }
  }

  /**
   * Ends the sessions in which the application acts for the user, for example after the grant was revoked. Each
   * receives OAUTH2_TOKEN_REVOKE, which names only the application: the token itself is not known here.
   *
   * @param grantId Sessions of other grants stay.
   */
  closeSessionsOfGrant(
    userId: UserId,
    applicationId: ApplicationId,
    close: { readonly code: number; readonly reason: string },
    grantId?: string,
  ): void {
    for (const session of this.#bearers.of(userId, applicationId, grantId)) {
      session.tell('OAUTH2_TOKEN_REVOKE', { application_id: applicationId });
      session.end(close);
    }
  }

  /** Ends every session, connected or not. With a durable journal they are transferred: they can be resumed elsewhere. */
  close(): void {
    this.#trimming?.cancel();
    this.#trimming = null;
    this.#deps.archive?.close();
    this.journal?.close();
    for (const session of [...this.#sessions.values()])
      if (this.journal?.outlives) session.transferOut(CLOSE.UNKNOWN_ERROR);
      else session.end(CLOSE.UNKNOWN_ERROR);
  }

  /**
   * Sets whether a session's application receives requests to link its user. False when there is no such session, or it
   * belongs to another user or application.
   */
  wantAuthorizeRequests(
    { userId, applicationId }: Pick<Principal, 'userId' | 'applicationId'>,
    sessionId: string,
    wanted: boolean,
  ): boolean {
    if (applicationId === null) return false;
    const session = this.#bearers.of(userId, applicationId).find(({ id }) => id === sessionId);
    if (session) {
      session.forUser = { ...session.forUser, wantsAuthorizeRequests: wanted };
      this.journal?.changed(session);
    }
    return session !== undefined;
  }

  /** Sends a link request to the user's sessions that opted in; returns their number. */
  requestAuthorization(userId: UserId, applicationId: ApplicationId, requestId: string): number {
    const wanting = this.#bearers
      .of(userId, applicationId)
      .filter((session) => session.forUser.wantsAuthorizeRequests);
    const d = { application_id: applicationId, request_id: requestId };
    for (const session of wanting) session.tell('AUTHORIZE_REQUEST', d);
    return wanting.length;
  }

  ask(session: GatewaySessionActor, request: SessionRequest): void {
    if (session.over || !mayAsk(request.name, session, this.#deps.unixMs())) return;
    if (request.name === 'presence') this.#present(session, request.input);
    else if (request.name === 'members') this.#requestMembers(session, request.input);
    else if (request.name === 'memberList')
      for (const input of requestMemberList(session, request.input, this.journal))
        this.#pass(session, { name: 'memberList', input });
    else {
      if (request.name === 'lobbyVoice') keepLobbyVoice(session, request.input, this.journal);
      this.#pass(session, request);
    }
  }

  #pass(session: GatewaySessionActor, request: SessionRequest): void {
    const { backend, onFault } = this.#deps;
    backend.ask(session, request)?.catch((fault) => onFault(fault, session.id));
  }

  conceal(session: GatewaySessionActor): void {
    if (session.presence) this.#pass(session, { name: 'presence', input: INVISIBLE });
  }

  reveal(session: GatewaySessionActor): void {
    if (session.presence) this.#pass(session, { name: 'presence', input: session.presence });
  }

  #requestMembers(session: GatewaySessionActor, request: MembersRequest): void {
    const granted = session.bot ? grantedRequest(request, session.intents) : request;
    if (!granted) return;
    const waitMs =
      asksForAll(granted) && this.#deps.settings.limitsMemberLists(this.#deps.unixMs())
        ? this.#memberLists.take(session.userId, granted.guildId, this.nowMs())
        : 0;
    if (waitMs > 0) {
      session.tell('RATE_LIMITED', {
        opcode: OP.REQUEST_GUILD_MEMBERS,
        retry_after: waitMs / 1000,
        meta: { guild_id: granted.guildId, ...(granted.nonce !== null && { nonce: granted.nonce }) },
      });
      return;
    }
    let turns = this.#requests.get(session);
    if (!turns) {
      turns = new Semaphore(1);
      this.#requests.set(session, turns);
    }
    if (turns.waiting >= this.#deps.settings.memberRequestsMax) return;
    // One request at a time: a list of many chunks takes long, and the session has only one socket.
    turns
      .run(async () => {
        if (!session.over) await this.#deps.backend.ask(session, { name: 'members', input: granted });
      })
      .catch((error) => this.#deps.onFault(error, session.id));
  }

  ended(session: GatewaySessionActor): void {
    this.#sessions.delete(session.id);
    this.#bearers.delete(session);
    this.journal?.ended(session.handle);
    if (!this.#starting.has(session)) this.#farewell(session);
  }

  crashed(session: GatewaySessionActor, error: unknown): void {
    this.#deps.onFault(error, session.id);
  }

  async #refuseStart(principal: Principal, shardId: number): Promise<OpenOutcome | null> {
    if (!this.#deps.settings.limited) return null;
    const { userId, bot, authorization } = principal;
    // Counted by application, so that one application cannot use up the starts of its user or of the user's other
    // applications.
    const starter = authorization ? `${userId}:${authorization.applicationId}` : userId;
    const verdict = await this.#starts.take(userId, starter, bot ? shardId : null);
    if (verdict === 'ok') return null;
    if (verdict === 'tooSoon') return INVALID;
    // The platform revokes the token here. Its close code stops stock clients from reconnecting, which is the purpose.
    return closed({
      ...CLOSE.AUTHENTICATION_FAILED,
      reason: 'The session start limit of the day is used up.',
    });
  }

  #newId(): SessionId {
    const id = Buffer.from(this.#deps.randomBytes(16)).toString('hex');
    return sessionIdAt(this.#deps.worker?.() ?? null, id);
  }

  #make(identity: SessionIdentity, sink: FrameSink | null): GatewaySessionActor {
    const session = new GatewaySessionActor(identity, sink, this);
    this.#sessions.set(session.id, session);
    this.#bearers.add(session);
    if (sink) this.journal?.opened(session);
    this.#trimLater();
    return session;
  }

  #present(session: GatewaySessionActor, presence: GatewayPresenceUpdateData): void {
    session.presence = presence;
    this.journal?.changed(session);
    this.#pass(session, { name: 'presence', input: presence });
  }

  /** Nothing is in progress for the session any more; if it ended in the meantime, the backend is notified now. */
  #settled(session: GatewaySessionActor): void {
    this.#starting.delete(session);
    if (session.over) this.#farewell(session);
  }

  #farewell(session: GatewaySessionActor): void {
    if (session.transferred) this.#deps.backend.transferred(session);
    else this.#deps.backend.ended(session);
  }

  /** Sends READY; returns the lobbies to send after it. */
  #greet(session: GatewaySessionActor, identify: Identify, opening: Opening): Opening['lobbies'] {
    const { version, shard, presence, capabilities } = identify;
    const { authorization } = session;
    const resumeUrl = this.#deps.gatewayUrl();
    const inReady = (capabilities & CAPABILITY.AUTO_LOBBY_CONNECT) !== 0;
    const grant: ReadyAuthorization | null = authorization && {
      scopes: authorization.scopes,
      staticSessionId: staticSessionIdOf(authorization),
      lobbies: inReady ? opening.lobbies : null,
    };
    const sessionId = session.id;
    session.open(readyPayload({ ...opening, authorization: grant, version, shard, resumeUrl, sessionId }));
    // Applications show what their users play only on request, with op 3.
    this.#present(session, (authorization ? null : presence) ?? ONLINE);
    const follow = !inReady && directRecipients([session], 'LOBBY_CREATE').length > 0;
    const following = follow ? opening.lobbies : [];
    if (following.length === 0) session.feed.greeted();
    return following;
  }

  /** Sends lobbies and guilds one after the other, and waits between them while the connection has no room. */
  async #hydrate(
    session: GatewaySessionActor,
    { lobbies, guildIds }: Pick<Opening, 'guildIds' | 'lobbies'>,
  ): Promise<void> {
    for (const lobby of lobbies) {
      await session.writable();
      session.greet('LOBBY_CREATE', lobby);
    }
    if (lobbies.length > 0) session.feed.greeted();
    for (const guildId of guildIds) {
      if (!session.feed.hasRoom) await session.writable();
      if (session.over) break;
      try {
        await this.#hydrations.run(() => this.#deps.backend.subscribe(session, guildId));
      } catch (error) {
        this.#deps.onFault(error, session.id);
        if (receivesGuilds(session)) session.tell('GUILD_DELETE', { id: guildId, unavailable: true });
      }
    }
    this.#settled(session);
  }

  #trimLater(): void {
    this.#trimming ??= this.wheel.add(() => {
      this.#trimming = null;
      const nowMs = this.nowMs();
      for (const session of this.#sessions.values()) session.feed.kept.trim(nowMs);
      if (this.#sessions.size > 0) this.#trimLater();
    }, TRIM_MS);
  }
}
