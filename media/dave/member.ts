import { type CheckedPackage, isOwnLeaf, type ReadCommit } from './mls.ts';

/** An occupied leaf of the ratchet tree. */
export interface Leaf {
  readonly userId: string;
  /** In hex. */
  readonly signatureKey: string;
  encryptionKey: string;
}

/** A token bucket: refills with time. */
interface Budget {
  left: number;
  atMs: number;
}

/** Size of a token bucket, and the time in which one token refills. */
interface Rate {
  readonly burst: number;
  readonly everyMs: number;
}

/** Takes one token. @returns false when the bucket is empty. */
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
  /** Highest DAVE version of the client; 0 without DAVE. */
  readonly maxVersion: number;
  /** Whether op 25 was sent; a client accepts it only while it has no group. */
  knowsSender: boolean;
  /** Its leaf in the group; null while it is pending. */
  leaf: Leaf | null;
  /** The key package it can be added with; removed when the member is welcomed. */
  package: CheckedPackage | null;
  /** Key packages still expected after op 4, 24 and 31; only the last of them matches the client's state by then. */
  packagesDue: number;
  /** `package` is used from this time on. */
  usableMs: number;
  /** Rounds with this member's Add that were not committed. */
  failures: number;
  /** Commits it may still send; every round asks for one. */
  commitsLeft: number;
  readonly packages: Budget;
  readonly flags: Budget;
  /** A close effect was returned for it; its later messages are ignored. */
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
 * Adds a leaf where members add it: into the leftmost blank, or at the end. Blanks at the end need no handling, because a
 * tree that is truncated and extended again has them in the same positions.
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

/**
 * Whether a key of the package is already in the group. Keys are unique: an Add with a taken key cannot be committed.
 */
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

/** Whether a commit keeps its sender's identity. A commit without an update path does not change the sender's leaf. */
export function isOwnPath(
  { leaf }: ReadCommit,
  member: Member,
  place: { readonly groupId: Uint8Array; readonly leafIndex: number },
): boolean {
  if (leaf === null) return true;
  const signatureKey = member.leaf?.signatureKey ?? member.package?.signatureKey;
  return signatureKey !== undefined && isOwnLeaf(leaf, member.userId, signatureKey, place);
}
