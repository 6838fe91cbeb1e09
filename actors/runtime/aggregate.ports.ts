import type { Origin, Recipient } from '../../engine/fanout/body.ts';
import type { FreshId } from '../../protocol/ids.ts';
import type { Writer } from '../../storage/ports.ts';
import type { AggregateOwnership } from './aggregateownership.ts';
import type { Clock } from './clock.ts';

/** Dependencies of every aggregate's shell. */
export interface AggregatePorts {
  readonly writer: Writer;
  readonly clock: Clock;
  readonly nextId: () => FreshId;
  /** A moment of the day whose dated rules apply, by the setting `contract_date`, Unix milliseconds; null for today. */
  readonly rulesMs: number | null;
  /**
   * Receives every dispatch once, for hooks of an embedding program. `listening` is false while no hook is registered.
   */
  readonly tap: Tap;
  /** For a shard of a cluster. Null or absent: nothing is numbered, recorded or handed over. */
  readonly ownership?: AggregateOwnership | null;
}

/** Puts fresh signatures on the attachment URLs of a dispatch. */
export interface Signing {
  /** Absent: URLs are not signed. A dispatch without attachments is returned unchanged. */
  readonly sign?: <D extends { readonly t: string; readonly d: object }>(dispatch: D) => D;
}

export interface Tap {
  readonly listening: boolean;
  see(t: string, d: object, ownerId: string): void;
}

/** A dispatch with its recipients as of the moment its fact was applied. */
export interface OutgoingDispatch {
  readonly t: string;
  readonly d: object;
  readonly to: readonly Recipient[];
  /** Number in the aggregate's stream; 0 or absent when it is in no stream. */
  readonly n?: number;
  /** Used instead of `n` for direct notifications of users. */
  readonly origin?: Origin | null;
  /** See `DispatchBody.asOf`. */
  readonly asOf?: Origin | null;
}

/**
 * The consequence of an actor's end for its dependents: another owner continues; this owner does, after a commit failed; the
 * aggregate exists no more; none of these.
 */
export type Ending = 'moved' | 'interrupted' | 'deleted' | 'released';

/** The notifications of listeners about durable facts: one row for each type that concerns a listener. */
export type Notifications<Fact extends { readonly type: string }, Source> = {
  readonly [K in Fact['type']]?: (fact: Extract<Fact, { readonly type: K }>, source: Source) => void;
};
