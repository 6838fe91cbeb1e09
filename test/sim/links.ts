import type { Authority } from '../../engine/kernel/authority.ts';
import { LOBBY_MEMBER_FLAGS } from '../../engine/lobby/lobby.ts';
import type { ChannelId, GuildId, UserId } from '../../protocol/ids.ts';
import { P } from '../../protocol/permissions.ts';
import type { SimClient } from './client.ts';
import type { Arguments } from './command.ts';
import type { Database } from './database.ts';
import { gameOf, inGame, type SimGuild, type SimUser } from './founding.ts';
import type { Judge } from './judge.ts';
import type { SimShard } from './shard.ts';
import type { Truth } from './truth.ts';
import type { World } from './world.ts';

interface LinkPorts {
  readonly world: World;
  readonly judge: Judge;
  readonly database: Database;
  readonly truth: Truth;
  readonly users: readonly SimUser[];
  readonly guilds: readonly SimGuild[];
  readonly clients: readonly SimClient[];
  /** Whether the run has no faults. */
  readonly isUntroubled: boolean;
  readonly mark: (kind: string) => string;
  readonly enqueue: (asked: Arguments) => void;
}

/** A lobby and a channel that name each other. */
interface Pair {
  readonly lobbyId: ChannelId;
  readonly guildId: GuildId;
  readonly channelId: ChannelId;
}

/** A message that was written when everything was served: it must be shown on the other side of its link. */
interface Probe extends Pair {
  readonly mark: string;
  readonly from: 'lobby' | 'channel';
  /** The sessions of the lobby's members that were connected then. */
  readonly to: readonly SimClient['life'][];
}

const PROBE_MS = 2_000;

/** Lobbies of the game's server, which are linked to channels of guilds and parted from them, and messages on both sides. */
export class LinkWork {
  readonly #ports: LinkPorts;
  #probes: Probe[] = [];

  constructor(ports: LinkPorts) {
    this.#ports = ports;
  }

  act(): void {
    const { world } = this.#ports;
    const dice = world.random.below(100);
    if (dice < 15) this.#create();
    else if (dice < 40) this.#link();
    else if (dice < 47) this.#unlink();
    else if (dice < 54) this.#unlinkChannel();
    else if (dice < 74) this.#sayInLobby();
    else if (dice < 94) this.#sayInChannel();
    else if (dice < 97) this.#delete();
    else this.#leave();
  }

  /** Writes on both sides of each link: a half without the other is found by that. */
  probe(): void {
    const { world, isUntroubled } = this.#ports;
    // Without faults nothing has to be found, as both halves are written and removed together.
    if (isUntroubled) this.#judgeHalves();
    const pairs = this.#pairs;
    this.#probes = pairs.flatMap((pair) => this.#probesOf(pair));
    const whole = new Set(pairs.flatMap(({ lobbyId, channelId }) => [lobbyId, channelId]));
    for (const half of this.#channelHalves)
      if (!whole.has(half.channelId)) this.#writeInChannel(half, PROBE_MS);
    for (const { lobbyId } of this.#lobbyHalves) {
      const member = this.#member(lobbyId);
      if (member && !whole.has(lobbyId)) this.#writeInLobby(lobbyId, member, PROBE_MS);
    }
    world.note(`links are probed: ${this.#probes.length} messages`);
  }

  #probesOf(pair: Pair): Probe[] {
    const to = this.#sessionsIn(pair.lobbyId);
    const ofChannel: Probe = { ...pair, to, from: 'channel', mark: this.#writeInChannel(pair, PROBE_MS) };
    const member = this.#member(pair.lobbyId);
    if (!member) return [ofChannel];
    return [
      ofChannel,
      { ...pair, to, from: 'lobby', mark: this.#writeInLobby(pair.lobbyId, member, PROBE_MS) },
    ];
  }

  /**
   * Judges the links when everything has been served for a while, and the messages of the last probe. What a lobby shows
   * of a channel is sent once: a stream of a link that breaks loses it.
   */
  judgeEnd(hasBreaks: boolean): void {
    const { judge, truth } = this.#ports;
    this.#judgeHalves();
    const copies = new Map<string, number>();
    for (const { content, isCopy } of truth.messages.values())
      if (isCopy) copies.set(content, (copies.get(content) ?? 0) + 1);
    for (const [mark, count] of copies)
      judge.expect(count === 1, 'copied once', () => `${mark} is copied ${count} times`);
    const linked = new Map(this.#pairs.map(({ lobbyId, channelId }) => [channelId, lobbyId]));
    for (const { from, mark, to, lobbyId, channelId } of this.#probes) {
      if (linked.get(channelId) !== lobbyId) continue;
      if (from === 'lobby')
        judge.expect(copies.has(mark), 'copied', () => `${mark} of ${lobbyId} is not in ${channelId}`);
      else if (!hasBreaks)
        for (const { name, lobbies } of this.#sessionsIn(lobbyId).filter((session) => to.includes(session)))
          judge.expect(lobbies?.isShown(mark) === true, 'shown', () => `${name} is not shown ${mark}`);
    }
  }

  /** A channel and a lobby name each other. In a lobby without members nobody finds that it is alone. */
  #judgeHalves(): void {
    const { judge } = this.#ports;
    const whole = new Set(this.#pairs.flatMap(({ lobbyId, channelId }) => [lobbyId, channelId]));
    for (const { lobbyId, channelId } of this.#channelHalves)
      judge.expect(
        whole.has(channelId),
        'both halves',
        () => `${channelId} names ${lobbyId}, which is linked to another channel or to none`,
      );
    for (const { lobbyId, channelId } of this.#lobbyHalves)
      judge.expect(
        whole.has(lobbyId) || this.#member(lobbyId) === undefined,
        'both halves',
        () => `${lobbyId} is linked to ${channelId}, which does not name it`,
      );
  }

  /** The connected sessions of the lobby's members. */
  #sessionsIn(lobbyId: ChannelId): SimClient['life'][] {
    const { clients, database } = this.#ports;
    const members = database.lobbies.get(lobbyId)?.members;
    return clients.flatMap(({ life, userId, up }) =>
      up && life.lobbies && members?.has(userId as UserId) ? [life] : [],
    );
  }

  get #lobbyHalves(): Pair[] {
    return [...this.#ports.database.lobbies].flatMap(
      ([
        lobbyId,
        {
          lobby: { linked },
        },
      ]) =>
        linked
          ? [{ lobbyId: lobbyId as ChannelId, guildId: linked.guild_id, channelId: linked.channel.id }]
          : [],
    );
  }

  get #channelHalves(): Pair[] {
    return [...this.#ports.database.guilds].flatMap(([guildId, { channels }]) =>
      [...channels.values()].flatMap(({ id: channelId, linked_lobby: link }) =>
        link && 'lobby_id' in link
          ? [{ lobbyId: link.lobby_id, guildId: guildId as GuildId, channelId }]
          : [],
      ),
    );
  }

  get #pairs(): Pair[] {
    const lobbies = this.#lobbyHalves;
    return this.#channelHalves.filter((half) =>
      lobbies.some(({ lobbyId, channelId }) => lobbyId === half.lobbyId && channelId === half.channelId),
    );
  }

  /** Guilds whose owner can play, as linking is done by one who may manage the channel. */
  get #own(): SimGuild[] {
    const { users, guilds } = this.#ports;
    return guilds.filter(({ ownerId }) => users.some(({ id, bot }) => id === ownerId && !bot));
  }

  #member(lobbyId: string): UserId | undefined {
    return this.#ports.database.lobbies.get(lobbyId)?.members.keys().next().value;
  }

  #pick<T>(among: readonly T[]): T | undefined {
    return among.length === 0 ? undefined : this.#ports.world.random.pick(among);
  }

  #create(): void {
    const { world, users, enqueue } = this.#ports;
    const draft = { flags: LOBBY_MEMBER_FLAGS.CAN_LINK_LOBBY };
    const members = users
      .filter(({ bot }) => !bot && world.chance(0.8))
      .map(({ id: userId }) => ({ userId, draft }));
    const change = { idle_timeout_seconds: 60 };
    enqueue({
      ...{ what: 'create a lobby to be linked', mark: null, again: false },
      run: (shard) => lobbies(shard).create({ change, members }, this.#game),
    });
  }

  #link(): void {
    const { database, enqueue } = this.#ports;
    const guild = this.#pick(this.#own);
    const lobbyId = this.#pick([...database.lobbies.keys()]) as ChannelId | undefined;
    const channels = [...(database.guilds.get(guild?.id ?? '')?.channels.values() ?? [])];
    const channel = this.#pick(channels.filter(({ type }) => type === 0));
    if (!guild || !lobbyId || !channel) return;
    enqueue({
      ...{ what: `link ${lobbyId} to ${channel.id}`, mark: null, again: true },
      run: (shard) => lobbies(shard).link(lobbyId, channel.id, inGame(database, guild.ownerId)),
    });
  }

  #unlink(): void {
    const { database, enqueue } = this.#ports;
    const half = this.#pick(this.#lobbyHalves);
    const userId = half && this.#member(half.lobbyId);
    if (!half || !userId) return;
    enqueue({
      ...{ what: `unlink ${half.lobbyId}`, mark: null, again: true },
      run: (shard) => lobbies(shard).link(half.lobbyId, null, inGame(database, userId)),
    });
  }

  #unlinkChannel(): void {
    const { enqueue } = this.#ports;
    const half = this.#pick(this.#channelHalves);
    if (!half) return;
    const authority = { ...this.#ownerOf(half), requires: P.MANAGE_CHANNELS };
    enqueue({
      ...{ what: `unlink the channel ${half.channelId}`, mark: null, again: true },
      run: (shard) => lobbies(shard).unlinkChannel(half.channelId, authority),
    });
  }

  #sayInLobby(): void {
    const half = this.#pick(this.#lobbyHalves);
    const userId = half && this.#member(half.lobbyId);
    if (userId) this.#writeInLobby(half.lobbyId, userId);
  }

  #sayInChannel(): void {
    const half = this.#pick(this.#channelHalves);
    if (half) this.#writeInChannel(half);
  }

  #delete(): void {
    const lobbyId = this.#pick([...this.#ports.database.lobbies.keys()]) as ChannelId | undefined;
    if (!lobbyId) return;
    this.#ports.enqueue({
      ...{ what: `delete ${lobbyId}`, mark: null, again: true },
      run: (shard) => lobbies(shard).call(lobbyId, 'deleteLobby', {}, this.#game),
    });
  }

  #leave(): void {
    const half = this.#pick(this.#lobbyHalves);
    const userId = half && this.#member(half.lobbyId);
    if (!half || !userId) return;
    this.#ports.enqueue({
      ...{ what: `remove ${userId} from ${half.lobbyId}`, mark: null, again: true },
      run: (shard) =>
        lobbies(shard).setMembers(half.lobbyId, [{ userId, draft: {}, remove: true }], this.#game),
    });
  }

  #writeInLobby(lobbyId: ChannelId, userId: UserId, withinMs = 0): string {
    const { database, mark: name } = this.#ports;
    const mark = name('w');
    const draft = { content: mark, metadata: null, flags: 0 };
    this.#soon(withinMs, {
      ...{ what: `lobby message ${mark} of ${userId} in ${lobbyId}`, mark, again: false },
      run: (shard) => lobbies(shard).send(lobbyId, draft, inGame(database, userId)),
    });
    return mark;
  }

  #writeInChannel({ guildId, channelId }: Pair, withinMs = 0): string {
    const mark = this.#ports.mark('m');
    const draft = { content: mark, nonce: mark, enforce_nonce: true };
    const input = { channelId, draft, attachments: [], forward: null };
    const authority = { ...this.#ownerOf({ guildId }), channelId };
    this.#soon(withinMs, {
      ...{ what: `message ${mark} in the linked ${channelId}`, mark, again: true },
      run: (shard) => shard.server.guilds.call(guildId, 'createMessage', input, authority),
    });
    return mark;
  }

  /** Within this time, so that not all messages of a probe meet in one queue. */
  #soon(withinMs: number, asked: Arguments): void {
    const { world, enqueue } = this.#ports;
    if (withinMs === 0) enqueue(asked);
    else world.after(world.between(0, withinMs), () => enqueue(asked));
  }

  #ownerOf({ guildId }: Pick<Pair, 'guildId'>): Authority {
    const ownerId = this.#ports.guilds.find(({ id }) => id === guildId)?.ownerId ?? ('0' as UserId);
    const by = { userId: ownerId, bot: false, applicationId: null, applicationFlags: 0, reason: null };
    return { by, requires: 0n };
  }

  get #game(): Authority {
    const { database } = this.#ports;
    return inGame(database, database.applications.get(gameOf(database))?.bot_id as UserId, true);
  }
}

const lobbies = (shard: SimShard) => shard.server.features.lobbies;
