import { applyOps } from '../../bench/guild/heldrows.ts';
import type { ListOp, MemberListUpdate, RowRange } from '../../engine/guild/memberlist.changes.ts';

/** Rows that a client has asked for, of the list of one channel of a guild. */
interface ListWish {
  readonly channelId: string;
  readonly ranges: readonly RowRange[];
  /** Whether the request was sent after all faults. */
  readonly isProbe: boolean;
  /** Whether the session has requested the same rows of the guild before: an answer may be that to the earlier request. */
  readonly isRepeated: boolean;
  /** The list's id; null before the rows were received. */
  id: string | null;
  held: unknown[];
}

type Row = {
  readonly group?: { readonly id: string; readonly count: number };
  readonly member?: {
    readonly user: { readonly id: string };
    readonly presence: { readonly status: string };
  };
};

/** A row as it is compared: a group with its count, or a member with the status. */
export const shownRow = (row: unknown): string => {
  const { group, member } = (row ?? {}) as Row;
  if (group) return `${group.id} ${group.count}`;
  return member ? `${member.user.id} ${member.presence.status}` : '-';
};

/** The rows of member lists of one session of a user, as its client knows them; the last request for each guild. */
export class ListView {
  readonly wishes = new Map<string, ListWish>();
  readonly #asked = new Set<string>();

  /** The client has sent a request. */
  asked(guildId: string, channelId: string, ranges: readonly RowRange[], isProbe: boolean): void {
    const key = `${guildId} ${JSON.stringify(ranges)}`;
    const isRepeated = this.#asked.has(key);
    this.#asked.add(key);
    if (ranges.length === 0) this.wishes.delete(guildId);
    else this.wishes.set(guildId, { channelId, ranges, isProbe, isRepeated, id: null, held: [] });
  }

  heard(t: string, d: object): void {
    if (t === 'GUILD_MEMBER_LIST_UPDATE') this.#updated(d as MemberListUpdate);
    // A client that loses sight of a channel, or of its guild, forgets its rows.
    if (t === 'CHANNEL_DELETE')
      for (const [guildId, { channelId }] of this.wishes)
        if (channelId === (d as { id: string }).id) this.wishes.delete(guildId);
    const { id, unavailable } = d as { readonly id: string; readonly unavailable?: boolean };
    if (t === 'GUILD_DELETE' && !unavailable) this.wishes.delete(id);
  }

  #updated({ guild_id: guildId, id, ops }: MemberListUpdate): void {
    const wish = this.wishes.get(guildId);
    if (!wish) return;
    if (isAnswer(ops, wish.ranges)) {
      wish.id = id;
      wish.held = [];
    }
    if (wish.id === id) applyOps(wish.held, ops);
  }
}

/** Whether the operations contain all rows of these ranges. */
const isAnswer = (ops: readonly ListOp[], ranges: readonly RowRange[]): boolean =>
  ranges.every(([first, last]) =>
    ops.some((op) => op.op === 'SYNC' && op.range[0] === first && op.range[1] === last),
  );
