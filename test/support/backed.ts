import { pinReads, reactionReads, voteReads } from '../../actors/channel/messagereads.ts';
import { newGuild } from '../../engine/guild/founding.ts';
import type { Guild } from '../../engine/guild/guild.ts';
import { type GuildCommands, guildRules } from '../../engine/guild/rules.ts';
import type { Reply } from '../../engine/kernel/aggregate.ts';
import { type Authority, SYSTEM } from '../../engine/kernel/authority.ts';
import type { Dispatch } from '../../engine/kernel/dispatch.ts';
import type { Needs } from '../../engine/kernel/needs.ts';
import type { ChannelId, FreshId, UserId } from '../../protocol/ids.ts';
import type { MessageStore } from '../../storage/message/port.ts';
import type { AnyOperation, Caller } from '../../transports/rest/operation.ts';
import { buildGuild, GUILD_ID, OWNER_ID, user } from './guild.ts';
import { envAt, fullMember, NOW_MS } from './people.ts';
import { pipelineOf } from './rest.ts';

/** A founded guild: user 2 owns it, user 11 is a plain member, user 12 is none. */
export function foundedGuild(): Guild {
  const guild = buildGuild({});
  const nextId = envAt(NOW_MS).nextId;
  const ownerUser = user(OWNER_ID);
  const founding = { id: GUILD_ID, name: 'Wayfarers', ownerId: OWNER_ID, ownerUser, nowMs: NOW_MS, nextId };
  guildRules.apply(guild, newGuild(founding));
  guild.members.set('11' as UserId, fullMember('11'));
  return guild;
}

/** Reads into the windows, as the actor would before it decides; messages themselves are there already. */
async function load(guild: Guild, needs: Needs, store: MessageStore): Promise<void> {
  const { pins = [], reactions = [], votes = [] } = needs;
  for (const read of [
    ...pinReads(guild, guild.id, pins, store),
    ...reactionReads(guild, guild.id, reactions, store),
    ...voteReads(guild, guild.id, votes, store),
  ])
    await read.fetch(read.keys);
}

/** Operations over the real rules of one guild held in memory, with nothing of actors or storage between. */
export function backed(
  operations: Readonly<Record<string, AnyOperation>>,
  guild = foundedGuild(),
  more: object = {},
) {
  const dispatches: Dispatch[] = [];
  const blobs = new Map<string, Uint8Array>();
  let last = 800_000;
  const nextId = () => String(++last) as FreshId;

  const messageStore = (more as { readonly read?: { readonly messages?: MessageStore } }).read?.messages;

  async function command<K extends keyof GuildCommands>(
    type: K,
    input: GuildCommands[K]['input'],
    authority: Authority,
  ): Promise<Reply<GuildCommands[K]['value']>> {
    if (messageStore) await load(guild, guildRules.needs(guild, type, input, authority), messageStore);
    const outcome = guildRules.decide(guild, type, input, authority, { nowMs: NOW_MS, nextId });
    if (!outcome.ok) return outcome;
    for (const fact of outcome.facts) dispatches.push(...guildRules.applyAndDispatch(guild, fact));
    return { ok: true, value: outcome.value };
  }

  const services = {
    guilds: {
      call: (_guildId: string, type: keyof GuildCommands, input: object, authority: Authority) =>
        command(type, input as never, authority),
    },
    channels: {
      call: (channelId: ChannelId, type: keyof GuildCommands, input: object, authority: Authority) =>
        command(type, { ...input, channelId } as never, { ...authority, channelId }),
    },
    blobs: { put: async (key: string, bytes: Uint8Array) => void blobs.set(key, bytes) },
    /** No application sells anything. */
    premium: { forButtons: async () => [], premiumTypeOf: async () => 0 },
    nextId,
    nowMs: () => NOW_MS,
    system: SYSTEM,
    ...more,
  };
  const { pipeline } = pipelineOf(operations, { services, limited: false });

  return {
    guild,
    dispatches,
    blobs,
    /** Calls as a user, or a bot, would over HTTP; the first number of the answer is its status. */
    as(userId: string, kind: Caller['kind'] = 'user') {
      const caller: Caller = {
        kind,
        userId: userId as UserId,
        applicationId: null,
        applicationFlags: 0,
        authorization: null,
      };
      const context = { caller, publicUrl: 'http://127.0.0.1', address: null };
      return (
        operationId: string,
        call: { params?: Record<string, string>; query?: object; body?: unknown; reason?: string },
      ) => pipeline.invoke(operationId, { ...context, ...call } as never);
    },
  };
}
