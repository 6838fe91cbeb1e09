import type { Handover } from '../ports.ts';

/** The actors of one kind, which move with their partitions. `Registry` implements this. */
export interface HandoverParticipant {
  /** Number of actors in memory. */
  readonly size: number;
  /**
   * Ends the actors that `moves` selects after their work is done and written; takes at most `deadlineMs`. Never
   * rejects.
   */
  handOver(moves: (id: string) => boolean, deadlineMs: number): Promise<void>;
  /** Ends the selected actors at once and writes nothing. */
  abandon(moves: (id: string) => boolean): void;
}

/** Hands over all kinds in parallel, because the work of one kind may wait for another. */
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
