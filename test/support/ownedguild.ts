import { guildMachine } from '../../actors/guild/guild.machine.ts';
import { GuildShell, type KeptSessions } from '../../actors/guild/guild.shell.ts';
import type { Subscribing } from '../../actors/guild/guild.subscription.ts';
import type { Subscribed } from '../../actors/placement/ports.ts';
import type { AggregateOwnership } from '../../actors/runtime/aggregateownership.ts';
import { KeptStates } from '../../actors/runtime/keptstates.ts';
import { LoadQueue } from '../../actors/runtime/loadqueue.ts';
import { Registry } from '../../actors/runtime/registry.ts';
import type { StreamBounds } from '../../actors/runtime/stream.ts';
import { createSupervisor } from '../../actors/runtime/supervisor.ts';
import { VirtualClock } from '../../actors/runtime/virtual.ts';
import { TimerWheel } from '../../actors/runtime/wheel.ts';
import type { VoiceMember } from '../../engine/call/voicemember.ts';
import { applyMessage } from '../../engine/channel/messages.ts';
import { applyReaction, knownReaction } from '../../engine/channel/reactions.ts';
import type { MessagePage } from '../../engine/channel/recent.ts';
import { applyVote, knownVote } from '../../engine/channel/votes.ts';
import type { DispatchBody, Recipient } from '../../engine/fanout/body.ts';
import { NO_EXPRESSIONS } from '../../engine/guild/expressions.ts';
import type { GuildFact } from '../../engine/guild/facts.ts';
import type {
  Guild,
  GuildChannel,
  GuildInfo,
  LiveVoiceChannel,
  Member,
  StoredMessage,
} from '../../engine/guild/guild.ts';
import type { GuildCommands } from '../../engine/guild/rules.ts';
import type { Reply } from '../../engine/kernel/aggregate.ts';
import type { Authority } from '../../engine/kernel/authority.ts';
import { NotServed } from '../../protocol/faults.ts';
import { type ChannelId, compareIds, type MessageId, type UserId } from '../../protocol/ids.ts';
import type { GatewayVoiceState } from '../../protocol/objects.ts';
import { P } from '../../protocol/permissions.ts';
import type { CommandRecord } from '../../storage/cluster/port.ts';
import type { Fence } from '../../storage/database/driver.ts';
import type { Commit, Writer } from '../../storage/ports.ts';
import { channel, GUILD_ID, id, member, OWNER_ID, overwrite, RecordingSession, role } from './guild.ts';
import { messageEnv } from './messages.ts';

/** After which a guild that nobody uses leaves memory. */
export const IDLE_MS = 1e8;

/** Everyone sees it. */
export const SQUARE = '30';
/** Only those with the role see it. */
export const CELLAR = '31';
export const LOUNGE = '32';
const ROLE = '40';
export const [ANN, BOB] = ['10', '11'];

/** Whether the user sees the channel: the cellar is Ann's alone, because she has the role. */
export const sees = (userId: string, channelId: string): boolean => channelId !== CELLAR || userId === ANN;

/** Lets everything run that needs no further answer of the database. */
export const settleAll = async (): Promise<void> => {
  for (let turn = 0; turn < 3; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve));
};

/** The database, as far as one guild needs it: facts of messages, what is recorded, and the epoch that may write. */
class Rows {
  epoch = 0;
  readonly messages = new Map<string, StoredMessage>();
  readonly reacted = new Map<string, boolean>();
  readonly voice = new Map<string, GatewayVoiceState>();
  readonly live = new Map<ChannelId, LiveVoiceChannel>();
  readonly records: CommandRecord[] = [];
  snapshot: { readonly atMs: number; readonly data: string } | null = null;
  readonly members = new Map<string, Member>([
    [OWNER_ID, member(OWNER_ID)],
    [ANN, member(ANN, { roles: [ROLE] })],
    [BOB, member(BOB)],
  ]);

  /** As the database takes it: through JSON. */
  write({ facts, record }: Commit): void {
    for (const fact of facts)
      if (fact.type === 'messageCreated') this.messages.set(fact.message.id, fact.message);
      else if (fact.type === 'memberAdded') this.members.set(fact.member.user.id, fact.member);
      else if (fact.type === 'memberRemoved') this.members.delete(fact.user.id);
      else if (fact.type === 'voiceStateChanged' || fact.type === 'streamLost') this.#place(fact.voiceState);
      else if (fact.type === 'voiceStartChanged')
        this.live.set(fact.channelId, { status: null, startedMs: fact.startedMs });
      else this.#amend(fact as GuildFact);
    if (record) this.records.push(JSON.parse(JSON.stringify(record)));
  }

  #place({ member: _, ...state }: GatewayVoiceState): void {
    if (state.channel_id === null) this.voice.delete(state.user_id);
    else this.voice.set(state.user_id, state);
  }

  /** Pins, reactions and deletions, as tables would have them. */
  #amend(fact: GuildFact): void {
    const messages = this.messages as Guild['messages'];
    if (fact.type === 'reactionAdded' || fact.type === 'reactionRemoved' || fact.type === 'reactionsCleared')
      applyReaction({ messages, reacted: this.reacted }, fact);
    else if (fact.type === 'pollVoted' || fact.type === 'pollUnvoted')
      applyVote({ messages, reacted: this.reacted }, fact);
    else if (
      fact.type === 'messagePinned' ||
      fact.type === 'messageUnpinned' ||
      fact.type === 'messageDeleted'
    )
      applyMessage({ messages, nonces: new Map(), pins: new Map() }, fact);
  }

  pinTimes(channelId: string): Map<MessageId, number> {
    const all = [...this.messages.values()].filter((each) => each?.channel_id === channelId && each.pinned);
    return new Map(all.map(({ id: messageId, pinned_ms }) => [messageId, pinned_ms ?? 0]));
  }

  newest(channelId: string, { limit }: MessagePage): StoredMessage[] {
    const all = [...this.messages.values()].filter((each) => each.channel_id === channelId);
    return all.sort((one, other) => compareIds(other.id, one.id)).slice(0, limit);
  }

  /** How often it was asked when a user last wrote. */
  lastReads = 0;

  lastOfUserMs(channelId: string, userId: UserId): number | null {
    this.lastReads += 1;
    const last = [...this.messages.values()].findLast(
      (each) => each.channel_id === channelId && each.author.id === userId,
    );
    return last ? Date.parse(last.timestamp) : null;
  }

  votesOf(userId: UserId, messageIds: readonly MessageId[]): Map<MessageId, Set<number>> {
    const votesFor = (messageId: MessageId) =>
      (this.messages.get(messageId)?.poll?.results?.answer_counts ?? [])
        .map(({ id: answerId }) => answerId)
        .filter((answerId) => knownVote(this, { messageId, answerId, userId }));
    return new Map(messageIds.map((messageId) => [messageId, new Set(votesFor(messageId))]));
  }

  reactionsOf(userId: UserId, messageIds: readonly MessageId[]): Map<MessageId, Set<string>> {
    const keysOf = (messageId: MessageId) =>
      (this.messages.get(messageId)?.reactions ?? [])
        .map(({ key }) => key)
        .filter((key) =>
          knownReaction({ messages: new Map(), reacted: this.reacted }, { messageId, key, userId }),
        );
    return new Map(messageIds.map((messageId) => [messageId, new Set(keysOf(messageId))]));
  }
}

/** A session that records its dispatches, and the position of the stream that it is given. */
export class FollowingSession extends RecordingSession {
  over = false;
  /** As owners know it now: what reaches an earlier one is not heard any more. */
  ear: Subscribing = this.#newEar();
  /** In order: numbers of dispatches, `c` for a GUILD_CREATE, `f` with the position that it was given. */
  readonly heard: (readonly [kind: 'd' | 'c' | 'f', n: number])[] = [];

  override deliver(body: DispatchBody): void {
    super.deliver(body);
    if (body.t === 'GUILD_CREATE') this.heard.push(['c', 0]);
    else if (body.origin) this.heard.push(['d', body.origin.n]);
  }

  following(ownerId: string, n: number): void {
    if (ownerId !== GUILD_ID) throw new Error(`a stream of ${ownerId}`);
    this.heard.push(['f', n]);
  }

  /** The link to the owner is broken off, and another one takes its place. */
  breakOff(): void {
    this.ear = this.#newEar();
  }

  #newEar(): Subscribing {
    const { sessionId, userId, intents, bot } = this;
    const ear: Subscribing = {
      ...{ sessionId, userId, intents, bot },
      deliver: (body) => {
        if (this.ear === ear) this.deliver(body);
      },
      following: (ownerId, n) => {
        if (this.ear === ear) this.following(ownerId, n);
      },
    };
    return ear;
  }

  /** How far it has the stream. */
  get cursor(): number | null {
    const followed = this.heard.some(([kind]) => kind === 'f');
    return followed ? Math.max(...this.heard.map(([, n]) => n)) : null;
  }

  get messages(): string[] {
    return this.received.flatMap(({ t, d }) =>
      t === 'MESSAGE_CREATE' ? [(d as StoredMessage).content] : [],
    );
  }
}

/** One owner: its actors, and its commits on their way to the database. */
class Owner {
  readonly fence: Fence;
  readonly waiting: Commit[] = [];
  readonly seats: string[] = [];
  /** Sessions that received the guild as unavailable. */
  readonly lost: string[] = [];
  departedAt: number | null = null;
  readonly registry: Registry<Guild, GuildShell>;
  serves = true;

  constructor(world: OwnedGuild) {
    const { rows, clock, wheel } = world;
    rows.epoch += 1;
    this.fence = { partition: 7, epoch: rows.epoch };
    const aggregateOwnership = this.#ownership(world);
    const listener = {
      memberJoined: () => undefined,
      memberLeft: () => undefined,
      guildLost: (_: string, sessions: readonly Recipient[]) =>
        void this.lost.push(...sessions.map(({ sessionId }) => sessionId)),
      linked: () => undefined,
      guildReleased: (_: string, n: number) => {
        this.departedAt = n;
      },
      voiceJoined: (_: string, seat: VoiceMember) => void this.seats.push(`+${seat.userId}`),
      voiceLeft: (_: string, userId: string) => void this.seats.push(`-${userId}`),
      callEnded: (_: string, __: string, because?: string) => void this.seats.push(because ?? 'ended'),
    };
    const ports = {
      writer: this.#writer(),
      clock,
      nextId: () => messageEnv(clock.now()).nextId(),
      rulesMs: Number.MAX_VALUE,
      tap: { listening: false, see: () => undefined },
      ownership: aggregateOwnership,
      guilds: {
        load: async () => world.snapshot(),
        members: async (_: string, ids: readonly UserId[]) =>
          ids.flatMap((userId) => rows.members.get(userId) ?? []),
        membersAfter: async () => [...rows.members.values()],
        bansOf: async () => [],
        formerMembersOf: async () => [],
        joinRequestsOf: async () => [],
        onboardingAnswersOf: async () => [],
        invitesByCode: async () => [],
      },
      messages: {
        get: async (_: string, ids: readonly { readonly id: MessageId }[]) =>
          ids.flatMap(({ id: messageId }) => rows.messages.get(messageId) ?? []),
        list: async (_: string, channelId: ChannelId, page: MessagePage) => rows.newest(channelId, page),
        pinTimes: async (_: string, channelId: ChannelId) => rows.pinTimes(channelId),
        reactionsOf: async (_: string, userId: UserId, messageIds: readonly MessageId[]) =>
          rows.reactionsOf(userId, messageIds),
        votesOf: async (_: string, ...of: Parameters<Rows['votesOf']>) => rows.votesOf(...of),
        lastOfUserMs: async (_: string, ...of: Parameters<Rows['lastOfUserMs']>) => rows.lastOfUserMs(...of),
      },
      users: {
        get: async (ids: readonly UserId[]) =>
          ids.map((userId) => ({ id: userId, username: userId }) as never),
      },
      webhooks: { ofGuild: async () => [], copies: async () => [] },
      scheduledEvents: { rsvps: async () => [] },
      threads: { get: async () => [], lastOfUserMs: async () => null },
      windows: { members: 100, messages: 100 },
      ...{ wheel, kept: new KeptStates<KeptSessions>() },
      listener,
    };
    this.registry = new Registry<Guild, GuildShell>({
      machine: guildMachine,
      makeShell: (guildId, send) => new GuildShell(guildId, ports, send),
      backlogMax: 1_000,
      idleMs: IDLE_MS,
      supervisor: createSupervisor(),
      clock,
      wheel,
      onBug: (_, error) => world.faults.push(error),
      admits: () => this.serves,
    });
    this.#rows = rows;
  }

  readonly #rows: Rows;
  /** What an actor that failed has kept for the next one here. */
  #ownership(world: OwnedGuild): AggregateOwnership {
    const { rows, clock } = world;
    return {
      fenceOf: () => (this.serves ? this.fence : null),
      decides: () => this.serves,
      records: async () => {
        const all = [...rows.records].sort((a, b) => a.n - b.n);
        const { recordsMax } = world;
        return { records: structuredClone(all.slice(-recordsMax)), cut: all.length >= recordsMax };
      },
      saveSnapshot: async ({ fence, data }) => {
        if (fence.epoch !== rows.epoch) throw new NotServed('stale');
        rows.snapshot = { atMs: clock.now(), data: JSON.stringify(data) };
      },
      snapshot: async () => (rows.snapshot ? JSON.parse(rows.snapshot.data) : null),
      dropSnapshot: async () => {
        rows.snapshot = null;
      },
      loadQueue: new LoadQueue({ atOnceMax: 4, waitingMax: 100 }),
      stream: world.bounds,
      keys: { keysMax: 100, ageMs: 60_000 },
      onFault: (error) => world.faults.push(error),
    };
  }

  #writer(): Writer {
    return {
      depth: 0,
      // Commits of an earlier actor are all settled before the next one here.
      flush: async () => undefined,
      commit: (commit) => void this.waiting.push(commit),
    };
  }

  /** The database takes the next commits, or refuses them when another owner has the guild. */
  settle(count = Number.POSITIVE_INFINITY): void {
    for (let n = 0; n < count; n += 1) {
      const commit = this.waiting.shift();
      if (!commit) return;
      const stale = commit.fence?.epoch !== this.#rows.epoch;
      if (!stale) this.#rows.write(commit);
      commit.done(stale ? new NotServed('another shard has it') : null);
    }
  }
}

/** A guild that passes from owner to owner, over a model of the database and with time that the test moves. */
export class OwnedGuild {
  readonly clock = new VirtualClock();
  readonly wheel = new TimerWheel(this.clock);
  readonly rows = new Rows();
  readonly faults: unknown[] = [];
  readonly bounds: StreamBounds;
  readonly recordsMax: number;
  /** The slow mode of the square, from the next load on. */
  slowmodeSec = 0;
  owner: Owner;

  constructor(bounds: Partial<StreamBounds> = {}, recordsMax = 10_000) {
    this.bounds = { dispatchesMax: 10_000, ageMs: 1e9, bytesMax: 1e9, numbers: { high: 0 }, ...bounds };
    this.recordsMax = recordsMax;
    this.owner = new Owner(this);
  }

  snapshot() {
    const denied = overwrite(GUILD_ID, 0, { deny: P.VIEW_CHANNEL });
    const allowed = overwrite(ROLE, 0, { allow: P.VIEW_CHANNEL });
    const channels: GuildChannel[] = [
      channel(SQUARE, [], { rate_limit_per_user: this.slowmodeSec }),
      channel(CELLAR, [denied, allowed]),
      channel(LOUNGE, [], { type: 2 }),
    ];
    const everyone = P.VIEW_CHANNEL | P.SEND_MESSAGES | P.CONNECT | P.SPEAK;
    return {
      info: { id: GUILD_ID, owner_id: OWNER_ID, features: [], afk_timeout: 300 } as unknown as GuildInfo,
      roles: [role(GUILD_ID, everyone), role(ROLE, 0n, 1)],
      channels,
      threads: [],
      stageInstances: [],
      voiceStates: [...this.rows.voice.values()],
      liveVoice: [...this.rows.live],
      scheduledEvents: [],
      autoModerationRules: [],
      pages: {},
      expressions: NO_EXPRESSIONS,
      memberCount: this.rows.members.size,
    };
  }

  call<K extends keyof GuildCommands>(
    type: K,
    input: GuildCommands[K]['input'],
    userId: string = OWNER_ID,
    commandKey: string | null = null,
    within: Pick<Authority, 'requires' | 'channelId'> = { requires: 0n },
  ): Promise<Reply<GuildCommands[K]['value']>> {
    const authority: Authority = {
      by: {
        ...{ userId: id(userId), bot: false, applicationId: null, applicationFlags: 0, reason: null },
        ...(userId === '0' && { system: true as const }),
      },
      ...within,
    };
    return new Promise((resolve, reject) => {
      const make = (shell: GuildShell) => shell.command(type, input, authority, resolve, reject, commandKey);
      this.owner.registry.workWith(GUILD_ID, make, { reads: true });
    });
  }

  /** A user in the voice channel `LOUNGE`, or in none, whose state is stored. */
  async inVoice(userId: string, sessionId: string, channelId: string | null = LOUNGE): Promise<void> {
    const self = { selfMute: false, selfDeaf: false, selfVideo: false };
    const asking = this.call(
      'setVoiceState',
      { channelId: channelId as ChannelId, sessionId, ...self },
      userId,
    );
    await settleAll();
    this.owner.settle();
    await asking;
  }

  say(channelId: string, content: string, commandKey: string | null = null, userId: string = OWNER_ID) {
    const input = { channelId: id<never>(channelId), draft: { content }, attachments: [], forward: null };
    const within = { requires: P.SEND_MESSAGES, channelId: id<ChannelId>(channelId) };
    return this.call('createMessage', input, userId, commandKey, within);
  }

  /** Subscribes sessions, each after its position in the stream, or from the start. */
  enter(sessions: readonly FollowingSession[], anew = false): Promise<readonly Subscribed[]> {
    const entering = sessions.map(({ ear, cursor }) => ({
      subscriber: ear,
      largeThreshold: 50,
      after: anew ? null : cursor,
    }));
    return new Promise((resolve, reject) => {
      this.owner.registry.workWith(GUILD_ID, (shell) => shell.subscribe(entering, resolve, reject));
    });
  }

  /** In order: work is done and written down; then the next owner begins. */
  async handOver(): Promise<void> {
    const before = this.owner;
    before.serves = false;
    const done = before.registry.handOver(() => true, 60_000);
    for (let turn = 0; turn < 20; turn += 1) {
      before.settle();
      await settleAll();
      this.clock.advance(10);
    }
    await done;
    this.owner = new Owner(this);
  }

  /**
   * The owner is over at once. The first of what it has handed in are durable, though it does not hear of it in time;
   * the others arrive too late.
   */
  crash(durable = 0): void {
    const before = this.owner;
    const written = before.waiting.splice(0, durable);
    for (const commit of written) this.rows.write(commit);
    before.serves = false;
    before.registry.abandon(() => true);
    this.owner = new Owner(this);
    for (const commit of written) commit.done(null);
    before.settle();
  }

  close(): void {
    this.wheel.stop();
  }
}
