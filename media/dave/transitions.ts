/** Results that are counted. */
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

/** Who still has to say op 23 before a transition is executed. All deadlines are one duration away, so the first is the earliest. */
export class Transitions {
  private open: Transition[] = [];
  /** Members that the last time-out was for: nobody waits for them again before they have said something. */
  private readonly late = new Set<string>();
  private lastId: number;

  constructor(firstId: number) {
    this.lastId = firstId;
  }

  get deadlineMs(): number | null {
    return this.open[0]?.deadlineMs ?? null;
  }

  /** @returns its id: 1 to 65535, another one than those before it. */
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

  /** Nobody waits for this member any more. */
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

/** Commits that can still be flagged. */
const FLAGGABLE_MAX = 16;

/** Who flagged which commit with op 31. */
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

  /** @returns whose commit it is, and whether it is the latest, and lost: most who got that could not use it. Null: nobody else's. */
  flag(id: number, userId: string): Flagged | null {
    const flagged = this.commits.find((commit) => commit.id === id && commit.committerId !== userId);
    if (flagged === undefined) return null;
    flagged.flaggedBy.add(userId);
    const isLatest = flagged === this.commits.at(-1);
    const isLost = isLatest && flagged.flaggedBy.size * 2 > flagged.receivers;
    return { committerId: flagged.committerId, isLatest, isLost };
  }
}
