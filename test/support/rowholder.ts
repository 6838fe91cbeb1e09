import type { ListOp, MemberListUpdate } from '../../engine/guild/memberlist.changes.ts';

/** What a client does with the operations of GUILD_MEMBER_LIST_UPDATE. */
export function applyOps(held: unknown[], ops: readonly ListOp[]): void {
  for (const op of ops) {
    if (op.op === 'SYNC') for (const [at, item] of op.items.entries()) held[op.range[0] + at] = item;
    else if (op.op === 'INVALIDATE') for (let at = op.range[0]; at <= op.range[1]; at += 1) delete held[at];
    else if (op.op === 'INSERT') held.splice(op.index, 0, op.item);
    else if (op.op === 'UPDATE') held[op.index] = op.item;
    else held.splice(op.index, 1);
  }
}

type Held = { readonly group?: { readonly id: string; readonly count: number }; readonly member?: object };

/** The rows that a client holds of the list of that id: groups with their counts, and the names of members with their status. */
export function heldRows(
  dispatches: readonly { readonly t: string; readonly d: unknown }[],
  id = 'everyone',
): string[] {
  const held: unknown[] = [];
  for (const { t, d } of dispatches) {
    const update = d as MemberListUpdate;
    if (t === 'GUILD_MEMBER_LIST_UPDATE' && update.id === id) applyOps(held, update.ops);
  }
  return (held as (Held | undefined)[]).flatMap((row) => {
    if (row?.group) return [`${row.group.id} ${row.group.count}`];
    if (!row?.member) return [];
    const { user, presence } = row.member as {
      readonly user: { readonly username: string };
      readonly presence: { readonly status: string };
    };
    // The server adds a number to a name that is taken.
    return [`${user.username.replace(/\.?\d+$/, '')} ${presence.status}`];
  });
}
