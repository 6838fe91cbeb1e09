import type { GuildId } from '../../protocol/ids.ts';
import { INTENTS } from '../../protocol/intents.ts';
import { LIMITS } from '../../protocol/limits.ts';
import type { MemberListRequest } from '../../protocol/link.sessions.ts';

/** The parameters of Request Guild Members that its limits depend on. */
interface Request {
  readonly guildId: string;
  readonly query: string | null;
  readonly limit: number;
}

/** True when the request is for every member: an empty query without a limit. */
export const asksForAll = (request: Request): boolean => request.query === '' && request.limit === 0;

/** Number of remembered requests from which expired ones are removed. */
const SWEEP_FROM = 1024;

/**
 * A bot may request the whole member list of a guild once in 30 s, over all its sessions.
 *
 * @source https://docs.discord.com/developers/change-log#introducing-rate-limit-when-requesting-all-guild-members
 */
export class MemberListRequests {
  readonly #freeAtMs = new Map<string, number>();
  #sweepAt = SWEEP_FROM;

  /** Milliseconds until the next request is allowed; 0 when allowed now, which counts it. */
  take(userId: string, guildId: string, nowMs: number): number {
    const key = `${userId}:${guildId}`;
    const freeAtMs = this.#freeAtMs.get(key) ?? 0;
    if (nowMs < freeAtMs) return freeAtMs - nowMs;
    if (this.#freeAtMs.size >= this.#sweepAt) this.#sweep(nowMs);
    this.#freeAtMs.set(key, nowMs + LIMITS.member_request_ms);
    return 0;
  }

  #sweep(nowMs: number): void {
    for (const [key, freeAtMs] of this.#freeAtMs) if (nowMs >= freeAtMs) this.#freeAtMs.delete(key);
    this.#sweepAt = Math.max(SWEEP_FROM, this.#freeAtMs.size * 2);
  }
}

/**
 * The request that a bot's intents allow: no presences without GUILD_PRESENCES. Null for a request for every member
 * from a session without GUILD_MEMBERS, which the platform leaves unanswered.
 */
export function grantedRequest<R extends Request & { readonly presences: boolean }>(
  request: R,
  intents: number,
): R | null {
  if (asksForAll(request) && (intents & INTENTS.GUILD_MEMBERS) === 0) return null;
  const presences = request.presences && (intents & INTENTS.GUILD_PRESENCES) !== 0;
  return { ...request, presences };
}

/** What a session is shown of a guild's members; null for nothing. */
export const memberListIn = (
  { memberLists }: { readonly memberLists?: readonly MemberListRequest[] | null },
  guildId: GuildId,
): MemberListRequest | null => memberLists?.find((each) => each.guildId === guildId) ?? null;

/** The least difference between the times of two requests. */
const ORDER_MS = 1 / 1024;

const isEmpty = ({ channels, memberIds }: MemberListRequest): boolean =>
  (channels ?? []).length === 0 && (memberIds ?? []).length === 0;

/**
 * What a session is shown of guilds' members after another request of its client, oldest first; the same list when nothing
 * changes. A guild of which it is shown nothing any more stays in it, for the order of requests. `ended`: requests that
 * end what the session is shown of other guilds, because it would have too many.
 */
export function withMemberList(
  shown: readonly MemberListRequest[],
  request: MemberListRequest,
): { readonly memberLists: readonly MemberListRequest[]; readonly ended: readonly MemberListRequest[] } {
  const { guildId } = request;
  const before = shown.find((each) => each.guildId === guildId);
  const channels = request.channels ?? before?.channels ?? [];
  const memberIds = request.memberIds ?? before?.memberIds ?? [];
  // Later than any other, also of the same moment: by it the guild's owner tells which request is the latest.
  const atMs = Math.max(request.atMs, ...shown.map((each) => each.atMs + ORDER_MS));
  const after = { guildId, channels, memberIds, atMs };
  if (!before && isEmpty(after)) return { memberLists: shown, ended: [] };
  const others = shown.filter((each) => each !== before);
  const all = [...others, after];
  const cut = Math.max(0, all.length - LIMITS.member_list_guilds_max);
  const ended = all
    .slice(0, cut)
    .map((each) => ({ guildId: each.guildId, channels: [], memberIds: [], atMs }));
  return { memberLists: all.slice(cut), ended };
}
