import type { Reply } from '../../engine/kernel/aggregate.ts';
import type { Authority } from '../../engine/kernel/authority.ts';
import type { PrivateCommands } from '../../engine/privatechannel/rules.ts';
import { RELATION } from '../../engine/social/facts.ts';
import type { PrivateChannel } from '../../engine/user/facts.ts';
import type { ChannelId, UserId } from '../../protocol/ids.ts';
import { OP } from '../../protocol/opcodes.ts';
import { createGroups } from '../../services/privatechannels/groups.ts';
import type { SimClient } from './client.ts';
import type { Arguments } from './command.ts';
import { type Database, relationKey } from './database.ts';
import type { SimUser } from './founding.ts';
import type { SimShard } from './shard.ts';
import type { World } from './world.ts';

interface GroupPorts {
  readonly world: World;
  readonly database: Database;
  readonly users: readonly SimUser[];
  readonly clients: readonly SimClient[];
  readonly mark: (kind: string) => string;
  readonly enqueue: (asked: Arguments) => void;
}

/** The last voice state that a session requested in a probe. */
export interface CallWish {
  readonly client: SimClient;
  readonly sessionId: string;
  readonly channelId: ChannelId;
  readonly joins: boolean;
  /** Differs between two requests, so that each is a change. */
  readonly mutes: boolean;
}

const GROUPS_MAX = 3;

/** Makes all human users friends, so that they may open groups with each other. */
export function befriend(database: Database, users: readonly SimUser[]): void {
  const people = users.filter(({ bot }) => !bot);
  const friend = { type: RELATION.FRIEND, sinceMs: 1_700_000_000_000, nickname: null };
  for (const { id: userId } of people)
    for (const { id: peerId } of people)
      if (userId !== peerId)
        database.relations.set(relationKey(userId, peerId, null), {
          ...{ ...friend, originApplicationId: null, userId, peerId, applicationId: null },
        });
}

/** Groups of friends: opens, writes in, renames, joins and leaves them, and their calls. */
export class GroupWork {
  readonly #ports: GroupPorts;
  /** By user; from the last probe. */
  readonly wishes = new Map<UserId, CallWish>();

  constructor(ports: GroupPorts) {
    this.#ports = ports;
  }

  act(): void {
    const { world } = this.#ports;
    const group = this.#someGroup();
    const dice = world.random.below(100);
    if (!group || (dice < 8 && this.#groups.length < GROUPS_MAX)) this.#open();
    else if (dice < 45) this.#write(group, world.random.pick(group.recipientIds));
    else if (dice < 58) this.#add(group);
    else if (dice < 68) this.#remove(group);
    else if (dice < 74)
      this.#command(group, world.random.pick(group.recipientIds), 'deleteChannel', { channelId: group.id });
    else if (dice < 80) this.#rename(group);
    else this.#call(group);
  }

  /** Sends a message to each group, and changes the voice state of one client of each user. */
  probe(): void {
    for (const group of this.#groups) {
      const [first] = group.recipientIds;
      if (first) this.#write(group, first);
    }
    const isAgain = this.wishes.size > 0;
    for (const { id } of this.#people) {
      const group = this.#groups.find(({ recipientIds }) => recipientIds.includes(id));
      const before = this.wishes.get(id);
      const client = isAgain ? before?.client : this.#clientOf(id);
      const isSame = !isAgain || client?.life.sessionId === before?.sessionId;
      this.wishes.delete(id);
      if (!group || !client?.life.sessionId || !client.up || !isSame) continue;
      const joins = !isAgain || this.#ports.world.chance(0.5);
      const wish = { client, sessionId: client.life.sessionId, channelId: group.id, joins, mutes: isAgain };
      this.wishes.set(id, wish);
      sayVoice(client, joins ? group.id : null, isAgain);
    }
  }

  get #people(): SimUser[] {
    return this.#ports.users.filter(({ bot }) => !bot);
  }

  get #groups(): PrivateChannel[] {
    return [...this.#ports.database.privateChannels.values()].flatMap(({ channel }) =>
      channel.group && channel.recipientIds.length > 0 ? [channel] : [],
    );
  }

  #someGroup(): PrivateChannel | null {
    const groups = this.#groups;
    return groups.length === 0 ? null : this.#ports.world.random.pick(groups);
  }

  /** A connected client of the user. */
  #clientOf(userId: string): SimClient | undefined {
    return this.#ports.clients.find(
      (client) => client.userId === userId && client.up && !client.life.lobbies,
    );
  }

  #open(): void {
    const { world, enqueue } = this.#ports;
    const people = this.#people;
    const by = world.random.pick(people);
    const friends = people.filter((each) => each !== by && world.chance(0.7)).map(({ id }) => id);
    enqueue({
      ...{ what: `group of ${by.id} with ${friends}`, mark: null, again: false },
      run: (shard) => groupsOf(shard).open(by.id, friends),
    });
  }

  #write(group: PrivateChannel, by: UserId): void {
    const mark = this.#ports.mark('g');
    const draft = { content: mark, nonce: mark, enforce_nonce: true };
    const input = { channelId: group.id, draft, carried: {}, attachments: [], forward: null };
    this.#command(group, by, 'createMessage', input as never, mark);
  }

  #add(group: PrivateChannel): void {
    const { world, enqueue } = this.#ports;
    const by = world.random.pick(group.recipientIds);
    const { id: whom } = world.random.pick(this.#people);
    const adding = { accessToken: null, nick: null };
    enqueue({
      ...{ what: `add ${whom} to ${group.id} by ${by}`, mark: null, again: true },
      run: (shard) => groupsOf(shard).add(group.id, whom, adding, authorityOf(by)),
    });
  }

  #remove(group: PrivateChannel): void {
    const userId = this.#ports.world.random.pick(group.recipientIds);
    this.#command(group, group.group?.ownerId ?? userId, 'removeRecipient', { userId });
  }

  #rename(group: PrivateChannel): void {
    const mark = this.#ports.mark('G');
    const by = this.#ports.world.random.pick(group.recipientIds);
    // The message about the change contains the new name.
    this.#command(group, by, 'updateChannel', { draft: { name: mark } }, mark, false);
  }

  #call(group: PrivateChannel): void {
    const { world, clients } = this.#ports;
    const own = clients.filter(({ userId }) => group.recipientIds.includes(userId as UserId));
    const client = own.length > 0 ? world.random.pick(own) : null;
    if (client && !client.life.lobbies)
      sayVoice(client, world.chance(0.6) ? group.id : null, world.chance(0.5));
  }

  #command<K extends keyof PrivateCommands>(
    { id }: PrivateChannel,
    by: UserId,
    type: K,
    input: PrivateCommands[K]['input'],
    mark: string | null = null,
    again = true,
  ): void {
    this.#ports.enqueue({
      ...{ what: `${type} ${mark ?? ''} by ${by} in group ${id}`, mark, again },
      run: (shard): Promise<Reply<unknown>> => shard.server.privates.call(id, type, input, authorityOf(by)),
    });
  }
}

function sayVoice(client: SimClient, channelId: ChannelId | null, mutes: boolean): void {
  const d = { guild_id: null, channel_id: channelId, self_mute: mutes, self_deaf: false };
  client.say(OP.VOICE_STATE_UPDATE, d);
}

const groupsOf = ({ server }: SimShard) =>
  createGroups({ ...server, authenticate: () => Promise.resolve(null) });

const authorityOf = (userId: UserId): Authority => ({
  by: { userId, bot: false, applicationId: null, applicationFlags: 0, reason: null },
  requires: 0n,
});
