import type { GatewayPresenceUpdate } from 'discord-api-types/v10';
import type { GuildId, UserId } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import type { Member } from './guild.ts';

/** The answer to a Request Guild Members (op 8), before it is cut. */
export interface FoundMembers {
  readonly guildId: GuildId;
  readonly members: readonly Member[];
  /** Asked for by id and not members. */
  readonly notFound: readonly string[];
  /** Where to look up presences; null when they were not asked for. */
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

/**
 * Cuts members into chunks of at most `LIMITS.member_chunk_max`, in their order, each with the presences of its own
 * members. There is always one chunk, because an empty answer is an answer; what was not found stands in the first.
 *
 * @source the platform's gateway events page, "Guild Members Chunk"
 */
export function membersChunks(found: FoundMembers): MembersChunk[] {
  const { guildId, presences, nonce } = found;
  const count = Math.max(1, Math.ceil(found.members.length / LIMITS.member_chunk_max));
  return Array.from({ length: count }, (_, index) => {
    const start = index * LIMITS.member_chunk_max;
    const members = found.members.slice(start, start + LIMITS.member_chunk_max);
    return {
      guild_id: guildId,
      members,
      chunk_index: index,
      chunk_count: count,
      ...(index === 0 && found.notFound.length > 0 ? { not_found: found.notFound } : {}),
      ...(presences ? { presences: presencesOf(members, presences) } : {}),
      ...(nonce === null ? {} : { nonce }),
    };
  });
}

const presencesOf = (
  members: readonly Member[],
  presences: ReadonlyMap<UserId, GatewayPresenceUpdate>,
): GatewayPresenceUpdate[] => members.flatMap(({ user }) => presences.get(user.id as UserId) ?? []);
