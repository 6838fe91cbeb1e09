import { AutoModeration } from '../../engine/automod/state.ts';
import { RecentMessages } from '../../engine/channel/recent.ts';
import { expressionsOf, NO_EXPRESSIONS } from '../../engine/guild/expressions.ts';
import type { GuildFact } from '../../engine/guild/facts.ts';
import type { Guild, GuildChannel, Member } from '../../engine/guild/guild.ts';
import { guildRules } from '../../engine/guild/rules.ts';
import { isActive } from '../../engine/guild/threads.state.ts';
import type { Interaction, InteractionFacts } from '../../engine/interaction/interaction.ts';
import type { LobbyFacts } from '../../engine/lobby/facts.ts';
import type { Lobby, LobbyMember, LobbyMessage, LobbyVoiceState } from '../../engine/lobby/lobby.ts';
import type { Holdings } from '../../engine/oauth/holdings.ts';
import type { CallFacts, PrivateCall } from '../../engine/privatechannel/calls.ts';
import type { Move } from '../../engine/provisional/facts.ts';
import type { Identity } from '../../engine/provisional/identity.ts';
import type { SocialFacts, StoredRelation } from '../../engine/social/facts.ts';
import type { Application, PrivateChannel, StoredToken } from '../../engine/user/facts.ts';
import type { MessageId, UserId } from '../../protocol/ids.ts';
import { isRecord } from '../../protocol/json.ts';
import type { APIUser } from '../../protocol/objects.ts';
import type { CommandRecord, DeliveryPosition } from '../../storage/cluster/port.ts';
import { type Fence, StorageFault } from '../../storage/database/driver.ts';
import type { GuildSnapshot } from '../../storage/guild/port.ts';
import type { Commit, StoredFact } from '../../storage/ports.ts';
import { accountRows } from './accountrows.ts';
import { planted } from './planting.ts';

/** One commit as the database accepted it. */
export interface Accepted {
  /** Ascending over all commits. */
  readonly at: number;
  readonly atMs: number;
  readonly shard: string;
  readonly ownerId: string;
  readonly fence: Fence | null;
  /** The partition's epoch at that moment. */
  readonly epoch: number;
  readonly facts: readonly StoredFact[];
  readonly commandKey: string | null;
  /** Positions of its direct notifications. */
  readonly numbers: readonly number[];
}

interface PrivateRows {
  channel: PrivateChannel;
  call: PrivateCall | null;
  readonly messages: Guild['messages'];
}

/** A lobby with all its members and messages. */
export interface LobbyRows {
  lobby: Lobby;
  readonly members: Map<UserId, LobbyMember>;
  readonly messages: Map<MessageId, LobbyMessage>;
  readonly voiceStates: Map<UserId, LobbyVoiceState>;
}

type LobbyFactOf<K extends keyof LobbyFacts> = LobbyFacts[K];

type Row = Pick<Commit, 'ownerId' | 'facts' | 'fence' | 'record'>;
type Rows = Record<string, (ownerId: string, fact: never) => void>;

/** A copy as the wire would make one: no object is shared between processes. */
export function copied<T>(value: T): T {
  return value === undefined ? value : (JSON.parse(JSON.stringify(value, withEntries), withMaps) as T);
}

const MAP = '$map';
const withEntries = (_key: string, value: unknown): unknown =>
  value instanceof Map ? { [MAP]: [...value] } : value;
const withMaps = (_key: string, value: unknown): unknown =>
  isRecord(value) && Array.isArray(value[MAP]) ? new Map(value[MAP] as [unknown, unknown][]) : value;

export const relationKey = (userId: string, peerId: string, applicationId: string | null): string =>
  `${userId} ${peerId} ${applicationId}`;

/** The database refused a commit's epoch. */
export class Stale extends Error {
  readonly fence: Fence;

  constructor(fence: Fence, current: number) {
    super(`partition ${fence.partition} has epoch ${current}, not ${fence.epoch}`);
    this.fence = fence;
  }
}

/**
 * The content of the one database, and the history of its commits. A commit is accepted or rejected at one moment; the
 * caller receives the outcome later or never. Guilds are kept by the engine's own `apply`, with all members and messages.
 */
export class Database {
  /** Share of the messages to it and from it that take long. */
  readonly lateShare: number;
  readonly guilds = new Map<string, Guild>();
  readonly users = new Map<string, APIUser>();
  readonly tokens = new Map<string, StoredToken[]>();
  readonly applications = new Map<string, Application>();
  readonly memberships = new Map<string, Set<string>>();
  readonly privateChannels = new Map<string, PrivateRows>();
  readonly interactions = new Map<string, Interaction>();
  readonly relations = new Map<string, StoredRelation>();
  readonly lobbies = new Map<string, LobbyRows>();
  readonly secrets = new Map<string, LobbyFacts['lobbySecretKept']>();
  /** Identities of players, by `identityKey`. */
  readonly identities = new Map<string, Identity>();
  /** Moves of accounts under way. */
  readonly moves = new Map<string, Move>();
  /** Grants of games by user. */
  readonly holdings = new Map<string, Holdings>();
  readonly channelGuilds = new Map<string, string>();
  readonly settings = new Map<string, string>();
  readonly epochs = new Map<number, number>();
  readonly records = new Map<string, CommandRecord[]>();
  /** Positions of direct notifications to users. */
  readonly told: DeliveryPosition[] = [];
  readonly snapshots = new Map<string, { readonly atMs: number; readonly data: object }>();
  readonly history: Accepted[] = [];
  /** The number of the last transaction of each writer. */
  readonly #numbers = new Map<string, number>();
  /** Number of commits rejected because their epoch was over. */
  refused = 0;
  /** Called with each accepted commit. */
  onAccepted: (accepted: Accepted) => void = () => undefined;

  constructor(lateShare: number) {
    this.lateShare = lateShare;
  }

  /** @throws Stale when the partition has a new owner, and StorageFault when a unique key is violated. */
  commit({ ownerId, facts, fence, record }: Row, shard: string, atMs: number): void {
    if (fence) this.check(fence);
    for (const fact of facts) if (fact.type === 'lobbySecretKept') this.#checkSecret(fact);
    for (const fact of facts) this.#write(ownerId, fact);
    if (record) this.#record(ownerId, record);
    const epoch = fence ? (this.epochs.get(fence.partition) ?? 0) : 0;
    const accepted = {
      ...{ at: this.history.length, atMs, shard, ownerId, fence: fence ?? null, epoch, facts },
      commandKey: record?.commandKey ?? null,
      numbers: record?.dispatches.map(({ n }) => n) ?? [],
    };
    this.history.push(accepted);
    this.onAccepted(accepted);
  }

  /** @throws as `guildhall_number` does. */
  takeNumber(writer: string, number: number): void {
    if (number <= (this.#numbers.get(writer) ?? 0))
      throw Object.assign(new Error('The number is taken.'), { severity: 'ERROR', code: 'GH002' });
    this.#numbers.set(writer, number);
  }

  check(fence: Fence): void {
    const current = this.epochs.get(fence.partition) ?? 0;
    if (current === fence.epoch || planted.name === 'no-fence') return;
    this.refused += 1;
    throw new Stale(fence, current);
  }

  #checkSecret({ applicationId, hash, nowMs }: LobbyFacts['lobbySecretKept']): void {
    const known = this.secrets.get(`${applicationId} ${hash}`);
    if (known && known.expiresMs > nowMs) throw new StorageFault('A secret names one lobby.');
  }

  takeOver(partitions: readonly number[]): Map<number, number> {
    const taken = new Map(partitions.map((each) => [each, (this.epochs.get(each) ?? 0) + 1]));
    for (const [partition, epoch] of taken) this.epochs.set(partition, epoch);
    return taken;
  }

  snapshotOf(guildId: string): GuildSnapshot | null {
    const guild = this.guilds.get(guildId);
    if (!guild) return null;
    const {
      info,
      roles,
      channels,
      stageInstances,
      scheduledEvents,
      autoModeration,
      pages,
      expressions,
      memberCount,
    } = guild;
    return {
      threads: [...guild.threads.values()].filter(isActive).map(({ thread, members }) => ({
        thread,
        members: [...members.values()],
      })),
      ...{ info, memberCount, roles: [...roles.values()], channels: [...channels.values()] },
      stageInstances: [...stageInstances.values()],
      voiceStates: [...guild.voiceStates.values()].map(({ member: _, ...state }) => state),
      liveVoice: [...guild.liveVoice],
      scheduledEvents: [...scheduledEvents.byId.values()].map((event) => ({
        event,
        users: scheduledEvents.counts.get(event.id) ?? 0,
      })),
      autoModerationRules: autoModeration.rules,
      pages,
      expressions: {
        emojis: [...expressions.emojis.values()],
        stickers: [...expressions.stickers.values()],
        sounds: [...expressions.sounds.values()],
      },
    };
  }

  /** Members with their accounts as they are now. */
  membersOf(guildId: string): Member[] {
    const guild = this.guilds.get(guildId);
    return [...(guild?.members.values() ?? [])].flatMap((member) =>
      member ? [{ ...member, user: this.users.get(member.user.id) ?? member.user }] : [],
    );
  }

  messagesOf(ownerId: string): Guild['messages'] {
    return (
      this.guilds.get(ownerId)?.messages ??
      this.privateChannels.get(ownerId)?.messages ??
      new Map<never, null>()
    );
  }

  #record(commitOwnerId: string, record: CommandRecord): void {
    const { streamOwnerId: ownerId = commitOwnerId } = record;
    const records = this.records.get(ownerId);
    if (records) records.push(record);
    else this.records.set(ownerId, [record]);
    const userIds = record.dispatches.flatMap(({ filter, to }) =>
      filter && to.kind === 'users' ? to.userIds : [],
    );
    for (const userId of new Set(userIds))
      this.told.push({ userId, ownerId, n: record.n, atMs: record.atMs });
  }

  #write(ownerId: string, fact: StoredFact): void {
    const own = this.#rows[fact.type];
    if (own) own(ownerId, fact as never);
    const guild = this.guilds.get(ownerId);
    if (guild && fact.type in guildRules.facts) guildRules.apply(guild, fact as GuildFact);
    else if (!own) this.#inPrivate(ownerId, fact);
  }

  #inPrivate(ownerId: string, fact: StoredFact): void {
    const rows = this.privateChannels.get(ownerId);
    if (!rows) throw new Error(`The database of the simulation does not know ${fact.type} of ${ownerId}.`);
    const window = { messages: rows.messages, nonces: new Map(), pins: new Map() };
    if (fact.type === 'firstWritten') {
      const { channel } = rows;
      rows.channel = { ...channel, writtenBy: [...(channel.writtenBy ?? []), fact.userId] };
      return;
    }
    if (fact.type === 'groupUpdated' || fact.type === 'recipientAdded' || fact.type === 'recipientRemoved') {
      rows.channel = { ...rows.channel, recipientIds: fact.recipientIds, group: fact.group };
      return;
    }
    if (fact.type === 'messageUpdated') {
      rows.messages.set(fact.message.id, fact.message);
      return;
    }
    if (fact.type !== 'messageCreated') throw new Error(`${fact.type} of private channels is not simulated.`);
    window.messages.set(fact.message.id, fact.message);
    rows.channel = { ...rows.channel, last_message_id: fact.message.id };
  }

  #member(userId: string, guildId: string, isMember: boolean): void {
    const guilds = this.memberships.get(userId) ?? new Set();
    if (isMember) guilds.add(guildId);
    else guilds.delete(guildId);
    this.memberships.set(userId, guilds);
  }

  #call(channelId: string, call: PrivateCall | null): void {
    const rows = this.privateChannels.get(channelId);
    if (rows) rows.call = call;
  }

  #channels(channels: readonly GuildChannel[], guildId: string): void {
    for (const channel of channels) this.channelGuilds.set(channel.id, guildId);
  }

  readonly #rows: Rows = {
    userCreated: (_, { user }: { user: APIUser }) => this.users.set(user.id, user),
    userUpdated: (_, { user }: { user: APIUser }) => this.users.set(user.id, user),
    tokenIssued: (_, { token }: { token: StoredToken }) =>
      this.tokens.set(token.userId, [...(this.tokens.get(token.userId) ?? []), token]),
    tokenRevoked: (userId, { tokenId }: { tokenId: string }) =>
      this.tokens.set(
        userId,
        (this.tokens.get(userId) ?? []).filter(({ id }) => id !== tokenId),
      ),
    userSeen: () => undefined,
    applicationCreated: (_, { application }: { application: Application }) =>
      this.applications.set(application.id, application),
    guildCreated: (guildId, { channels, owner }: Extract<GuildFact, { type: 'guildCreated' }>) => {
      this.guilds.set(guildId, emptyGuild(guildId));
      this.#member(owner.user.id, guildId, true);
      this.#channels(channels, guildId);
    },
    guildDeleted: (guildId, { memberIds }: Extract<GuildFact, { type: 'guildDeleted' }>) => {
      this.guilds.delete(guildId);
      for (const userId of memberIds) this.#member(userId, guildId, false);
    },
    channelCreated: (guildId, { channel }: { channel: GuildChannel }) => this.#channels([channel], guildId),
    memberAdded: (guildId, { member }: { member: Member }) => this.#member(member.user.id, guildId, true),
    memberRemoved: (guildId, { user }: { user: APIUser }) => this.#member(user.id, guildId, false),
    interactionWritten: (_, { interaction }: { interaction: Interaction }) =>
      this.interactions.set(interaction.id, interaction),
    interactionChanged: (_, { id, change }: InteractionFacts['interactionChanged']) => {
      const known = this.interactions.get(id);
      if (known) this.interactions.set(id, { ...known, ...change });
    },
    privateChannelOpened: (_, { channel }: { channel: PrivateChannel }) => {
      if (this.privateChannels.has(channel.id)) throw new StorageFault('The channel is stored already.');
      const pair = channel.recipientIds.join();
      const isThere = ({ channel: other }: PrivateRows) => !other.group && other.recipientIds.join() === pair;
      if (!channel.group && [...this.privateChannels.values()].some(isThere))
        throw new StorageFault('Two users have one channel.');
      this.privateChannels.set(channel.id, { channel, call: null, messages: new Map() });
    },
    callStarted: (id, { call }: CallFacts['callStarted']) => this.#call(id, call),
    callStateChanged: (id, { call }: CallFacts['callStateChanged']) => this.#call(id, call),
    ringingChanged: (id, { call }: CallFacts['ringingChanged']) => this.#call(id, call),
    callStreamLost: (id, { call }: CallFacts['callStreamLost']) => this.#call(id, call),
    callEnded: (id) => this.#call(id, null),
    lobbyCreated: (id, { lobby }: LobbyFactOf<'lobbyCreated'>) =>
      this.lobbies.set(id, { lobby, members: new Map(), messages: new Map(), voiceStates: new Map() }),
    lobbySecretKept: (_, secret: LobbyFactOf<'lobbySecretKept'>) =>
      this.secrets.set(`${secret.applicationId} ${secret.hash}`, secret),
    lobbyDeleted: (id) => {
      this.lobbies.delete(id);
      for (const [key, { lobbyId }] of this.secrets) if (lobbyId === id) this.secrets.delete(key);
    },
    lobbyMemberAdded: (id, { member }: LobbyFactOf<'lobbyMemberAdded'>) =>
      this.lobbies.get(id)?.members.set(member.user.id, member),
    lobbyMemberUpdated: (id, { member }: LobbyFactOf<'lobbyMemberUpdated'>) =>
      this.lobbies.get(id)?.members.set(member.user.id, member),
    lobbyMemberRemoved: (id, { member }: LobbyFactOf<'lobbyMemberRemoved'>) =>
      this.lobbies.get(id)?.members.delete(member.user.id),
    lobbyMessageCreated: (id, { message }: LobbyFactOf<'lobbyMessageCreated'>) =>
      this.lobbies.get(id)?.messages.set(message.id, message),
    lobbyVoiceChanged: (id, { userId, voiceState }: LobbyFactOf<'lobbyVoiceChanged'>) => {
      const voiceStates = this.lobbies.get(id)?.voiceStates;
      if (voiceState.channel_id === null) voiceStates?.delete(userId);
      else voiceStates?.set(userId, voiceState);
    },
    ...lobbyChanges((id, lobby) => {
      const rows = this.lobbies.get(id);
      if (rows) rows.lobby = lobby;
    }),
    ...accountRows(this),
    relationChanged: (_, { userId, peerId, applicationId, relation }: SocialFacts['relationChanged']) => {
      const key = relationKey(userId, peerId, applicationId);
      if (relation) this.relations.set(key, { ...relation, userId, peerId, applicationId });
      else this.relations.delete(key);
    },
  } as Rows;
}

/** The facts that write a lobby without its members. */
function lobbyChanges(write: (id: string, lobby: Lobby) => void): Rows {
  const row = (id: string, { lobby }: { readonly lobby: Lobby }) => write(id, lobby);
  const nothing = () => undefined;
  return {
    ...{ lobbyUpdated: row, lobbySettled: row, lobbyHostChanged: row, lobbyLinked: row, lobbyUnlinked: row },
    ...{ lobbyListed: nothing, lobbyUnlisted: nothing, lobbyChannelMessage: nothing, lobbyMatched: nothing },
  };
}

function emptyGuild(id: string): Guild {
  return {
    ...{ id: id as Guild['id'], info: { id } as Guild['info'], memberCount: 0 },
    ...{ roles: new Map(), channels: new Map(), members: new Map(), messages: new Map() },
    recent: new RecentMessages(),
    threads: new Map(),
    ...{
      bans: new Map(),
      joinRequests: new Map(),
      onboardingAnswers: new Map(),
      formerMembers: new Map(),
      invites: new Map(),
      webhooks: null,
      copies: new Map(),
      users: new Map(),
      presences: new Map(),
    },
    ...{
      voiceStates: new Map(),
      liveVoice: new Map(),
      stageInstances: new Map(),
      autoModeration: new AutoModeration(),
    },
    scheduledEvents: { byId: new Map(), counts: new Map(), rsvps: new Map() },
    expressions: expressionsOf(NO_EXPRESSIONS),
    ...{
      sessionCounts: new Map(),
      presenceNumbers: new Map(),
      visibilityVersion: 0,
      pins: new Map(),
      reacted: new Map(),
      pages: {},
      gone: false,
      nonces: new Map(),
      lastArchiveUs: 0,
      slowmode: new Map(),
    },
  };
}
