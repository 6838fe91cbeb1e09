import type { Judge } from './judge.ts';
import type { LobbyText, LobbyTruth } from './lobbytruth.ts';
import type { Truth } from './truth.ts';

interface ShownMember {
  readonly user: { readonly id: string };
  readonly metadata: object | null;
  readonly connected: boolean;
}

interface ShownLobby {
  readonly id: string;
  readonly metadata: object | null;
  readonly members: readonly ShownMember[];
  readonly host_id?: string | null;
}

interface ShownMessage {
  readonly id: string;
  readonly lobby_id: string;
  readonly content: string;
}

interface AboutMember {
  readonly lobby_id: string;
  readonly member: ShownMember;
}

/** Without the user where the user did not change. */
interface ChangedMember {
  readonly lobby_id: string;
  readonly member: Omit<ShownMember, 'user'> & {
    readonly id?: string;
    readonly user?: { readonly id: string };
  };
}

/** Half of the players have a client with the capability LOBBY_CHANGES. */
export const takesLobbyChanges = (userId: string): boolean => BigInt(userId) % 2n === 0n;

/** A lobby as a client knows it. */
interface LobbyReplica {
  readonly members: Map<string, Pick<ShownMember, 'metadata' | 'connected'>>;
  metadata: object | null;
  hostId: string | null;
  /**
   * LOBBY_CREATE was received again: a new session replays the dispatches of the last second, which do not say who is
   * connected.
   */
  isToldAgain: boolean;
}

/** The lobbies of one session of a game, as its client knows them. Judges every dispatch on receipt. */
export class LobbyView {
  readonly replicas = new Map<string, LobbyReplica>();
  readonly #name: string;
  readonly #userId: string;
  readonly #truth: LobbyTruth;
  /** The messages of channels, which lobbies linked to them show. */
  readonly #channels: Truth;
  readonly #judge: Judge;
  readonly #shown = new Set<string>();
  readonly #seen = new Set<string>();
  /** By lobby: number of commits when LOBBY_CREATE was received. */
  readonly #toldAt = new Map<string, number>();
  readonly #lastAt = new Map<string, number>();

  constructor(name: string, userId: string, truth: LobbyTruth, channels: Truth, judge: Judge) {
    this.#name = name;
    this.#userId = userId;
    this.#truth = truth;
    this.#channels = channels;
    this.#judge = judge;
  }

  heard(t: string, d: object): void {
    this.#acts[t]?.(d as never);
  }

  /** Whether a lobby has shown the client a message with this content that was written in the channel linked to it. */
  isShown(content: string): boolean {
    return this.#shown.has(content);
  }

  /** Messages that the client should have and does not have. */
  missing(): LobbyText[] {
    return [...this.#truth.messages.values()].filter(({ id, lobbyId, at }) => {
      const toldAt = this.#toldAt.get(lobbyId);
      if (toldAt === undefined || at < toldAt || this.#seen.has(id)) return false;
      return this.#truth.isMemberSince(this.#userId, lobbyId, at);
    });
  }

  readonly #acts: Record<string, (d: never) => void> = {
    LOBBY_CREATE: (lobby: ShownLobby) => {
      const isMember = this.#truth.wasEverMember(this.#userId, lobby.id);
      this.#judge.expect(isMember, 'permission', () => `${this.#name} is shown ${lobby.id}`);
      const isToldAgain = this.replicas.has(lobby.id);
      this.replicas.set(lobby.id, { ...replicaOf(lobby), isToldAgain });
      if (!this.#toldAt.has(lobby.id)) this.#toldAt.set(lobby.id, this.#truth.at);
    },
    LOBBY_UPDATE: (lobby: ShownLobby) => {
      this.#expectChanges(false, 'LOBBY_UPDATE');
      if (this.#known(lobby.id, 'LOBBY_UPDATE')) this.replicas.set(lobby.id, replicaOf(lobby));
    },
    GUILDHALL_LOBBY_UPDATE: ({ id, metadata, host_id = null }: Omit<ShownLobby, 'members'>) => {
      this.#expectChanges(true, 'GUILDHALL_LOBBY_UPDATE');
      const replica = this.#known(id, 'GUILDHALL_LOBBY_UPDATE');
      if (replica) Object.assign(replica, { metadata, hostId: host_id });
    },
    LOBBY_DELETE: ({ id }: ShownLobby) => {
      this.replicas.delete(id);
      this.#toldAt.delete(id);
    },
    LOBBY_MEMBER_ADD: (about: AboutMember) => this.#member(about, 'LOBBY_MEMBER_ADD'),
    LOBBY_MEMBER_UPDATE: (about: AboutMember) => {
      this.#expectChanges(false, 'LOBBY_MEMBER_UPDATE');
      this.#member(about, 'LOBBY_MEMBER_UPDATE');
    },
    GUILDHALL_LOBBY_MEMBER_UPDATE: ({ lobby_id, member }: ChangedMember) => {
      this.#expectChanges(true, 'GUILDHALL_LOBBY_MEMBER_UPDATE');
      const user = member.user ?? { id: member.id ?? '' };
      this.#member({ lobby_id, member: { ...member, user } }, 'GUILDHALL_LOBBY_MEMBER_UPDATE');
    },
    LOBBY_MEMBER_REMOVE: ({ lobby_id, member }: AboutMember) =>
      this.#known(lobby_id, 'LOBBY_MEMBER_REMOVE')?.members.delete(member.user.id),
    LOBBY_MESSAGE_CREATE: (message: ShownMessage) => this.#message(message),
    GUILDHALL_MATCHMAKING_UPDATE: ({ lobby_id }: { lobby_id: string | null }) => {
      const wasMember = lobby_id === null || this.#truth.wasEverMember(this.#userId, lobby_id);
      this.#judge.expect(wasMember, 'durable first', () => `${this.#name} is matched into ${lobby_id}`);
    },
    GUILDHALL_LOBBY_HOST: ({ lobby_id, host_id }: { lobby_id: string; host_id: string | null }) => {
      const wasHost = this.#truth.wasHost(lobby_id, host_id);
      this.#judge.expect(wasHost, 'durable first', () => `${this.#name} hears that ${host_id} hosts`);
      const replica = this.#known(lobby_id, 'GUILDHALL_LOBBY_HOST');
      if (replica) replica.hostId = host_id;
    },
  };

  /**
   * Only members receive events of a lobby. A member may receive events before LOBBY_CREATE, when a new session begins, and after
   * LOBBY_DELETE: ephemeral events are held back while missed dispatches are looked up.
   */
  #known(lobbyId: string, t: string): LobbyReplica | undefined {
    const replica = this.replicas.get(lobbyId);
    const may = replica !== undefined || this.#truth.wasEverMember(this.#userId, lobbyId);
    this.#judge.expect(may, 'lobby first', () => `${this.#name} hears ${t} of ${lobbyId}`);
    return replica;
  }

  #expectChanges(areTaken: boolean, t: string): void {
    const takes = takesLobbyChanges(this.#userId);
    this.#judge.expect(takes === areTaken, 'capability', () => `${this.#name} receives ${t}`);
  }

  #member({ lobby_id: lobbyId, member: { user, metadata, connected } }: AboutMember, t: string): void {
    const wasMember = this.#truth.wasEverMember(user.id, lobbyId);
    this.#judge.expect(
      wasMember,
      'durable first',
      () => `${this.#name} hears that ${user.id} is in ${lobbyId}`,
    );
    this.#known(lobbyId, t)?.members.set(user.id, { metadata, connected });
  }

  #message(message: ShownMessage): void {
    const { id, content } = message;
    if (this.#channels.messages.has(id)) {
      this.#ofChannel(message);
      return;
    }
    const told = this.#truth.messages.get(id);
    const expect = (holds: boolean, rule: string, what: string): void =>
      this.#judge.expect(holds, rule, () => `${this.#name} hears ${content} (${id}) ${what}`);
    expect(told !== undefined, 'durable first', 'which is not committed');
    if (!told) return;
    const { lobbyId, at } = told;
    expect(told.content === content, 'content', `which says ${told.content}`);
    expect(!this.#seen.has(id), 'once', 'again');
    this.#seen.add(id);
    const last = this.#lastAt.get(lobbyId) ?? -1;
    expect(at > last, 'order', `of ${at} after ${last}`);
    this.#lastAt.set(lobbyId, at);
    expect(this.#truth.wasMember(this.#userId, lobbyId, at), 'permission', 'as no member');
  }

  /** A message of the linked channel is shown to who is in the lobby at that moment. */
  #ofChannel({ id, lobby_id: lobbyId, content }: ShownMessage): void {
    const told = this.#channels.messages.get(id);
    const expect = (holds: boolean, rule: string, what: string): void =>
      this.#judge.expect(holds, rule, () => `${this.#name} is shown ${content} (${id}) ${what}`);
    expect(told?.content === content, 'content', `which says ${told?.content}`);
    expect(told?.isCopy === false, 'copied once', 'which is of the lobby itself');
    expect(!this.#seen.has(id), 'once', 'again');
    this.#seen.add(id);
    this.#shown.add(content);
    expect(this.#truth.wasEverMember(this.#userId, lobbyId), 'permission', `by ${lobbyId} as no member`);
    expect(
      this.#truth.wasLinked(lobbyId, told?.channelId ?? ''),
      'linked',
      `by ${lobbyId}, which was not linked`,
    );
  }
}

const replicaOf = ({ members, metadata, host_id = null }: ShownLobby): LobbyReplica => ({
  members: new Map(members.map(({ user, metadata, connected }) => [user.id, { metadata, connected }])),
  metadata,
  hostId: host_id,
  isToldAgain: false,
});
