import { partitionOf } from '../../engine/placement/partition.ts';

/** A message that a writer sent; `id` when it was acknowledged. */
export interface Written {
  readonly content: string;
  readonly id: string | null;
}

/** A dispatch as a session got it. `id` and `channelId` when it was a message of a writer. */
export interface ReceivedDispatch {
  readonly s: number;
  /** The guild whose state it received again by GUILD_CREATE, so it knows that it may have missed dispatches before. */
  readonly anew: string | null;
  readonly message: { readonly id: string; readonly channelId: string } | null;
}

/** From READY until the next READY. */
export interface Hearing {
  readonly session: string;
  readonly heard: readonly ReceivedDispatch[];
  /** It received all from the first message on. */
  readonly fromStart: boolean;
  /** It stood when all was over. */
  readonly toEnd: boolean;
}

/** A row of the database. */
export interface Stored {
  readonly id: string;
  readonly guildId: string;
  readonly channelId: string;
  readonly content: string;
}

/** The database's own records: each takeover of a partition, and each commit with its epoch. */
export type Noted =
  | { readonly at: number; readonly partition: number; readonly epoch: number }
  | { readonly at: number; readonly ownerId: string; readonly n: number };

export interface History {
  readonly written: readonly Written[];
  readonly hearings: readonly Hearing[];
  readonly stored: readonly Stored[];
  readonly noted: readonly Noted[];
  readonly partitions: number;
}

export interface Verdict {
  readonly lost: readonly string[];
  readonly doubled: readonly string[];
  readonly reordered: readonly string[];
  readonly stale: readonly string[];
  /** Messages that sessions did not receive, and knew so: their guild was unavailable and came back. */
  readonly unseen: number;
}

/** A number of a dispatch is its owner's epoch, and a count under it. */
const COUNTS = 2 ** 32;

function grouped(rows: readonly Stored[], keyOf: (row: Stored) => string): Map<string, Stored[]> {
  const groups = new Map<string, Stored[]>();
  for (const row of rows) groups.set(keyOf(row), [...(groups.get(keyOf(row)) ?? []), row]);
  return groups;
}

const byId = (a: Stored, b: Stored): number => (BigInt(a.id) < BigInt(b.id) ? -1 : 1);

/** Compares what was dispatched with what the database holds in the end. */
export function judge(history: History): Verdict {
  const { written, stored } = history;
  const lost: string[] = [];
  const doubled: string[] = [];
  const reordered: string[] = [];
  const ids = new Set(stored.map(({ id }) => id));
  for (const { content, id } of written)
    if (id !== null && !ids.has(id)) lost.push(`"${content}" was acknowledged as ${id} and is not stored`);
  const copies = grouped(stored, ({ content }) => content);
  for (const [content, each] of copies)
    if (each.length > 1) doubled.push(`"${content}" is stored as ${each.map(({ id }) => id).join(', ')}`);
  let unseen = 0;
  for (const hearing of history.hearings) {
    judgeNumbers(hearing, { lost, doubled, reordered });
    for (const rows of grouped(stored, ({ channelId }) => channelId).values())
      unseen += judgeChannel(hearing, rows.toSorted(byId), { lost, doubled, reordered });
    for (const { message } of hearing.heard)
      if (message && !ids.has(message.id))
        lost.push(`${hearing.session} was told ${message.id}, which is not stored`);
  }
  return { lost, doubled, reordered, stale: staleAmong(history), unseen };
}

type Findings = Record<'lost' | 'doubled' | 'reordered', string[]>;

/** Sequence numbers begin at 1 and leave out none. */
function judgeNumbers({ session, heard }: Hearing, { lost, doubled, reordered }: Findings): void {
  const seen = new Set<number>();
  let last = 0;
  for (const { s } of heard) {
    if (seen.has(s)) doubled.push(`${session} got s ${s} twice`);
    else if (s < last) reordered.push(`${session} got s ${s} after ${last}`);
    seen.add(s);
    last = Math.max(last, s);
  }
  for (let s = 1; s <= last; s += 1) if (!seen.has(s)) lost.push(`${session} never got s ${s} of ${last}`);
}

/**
 * Checks that the session received a run of the stored messages of a channel, in the order of the ids and without holes,
 * except holes that end with a new GUILD_CREATE. Returns the number of messages in those holes.
 */
function judgeChannel(
  { session, heard, fromStart, toEnd }: Hearing,
  stored: readonly Stored[],
  { lost, doubled, reordered }: Findings,
): number {
  const places = new Map(stored.map(({ id }, at) => [id, at]));
  const guildId = stored[0]?.guildId;
  const seen = new Set<number>();
  let isAnew = !fromStart;
  let last = -1;
  let unseen = 0;
  const passOver = (to: number): void => {
    for (const { id } of stored.slice(last + 1, to))
      if (isAnew) unseen += 1;
      else lost.push(`${session} was never told ${id} of guild ${guildId}`);
  };
  for (const { anew, message } of heard) {
    // The first is that of READY.
    if (anew === guildId && last >= 0) isAnew = true;
    const at = message && places.get(message.id);
    if (typeof at !== 'number') continue;
    if (seen.has(at)) doubled.push(`${session} was told ${stored[at]?.id} twice`);
    else if (at < last) reordered.push(`${session} was told ${stored[at]?.id} after ${stored[last]?.id}`);
    else {
      passOver(at);
      last = at;
      isAnew = false;
    }
    seen.add(at);
  }
  if (toEnd) passOver(stored.length);
  return unseen;
}

/** Commits under an epoch that were written after a later epoch of their partition had begun. */
function staleAmong({ noted, partitions }: History): string[] {
  const epochs = new Map<number, number>();
  const stale: string[] = [];
  for (const note of noted.toSorted((a, b) => a.at - b.at)) {
    if ('epoch' in note) {
      epochs.set(note.partition, Math.max(note.epoch, epochs.get(note.partition) ?? 0));
      continue;
    }
    const partition = partitionOf(note.ownerId, partitions);
    const epoch = Math.floor(note.n / COUNTS);
    const current = epochs.get(partition) ?? 0;
    if (epoch < current)
      stale.push(`${note.ownerId} was written under epoch ${epoch} of ${partition}, then at ${current}`);
  }
  return stale;
}

export const lineOf = ({ lost, doubled, reordered, stale }: Verdict): string =>
  `lost ${lost.length}, doubled ${doubled.length}, reordered ${reordered.length}, stale ${stale.length}`;
