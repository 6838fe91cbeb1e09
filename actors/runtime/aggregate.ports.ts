import type { Origin, Recipient } from '../../engine/fanout/body.ts';
import type { FreshId } from '../../protocol/ids.ts';
import type { Splits } from '../../protocol/permissions.ts';
import type { Writer } from '../../storage/ports.ts';
import type { AggregateOwnership } from './aggregateownership.ts';
import type { Clock } from './clock.ts';

/** What every aggregate's shell needs. */
export interface AggregatePorts {
  readonly writer: Writer;
  readonly clock: Clock;
  readonly nextId: () => FreshId;
  /** Older permission bits that still count at a time, by the setting `permission_split_date`. */
  readonly splitsAt: (nowMs: number) => Splits;
  /** Receives every dispatch once, for hooks of an embedding program. `listening` is false while there is no hook. */
  readonly tap: Tap;
  /** For a shard among others; null or absent: nothing is numbered, recorded or handed over. */
  readonly ownership?: AggregateOwnership | null;
}

export interface Tap {
  readonly listening: boolean;
  see(t: string, d: object, ownerId: string): void;
}

/** A dispatch, with who gets it as of the moment its fact was applied. */
export interface OutgoingDispatch {
  readonly t: string;
  readonly d: object;
  readonly to: readonly Recipient[];
  /** In the aggregate's stream; 0 or absent: in none. */
  readonly n?: number;
  /** In place of that, for what is told people directly. */
  readonly origin?: Origin | null;
}
