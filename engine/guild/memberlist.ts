import type { GatewayPresenceUpdate } from 'discord-api-types/v10';
import { THREADS } from '../../protocol/channeltypes.ts';
import { type ChannelId, compareIds, type UserId } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import { murmur3 } from '../../protocol/murmur3.ts';
import { P } from '../../protocol/permissions.ts';
import { Gate } from '../fanout/gate.ts';
import type { Needs } from '../kernel/needs.ts';
import { channelById, channelIn, everyonePermissions } from '../permissions/permissions.ts';
import type { Guild, GuildChannel, Member } from './guild.ts';
import { rolesByRank } from './roles.ts';

/** A group of a member list: the id of a hoisted role, `online` or `offline`. */
export interface GroupCount {
  readonly id: string;
  readonly count: number;
}

interface GroupRow {
  readonly key: string;
  readonly group: GroupCount;
}

interface MemberRow {
  readonly key: UserId;
  readonly member: Member;
  /** Null for a member who is offline. */
  readonly presence: GatewayPresenceUpdate | null;
  readonly name: string;
  readonly place: Group;
}

/** A row as clients show it: the head of a group, or a member. */
export type ListRow = GroupRow | MemberRow;

interface Group {
  readonly id: string;
  /** By name. */
  readonly rows: MemberRow[];
}

/** A row on the wire. */
export function wireRow(row: ListRow): { readonly group: GroupCount } | { readonly member: object } {
  if ('group' in row) return { group: row.group };
  const offline = { user: { id: row.key }, status: 'offline', activities: [], client_status: {} };
  return { member: { ...row.member, presence: row.presence ?? offline } };
}

/** Which members a list shows. Channels of one scope share a list. */
export interface ListScope {
  readonly channel: GuildChannel;
  /** Equal for channels that the same members see. */
  readonly key: string;
  /** The list's id on the wire. */
  readonly id: string;
}

const EVERYONE = 'everyone';

/**
 * The scope of a channel's list; that of a thread is its channel's. Null for an unknown channel. A channel that @everyone may
 * see lists all members, also those whose roles hide it from them.
 *
 * The ids are those that clients compute, who find a list by them; documented by nobody.
 */
export function listScope(guild: Guild, channelId: ChannelId): ListScope | null {
  const named = channelIn(guild, channelId);
  if (named && THREADS.has(named.type)) return named.parent_id ? listScope(guild, named.parent_id) : null;
  const channel = channelById(guild, channelId);
  if (!channel) return null;
  if ((everyonePermissions(guild, channel) & P.VIEW_CHANNEL) !== 0n)
    return { channel, key: EVERYONE, id: EVERYONE };
  const overwrites = (channel.permission_overwrites ?? []).flatMap(({ id, allow, deny }) => {
    if ((BigInt(allow ?? 0) & P.VIEW_CHANNEL) !== 0n) return [`allow:${id}`];
    return (BigInt(deny ?? 0) & P.VIEW_CHANNEL) === 0n ? [] : [`deny:${id}`];
  });
  const key = overwrites.sort().join();
  return { channel, key, id: String(murmur3(key)) };
}

const isSmall = ({ memberCount }: Guild): boolean => memberCount <= LIMITS.member_list_offline_max;

/** The members that a list is made of. */
export const listNeeds = (guild: Guild): Needs => ({
  members: [...guild.presences.keys()],
  everyoneUpTo: LIMITS.member_list_offline_max,
});

const hoistedRoles = (guild: Guild): string[] =>
  rolesByRank(guild)
    .filter(({ hoist }) => hoist)
    .map(({ id }) => id)
    .reverse();

/**
 * The members who may see a channel, in groups: those online by their highest hoisted role, then the others online, and in
 * a guild of at most `member_list_offline_max` members those offline. The members of `listNeeds` must be in memory when the list is made. It
 * must be made again when roles or channels change.
 *
 * Cost: O(members log members) to make; a change of one member costs a search and the move of the rows behind it.
 */
export class MemberList {
  readonly scope: ListScope;
  readonly #groups: readonly Group[];
  readonly #ranks: ReadonlyMap<string, number>;
  readonly #rows = new Map<UserId, MemberRow>();
  readonly #withOffline: boolean;
  readonly #gate: Gate | null;

  constructor(guild: Guild, scope: ListScope, nowMs: number) {
    this.scope = scope;
    const hoisted = hoistedRoles(guild);
    this.#groups = [...hoisted, 'online', 'offline'].map((id) => ({ id, rows: [] }));
    this.#ranks = new Map(hoisted.map((id, rank) => [id, rank]));
    this.#withOffline = isSmall(guild);
    this.#gate = scope.key === EVERYONE ? null : new Gate(guild, undefined, scope.channel, nowMs);
    const shown = this.#withOffline ? guild.members.keys() : guild.presences.keys();
    for (const userId of shown) {
      const row = this.#rowOf(guild, userId);
      if (!row) continue;
      this.#rows.set(userId, row);
      row.place.rows.push(row);
    }
    for (const { rows } of this.#groups) rows.sort(byName);
  }

  /** How many members it lists. */
  get size(): number {
    return this.#rows.size;
  }

  /** Whether it must be made again because of the size of the guild: offline members are listed, or no longer. */
  isStale(guild: Guild): boolean {
    return this.#withOffline !== isSmall(guild);
  }

  /** Takes over what the guild knows of a user, who may have joined or left. The user must be in the window of members. */
  update(guild: Guild, userId: UserId): void {
    const before = this.#rows.get(userId);
    const after = this.#rowOf(guild, userId);
    if (before) before.place.rows.splice(indexOf(before.place.rows, before), 1);
    if (after) after.place.rows.splice(indexOf(after.place.rows, after), 0, after);
    if (after) this.#rows.set(userId, after);
    else this.#rows.delete(userId);
  }

  /** The groups that have members, in their order. */
  get groups(): GroupCount[] {
    return this.#groups.flatMap(({ id, rows }) => (rows.length === 0 ? [] : [{ id, count: rows.length }]));
  }

  get onlineCount(): number {
    return this.size - (this.#groups.at(-1)?.rows.length ?? 0);
  }

  /** The rows from index `from` to index `to`, excluded. */
  slice(from: number, to: number): ListRow[] {
    const rows: ListRow[] = [];
    let at = 0;
    for (const { id, rows: members } of this.#groups) {
      if (members.length === 0) continue;
      if (at >= from && at < to) rows.push({ key: id, group: { id, count: members.length } });
      at += 1;
      for (let index = Math.max(from - at, 0); index < Math.min(to - at, members.length); index += 1) {
        const row = members[index];
        if (row) rows.push(row);
      }
      at += members.length;
      if (at >= to) break;
    }
    return rows;
  }

  #rowOf(guild: Guild, userId: UserId): MemberRow | null {
    const member = guild.members.get(userId);
    const presence = guild.presences.get(userId) ?? null;
    if (!member || (!presence && !this.#withOffline)) return null;
    if (this.#gate && !this.#gate.passes(member)) return null;
    const place = this.#groups[presence ? this.#rankOf(member) : this.#groups.length - 1];
    return place ? { key: userId, member, presence, name: nameOf(member), place } : null;
  }

  #rankOf({ roles }: Member): number {
    let rank = this.#ranks.size;
    for (const id of roles) rank = Math.min(rank, this.#ranks.get(id) ?? rank);
    return rank;
  }
}

const nameOf = ({ nick, user }: Member): string =>
  (nick ?? user.global_name ?? user.username).toLocaleLowerCase('en');

const byName = (a: MemberRow, b: MemberRow): number =>
  a.name < b.name ? -1 : a.name > b.name ? 1 : compareIds(a.key, b.key);

/** The place of a row among rows in order. */
function indexOf(rows: readonly MemberRow[], row: MemberRow): number {
  let [low, high] = [0, rows.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const other = rows[middle];
    if (other && byName(other, row) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
