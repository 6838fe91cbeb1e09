import type { QueueRules } from '../../engine/matchmaking/tickets.ts';
import { LIMITS } from '../../protocol/limits.ts';
import type { QueueDefinition } from './ports.ts';

/** A queue with all defaults applied. */
export interface Queue extends Pick<QueueDefinition, 'match' | 'lobby'> {
  readonly name: string;
  readonly rules: QueueRules;
  readonly timeoutMs: number;
  readonly everyMs: number;
}

const NAME = /^[\w.-]{1,64}$/;
const TIMEOUT_MS = { min: 1_000, max: 3_600_000, default: 120_000 };
const EVERY_MS = { min: 100, max: 60_000, default: 1_000 };

/** @throws RangeError for values out of range. */
export function queueOf(name: string, definition: QueueDefinition): Queue {
  const {
    size,
    same = [],
    widen = {},
    timeoutMs = TIMEOUT_MS.default,
    everyMs = EVERY_MS.default,
  } = definition;
  if (!NAME.test(name))
    throw new RangeError(
      `"${name}" is not a valid name of a queue: it needs 1 to 64 characters of a-z, 0-9, _, . and -.`,
    );
  if (!Number.isInteger(size)) throw new RangeError(`size must be a whole number of players, not ${size}.`);
  checkRange('size', size, 1, LIMITS.lobby_members_max);
  checkRange('timeoutMs', timeoutMs, TIMEOUT_MS.min, TIMEOUT_MS.max);
  checkRange('everyMs', everyMs, EVERY_MS.min, EVERY_MS.max);
  for (const [key, { start, perSecond = 0, most = start }] of Object.entries(widen))
    if (!(start >= 0 && perSecond >= 0 && most >= start))
      throw new RangeError(
        `widen.${key} must have start >= 0, perSecond >= 0 and most >= start, not ${start}, ${perSecond} and ${most}.`,
      );
  const { match, lobby } = definition;
  const hooks = { ...(match && { match }), ...(lobby && { lobby }) };
  return { name, rules: { size, same, within: widen }, timeoutMs, everyMs, ...hooks };
}

function checkRange(name: string, value: number, min: number, max: number): void {
  if (!(value >= min && value <= max)) throw new RangeError(`${name} is from ${min} to ${max}.`);
}
