import type { Guilds } from '../../actors/guild/guilds.ts';
import type { Clock } from '../../actors/runtime/clock.ts';
import type { LiveSession } from '../../actors/session/backend.ts';
import { DispatchBody } from '../../engine/fanout/body.ts';
import type { Guild, Member } from '../../engine/guild/guild.ts';
import { chunkCountOf, membersChunk } from '../../engine/guild/members.chunks.ts';
import { asksForAll } from '../../engine/session/memberlists.ts';
import type { GuildId, UserId } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import type { MembersRequest } from '../../protocol/sessionrequests.ts';
import type { GuildStore } from '../../storage/guild/port.ts';

export interface MemberListPorts {
  readonly guilds: Pick<Guilds, 'look'>;
  readonly store: Pick<GuildStore, 'members' | 'membersAfter' | 'membersByPrefix'>;
  readonly clock: Pick<Clock, 'monotonic'>;
}

/**
 * Sends the requested members chunk by chunk, as fast as the session's socket accepts them, holding at most one chunk
 * in memory. Sends nothing when the session's user is not in the guild, and stops when the user leaves it.
 *
 * The first chunk states the number of chunks: when members leave meanwhile, the last chunks are smaller or empty.
 */
export async function deliverMembers(
  session: LiveSession,
  request: MembersRequest,
  ports: MemberListPorts,
): Promise<void> {
  const { guildId, userIds, presences, nonce } = request;
  const memberCount = await lookAsMember(session, guildId, (guild) => guild.memberCount, ports);
  if (memberCount === null) return;
  const count = asksForAll(request) ? chunkCountOf(memberCount) : 1;
  const read = asksForAll(request)
    ? pagesOf(guildId, count, ports.store)
    : () => foundMembers(request, ports.store);
  for (let index = 0; index < count; index += 1) {
    await session.writable();
    if (session.over) return;
    const members = await read(index);
    const found = new Set(members.map(({ user }) => user.id));
    const notFound = (userIds ?? []).filter((id) => !found.has(id));
    const chunk = await lookAsMember(
      session,
      guildId,
      (guild) => {
        const page = { guildId, members, notFound, presences: presences ? guild.presences : null, nonce };
        return membersChunk(page, index, count);
      },
      ports,
    );
    if (chunk === null) return;
    session.deliver(new DispatchBody('GUILD_MEMBERS_CHUNK', chunk, ports.clock.monotonic()));
  }
}

/** Null when the session's user is not in the guild, or the guild is unavailable. */
async function lookAsMember<T>(
  session: LiveSession,
  guildId: GuildId,
  read: (guild: Guild) => T,
  { guilds }: MemberListPorts,
): Promise<T | null> {
  const userId = session.userId;
  const looked = await guilds.look(
    guildId,
    (guild) => (guild.members.get(userId) ? { seen: read(guild) } : null),
    () => ({ members: [userId] }),
  );
  return looked && 'seen' in looked ? looked.seen : null;
}

/**
 * All members in pages of one chunk each, to be read in order. Members who join meanwhile may push counted members
 * behind the end of the last page, so the last page may hold up to one chunk more than the platform's limit.
 */
function pagesOf(
  guildId: GuildId,
  count: number,
  store: MemberListPorts['store'],
): (index: number) => Promise<readonly Member[]> {
  const most = LIMITS.member_chunk_max;
  let after: UserId | null = null;
  let isComplete = false;
  return async (index) => {
    if (isComplete) return [];
    const page = await store.membersAfter(guildId, after, index === count - 1 ? 2 * most : most);
    isComplete = page.length < most;
    after = page.at(-1)?.user.id ?? after;
    return page;
  };
}

/** At most one chunk of matching members. */
async function foundMembers(
  { guildId, userIds, query, limit }: MembersRequest,
  store: MemberListPorts['store'],
): Promise<readonly Member[]> {
  if (userIds) return store.members(guildId, userIds);
  // No name contains NUL, and the database rejects it.
  const prefix = query?.replaceAll('\u0000', '\ufffd');
  if (prefix) return store.membersByPrefix(guildId, prefix, limit || LIMITS.member_chunk_max);
  return store.membersAfter(guildId, null, limit);
}
