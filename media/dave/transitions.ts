/** How a transition ended; a label of the metric. */
type Ending = 'ready' | 'timeout' | 'superseded';

export interface Ended {
  readonly id: number;
  readonly members: readonly string[];
  readonly result: Ending;
}

interface Transition {
  readonly id: number;
  readonly members: readonly string[];
  readonly waiting: Set<string>;
  readonly deadlineMs: number;
}

/** Waits for op 23 of every member before a transition is executed. All deadlines have the same duration: oldest first. */
export class Transitions {
  private open: Transition[] = [];
  /** Members that missed the last deadline. Later transitions do not wait for them until they send op 23 again. */
  private readonly late = new Set<string>();
  private lastId: number;

  constructor(firstId: number) {
    this.lastId = firstId;
  }

  get deadlineMs(): number | null {
    return this.open[0]?.deadlineMs ?? null;
  }

  /** @returns the transition's id, 1 to 65535, different from the ids before it. */
  begin(members: readonly string[], deadlineMs: number): number {
    this.lastId = (this.lastId % 0xffff) + 1;
    const punctual = members.filter((userId) => !this.late.has(userId));
    const waiting = new Set(punctual.length > 0 ? punctual : members);
    this.open.push({ id: this.lastId, members, waiting, deadlineMs });
    return this.lastId;
  }

  ready(userId: string, id: number): Ended[] {
    this.late.delete(userId);
    this.open.find((transition) => transition.id === id)?.waiting.delete(userId);
    return this.end((transition) => (transition.waiting.size === 0 ? 'ready' : null));
  }

  /** Stops waiting for this member. */
  forget(userId: string): Ended[] {
    this.late.delete(userId);
    for (const transition of this.open) transition.waiting.delete(userId);
    return this.end((transition) => (transition.waiting.size === 0 ? 'ready' : null));
  }

  expire(nowMs: number): Ended[] {
    return this.end((transition) => {
      if (transition.deadlineMs > nowMs) return null;
      for (const userId of transition.waiting) this.late.add(userId);
      return 'timeout';
    });
  }

  endAll(): Ended[] {
    return this.end(() => 'superseded');
  }

  private end(decide: (transition: Transition) => Ending | null): Ended[] {
    const ended: Ended[] = [];
    this.open = this.open.filter((transition) => {
      const result = decide(transition);
      if (result !== null) ended.push({ id: transition.id, members: transition.members, result });
      return result === null;
    });
    return ended;
  }
}

interface Flagged {
  readonly committerId: string;
  readonly isLatest: boolean;
  readonly isLost: boolean;
}

/** Latest commits that can still be flagged. */
const FLAGGABLE_MAX = 16;

/** Records which members flagged which commit with op 31. */
export class FlaggableCommits {
  private readonly commits: {
    readonly id: number;
    readonly committerId: string;
    readonly receivers: number;
    readonly flaggedBy: Set<string>;
  }[] = [];

  add(id: number, committerId: string, receivers: number): void {
    this.commits.push({ id, committerId, receivers, flaggedBy: new Set() });
    if (this.commits.length > FLAGGABLE_MAX) this.commits.shift();
  }

  /** @returns the committer, whether the commit is the latest, and whether most receivers flagged it; null when not another's. */
  flag(id: number, userId: string): Flagged | null {
    const flagged = this.commits.find((commit) => commit.id === id && commit.committerId !== userId);
    if (flagged === undefined) return null;
    flagged.flaggedBy.add(userId);
    const isLatest = flagged === this.commits.at(-1);
    const isLost = isLatest && flagged.flaggedBy.size * 2 > flagged.receivers;
    return { committerId: flagged.committerId, isLatest, isLost };
  }
}
