import type { GatewayPresenceUpdate } from 'discord-api-types/v10';
import type { GuildId, UserId } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import type { Member } from './guild.ts';

/** One GUILD_MEMBERS_CHUNK: the reply to a Request Guild Members (op 8), or a part of it. */
interface FoundMembers {
  readonly guildId: GuildId;
  readonly members: readonly Member[];
  /** Ids from the request without a member. */
  readonly notFound: readonly string[];
  /** Source of presences; null when they were not requested. */
  readonly presences: ReadonlyMap<UserId, GatewayPresenceUpdate> | null;
  readonly nonce: string | null;
}

/** Payload of GUILD_MEMBERS_CHUNK. */
export interface MembersChunk {
  readonly guild_id: GuildId;
  readonly members: readonly Member[];
  readonly chunk_index: number;
  readonly chunk_count: number;
  readonly not_found?: readonly string[];
  readonly presences?: readonly GatewayPresenceUpdate[];
  readonly nonce?: string;
}

/** Number of chunks for a number of members; at least one, because an empty result is also sent. */
export const chunkCountOf = (memberCount: number): number =>
  Math.max(1, Math.ceil(memberCount / LIMITS.member_chunk_max));

/**
 * Chunk `index` of `count`, with the presences of its own members.
 *
 * @source https://docs.discord.com/developers/events/gateway-events#guild-members-chunk
 */
export function membersChunk(found: FoundMembers, index = 0, count = 1): MembersChunk {
  const { guildId, members, notFound, presences, nonce } = found;
  return {
    guild_id: guildId,
    members,
    chunk_index: index,
    chunk_count: count,
    ...(notFound.length > 0 ? { not_found: notFound } : {}),
    ...(presences ? { presences: members.flatMap(({ user }) => presences.get(user.id) ?? []) } : {}),
    ...(nonce === null ? {} : { nonce }),
  };
}
