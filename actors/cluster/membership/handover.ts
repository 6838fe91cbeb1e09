import type { Handover } from '../ports.ts';

/** What comes and goes with partitions: the actors of one kind. A `Registry` is one. */
export interface HandoverParticipant {
  /** How many are in memory. */
  readonly size: number;
  /** Ends those that `moves` names, when their work is done and written down; takes `deadlineMs` at most. Never rejects. */
  handOver(moves: (id: string) => boolean, deadlineMs: number): Promise<void>;
  /** Ends them at once, without a word. */
  abandon(moves: (id: string) => boolean): void;
}

/** All kinds at once: the work of one may wait for another's. */
export const handoverOf = (participants: ReadonlyMap<string, HandoverParticipant>): Handover => ({
  async handOver(moves, deadlineMs) {
    await Promise.all(
      [...participants.values()].map((participant) => participant.handOver(moves, deadlineMs)),
    );
  },
  abandon(moves) {
    for (const participant of participants.values()) participant.abandon(moves);
  },
});
