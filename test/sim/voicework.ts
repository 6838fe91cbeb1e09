import type { ChannelId, GuildId, UserId } from '../../protocol/ids.ts';
import { OP } from '../../protocol/opcodes.ts';
import type { SimClient } from './client.ts';
import type { Arguments } from './command.ts';
import type { Database } from './database.ts';
import type { Feature } from './features.ts';
import type { SimGuild, SimUser } from './founding.ts';
import type { World } from './world.ts';

interface VoicePorts {
  readonly world: World;
  readonly database: Database;
  readonly users: readonly SimUser[];
  readonly guilds: readonly SimGuild[];
  readonly clients: readonly SimClient[];
  readonly features: readonly Feature[];
  readonly enqueue: (asked: Arguments) => void;
}

/** What a session asked for after all faults. */
export interface VoiceWish {
  readonly client: SimClient;
  readonly sessionId: string;
  /** The guild or lobby. */
  readonly serverId: string;
  readonly joins: boolean;
  readonly mutes: boolean;
}

/** People and bots in the voice channels of guilds, people in private calls, players in the calls of lobbies, and streams. */
export class VoiceWork {
  readonly #ports: VoicePorts;
  /** By session and server; from the last probe. */
  readonly wishes = new Map<string, VoiceWish>();

  constructor(ports: VoicePorts) {
    this.#ports = ports;
  }

  act(): void {
    const { world, clients } = this.#ports;
    const up = clients.filter((client) => client.up);
    if (up.length === 0) return;
    const client = world.random.pick(up);
    const dice = world.random.below(100);
    const isBot = this.#ports.users.some(({ id, bot }) => bot && id === client.userId);
    if (client.life.lobbies) this.#playing(client);
    else if (isBot && dice < 60) this.#guild(client, world.chance(0.7));
    else if (isBot) client.voice?.lines.drop();
    else if (dice < 40) this.#guild(client, world.chance(0.85));
    else if (dice < 50) this.#call(client);
    else if (dice < 60) this.#nowhere(client);
    else if (dice < 70) client.voice?.lines.drop();
    else if (dice < 80) this.#stream(client);
    else if (dice < 92) this.#watch(client);
    else this.#disconnect();
  }

  /** Everybody leaves voice, so that no end of a call from before the repair follows the probes. */
  calm(): void {
    const people = new Set<string>(this.#ports.users.flatMap(({ id, bot }) => (bot ? [] : [id])));
    for (const client of this.#ports.clients)
      if (people.has(client.userId) && !client.life.lobbies) this.#nowhere(client);
  }

  /** Each session joins a call or changes its state in it; then some leave. */
  probe(): void {
    const { world, clients, users, features } = this.#ports;
    const isAgain = this.wishes.size > 0;
    if (isAgain) {
      for (const [key, wish] of [...this.wishes]) {
        const { client, sessionId, serverId } = wish;
        this.wishes.delete(key);
        if (!client.up || client.life.sessionId !== sessionId) continue;
        const joins = world.chance(0.6);
        if (this.#ask(client, serverId, joins, true)) this.wishes.set(key, { ...wish, joins, mutes: true });
      }
      return;
    }
    // A person is in one place: with groups, that is the group's call.
    const asking = new Set<string>(
      features.includes('groups') ? users.flatMap(({ id, bot }) => (bot ? [] : [id])) : [],
    );
    for (const client of clients) {
      const { lobbies, sessionId } = client.life;
      if (!client.up || !sessionId || (!lobbies && asking.has(client.userId))) continue;
      const [serverId] = lobbies ? this.#lobbiesOf(client) : this.#guildsOf(client);
      if (!serverId) continue;
      if (!lobbies) asking.add(client.userId);
      if (this.#ask(client, serverId, true, false))
        this.wishes.set(sessionId, { client, sessionId, serverId, joins: true, mutes: false });
    }
  }

  #ask(client: SimClient, serverId: string, joins: boolean, mutes: boolean): boolean {
    if (client.life.lobbies) {
      const state = { lobby_id: serverId, self_mute: mutes, self_deaf: false, self_video: false };
      return client.say(OP.LOBBY_VOICE_STATES, joins ? [state] : []);
    }
    const channelId = joins ? this.#voiceChannel(serverId as GuildId) : null;
    return client.say(OP.VOICE_STATE_UPDATE, {
      ...{ guild_id: serverId, channel_id: channelId, self_mute: mutes, self_deaf: false },
    });
  }

  #guild(client: SimClient, joins: boolean): void {
    const guildIds = this.#guildsOf(client);
    if (guildIds.length > 0)
      this.#ask(client, this.#ports.world.random.pick(guildIds), joins, this.#ports.world.chance(0.3));
  }

  #call(client: SimClient): void {
    const { world, database } = this.#ports;
    const channels = [...database.privateChannels.values()].filter(({ channel }) =>
      channel.recipientIds.includes(client.userId as UserId),
    );
    if (channels.length === 0) this.#guild(client, true);
    else this.#join(client, null, world.random.pick(channels).channel.id);
  }

  /** A person leaves voice without saying where it was. */
  #nowhere(client: SimClient): void {
    this.#join(client, null, null);
  }

  #join(client: SimClient, guildId: string | null, channelId: string | null): void {
    const own = { self_mute: this.#ports.world.chance(0.3), self_deaf: false };
    client.say(OP.VOICE_STATE_UPDATE, { guild_id: guildId, channel_id: channelId, ...own });
  }

  #playing(client: SimClient): void {
    const { world } = this.#ports;
    if (world.chance(0.15)) {
      client.voice?.lines.drop();
      return;
    }
    const states = this.#lobbiesOf(client)
      .filter(() => world.chance(0.6))
      .map((id) => ({ lobby_id: id, self_mute: world.chance(0.3), self_deaf: false, self_video: false }));
    client.say(OP.LOBBY_VOICE_STATES, states);
  }

  #stream(client: SimClient): void {
    const { world } = this.#ports;
    const view = client.voice?.view;
    if (!view) return;
    const own = [...view.streams.keys()].filter((key) => key.endsWith(`:${client.userId}`));
    if (own.length > 0) client.say(OP.STREAM_DELETE, { stream_key: world.random.pick(own) });
    else {
      const places = [...view.places];
      if (places.length === 0) return;
      const [serverId, channelId] = world.random.pick(places);
      const place = serverId === channelId ? { type: 'call' } : { type: 'guild', guild_id: serverId };
      client.say(OP.STREAM_CREATE, { ...place, channel_id: channelId, preferred_region: null });
    }
  }

  /** Watches a stream that anybody has. */
  #watch(client: SimClient): void {
    const { world, clients } = this.#ports;
    const keys = [...new Set(clients.flatMap(({ voice }) => [...(voice?.view.streams.keys() ?? [])]))];
    if (keys.length > 0) client.say(OP.STREAM_WATCH, { stream_key: world.random.pick(keys) });
  }

  /** The owner of a guild disconnects a member from voice. */
  #disconnect(): void {
    const { world, users, guilds, enqueue } = this.#ports;
    const { id, ownerId } = world.random.pick(guilds);
    const { id: userId } = world.random.pick(users);
    const input = { userId, channelId: null };
    enqueue({
      ...{ what: `disconnect ${userId} in ${id}`, mark: null, again: true },
      run: (shard) => shard.server.guilds.call(id, 'updateMember', input, authorityOf(ownerId)),
    });
  }

  #guildsOf({ life }: SimClient): GuildId[] {
    const { world, guilds } = this.#ports;
    const known = guilds.filter(({ id }) => life.guilds.get(id)).map(({ id }) => id);
    return world.chance(0.5) ? known : known.reverse();
  }

  #lobbiesOf({ life, userId }: SimClient): ChannelId[] {
    return [...this.#ports.database.lobbies].flatMap(([id, { members }]) =>
      members.has(userId as UserId) && life.lobbies?.replicas.has(id) ? [id as ChannelId] : [],
    );
  }

  #voiceChannel(guildId: GuildId): ChannelId | null {
    const { world, database } = this.#ports;
    const channels = [...(database.guilds.get(guildId)?.channels.values() ?? [])].filter(
      ({ type }) => (type as number) === 2,
    );
    return channels.length === 0 ? null : world.random.pick(channels).id;
  }
}

const authorityOf = (userId: UserId) => ({
  by: { userId, bot: false, applicationId: null, applicationFlags: 0, reason: null },
  requires: 0n,
});
