import { ENTRANTS, JOURNALLED } from './contenders.ts';
import { race } from './part.fanout.ts';
import type { Finding } from './parts.ts';

const PER_FLUSH = 20;
const FLUSHES = 12;
const PLAIN = 'guildhall-plain';

/** Measures the cost of the journal: with twenty messages to all connections in one tick, and with one. */
export async function measureJournal(rounds: number): Promise<Finding> {
  const entrants = [JOURNALLED, ...ENTRANTS.filter(({ name }) => name === PLAIN)];
  const plan = { rounds, targets: { [PLAIN]: 1.1 } };
  const many = await race(entrants, { ...plan, flushes: () => FLUSHES, perFlush: PER_FLUSH });
  const single = await race(entrants, { ...plan, flushes: () => FLUSHES * PER_FLUSH, perFlush: 1 });
  return { lines: [...many.lines, ...single.lines], figures: { many: many.figures, single: single.figures } };
}
