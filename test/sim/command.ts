import type { Reply } from '../../engine/kernel/aggregate.ts';
import type { SimShard } from './shard.ts';

/** The outcome of one command. */
export type Fate = 'open' | 'done' | 'refused' | 'unknown';

export interface Command {
  readonly what: string;
  /** Checks whether everything is served again. */
  readonly probe: boolean;
  /** Identifies the command in the facts that it makes; null when nothing does. */
  readonly mark: string | null;
  /** May be sent again when its outcome is unknown. */
  readonly again: boolean;
  readonly run: (shard: SimShard) => Promise<Reply<unknown>>;
  /** Called with the outcome. */
  readonly settled?: (fate: Fate, value: unknown) => void;
  fate: Fate;
  tries: number;
}

/** A command as it is requested. */
export type Arguments = Pick<Command, 'what' | 'mark' | 'again' | 'run' | 'settled'>;
