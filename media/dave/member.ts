import { type CheckedPackage, isOwnLeaf, type ReadCommit } from './mls.ts';

/** One place in the ratchet tree that is taken. */
export interface Leaf {
  readonly userId: string;
  /** In hex. */
  readonly signatureKey: string;
  encryptionKey: string;
}

/** A tally that fills up again with time. */
interface Budget {
  left: number;
  atMs: number;
}

/** How many of something come at once, and after how long one more may. */
interface Rate {
  readonly burst: number;
  readonly everyMs: number;
}

/** Takes one; false: there is none left. */
export function spend(budget: Budget, rate: Rate, nowMs: number): boolean {
  const filled = Math.max(0, nowMs - budget.atMs) / rate.everyMs;
  budget.left = Math.min(rate.burst, budget.left + filled);
  budget.atMs = nowMs;
  if (budget.left < 1) return false;
  budget.left -= 1;
  return true;
}

/** A user whose client is connected to the call. */
export interface Member {
  readonly userId: string;
  /** 0: its client has no DAVE. */
  readonly maxVersion: number;
  /** Whether op 25 was sent: a client takes it only while it has no group. */
  knowsSender: boolean;
  /** Its place in the group; null: pending. */
  leaf: Leaf | null;
  /** What it can be added with; gone when it is welcomed. */
  package: CheckedPackage | null;
  /** Key packages that op 4, 24 and 31 still call for; only the last of them fits the state the client is in then. */
  packagesDue: number;
  /** From when on `package` is used. */
  usableMs: number;
  /** Rounds that nobody committed while they had this member's Add. */
  failures: number;
  /** Commits it may still send: every round calls for one. */
  commitsLeft: number;
  readonly packages: Budget;
  readonly flags: Budget;
  /** Told to close: nothing it sends counts any more. */
  closed: boolean;
}

export const PACKAGE_RATE: Rate = { burst: 8, everyMs: 2000 };
export const FLAG_RATE: Rate = { burst: 6, everyMs: 2000 };
export const COMMITS = { atFirst: 4, perRound: 2, max: 64 };

export const newMember = (userId: string, maxVersion: number, nowMs: number): Member => ({
  userId,
  maxVersion,
  knowsSender: false,
  leaf: null,
  package: null,
  packagesDue: 0,
  usableMs: nowMs,
  failures: 0,
  commitsLeft: COMMITS.atFirst,
  packages: { left: PACKAGE_RATE.burst, atMs: nowMs },
  flags: { left: FLAG_RATE.burst, atMs: nowMs },
  closed: false,
});

/**
 * Puts a leaf where members put it: into the leftmost blank, or at the end. Blanks at the end need no care, since a tree
 * that is truncated and extended again has them in the same places.
 *
 * @source RFC 9420 §7.7 and §12.1.1
 */
export function addLeaf(leaves: (Leaf | null)[], leaf: Leaf): void {
  const blank = leaves.indexOf(null);
  if (blank === -1) leaves.push(leaf);
  else leaves[blank] = leaf;
}

export function removeLeaf(leaves: (Leaf | null)[], index: number): void {
  leaves[index] = null;
  while (leaves.at(-1) === null) leaves.pop();
}

/** Keys are unique in a group: a package with one that another has would keep everybody else from committing. */
export function hasTakenKey(
  checked: CheckedPackage,
  owner: Member,
  members: readonly Member[],
  leaves: readonly (Leaf | null)[],
): boolean {
  const keys = new Set([checked.signatureKey, checked.encryptionKey, checked.initKey]);
  const isLeaf = leaves.some(
    (leaf) =>
      leaf !== null &&
      leaf.userId !== owner.userId &&
      (keys.has(leaf.signatureKey) || keys.has(leaf.encryptionKey)),
  );
  const isWaiting = members.some(
    ({ userId, package: other }) =>
      userId !== owner.userId &&
      other !== null &&
      (keys.has(other.signatureKey) || keys.has(other.encryptionKey) || keys.has(other.initKey)),
  );
  return isLeaf || isWaiting;
}

/** Whether a commit leaves its sender who it is. Without an update path it does not touch it. */
export function isOwnPath(
  { leaf }: ReadCommit,
  member: Member,
  place: { readonly groupId: Uint8Array; readonly leafIndex: number },
): boolean {
  if (leaf === null) return true;
  const signatureKey = member.leaf?.signatureKey ?? member.package?.signatureKey;
  return signatureKey !== undefined && isOwnLeaf(leaf, member.userId, signatureKey, place);
}
