import { type Authority, SYSTEM } from '../../engine/authority.ts';
import { directRecipients } from '../../engine/fanout/audience.ts';
import { DispatchBody, type Subscriber } from '../../engine/fanout/body.ts';
import type { ApplicationId, ChannelId, UserId } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import type { LobbyStore } from '../../storage/ports.lobbies.ts';
import type { Writer } from '../../storage/ports.ts';
import type { Seat } from '../call/ports.ts';
import type { Clock } from '../runtime/clock.ts';
import type { TimerWheel } from '../runtime/wheel.ts';
import type { LiveSession } from '../session/backend.ts';
import type { LobbyOperations, LobbyVoiceRequest } from './ports.ts';

export interface AttachmentPorts {
  readonly call: LobbyOperations['call'];
  readonly lobbies: Pick<LobbyStore, 'ofUser'>;
  readonly writer: Pick<Writer, 'flush'>;
  readonly clock: Clock;
  readonly wheel: Pick<TimerWheel, 'add'>;
  readonly onFault: (error: unknown, id: string) => void;
}

/** First and longest wait before a lobby that fell over is asked for again. */
const RETRY_MS = { first: 500, most: 30_000 };

/** An open session and the lobbies that count it as connected, or are about to. */
interface Attached {
  readonly session: LiveSession;
  readonly lobbies: Set<ChannelId>;
  /** Of those, where it has asked to be in voice. */
  voice: ReadonlySet<ChannelId>;
}

/**
 * The open sessions of applications that act for users, and the lobbies they are in. A lobby is told of a session in
 * the same order in which this is: a session that has ended is never attached after it was detached.
 */
export class Attachments {
  readonly #ports: AttachmentPorts;
  readonly #byId = new Map<string, Attached>();
  /** By application and user. */
  readonly #byUser = new Map<string, Set<Attached>>();
  #over = false;

  constructor(ports: AttachmentPorts) {
    this.#ports = ports;
  }

  /** Members of lobbies who have a session open, each once in a lobby. Walks through all sessions. */
  get members(): number {
    let members = 0;
    for (const sessions of this.#byUser.values())
      members += new Set([...sessions].flatMap(({ lobbies }) => [...lobbies])).size;
    return members;
  }

  /** Enters the session first and reads then, so that a lobby joined meanwhile is either read or attaches it itself. */
  async opened(session: LiveSession): Promise<readonly object[]> {
    const { authorization } = session;
    if (!authorization || session.over) return [];
    const { applicationId } = authorization;
    const attached: Attached = { session, lobbies: new Set(), voice: new Set() };
    const key = keyOf(applicationId, session.userId);
    this.#byId.set(session.sessionId, attached);
    this.#byUser.set(key, (this.#byUser.get(key) ?? new Set()).add(attached));
    await this.#ports.writer.flush();
    const ids = await this.#ports.lobbies.ofUser(session.userId as UserId, applicationId);
    const shown = await Promise.all(ids.map((id) => this.#attach(id, [attached], false)));
    // It keeps lobbies alive even when it was not let to hear of them.
    if (!authorization.scopes.has('lobbies.write')) return [];
    return shown.filter((lobby) => lobby !== null);
  }

  ended({ sessionId, userId, authorization }: LiveSession): void {
    const attached = this.#byId.get(sessionId);
    if (!attached || !authorization) return;
    this.#byId.delete(sessionId);
    const key = keyOf(authorization.applicationId, userId);
    const others = this.#byUser.get(key);
    others?.delete(attached);
    if (others?.size === 0) this.#byUser.delete(key);
    for (const id of attached.lobbies)
      this.#tell(id, 'detachSession', { userId: userId as UserId, sessionId }, SYSTEM);
  }

  /**
   * The user's open sessions, which are from now on the lobby's to hear of. To be called in the very turn in which the
   * lobby is told of them.
   */
  entering(lobbyId: ChannelId, applicationId: ApplicationId, userId: UserId): readonly Subscriber[] {
    const open = [...(this.#byUser.get(keyOf(applicationId, userId)) ?? [])];
    for (const { lobbies } of open) lobbies.add(lobbyId);
    return open.map(({ session }) => session);
  }

  listening(applicationId: ApplicationId, userId: UserId): readonly Subscriber[] {
    return [...(this.#byUser.get(keyOf(applicationId, userId)) ?? [])].map(({ session }) => session);
  }

  /** A user is a member now: sessions that began meanwhile hear of the lobby. */
  joined(lobbyId: ChannelId, applicationId: ApplicationId, userId: UserId): void {
    const open = [...(this.#byUser.get(keyOf(applicationId, userId)) ?? [])];
    if (open.length > 0) this.#attach(lobbyId, open, true).catch(this.#fault(lobbyId));
  }

  left(lobbyId: ChannelId, sessions: Iterable<Subscriber>): void {
    for (const { sessionId } of sessions) this.#byId.get(sessionId)?.lobbies.delete(lobbyId);
  }

  /**
   * The lobby's actor has ended, and its successor knows nobody. It is asked for until it is back, and shows itself
   * anew: its call is over, and what was not durable was never told. Not within the end of the other.
   */
  lost(lobbyId: ChannelId, sessions: readonly Subscriber[]): void {
    const back = sessions.flatMap(({ sessionId }) => this.#byId.get(sessionId) ?? []);
    for (const attached of back) attached.voice = without(attached.voice, lobbyId);
    queueMicrotask(() => this.#restore(lobbyId, back, RETRY_MS.first));
  }

  #restore(lobbyId: ChannelId, back: readonly Attached[], delayMs: number): void {
    if (this.#over) return;
    for (const attached of back)
      this.#attach(lobbyId, [attached], true).catch((error) => {
        this.#fault(lobbyId)(error);
        const again = (): void => this.#restore(lobbyId, [attached], Math.min(delayMs * 2, RETRY_MS.most));
        this.#ports.wheel.add(again, delayMs);
      });
  }

  /** Nobody is brought back any more: the server stops. */
  close(): void {
    this.#over = true;
  }

  /** Op 17 names everywhere the session is to be; what it no longer names is left. */
  voiceStates(session: LiveSession, wanted: readonly LobbyVoiceRequest[]): void {
    const attached = this.#byId.get(session.sessionId);
    if (!attached) return;
    const authority = authorityOf(session);
    const here = wanted.filter(({ lobbyId }) => attached.lobbies.has(lobbyId));
    const byId = new Map(here.slice(0, LIMITS.lobbies_per_user_max).map((each) => [each.lobbyId, each]));
    const { sessionId } = session;
    for (const id of attached.voice)
      if (!byId.has(id)) this.#tell(id, 'leaveVoice', { sessionId }, authority);
    for (const [id, { lobbyId: _, ...state }] of byId)
      this.#tell(id, 'setVoice', { ...state, sessionId }, authority);
    attached.voice = new Set(byId.keys());
  }

  voiceServerPing(session: LiveSession, lobbyId: ChannelId): void {
    const { sessionId } = session;
    if (this.#byId.get(sessionId)?.lobbies.has(lobbyId))
      this.#tell(lobbyId, 'repeatVoice', { sessionId }, authorityOf(session));
  }

  /** Tells the very session that is in voice. Without an endpoint clients wait for another. */
  invited({ callId, sessionId }: Seat, token: string, endpoint: string | null): void {
    const attached = this.#byId.get(sessionId);
    if (!attached) return;
    const t = 'LOBBY_VOICE_SERVER_UPDATE';
    const body = new DispatchBody(t, { token, lobby_id: callId, endpoint }, this.#ports.clock.monotonic());
    for (const session of directRecipients([attached.session], t)) session.deliver(body);
  }

  async #attach(id: ChannelId, attached: readonly Attached[], announce: boolean): Promise<object | null> {
    const open = attached.filter(({ session }) => this.#byId.has(session.sessionId));
    const [first] = open;
    if (!first) return null;
    for (const { lobbies } of open) lobbies.add(id);
    const sessions = open.map(({ session }) => session);
    const userId = first.session.userId as UserId;
    const reply = await this.#ports.call(id, 'attachSessions', { userId, sessions, announce }, SYSTEM);
    return reply.ok ? reply.value : null;
  }

  readonly #tell: (...args: Parameters<LobbyOperations['call']>) => void = (id, ...command) => {
    this.#ports.call(id, ...command).catch(this.#fault(id));
  };

  #fault(id: string): (error: unknown) => void {
    return (error) => this.#ports.onFault(error, id);
  }
}

const without = (ids: ReadonlySet<ChannelId>, id: ChannelId): ReadonlySet<ChannelId> =>
  new Set([...ids].filter((other) => other !== id));

const keyOf = (applicationId: string, userId: string): string => `${applicationId}:${userId}`;

const authorityOf = ({ principal }: LiveSession): Authority => ({
  by: {
    userId: principal.userId,
    bot: false,
    applicationId: principal.authorization?.applicationId ?? null,
    applicationFlags: 0,
    reason: null,
  },
  requires: 0n,
});
