import { VOICE_OP } from '../../protocol/voice.ts';
import type { Leaf, Member } from './member.ts';
import {
  type CheckedPackage,
  type ExternalSender,
  type Proposed,
  type ReadCommit,
  vector,
  welcomed,
} from './mls.ts';
import type { Outbox } from './outbox.ts';

/** First byte of op 27: proposals are appended or revoked. */
const APPEND = 0;
const REVOKE = 1;
/** Most Adds of one round; bounds the size of its commit and of its Welcomes. */
const ADDS_MAX = 64;

export type Change = Proposed &
  (
    | { readonly kind: 'remove'; readonly leafIndex: number }
    | { readonly kind: 'add'; readonly member: Member; readonly package: CheckedPackage }
  );

/**
 * Proposals that wait for a commit: one op 27, all or nothing. Nothing is appended to an open round, because that would
 * outdate every commit already made for it, and because clients welcome only the users of the latest op 27. A round that
 * must change is revoked as a whole, and another one is opened.
 */
export interface Round {
  /** 0 while the group is being formed. */
  readonly epoch: bigint;
  readonly changes: readonly Change[];
  readonly deadlineMs: number;
}

/** The changes that the next round must make. */
interface Plan {
  readonly removes: readonly number[];
  readonly adds: readonly Member[];
}

/** Plans a round; null when nothing must change. `leaves` is null without a group; two members can form one. */
export function plan(
  members: ReadonlyMap<string, Member>,
  leaves: readonly (Leaf | null)[] | null,
  nowMs: number,
): Plan | null {
  const waiting = [...members.values()].filter(
    (member) => member.package !== null && !member.closed && member.usableMs <= nowMs,
  );
  const removes: number[] = [];
  for (const [index, leaf] of (leaves ?? []).entries()) {
    if (leaf !== null && members.get(leaf.userId)?.leaf !== leaf) removes.push(index);
  }
  const adds = choose(waiting, leaves === null ? 2 : 1);
  if (leaves === null) return adds.length >= 2 ? { removes, adds } : null;
  return adds.length + removes.length > 0 ? { removes, adds } : null;
}

/**
 * Selects the members to add now. Members whose Add failed before are selected last and as few at a time as possible,
 * so that an Add that cannot be committed keeps no other member out.
 */
function choose(waiting: Member[], atLeast: number): Member[] {
  const fresh = waiting.filter((member) => member.failures === 0);
  if (fresh.length >= atLeast) return fresh.slice(0, ADDS_MAX);
  return waiting.sort((a, b) => a.failures - b.failures).slice(0, atLeast);
}

export function propose(sender: ExternalSender, groupId: Uint8Array, epoch: bigint, from: Plan): Change[] {
  const removes = from.removes.map((leafIndex): Change => {
    const proposal = { proposalType: 'remove', remove: { removed: leafIndex } } as const;
    return { kind: 'remove', leafIndex, ...sender.propose(groupId, epoch, proposal) };
  });
  const adds = from.adds.flatMap((member): Change[] => {
    if (member.package === null) return [];
    const proposal = { proposalType: 'add', add: { keyPackage: member.package.content } } as const;
    return [{ kind: 'add', member, package: member.package, ...sender.propose(groupId, epoch, proposal) }];
  });
  return [...removes, ...adds];
}

/** Changes that this member has to commit: all but its own addition while the group is formed, the whole round afterwards. */
export const changesFor = (round: Round, member: Member): readonly Change[] =>
  round.epoch === 0n
    ? round.changes.filter((change) => change.kind !== 'add' || change.member !== member)
    : round.changes;

const payload = (op: number, items: readonly Uint8Array[]): Uint8Array =>
  Buffer.concat([Uint8Array.of(op), vector(Buffer.concat(items))]);

function perReceiver(
  round: Round,
  receivers: readonly Member[],
  outbox: Outbox,
  encode: (changes: readonly Change[]) => Uint8Array,
): void {
  if (receivers.length === 0) return;
  const op = VOICE_OP.DAVE_MLS_PROPOSALS;
  if (round.epoch !== 0n) outbox.binary(receivers, op, encode(round.changes));
  else for (const receiver of receivers) outbox.binary([receiver], op, encode(changesFor(round, receiver)));
}

export const announceRound = (round: Round, receivers: readonly Member[], outbox: Outbox): void =>
  perReceiver(round, receivers, outbox, (changes) =>
    payload(
      APPEND,
      changes.map((change) => change.message),
    ),
  );

export const revokeRound = (round: Round, receivers: readonly Member[], outbox: Outbox): void =>
  perReceiver(round, receivers, outbox, (changes) =>
    payload(
      REVOKE,
      changes.map((change) => vector(change.reference)),
    ),
  );

/**
 * The changes of a commit in the order of the commit, in which members apply Adds.
 *
 * @returns null unless the commit has exactly the changes of `expected`, and its Welcome names exactly the added members.
 */
export function commitChanges(read: ReadCommit, expected: readonly Change[]): readonly Change[] | null {
  const byRef = new Map(expected.map((change) => [change.ref, change]));
  const changes = [...new Set(read.refs)].flatMap((ref) => byRef.get(ref) ?? []);
  if (changes.length !== expected.length || read.refs.length !== expected.length) return null;
  if (read.leaf === null && changes.some(({ kind }) => kind === 'remove')) return null;
  const added = changes.flatMap((change) => (change.kind === 'add' ? [change.package.ref] : []));
  const receivers = read.welcome === null ? [] : welcomed(read.welcome);
  const named = new Set(receivers);
  const isComplete = receivers.length === added.length && added.every((ref) => named.has(ref));
  return isComplete && (read.welcome !== null) === added.length > 0 ? changes : null;
}
