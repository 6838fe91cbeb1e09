import type { Seat } from '../../actors/call/ports.ts';
import type { Routing } from '../../actors/cluster/routing.ts';
import type { Clock } from '../../actors/runtime/clock.ts';
import type { Wheel } from '../../actors/runtime/wheel.ts';
import type { LiveSession } from '../../actors/session/backend.ts';
import type { LobbyVoiceRequest } from '../../actors/session/ports.ts';
import { directRecipients } from '../../engine/fanout/audience.ts';
import { DispatchBody, type Subscriber } from '../../engine/fanout/body.ts';
import { type Authority, SYSTEM } from '../../engine/kernel/authority.ts';
import type { ApplicationId, ChannelId, UserId } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import type { LobbyStore } from '../../storage/ports.lobbies.ts';
import type { Writer } from '../../storage/ports.ts';
import type { LobbyOperations } from './ports.ts';

interface AttachmentPorts {
  readonly call: LobbyOperations['call'];
  readonly lobbies: Pick<LobbyStore, 'ofUser'>;
  readonly writer: Pick<Writer, 'flush'>;
  readonly clock: Clock;
  readonly wheel: Wheel;
  readonly routing: Routing;
  /** Takes a session off a lobby that is at hand. */
  readonly detach: DetachSession;
  readonly onFault: (error: unknown, id: string) => void;
}

export type DetachSession = (id: ChannelId, userId: UserId, sessionId: string) => void;

/** First and longest wait before a lobby that fell over is asked for again. */
const RETRY_MS = { first: 500, most: 30_000 };
/** Longer than a command that takes a session into a lobby may be on its way to another shard. */
const IN_FLIGHT_MS = 15_000;

/** An open session and the lobbies that count it as connected, or are about to. */
interface AttachedSession {
  readonly session: LiveSession;
  readonly lobbies: Set<ChannelId>;
  /** Of those, where it has asked to be in voice, and how. */
  voice: ReadonlyMap<ChannelId, VoiceRequest>;
}

type VoiceRequest = Omit<LobbyVoiceRequest, 'lobbyId'>;

/**
 * The open sessions of applications that act for users of this shard, and the lobbies they are in. A lobby is told of a session in
 * the same order in which this is: a session that has ended is never attached after it was detached.
 */
export class Attachments {
  readonly #ports: AttachmentPorts;
  readonly #byId = new Map<string, AttachedSession>();
  /** By application and user. */
  readonly #byUser = new Map<string, Set<AttachedSession>>();
  #over = false;
  /** What lobbies tell the owners of users; and these, lobbies. */
  readonly tell;
  readonly #lobbies;

  constructor(ports: AttachmentPorts) {
    this.#ports = ports;
    this.tell = ports.routing.tells('attachments', {
      joined: (userId: UserId, lobbyId: ChannelId, applicationId: ApplicationId) =>
        this.#joined(lobbyId, applicationId, userId),
      left: (_userId: UserId, lobbyId: ChannelId, sessionIds: readonly string[]): void => {
        for (const sessionId of sessionIds) this.#byId.get(sessionId)?.lobbies.delete(lobbyId);
      },
      lost: (_userId: UserId, lobbyId: ChannelId, sessionIds: readonly string[]) =>
        this.#lost(lobbyId, sessionIds),
      invited: (_userId: UserId, seat: Seat, token: string, endpoint: string | null) =>
        this.#invited(seat, token, endpoint),
    });
    this.#lobbies = ports.routing.tells('attachments', { detach: ports.detach });
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
    const attached: AttachedSession = { session, lobbies: new Set(), voice: new Map() };
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

  ended({ sessionId, userId }: LiveSession): void {
    const attached = this.#byId.get(sessionId);
    if (!attached) return;
    this.#forget(attached);
    const detach = (): void => {
      for (const id of attached.lobbies) this.#lobbies.detach(id, userId as UserId, sessionId);
    };
    detach();
    // What was on its way to a lobby of another shard when the session ended may come after that.
    if (!this.#ports.routing.alone && attached.lobbies.size > 0)
      this.#ports.wheel.after(detach, IN_FLIGHT_MS);
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
   * Users of another shard are entered there, and their sessions go on; lobbies that another shard owns now are told
   * again who is there, without a word to them, and who is in voice: a call goes on where its lobby is.
   */
  moved(moved: (id: string) => boolean): void {
    for (const attached of [...this.#byId.values()]) {
      if (!this.#ports.routing.owns(attached.session.userId)) {
        if (moved(attached.session.userId)) this.#forget(attached);
        continue;
      }
      for (const id of attached.lobbies) if (moved(id)) this.#goOn(id, attached, RETRY_MS.first);
    }
  }

  #goOn(id: ChannelId, attached: AttachedSession, delayMs: number): void {
    if (this.#over) return;
    const again = (error: unknown): void => {
      this.#fault(id)(error);
      this.#ports.wheel.after(() => this.#goOn(id, attached, Math.min(delayMs * 2, RETRY_MS.most)), delayMs);
    };
    this.#attach(id, [attached], false).then(() => {
      const wish = attached.voice.get(id);
      const { session } = attached;
      if (wish && !session.over)
        this.#tell(id, 'setVoice', { ...wish, sessionId: session.sessionId }, authorityOf(session));
    }, again);
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

  /** A user is a member now: sessions that began meanwhile hear of the lobby. */
  #joined(lobbyId: ChannelId, applicationId: ApplicationId, userId: UserId): void {
    const open = [...(this.#byUser.get(keyOf(applicationId, userId)) ?? [])];
    if (open.length > 0) this.#attach(lobbyId, open, true).catch(this.#fault(lobbyId));
  }

  /**
   * The lobby's actor has ended, and its successor knows nobody. It is asked for until it is back, and shows itself
   * anew: its call is over, and what was not durable was never told. Not within the end of the other.
   */
  #lost(lobbyId: ChannelId, sessionIds: readonly string[]): void {
    const back = sessionIds.flatMap((sessionId) => this.#byId.get(sessionId) ?? []);
    for (const attached of back) attached.voice = without(attached.voice, lobbyId);
    queueMicrotask(() => this.#restore(lobbyId, back, RETRY_MS.first));
  }

  #restore(lobbyId: ChannelId, back: readonly AttachedSession[], delayMs: number): void {
    if (this.#over) return;
    for (const attached of back)
      this.#attach(lobbyId, [attached], true).catch((error) => {
        this.#fault(lobbyId)(error);
        const again = (): void => this.#restore(lobbyId, [attached], Math.min(delayMs * 2, RETRY_MS.most));
        this.#ports.wheel.after(again, delayMs);
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
    for (const id of attached.voice.keys())
      if (!byId.has(id)) this.#tell(id, 'leaveVoice', { sessionId }, authority);
    const wishes = [...byId].map(([id, { lobbyId: _, ...wish }]) => [id, wish] as const);
    for (const [id, wish] of wishes) this.#tell(id, 'setVoice', { ...wish, sessionId }, authority);
    attached.voice = new Map(wishes);
  }

  voiceServerPing(session: LiveSession, lobbyId: ChannelId): void {
    const { sessionId } = session;
    if (this.#byId.get(sessionId)?.lobbies.has(lobbyId))
      this.#tell(lobbyId, 'repeatVoice', { sessionId }, authorityOf(session));
  }

  /** Tells the very session that is in voice. Without an endpoint clients wait for another. */
  #invited({ callId, sessionId }: Seat, token: string, endpoint: string | null): void {
    const attached = this.#byId.get(sessionId);
    if (!attached) return;
    const t = 'LOBBY_VOICE_SERVER_UPDATE';
    const body = new DispatchBody(t, { token, lobby_id: callId, endpoint }, this.#ports.clock.monotonic());
    for (const session of directRecipients([attached.session], t)) session.deliver(body);
  }

  async #attach(
    id: ChannelId,
    attached: readonly AttachedSession[],
    announce: boolean,
  ): Promise<object | null> {
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

const without = <Value>(of: ReadonlyMap<ChannelId, Value>, id: ChannelId): ReadonlyMap<ChannelId, Value> =>
  new Map([...of].filter(([other]) => other !== id));

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
