import { applyOps } from '../../bench/guild/heldrows.ts';
import type { MemberListUpdate } from '../../engine/guild/memberlist.changes.ts';

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
