import { GroupView } from './groupview.ts';
import type { Judge } from './judge.ts';
import { ListView } from './listview.ts';
import type { LobbyTruth } from './lobbytruth.ts';
import { LobbyView } from './lobbyview.ts';
import { Replica } from './replica.ts';
import type { AcknowledgedFact, Truth } from './truth.ts';
import { answerOf, type ReceivedDispatch } from './wire.ts';

interface Message {
  readonly id: string;
  readonly channel_id: string;
  readonly content: string;
}

interface Outcome {
  readonly id: string;
}

interface Ready {
  readonly session_id: string;
  readonly guilds: readonly { readonly id: string }[];
  readonly relationships?: readonly Related[];
}

interface Related {
  readonly id: string;
  readonly type: number;
}

interface Created {
  readonly id: string;
  readonly unavailable?: boolean;
  readonly channels: readonly { readonly id: string; readonly last_message_id?: string | null }[];
}

/**
 * Dispatches that a leaving member causes; a former owner of the guild may send them after GUILD_DELETE. The address of a call reaches who
 * is in it also while the guild is unavailable.
 */
const LEAVING: ReadonlySet<string> = new Set([
  ...[
    'VOICE_SERVER_UPDATE',
    'GUILD_MEMBER_REMOVE',
    'CHANNEL_DELETE',
    'VOICE_STATE_UPDATE',
    'THREAD_MEMBERS_UPDATE',
  ],
]);

/**
 * One session as its client sees it, from READY on, over any number of connections and shards. Judges every dispatch on
 * receipt, and at the end whether anything is missing.
 */
export class Life {
  readonly name: string;
  readonly userId: string;
  sessionId: string | null = null;
  seq = 0;
  /** Null for a guild that is unavailable. */
  readonly guilds = new Map<string, Replica | null>();
  readonly seen = new Set<string>();
  /** By channel: the commit of the last message that the client knows of. */
  readonly #lastAt = new Map<string, number>();
  /** By guild: number of commits when GUILD_CREATE was received. */
  readonly #toldAt = new Map<string, number>();
  /** Number of guilds that were created again; messages in between are not expected. */
  resyncs = 0;
  readonly #judge: Judge;
  readonly #truth: Truth;

  /** Null for the platform client of a user, which receives no lobby events. */
  readonly lobbies: LobbyView | null;
  /** Null for a client of a game. */
  readonly groups: GroupView | null;
  readonly lists = new ListView();

  constructor(name: string, userId: string, truth: Truth, judge: Judge, lobbies: LobbyTruth | null = null) {
    this.name = name;
    this.lobbies = lobbies && new LobbyView(name, userId, lobbies, truth, judge);
    this.groups = lobbies ? null : new GroupView(name, userId, truth, judge);
    this.userId = userId;
    this.#truth = truth;
    this.#judge = judge;
  }

  /** Handles a dispatch. */
  heard({ t, s, d }: ReceivedDispatch): void {
    this.#judge.expect(
      s === this.seq + 1,
      'sequence',
      () => `${this.name} has ${this.seq} and hears ${s} (${t})`,
    );
    this.seq = s;
    this.#judge.note(`${this.name} hears ${t} ${(d as { id?: string }).id ?? ''}, s ${s}`);
    if (t !== null) (this.lobbies ?? this.groups)?.heard(t, d as object);
    if (t !== null) this.lists.heard(t, d as object);
    const act = t === null ? undefined : this.#acts[t];
    if (act) act(d as never);
    // What a lobby shows of the channel linked to it names the guild, which the player need not have.
    else if (!t?.startsWith('LOBBY_')) this.#applied(t ?? '', d as { guild_id?: string });
  }

  /** Messages that the client should have and does not have. */
  missing(): AcknowledgedFact[] {
    const missing: AcknowledgedFact[] = [];
    const now = this.#truth.at;
    for (const messages of this.#truth.byChannel.values())
      for (const told of messages) {
        if (this.seen.has(told.id) || told.at <= this.#sinceOf(told)) continue;
        if (this.#truth.saw(this.userId, told, told.at, now) === 'always') missing.push(told);
      }
    return missing;
  }

  #sinceOf({ ownerId, channelId }: AcknowledgedFact): number {
    if (this.#truth.isPrivate(ownerId)) return this.#readyAt;
    const known = this.#lastAt.get(channelId);
    const toldAt = this.#toldAt.get(ownerId);
    return this.#startAt.get(channelId) ?? toldAt ?? (known === undefined ? Number.POSITIVE_INFINITY : known);
  }

  /** Number of commits when READY was received. */
  #readyAt = Number.POSITIVE_INFINITY;

  /** The relationships of its user, by the other user. */
  readonly relations = new Map<string, number>();

  /** By channel: the commit of the last message before GUILD_CREATE. */
  readonly #startAt = new Map<string, number>();

  readonly #begun = new Set<string>();
  /** Outcomes of interactions. */
  readonly #ends = new Map<string, 'answered' | 'failed'>();

  /** INTERACTION_SUCCESS may repeat: the next owner cannot know whether it was sent. A failure is sent once and alone. */
  #ended(id: string, how: 'answered' | 'failed'): void {
    const before = this.#ends.get(id);
    const isTold = before === undefined || (before === 'answered' && how === 'answered');
    this.#judge.expect(isTold, 'one end', () => `${this.name} hears that ${id} is ${how} and was ${before}`);
    this.#ends.set(id, how);
  }

  /** Interactions that its user began and that have not ended. */
  get unended(): string[] {
    return [...this.#begun].filter((id) => !this.#ends.has(id));
  }

  readonly #acts: Record<string, (d: never) => void> = {
    RELATIONSHIP_ADD: ({ id, type }: Related) => this.relations.set(id, type),
    RELATIONSHIP_UPDATE: ({ id, type }: Related) => this.relations.set(id, type),
    RELATIONSHIP_REMOVE: ({ id }: Related) => this.relations.delete(id),
    READY: ({ session_id, guilds, relationships = [] }: Ready) => {
      this.#readyAt = this.#truth.at;
      for (const { id, type } of relationships) this.relations.set(id, type);
      this.#judge.expect(this.sessionId === null, 'ready', () => `${this.name} is told READY twice`);
      this.sessionId = session_id;
      for (const { id } of guilds) this.guilds.set(id, null);
    },
    GUILD_CREATE: (created: Created) => this.#created(created),
    GUILD_DELETE: ({ id, unavailable }: Created) => {
      if (unavailable) this.guilds.set(id, null);
      else this.guilds.delete(id);
    },
    MESSAGE_CREATE: (message: Message) => this.#message(message),
    // Bots get the interaction itself, with a token.
    INTERACTION_CREATE: ({ id, token }: Outcome & { readonly token?: string }) => {
      if (token === undefined) this.#begun.add(id);
    },
    INTERACTION_SUCCESS: ({ id }: Outcome) => {
      const isAnswered = this.#truth.said.has(answerOf(id));
      this.#judge.expect(isAnswered, 'durable first', () => `${this.name} hears that ${id} was answered`);
      this.#ended(id, 'answered');
    },
    INTERACTION_FAILURE: ({ id }: Outcome) => this.#ended(id, 'failed'),
  };

  #created(created: Created): void {
    const { id } = created;
    this.#judge.expect(!this.guilds.get(id), 'guild twice', () => `${this.name} is told anew of ${id}`);
    if (this.#toldAt.has(id)) this.resyncs += 1;
    this.guilds.set(id, new Replica(this.userId, created));
    this.#toldAt.set(id, this.#truth.at);
    for (const { id: channelId, last_message_id: lastId } of created.channels) {
      const last = lastId ? this.#truth.messages.get(lastId) : undefined;
      this.#startAt.set(channelId, last?.at ?? -1);
      this.#lastAt.set(channelId, last?.at ?? -1);
    }
  }

  #message({ id, channel_id: channelId, content }: Message): void {
    const told = this.#truth.messages.get(id);
    const judge = this.#judge;
    judge.expect(
      told !== undefined,
      'durable first',
      () => `${this.name} hears ${id}, which is not committed`,
    );
    if (!told) return;
    judge.expect(told.content === content, 'content', () => `${this.name} hears ${id} as ${content}`);
    judge.expect(!this.seen.has(id), 'once', () => `${this.name} hears ${content} (${id}) again`);
    this.seen.add(id);
    const last = this.#lastAt.get(channelId) ?? -1;
    judge.expect(told.at > last, 'order', () => `${this.name} hears ${content} of ${told.at} after ${last}`);
    this.#lastAt.set(channelId, told.at);
    const saw = this.#truth.saw(this.userId, told, told.at, told.at);
    judge.expect(saw !== 'never', 'permission', () => `${this.name} hears ${content} of ${channelId} unseen`);
  }

  #applied(t: string, d: { guild_id?: string; id?: string }): void {
    const guildId = t === 'GUILD_UPDATE' ? d.id : d.guild_id;
    if (guildId === undefined) return;
    const replica = this.guilds.get(guildId);
    this.#judge.expect(
      Boolean(replica) || LEAVING.has(t),
      'guild first',
      () => `${this.name} hears ${t} of ${guildId}`,
    );
    replica?.apply(t, d);
  }
}
