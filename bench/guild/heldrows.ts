import type { ListOp } from '../../engine/guild/memberlist.changes.ts';

/** What a client does with the operations of GUILD_MEMBER_LIST_UPDATE; `held` has its rows by their index. */
export function applyOps(held: unknown[], ops: readonly ListOp[]): void {
  for (const op of ops) {
    if (op.op === 'SYNC') for (const [at, item] of op.items.entries()) held[op.range[0] + at] = item;
    else if (op.op === 'INVALIDATE') for (let at = op.range[0]; at <= op.range[1]; at += 1) delete held[at];
    else if (op.op === 'INSERT') held.splice(op.index, 0, op.item);
    else if (op.op === 'UPDATE') held[op.index] = op.item;
    else held.splice(op.index, 1);
  }
}
