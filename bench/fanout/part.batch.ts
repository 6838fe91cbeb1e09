import { ENTRANTS } from './contenders.ts';
import { race } from './part.fanout.ts';
import type { Finding } from './parts.ts';

const PER_FLUSH = 20;
const FLUSHES = 12;
const NAMES = ['guildhall', 'guildhall-plain', 'uws-publish', 'ws-stringify-once', 'socketio-room'];

/** Measures twenty messages to all connections in one tick (G1b). */
export function measureBatches(rounds: number): Promise<Finding> {
  const entrants = ENTRANTS.filter(({ name }) => NAMES.includes(name));
  return race(entrants, {
    rounds,
    flushes: () => FLUSHES,
    perFlush: PER_FLUSH,
    targets: { 'uws-publish': 1.8 },
  });
}
