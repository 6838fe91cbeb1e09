import type { VoiceMember } from '../../actors/call/ports.ts';
import type { Routing } from '../../actors/placement/routing.ts';
import type { Clock, Lifetime } from '../../actors/runtime/clock.ts';
import { RecentMoves } from '../../actors/runtime/recentmoves.ts';
import type { Wheel } from '../../actors/runtime/wheel.ts';
import type { LiveSession } from '../../actors/session/backend.ts';
import { directRecipients } from '../../engine/fanout/audience.ts';
import { DispatchBody } from '../../engine/fanout/body.ts';
import { refOf, type SessionRef } from '../../engine/fanout/direct.ts';
import { authorityOf, SYSTEM } from '../../engine/kernel/authority.ts';
import { NotServed } from '../../protocol/faults.ts';
import { type ApplicationId, type ChannelId, isChannelId, type UserId } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import type { LobbyVoiceRequest } from '../../protocol/link.sessions.ts';
import type { LobbyStore } from '../../storage/lobby/port.ts';
import type { Writer } from '../../storage/ports.ts';
import { type Repeat, served } from '../repeating.ts';
import type { LobbyOperations } from './ports.ts';
import { VoiceReports, type VoiceRequest } from './voicereports.ts';

interface AttachmentPorts {
  readonly call: LobbyOperations['call'];
  readonly lobbies: Pick<LobbyStore, 'ofUser'>;
  readonly writer: Pick<Writer, 'flush'>;
  readonly clock: Clock;
  readonly wheel: Wheel;
  /** The server is closing when it is over: nothing is reattached any more. */
  readonly scope: Pick<Lifetime, 'over'>;
  readonly routing: Routing;
  /** Detaches a session from a lobby that is resident here. */
  readonly detach: DetachSession;
  /** Repeats calls of lobbies that failed. */
  readonly repeat: Repeat;
  /** Repeats what waits about the lobby at once. */
  readonly wake: (id: string) => void;
  readonly onFault: (error: unknown, id: string) => void;
}

export type DetachSession = (id: ChannelId, userId: UserId, sessionId: string) => Promise<null>;

/** For this long after a user moved here, homes may still reopen sessions of the user. */
const REOPENING_MS = 10_000;

/** An open session and the lobbies that count it as connected or are about to. */
interface AttachedSession {
  readonly session: LiveSession;
  readonly lobbies: Set<ChannelId>;
  /** The session's requested voice state by lobby; null until a session that was open at another owner has reported it. */
  voice: ReadonlyMap<ChannelId, VoiceRequest> | null;
  /** The address of each call that it was sent last; null before the first. */
  addresses: Map<ChannelId, string> | null;
}

/**
 * Whether attached sessions are sent the lobby. `ifMissed`: if they may have missed dispatches of it. `again`: also those that were
 * attached before. `early`: they received it with the join, and receive
 * that their user is connected.
 */
type Announce = 'yes' | 'ifMissed' | 'again' | 'early' | 'no';

/** How a join ended: in a lobby, refused, or with a fault that leaves its outcome unknown. */
type JoinEnd =
  | { readonly kind: 'joined'; readonly lobbyId: ChannelId }
  | { readonly kind: 'refused' | 'unknown' };

/** A join under way. Its lobby is not known yet. */
interface Joining {
  readonly sessions: readonly SessionRef[];
  /** False: the user has moved here a moment ago, and more of the user's sessions may be reopened. */
  readonly areAll: boolean;
  /** Call it once. */
  end(outcome: JoinEnd): void;
}

/**
 * Tracks open sessions of applications that act for users of this shard, and the lobbies they are attached to. Lobbies
 * are notified in the order of events here, so an ended session is never attached after it was detached.
 */
export class Attachments {
  readonly #ports: AttachmentPorts;
  readonly #byId = new Map<string, AttachedSession>();
  /** By application and user id. */
  readonly #byUser = new Map<string, Set<AttachedSession>>();
  /** Reports of lobbies that wait for the end of a join under way, by application and user id: they may be about that join. */
  readonly #joins = new Map<string, (() => void)[]>();
  /** Sessions that have missed a part of the lobby's state, by lobby. */
  readonly #outdated = new Map<ChannelId, Set<string>>();
  readonly #voiceReports: VoiceReports;
  /** Number of changes of ownership. */
  #lateTakeovers = 0;
  /** Sessions of these users may not be open here yet, although they were open at another owner. */
  readonly #reopening: RecentMoves;
  /** Notifications from lobbies to the owners of users; `check` names sessions that may have ended. */
  readonly tell;
  readonly #detachAtOwner: DetachSession;

  constructor(ports: AttachmentPorts) {
    this.#ports = ports;
    this.#reopening = new RecentMoves(ports.clock, REOPENING_MS);
    this.#voiceReports = new VoiceReports({
      ...{ call: ports.call, repeat: ports.repeat },
      wishOf: (lobbyId, sessionId) => {
        const attached = this.#byId.get(sessionId);
        if (!attached || attached.session.over || !attached.lobbies.has(lobbyId)) return null;
        const authority = authorityOf(attached.session.principal);
        return { authority, voice: attached.voice?.get(lobbyId) ?? null };
      },
    });
    const { ask, tell } = ports.routing;
    this.#detachAtOwner = ask('lobbySessions.detach', ports.detach);
    const check = ask(
      'lobbySessions.check',
      async (userId: UserId, lobbyId: ChannelId, sessionIds: readonly string[]) => {
        if (this.#reopening.has(userId))
          throw new NotServed('The sessions of the user are being opened again.');
        for (const sessionId of sessionIds) this.#detach(lobbyId, userId, sessionId);
        return null;
      },
    );
    this.tell = {
      check: (userId: UserId, lobbyId: ChannelId, sessionIds: readonly string[]) =>
        this.#ports.repeat(userId, () => check(userId, lobbyId, sessionIds)),
      joined: tell(
        'lobbySessions.joined',
        (userId: UserId, lobbyId: ChannelId, applicationId: ApplicationId, isRest?: boolean) =>
          this.#joined(lobbyId, applicationId, userId, isRest ?? false),
      ),
      /** The sessions are no longer in the call of the lobby, and unless `isMember`, not in the lobby either. */
      left: tell(
        'lobbySessions.left',
        (_userId: UserId, lobbyId: ChannelId, sessionIds: readonly string[], isMember?: boolean): void => {
          for (const sessionId of sessionIds) {
            const attached = this.#byId.get(sessionId);
            if (attached) leaveVoice(attached, lobbyId);
            if (!isMember) attached?.lobbies.delete(lobbyId);
          }
        },
      ),
      lost: tell('lobbySessions.lost', (_userId: UserId, lobbyId: ChannelId, sessionIds: readonly string[]) =>
        this.#lost(lobbyId, sessionIds),
      ),
      /** The lobby is in memory again: the user's sessions need not wait until they try again. */
      back: tell('lobbySessions.back', (_userId: UserId, lobbyId: ChannelId) => ports.wake(lobbyId)),
      invited: tell(
        'lobbySessions.invited',
        (_userId: UserId, voiceMember: VoiceMember, token: string, endpoint: string | null) =>
          this.#invited(voiceMember, token, endpoint),
      ),
    };
  }

  /**
   * Detaches a session that is not open here. Repeated until the owner of the lobby has answered: it would count the session
   * as connected.
   */
  #detach(id: ChannelId, userId: UserId, sessionId: string): void {
    this.#ports.repeat(id, async () => {
      if (!this.#byId.has(sessionId)) await this.#detachAtOwner(id, userId, sessionId);
    });
  }

  /** Members of lobbies with an open session, counted once per lobby. Cost: all open sessions. */
  get members(): number {
    let members = 0;
    for (const sessions of this.#byUser.values())
      members += new Set([...sessions].flatMap(({ lobbies }) => [...lobbies])).size;
    return members;
  }

  /**
   * Registers the session before reading its lobbies, so that a lobby joined meanwhile is either read or attaches it.
   *
   * @param isBack It was open at another owner of its user, or through another link.
   */
  async opened(session: LiveSession, isBack = false): Promise<readonly object[]> {
    const { authorization } = session;
    if (!authorization || session.over) return [];
    // The user has moved while the session was opened, and only the next owner is notified of its end; or this shard may not
    // decide for a moment. The session is opened again.
    if (!this.#ports.routing.owns(session.userId))
      throw new NotServed('This shard does not own the user of the session.');
    const { applicationId } = authorization;
    // Opened again after its link broke: another object stands for it, in the same lobbies.
    const before = this.#byId.get(session.sessionId);
    if (before) this.#forget(before);
    const { lobbies, voice } = before ?? { lobbies: new Set(), voice: isBack ? null : new Map() };
    const attached: AttachedSession = { session, lobbies, voice, addresses: null };
    const key = keyOf(applicationId, session.userId);
    this.#byId.set(session.sessionId, attached);
    this.#byUser.set(key, (this.#byUser.get(key) ?? new Set()).add(attached));
    await this.#ports.writer.flush();
    const ids = await this.#ports.lobbies.ofUser(session.userId, applicationId);
    const how = isBack ? 'ifMissed' : 'no';
    const shown = await Promise.all(ids.map((id) => this.#attach(id, [attached], how)));
    // A session keeps lobbies alive even if its scopes do not let it see them.
    if (!authorization.scopes.has('lobbies.write')) return [];
    return shown.filter((lobby) => lobby !== null);
  }

  ended({ sessionId, userId }: LiveSession): void {
    const attached = this.#byId.get(sessionId);
    if (!attached) return;
    this.#forget(attached);
    const detach = (): void => {
      for (const id of attached.lobbies) this.#detach(id, userId, sessionId);
    };
    detach();
    // A command in flight to a lobby of another shard may arrive after the first detach.
    const { inFlightMs } = this.#ports.routing;
    if (inFlightMs > 0 && attached.lobbies.size > 0) this.#ports.wheel.after(detach, inFlightMs);
  }

  #forget(attached: AttachedSession): void {
    const { sessionId, userId, authorization } = attached.session;
    this.#byId.delete(sessionId);
    const key = keyOf(authorization?.applicationId ?? '', userId);
    const others = this.#byUser.get(key);
    others?.delete(attached);
    if (others?.size === 0) this.#byUser.delete(key);
  }

  /**
   * After a change of ownership: forgets users of other shards, whose sessions stay, and silently reattaches sessions
   * to lobbies that another shard now owns, including their voice states.
   */
  moved(moved: (id: string) => boolean): void {
    this.#lateTakeovers += 1;
    this.#reopening.add(moved);
    for (const attached of [...this.#byId.values()]) {
      // The session ended while the lease of this shard was not safe, so its lobbies were not notified.
      if (attached.session.over) {
        this.ended(attached.session);
        continue;
      }
      if (!this.#ports.routing.owns(attached.session.userId)) {
        if (moved(attached.session.userId)) this.#forget(attached);
        continue;
      }
      // A session that was opened here after its user moved may have missed what the next owner of a lobby has sent.
      const how = this.#reopening.has(attached.session.userId) ? 'ifMissed' : 'no';
      for (const id of attached.lobbies) if (moved(id)) this.#attachAgain(id, attached, how);
    }
  }

  /** Attaches the session, with its voice state, and retries until the lobby has answered. */
  #attachAgain(id: ChannelId, attached: AttachedSession, announce: Announce): void {
    this.#ports.repeat(id, async () => {
      await this.#attach(id, [attached], announce);
      // The session needs the call's address at the next owner of the lobby.
      if (attached.voice?.has(id)) this.#voiceReports.report(id, attached.session.sessionId);
    });
  }

  /**
   * The user's open sessions, which the lobby serves from now on. Must be called in the same turn as the command to the
   * lobby.
   */
  entering(lobbyId: ChannelId, applicationId: ApplicationId, userId: UserId): readonly SessionRef[] {
    const open = [...(this.#byUser.get(keyOf(applicationId, userId)) ?? [])];
    for (const { lobbies } of open) lobbies.add(lobbyId);
    return open.map(({ session }) => refOf(session));
  }

  /**
   * The user's open sessions, which the lobby of a secret serves from now on. Must be called in the same turn as the command,
   * and for one join of a user at a time.
   */
  joining(applicationId: ApplicationId, userId: UserId): Joining {
    const key = keyOf(applicationId, userId);
    const open = [...(this.#byUser.get(key) ?? [])].map(({ session }) => session);
    const reports: (() => void)[] = [];
    this.#joins.set(key, reports);
    const moves = this.#lateTakeovers;
    return {
      sessions: open.map(refOf),
      areAll: !this.#reopening.has(userId),
      end: (outcome) => {
        this.#joins.delete(key);
        if (outcome.kind === 'joined')
          this.#entered(outcome.lobbyId, userId, open, moves !== this.#lateTakeovers);
        if (outcome.kind === 'unknown') this.#lookUpLater(applicationId, userId, open);
        for (const report of reports) report();
      },
    };
  }

  /** These sessions were named in a join. `hasMoved`: ownership changed meanwhile, so a later owner may not know them. */
  #entered(lobbyId: ChannelId, userId: UserId, open: readonly LiveSession[], hasMoved: boolean): void {
    for (const { sessionId } of open) {
      const attached = this.#byId.get(sessionId);
      attached?.lobbies.add(lobbyId);
      if (attached && hasMoved) this.#attachAgain(lobbyId, attached, 'no');
      // It ended during the join. Sessions of a user who moved are at the user's next owner.
      if (!attached && this.#ports.routing.owns(userId)) this.#detach(lobbyId, userId, sessionId);
    }
  }

  /** A join has an unknown outcome: compares with the stored lobbies of the user when it must have ended. */
  #lookUpLater(applicationId: ApplicationId, userId: UserId, open: readonly LiveSession[]): void {
    const { routing, wheel, lobbies } = this.#ports;
    const lookUp = async (): Promise<void> => {
      if (this.#ports.scope.over || !routing.owns(userId)) return;
      for (const id of await lobbies.ofUser(userId, applicationId)) {
        for (const attached of this.#byUser.get(keyOf(applicationId, userId)) ?? [])
          if (!attached.lobbies.has(id)) this.#attachAgain(id, attached, 'yes');
        for (const { sessionId } of open) if (!this.#byId.has(sessionId)) this.#detach(id, userId, sessionId);
      }
    };
    if (routing.inFlightMs > 0)
      wheel.after(() => void lookUp().catch(this.#fault(userId)), routing.inFlightMs);
  }

  /**
   * A user joined a lobby: attaches sessions that opened meanwhile. In a cluster LOBBY_CREATE is sent to the user, or, if the
   * join named the user's sessions, to those; `isRest` then selects the others.
   */
  #joined(lobbyId: ChannelId, applicationId: ApplicationId, userId: UserId, isRest: boolean): void {
    const key = keyOf(applicationId, userId);
    const waiting = this.#joins.get(key);
    if (waiting) {
      waiting.push(() => this.#joined(lobbyId, applicationId, userId, isRest));
      return;
    }
    const { standalone } = this.#ports.routing;
    for (const attached of this.#byUser.get(key) ?? [])
      if (!isRest || !attached.lobbies.has(lobbyId))
        this.#attachAgain(lobbyId, attached, standalone || isRest ? 'yes' : 'early');
  }

  /**
   * The actor of a lobby ended, and its successor has no sessions. Retries until it is back and sends the lobby again:
   * uncommitted changes were never dispatched. Deferred, because the actor is still ending.
   */
  #lost(lobbyId: ChannelId, sessionIds: readonly string[]): void {
    const back = sessionIds.flatMap((sessionId) => this.#byId.get(sessionId) ?? []);
    queueMicrotask(() => {
      for (const attached of back) this.#attachAgain(lobbyId, attached, 'yes');
    });
  }

  /** Sends the lobby, if it is one, again to these sessions, which have missed a part of its state. */
  readonly outdated = (lobbyId: string, sessions: readonly Pick<LiveSession, 'sessionId'>[]): void => {
    if (!isChannelId(lobbyId)) return;
    const underWay = this.#outdated.get(lobbyId);
    const known = underWay ?? new Set();
    for (const { sessionId } of sessions)
      if (this.#byId.get(sessionId)?.lobbies.has(lobbyId)) known.add(sessionId);
    if (underWay || known.size === 0) return;
    this.#outdated.set(lobbyId, known);
    this.#ports.repeat(lobbyId, () => this.#showAgain(lobbyId, known));
  };

  /**
   * Takes sessions from the set until none is left: one user after another, because each of them is sent the whole lobby.
   * A session that misses more meanwhile is added again.
   */
  async #showAgain(id: ChannelId, sessionIds: Set<string>): Promise<void> {
    // The other states that are outdated in this turn are known then.
    await Promise.resolve();
    for (const sessionId of sessionIds) {
      const attached = this.#byId.get(sessionId);
      const userId = attached?.session.userId;
      const ofUser = [...sessionIds].flatMap((each) => this.#byId.get(each) ?? []);
      const due = ofUser.filter(({ session, lobbies }) => session.userId === userId && lobbies.has(id));
      for (const { session } of due) sessionIds.delete(session.sessionId);
      sessionIds.delete(sessionId);
      try {
        await this.#attach(id, due, 'again');
      } catch (fault) {
        for (const { session } of due) sessionIds.add(session.sessionId);
        throw fault;
      }
    }
    this.#outdated.delete(id);
  }

  /** Op 17 lists every lobby in which the session is in voice; others are left. */
  voiceStates(session: LiveSession, wanted: readonly LobbyVoiceRequest[]): void {
    const attached = this.#byId.get(session.sessionId);
    if (!attached) return;
    const here = wanted.filter(({ lobbyId }) => attached.lobbies.has(lobbyId));
    const byId = new Map(here.slice(0, LIMITS.lobbies_per_user_max).map((each) => [each.lobbyId, each]));
    const left = [...(attached.voice?.keys() ?? attached.lobbies)].filter((id) => !byId.has(id));
    attached.voice = new Map([...byId].map(([id, { lobbyId: _, ...wish }]) => [id, wish] as const));
    for (const id of [...left, ...byId.keys()]) this.#voiceReports.report(id, session.sessionId);
    for (const id of attached.addresses?.keys() ?? []) if (!byId.has(id)) attached.addresses?.delete(id);
    // One session of a user is in a call, the last one that asked.
    for (const other of this.#byUser.get(keyOf(session.authorization?.applicationId ?? '', session.userId)) ??
      [])
      if (other !== attached) for (const id of byId.keys()) leaveVoice(other, id);
  }

  voiceServerPing(session: LiveSession, lobbyId: ChannelId): void {
    const { sessionId } = session;
    const attached = this.#byId.get(sessionId);
    attached?.addresses?.delete(lobbyId);
    if (attached?.lobbies.has(lobbyId))
      this.#command(lobbyId, 'repeatVoice', { sessionId }, authorityOf(session.principal));
  }

  /**
   * Dispatches to the session in voice. Clients wait for another update while the endpoint is null. A lobby that has moved sends
   * it for each report of the session, and clients would connect again for each.
   */
  #invited({ callId, sessionId }: VoiceMember, token: string, endpoint: string | null): void {
    const attached = this.#byId.get(sessionId);
    const address = `${token} ${endpoint}`;
    if (!attached || attached.addresses?.get(callId) === address) return;
    attached.addresses = (attached.addresses ?? new Map()).set(callId, address);
    const t = 'LOBBY_VOICE_SERVER_UPDATE';
    const body = new DispatchBody(t, { token, lobby_id: callId, endpoint }, this.#ports.clock.monotonic());
    for (const session of directRecipients([attached.session], t)) session.deliver(body);
  }

  /** Null when the user is no member, or there is no such lobby. @throws NotServed when the lobby has no room for another command. */
  async #attach(
    id: ChannelId,
    attached: readonly AttachedSession[],
    announce: Announce,
  ): Promise<object | null> {
    const open = attached.filter(({ session }) => this.#byId.has(session.sessionId));
    const [first] = open;
    if (!first) return null;
    for (const { lobbies } of open) lobbies.add(id);
    const sessions = open.map(({ session }) => refOf(session));
    const userId = first.session.userId;
    const input = {
      ...{ userId, sessions, announce: announce === 'yes' || announce === 'again' },
      ...{ areBack: announce === 'ifMissed', again: announce === 'again', areEarly: announce === 'early' },
    };
    const reply = served(await this.#ports.call(id, 'attachSessions', input, SYSTEM));
    return reply.ok ? reply.value : null;
  }

  readonly #command: (...args: Parameters<LobbyOperations['call']>) => void = (id, ...command) => {
    this.#ports.call(id, ...command).catch(this.#fault(id));
  };

  #fault(id: string): (error: unknown) => void {
    return (error) => this.#ports.onFault(error, id);
  }
}

function leaveVoice(attached: AttachedSession, lobbyId: ChannelId): void {
  if (attached.voice?.has(lobbyId))
    attached.voice = new Map([...attached.voice].filter(([id]) => id !== lobbyId));
  attached.addresses?.delete(lobbyId);
}

const keyOf = (applicationId: string, userId: string): string => `${applicationId}:${userId}`;
