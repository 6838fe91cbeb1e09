import { DAVE_VERSION_MAX, VOICE_CLOSE, VOICE_OP } from '../../protocol/voice.ts';
import type { DaveDelivery, DaveEffect, DaveOptions, OpenDaveDelivery } from './delivery.ts';
import {
  addLeaf,
  COMMITS,
  FLAG_RATE,
  hasTakenKey,
  isOwnPath,
  type Leaf,
  type Member,
  newMember,
  PACKAGE_RATE,
  removeLeaf,
  spend,
} from './member.ts';
import {
  type ExternalSender,
  hex,
  openExternalSender,
  peekCommit,
  type ReadCommit,
  readCommit,
  readKeyPackage,
  snowflakeBytes,
  trimWelcome,
} from './mls.ts';
import { Outbox } from './outbox.ts';
import {
  announceRound,
  type Change,
  changesFor,
  commitChanges,
  plan,
  propose,
  type Round,
  revokeRound,
} from './round.ts';
import { type Ended, FlaggableCommits, Transitions } from './transitions.ts';

/** After a commit the next round waits for its transition, but at most this long: one slow member delays others little. */
const SETTLE_MS = 250;
/** How long a member's removal waits for the key package that adds it again. */
const GATHER_MS = 100;
/** How long a key package waits for the one expected to follow it; a client may send only one. */
const FOLLOWED_MS = 1000;
/** An Add that was in this many uncommitted rounds is refused, if rounds without it were committed in between. */
const FAILURES_MAX = 3;

/**
 * The delivery service of one call.
 *
 * Two signatures are not checked here: that of a commit's frame, and its membership tag. Both cover the group context
 * or secrets, so checking them would need the whole ratchet tree, or keys that the server must not have. They need no
 * check: the socket identifies the sender of the commit and its leaf index must belong to that user, so no member can
 * commit for another; and every member checks both and sends op 31 when they are wrong, after which the committer is
 * passed over. Checked is what the group's bookkeeping depends on: epoch, sender, references, the signed leaf, the
 * Welcome's receivers.
 */
class Delivery implements DaveDelivery {
  version = DAVE_VERSION_MAX;
  epoch: bigint | null = null;

  private readonly options: DaveOptions;
  private readonly groupId: Uint8Array;
  private readonly sender: ExternalSender;
  private readonly members = new Map<string, Member>();
  private leaves: (Leaf | null)[] = [];
  private round: Round | null = null;
  readonly transitions: Transitions;
  private readonly flaggable = new FlaggableCommits();
  /** Consecutive rounds without a commit. */
  private timeouts = 0;
  /** The member whose commit was flagged; another member must make the next commit. */
  private passedOver: string | null = null;
  private settledMs = 0;
  private gatheredMs = 0;
  private roundDueMs: number | null = null;
  private readonly outbox = new Outbox();

  constructor(options: DaveOptions) {
    this.options = options;
    this.groupId = snowflakeBytes(options.groupId);
    this.sender = openExternalSender(options.randomBytes);
    const [high, low] = options.randomBytes(2) as Uint8Array & [number, number];
    this.transitions = new Transitions((high << 8) | low);
  }

  get pendingCount(): number {
    return this.version === 0 ? 0 : this.list((member) => member.leaf === null).length;
  }

  get deadlineMs(): number | null {
    const times = [this.transitions.deadlineMs, this.round?.deadlineMs ?? null, this.roundDueMs];
    const due = times.filter((time) => time !== null);
    return due.length === 0 ? null : Math.min(...due);
  }

  join(userId: string, maxVersion: number, nowMs: number): readonly DaveEffect[] {
    return this.run(nowMs, () => {
      if (this.members.has(userId)) this.forget(userId);
      if (maxVersion === 0 && this.options.required) {
        this.close(userId, VOICE_CLOSE.E2EE_REQUIRED);
        return;
      }
      const member = newMember(userId, maxVersion, nowMs);
      const others = this.list();
      this.members.set(userId, member);
      this.negotiate(others, nowMs);
      if (this.version === 0) return;
      member.packagesDue += 1;
      this.tellSender(member);
    });
  }

  leave(userId: string, nowMs: number): readonly DaveEffect[] {
    return this.run(nowMs, () => {
      if (!this.members.has(userId)) return;
      this.forget(userId);
      this.negotiate(this.list(), nowMs);
    });
  }

  received(userId: string, op: number, payload: Uint8Array, nowMs: number): readonly DaveEffect[] {
    return this.run(nowMs, () => {
      const member = this.members.get(userId);
      if (member === undefined || member.closed) return;
      if (op === VOICE_OP.DAVE_MLS_KEY_PACKAGE) this.keyPackage(member, payload, nowMs);
      else if (op === VOICE_OP.DAVE_MLS_COMMIT_WELCOME) this.commit(member, payload, nowMs);
      else this.refuse(member);
    });
  }

  transitionReady(userId: string, transitionId: number, nowMs: number): readonly DaveEffect[] {
    return this.run(nowMs, () => this.ended(this.transitions.ready(userId, transitionId)));
  }

  /** Op 31: the member has lost the group. It is removed, and added again with the key package it sends next. */
  invalidCommitWelcome(userId: string, transitionId: number, nowMs: number): readonly DaveEffect[] {
    return this.run(nowMs, () => {
      const member = this.members.get(userId);
      if (member === undefined || member.closed || this.version === 0) return;
      if (!spend(member.flags, FLAG_RATE, nowMs)) {
        this.close(userId, VOICE_CLOSE.RATE_LIMITED);
        return;
      }
      const flagged = this.flaggable.flag(transitionId, userId);
      if (flagged !== null) {
        if (flagged.isLatest) this.passedOver = flagged.committerId;
        if (flagged.isLost && this.epoch !== null) {
          this.outbox.count('recovery', 'recreated');
          this.recreate();
          return;
        }
      }
      member.packagesDue += 1;
      this.lose(member);
      this.gatheredMs = nowMs + GATHER_MS;
      this.outbox.count('recovery', 'readded');
    });
  }

  tick(nowMs: number): readonly DaveEffect[] {
    return this.run(nowMs, () => {
      this.ended(this.transitions.expire(nowMs));
      if (this.round !== null && this.round.deadlineMs <= nowMs) this.uncommitted(this.round);
    });
  }

  /** Ends the handling of every input: what changed may require a new group, or the next round. */
  private run(nowMs: number, input: () => void): readonly DaveEffect[] {
    input();
    this.settle();
    this.openRound(nowMs);
    return this.outbox.take();
  }

  private list(keep: (member: Member) => boolean = () => true): Member[] {
    return [...this.members.values()].filter(keep);
  }

  private readonly isMember = (member: Member): boolean => member.leaf !== null;

  private close(userId: string, close: { readonly code: number; readonly reason: string }): void {
    const member = this.members.get(userId);
    if (member !== undefined) member.closed = true;
    this.outbox.close(userId, close);
  }

  private refuse(member: Member): void {
    this.close(member.userId, VOICE_CLOSE.BAD_REQUEST);
  }

  private tellSender(member: Member): void {
    if (member.knowsSender) return;
    member.knowsSender = true;
    this.outbox.binary([member], VOICE_OP.DAVE_MLS_EXTERNAL_SENDER, this.sender.announcement);
  }

  private forget(userId: string): void {
    const member = this.members.get(userId);
    this.members.delete(userId);
    if (member !== undefined) this.withdraw(member);
    this.ended(this.transitions.forget(userId));
    if (this.passedOver === userId) this.passedOver = null;
  }

  /** Sets the version that every client in the call supports. If it changes, `others` were sent the previous version. */
  private negotiate(others: readonly Member[], nowMs: number): void {
    const lowest = Math.min(DAVE_VERSION_MAX, ...this.list().map(({ maxVersion }) => maxVersion));
    if (this.members.size === 0) this.version = DAVE_VERSION_MAX;
    if (lowest === this.version || this.members.size === 0) return;
    // A transition that is executed after the change would switch clients back to the previous version.
    this.ended(this.transitions.endAll());
    this.version = lowest;
    if (lowest > 0) {
      // A client may have dropped the external sender with its last session.
      for (const member of this.members.values()) member.knowsSender = false;
      this.recreate();
      return;
    }
    this.clearGroup();
    const remaining = others.filter(({ maxVersion }) => maxVersion > 0);
    if (remaining.length > 0) this.prepare(remaining, nowMs);
  }

  /** Op 21 to version 0. */
  private prepare(told: readonly Member[], nowMs: number): void {
    const ids = told.map(({ userId }) => userId);
    const transitionId = this.transitions.begin(ids, nowMs + this.options.transitionMs);
    this.outbox.json(told, VOICE_OP.DAVE_PREPARE_TRANSITION, {
      protocol_version: this.version,
      transition_id: transitionId,
    });
  }

  private clearGroup(): void {
    this.epoch = null;
    this.leaves = [];
    this.round = null;
    this.timeouts = 0;
    for (const member of this.members.values()) {
      member.leaf = null;
      member.package = null;
    }
  }

  /** Op 24 with epoch 1: every client drops the group and sends a key package for a new one. */
  private recreate(): void {
    this.ended(this.transitions.endAll());
    this.clearGroup();
    const all = this.list();
    this.restart(all);
    for (const member of all) this.tellSender(member);
  }

  private restart(members: readonly Member[]): void {
    this.outbox.json(members, VOICE_OP.DAVE_PREPARE_EPOCH, { protocol_version: this.version, epoch: 1 });
    for (const member of members) member.packagesDue += 1;
  }

  /** The member has started over: it becomes pending and leaves the open round and transitions. */
  private lose(member: Member): void {
    const wasIn = this.withdraw(member);
    member.leaf = null;
    member.package = null;
    this.ended(this.transitions.forget(member.userId));
    // The server cannot know whether the member received the proposals of a group being formed before it started over or after.
    if (wasIn && this.epoch === null) this.restart([member]);
  }

  private ended(transitions: readonly Ended[]): void {
    for (const { id, members, result } of transitions) {
      const present = members.flatMap((userId) => this.members.get(userId) ?? []);
      this.outbox.json(present, VOICE_OP.DAVE_EXECUTE_TRANSITION, { transition_id: id });
      this.outbox.count('transition', result);
      this.settledMs = 0;
    }
  }

  /** A group with one member or none is dropped. */
  private settle(): void {
    if (this.epoch === null) return;
    if (this.members.size === 0) {
      this.clearGroup();
    } else if (this.members.size === 1) {
      this.recreate();
      this.outbox.json(this.list(), VOICE_OP.DAVE_PREPARE_TRANSITION, {
        protocol_version: this.version,
        transition_id: 0,
      });
    } else if (!this.leaves.some((leaf) => leaf !== null && this.members.get(leaf.userId)?.leaf === leaf)) {
      this.recreate();
    }
  }

  private openRound(nowMs: number): void {
    this.roundDueMs = null;
    if (this.round !== null || this.version === 0) return;
    const next = plan(this.members, this.epoch === null ? null : this.leaves, nowMs);
    const waits = this.list((member) => member.package !== null && member.usableMs > nowMs);
    const notBeforeMs = Math.max(this.settledMs, this.gatheredMs);
    if (next === null) {
      if (waits.length > 0) this.roundDueMs = Math.min(...waits.map(({ usableMs }) => usableMs));
      return;
    }
    if (nowMs < notBeforeMs) {
      this.roundDueMs = notBeforeMs;
      return;
    }
    const epoch = this.epoch ?? 0n;
    const deadlineMs = nowMs + this.options.transitionMs * 2 ** Math.min(this.timeouts, 5);
    this.round = { epoch, deadlineMs, changes: propose(this.sender, this.groupId, epoch, next) };
    for (const member of next.adds) member.packagesDue = 0;
    const committers = this.committers(this.round);
    for (const member of committers)
      member.commitsLeft = Math.min(COMMITS.max, member.commitsLeft + COMMITS.perRound);
    announceRound(this.round, committers, this.outbox);
  }

  /** Members that have all they need to commit this round. */
  private committers(round: Round): Member[] {
    if (round.epoch !== 0n) return this.list(this.isMember);
    return round.changes.flatMap((change) =>
      change.kind === 'add' && this.members.get(change.member.userId) === change.member
        ? [change.member]
        : [],
    );
  }

  /** Revokes the open round. `except` has started over and holds no proposals; revoking unknown ones would be an error to it. */
  private dropRound(except: Member | null): void {
    if (this.round === null) return;
    const receivers = this.committers(this.round).filter((member) => member !== except);
    revokeRound(this.round, receivers, this.outbox);
    this.round = null;
  }

  /** Makes sure that the open round does not add this member. @returns whether it would have. */
  private withdraw(member: Member): boolean {
    const isIn =
      this.round?.changes.some((change) => change.kind === 'add' && change.member === member) ?? false;
    if (isIn) this.dropRound(member);
    return isIn;
  }

  private uncommitted(round: Round): void {
    this.outbox.count('commit', 'timeout');
    this.timeouts += 1;
    this.passedOver = null;
    for (const change of round.changes) {
      if (change.kind !== 'add') continue;
      change.member.failures += 1;
      if (round.epoch !== 0n && change.member.failures >= FAILURES_MAX) this.refuse(change.member);
    }
    const { timeouts } = this;
    if (timeouts < 2 && round.epoch !== 0n) {
      this.dropRound(null);
      return;
    }
    this.outbox.count('recovery', 'recreated');
    this.recreate();
    this.timeouts = timeouts;
  }

  private keyPackage(member: Member, payload: Uint8Array, nowMs: number): void {
    if (!spend(member.packages, PACKAGE_RATE, nowMs)) {
      this.close(member.userId, VOICE_CLOSE.RATE_LIMITED);
      return;
    }
    if (this.version === 0) return;
    const checked = readKeyPackage(payload, member.userId);
    if (typeof checked === 'string' || hasTakenKey(checked, member, this.list(), this.leaves)) {
      this.refuse(member);
      return;
    }
    member.packagesDue = Math.max(0, member.packagesDue - 1);
    this.lose(member);
    member.package = checked;
    member.usableMs = member.packagesDue > 0 ? nowMs + FOLLOWED_MS : nowMs;
    this.gatheredMs = 0;
  }

  private commit(member: Member, payload: Uint8Array, nowMs: number): void {
    if (member.commitsLeft < 1) {
      this.close(member.userId, VOICE_CLOSE.RATE_LIMITED);
      return;
    }
    member.commitsLeft -= 1;
    const seen = peekCommit(payload, this.groupId);
    if (seen === null) {
      this.refuse(member);
      return;
    }
    const { round } = this;
    // A late commit is not an error: every member commits, and the first commit wins.
    if (round === null || seen.epoch !== round.epoch) {
      this.outbox.count('commit', 'late');
      return;
    }
    const leafIndex =
      round.epoch === 0n ? 0 : this.leaves.findIndex((leaf) => leaf !== null && leaf === member.leaf);
    const isEntitled = round.epoch === 0n ? this.committers(round).includes(member) : leafIndex !== -1;
    if (!isEntitled || seen.leafIndex !== leafIndex || this.isPassedOver(member, round)) {
      this.outbox.count('commit', 'refused');
      return;
    }
    const read = readCommit(payload, this.leaves.length + round.changes.length);
    if (read === null || !isOwnPath(read, member, { groupId: this.groupId, leafIndex })) {
      this.refuse(member);
      return;
    }
    const changes = commitChanges(read, changesFor(round, member));
    if (changes === null) {
      // Made for a round that was revoked meanwhile, or without the Welcome that its Adds need.
      this.outbox.count('commit', 'refused');
      return;
    }
    this.accept(member, read, changes, nowMs);
  }

  private isPassedOver(member: Member, round: Round): boolean {
    return this.passedOver === member.userId && this.committers(round).length > 1;
  }

  private accept(committer: Member, read: ReadCommit, changes: readonly Change[], nowMs: number): void {
    const own = this.place(committer, read);
    const existing = this.list(this.isMember);
    for (const change of changes) if (change.kind === 'remove') removeLeaf(this.leaves, change.leafIndex);
    const added = changes.flatMap((change) => (change.kind === 'add' ? [change] : []));
    for (const { member, package: from } of added) {
      const leaf = {
        userId: member.userId,
        signatureKey: from.signatureKey,
        encryptionKey: from.encryptionKey,
      };
      addLeaf(this.leaves, leaf);
      member.leaf = leaf;
      member.package = null;
      member.failures = 0;
    }
    if (read.leaf !== null) own.encryptionKey = hex(read.leaf.hpkePublicKey);
    this.epoch = (this.epoch ?? 0n) + 1n;
    this.round = null;
    this.timeouts = 0;
    this.passedOver = null;
    this.settledMs = nowMs + SETTLE_MS;
    this.outbox.count('commit', 'accepted');
    this.announce(committer, read, { existing, added }, nowMs);
  }

  /** The committer's leaf. The committer that forms the group gets the first one. */
  private place(committer: Member, { leaf: from }: ReadCommit): Leaf {
    if (committer.leaf !== null) return committer.leaf;
    const leaf = {
      userId: committer.userId,
      signatureKey: committer.package?.signatureKey ?? '',
      encryptionKey: from === null ? '' : hex(from.hpkePublicKey),
    };
    committer.leaf = leaf;
    committer.package = null;
    committer.failures = 0;
    this.leaves = [leaf];
    return leaf;
  }

  private announce(
    committer: Member,
    read: ReadCommit,
    to: {
      readonly existing: readonly Member[];
      readonly added: readonly (Change & { readonly kind: 'add' })[];
    },
    nowMs: number,
  ): void {
    const everyone = [...to.existing, ...to.added.map(({ member }) => member)];
    const id = this.transitions.begin(
      everyone.map(({ userId }) => userId),
      nowMs + this.options.transitionMs,
    );
    const prefix = Uint8Array.of(id >> 8, id & 0xff);
    const commit = Buffer.concat([prefix, read.message]);
    this.outbox.binary(to.existing, VOICE_OP.DAVE_MLS_ANNOUNCE_COMMIT_TRANSITION, commit);
    const { welcome } = read;
    if (welcome !== null) {
      for (const { member, package: from } of to.added)
        this.outbox.binary(
          [member],
          VOICE_OP.DAVE_MLS_WELCOME,
          Buffer.concat([prefix, trimWelcome(welcome, from.ref)]),
        );
    }
    this.flaggable.add(id, committer.userId, everyone.length - 1);
  }
}

/**
 * Opens the delivery service of one call. Every transition has its own number, the first of a group too: clients execute
 * number 0 at once, and would then have no number to name in op 31 when they cannot decrypt afterwards.
 */
export const openDaveDelivery: OpenDaveDelivery = (options) => new Delivery(options);
