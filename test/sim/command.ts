import type { Reply } from '../../engine/kernel/aggregate.ts';
import type { SimShard } from './shard.ts';

/** What became of one command. */
export type Fate = 'open' | 'done' | 'refused' | 'unknown';

export interface Command {
  readonly what: string;
  /** Tells whether everything is served again. */
  readonly probe: boolean;
  /** What names it in the facts that it makes; null: nothing does. */
  readonly mark: string | null;
  /** May be sent again when nothing is known of it. */
  readonly again: boolean;
  readonly run: (shard: SimShard) => Promise<Reply<unknown>>;
  /** Receives what became of it. */
  readonly settled?: (fate: Fate, value: unknown) => void;
  fate: Fate;
  tries: number;
}

/** A command that somebody sends. */
export type Asked = Pick<Command, 'what' | 'mark' | 'again' | 'run' | 'settled'>;
