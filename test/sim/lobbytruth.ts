import type { Accepted } from './database.ts';
import type { Judge } from './judge.ts';

/** A message of a lobby as it was committed. */
export interface LobbyText {
  readonly id: string;
  readonly lobbyId: string;
  readonly content: string;
  /** Number of its commit. */
  readonly at: number;
}

/** The first commit of a membership, and the commit that ended it; null while it lasts. */
interface Stay {
  readonly from: number;
  to: number | null;
}

interface LobbyHistory {
  readonly stays: Map<string, Stay[]>;
  readonly hosts: Set<string | null>;
  /** The channels that it has been linked to. */
  readonly channels: Set<string>;
  host: string | null;
  gone: boolean;
}

/** The true state of lobbies, from the history of the database. Judges each accepted commit. */
export class LobbyTruth {
  readonly messages = new Map<string, LobbyText>();
  readonly #lobbies = new Map<string, LobbyHistory>();
  readonly #judge: Judge;
  /** Number of commits. */
  at = 0;

  constructor(judge: Judge) {
    this.#judge = judge;
  }

  note(accepted: Accepted): void {
    const { ownerId, at } = accepted;
    this.at = at + 1;
    for (const fact of accepted.facts) {
      if (fact.type === 'lobbyCreated') this.#history(ownerId);
      const lobby = this.#lobbies.get(ownerId);
      if (!lobby || fact.type === 'webhookEventQueued') continue;
      this.#judge.expect(!lobby.gone, 'lobby over', () => `${fact.type} of ${ownerId} after its end`);
      if (fact.type === 'lobbyMemberAdded') this.#enters(ownerId, lobby, fact.member.user.id, at);
      else if (fact.type === 'lobbyMemberRemoved') this.#leaves(ownerId, lobby, fact.member.user.id, at);
      else if (fact.type === 'lobbyMessageCreated') {
        const { id, content, author } = fact.message;
        this.messages.set(id, { id, lobbyId: ownerId, content, at });
        const isMember = this.wasMember(author.id, ownerId, at);
        this.#judge.expect(isMember, 'permission', () => `${author.id} writes ${content} to ${ownerId}`);
      } else if (fact.type === 'lobbyHostChanged') {
        lobby.host = fact.lobby.host_id ?? null;
        lobby.hosts.add(lobby.host);
        const isMember = lobby.host === null || this.wasMember(lobby.host, ownerId, at);
        this.#judge.expect(isMember, 'host', () => `${lobby.host} hosts ${ownerId} and is no member`);
      } else if (fact.type === 'lobbyLinked') lobby.channels.add(fact.link.channel.id);
      else if (fact.type === 'lobbyDeleted') {
        lobby.gone = true;
        for (const stays of lobby.stays.values()) closeLast(stays, at);
      }
    }
  }

  /** Whether the user was a member right after the commit `at`. */
  wasMember(userId: string, lobbyId: string, at: number): boolean {
    return this.#stays(userId, lobbyId).some(({ from, to }) => from <= at && (to === null || to > at));
  }

  wasEverMember(userId: string, lobbyId: string): boolean {
    return this.#stays(userId, lobbyId).length > 0;
  }

  /** Whether the user has been a member without a break from the commit `at` to now. */
  isMemberSince(userId: string, lobbyId: string, at: number): boolean {
    return this.#stays(userId, lobbyId).some(({ from, to }) => from <= at && to === null);
  }

  wasHost(lobbyId: string, hostId: string | null): boolean {
    return this.#lobbies.get(lobbyId)?.hosts.has(hostId) ?? false;
  }

  wasLinked(lobbyId: string, channelId: string): boolean {
    return this.#lobbies.get(lobbyId)?.channels.has(channelId) ?? false;
  }

  exists(lobbyId: string): boolean {
    return this.#lobbies.get(lobbyId)?.gone === false;
  }

  #history(lobbyId: string): void {
    this.#lobbies.set(lobbyId, {
      stays: new Map(),
      hosts: new Set([null]),
      channels: new Set(),
      host: null,
      gone: false,
    });
  }

  #stays(userId: string, lobbyId: string): readonly Stay[] {
    return this.#lobbies.get(lobbyId)?.stays.get(userId) ?? [];
  }

  #enters(lobbyId: string, { stays }: LobbyHistory, userId: string, at: number): void {
    const own = stays.get(userId) ?? [];
    this.#judge.expect(own.at(-1)?.to !== null, 'member once', () => `${userId} joins ${lobbyId} twice`);
    stays.set(userId, [...own, { from: at, to: null }]);
  }

  #leaves(lobbyId: string, { stays }: LobbyHistory, userId: string, at: number): void {
    const own = stays.get(userId) ?? [];
    this.#judge.expect(own.at(-1)?.to === null, 'member once', () => `${userId} leaves ${lobbyId} twice`);
    closeLast(own, at);
  }
}

function closeLast(stays: readonly Stay[], at: number): void {
  const last = stays.at(-1);
  if (last && last.to === null) last.to = at;
}
