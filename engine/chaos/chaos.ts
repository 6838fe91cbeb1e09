import {
  CHAOS_RULES_MAX,
  type ChaosRule,
  type ChaosScenario,
  type ChaosStatus,
  type GatewayRule,
  type RestRule,
  type VoiceRule,
} from '../../protocol/chaos.ts';

/** Something that is about to happen, which a rule may disturb. */
interface ChaosMoment {
  /** An operationId, the name of a dispatch or opcode, or the direction of a packet. */
  readonly name: string;
  /** Null while it is unknown. */
  readonly userId: string | null;
}

interface Active {
  readonly id: string;
  readonly rule: ChaosRule;
  /** Monotonic milliseconds. */
  readonly addedMs: number;
  readonly random: () => number;
  strikes: number;
}

/** Per-connection counters of how often a timed rule has applied. Owned by the connection. */
export type TimedStrikes = Map<string, number>;

/**
 * A generator of numbers from 0 to 1 (mulberry32).
 *
 * @source https://gist.github.com/tommyettinger/46a874533244883189143505d203312c
 */
function generator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const fits = (wanted: string | readonly string[] | undefined, given: string | null): boolean =>
  wanted === undefined ||
  (given !== null && (typeof wanted === 'string' ? wanted === given : wanted.includes(given)));

/**
 * Decides which failures happen. Each rule draws from its own generator, so that adding a rule does not change what the others
 * do. The transports ask before they act; a server without failure injection has no object of this class.
 */
export class Chaos {
  readonly #seed: number;
  readonly #nowMs: () => number;
  readonly #rules = new Map<string, Active>();
  #added = 0;

  /** @param nowMs Monotonic milliseconds. */
  constructor({ seed = 0, rules = [] }: ChaosScenario, nowMs: () => number) {
    this.#seed = seed;
    this.#nowMs = nowMs;
    for (const rule of rules) this.add(rule);
  }

  /** Adds a rule. @returns its id. @throws RangeError when there are too many. */
  add(rule: ChaosRule): string {
    if (this.#rules.size >= CHAOS_RULES_MAX)
      throw new RangeError(`There are ${CHAOS_RULES_MAX} rules already.`);
    this.#added += 1;
    const id = String(this.#added);
    const random = generator(this.#seed + Math.imul(this.#added, 0x9e3779b1));
    this.#rules.set(id, { id, rule, random, addedMs: this.#nowMs(), strikes: 0 });
    return id;
  }

  /** @returns false when there is no such rule. */
  remove(id: string): boolean {
    return this.#rules.delete(id);
  }

  clear(): void {
    this.#rules.clear();
  }

  list(): readonly ChaosStatus[] {
    return [...this.#rules.values()].map(({ id, rule, strikes }) => ({ id, rule, strikes }));
  }

  /** Rules that act on a REST call: all delays, and the first failure. A failure behind it does not strike. */
  rest({ name, userId }: ChaosMoment): readonly RestRule[] {
    const found: RestRule[] = [];
    let isRefused = false;
    for (const active of this.#rules.values()) {
      const { rule } = active;
      if (rule.on !== 'rest' || !fits(rule.operation, name) || !fits(rule.user, userId)) continue;
      const isFailure = rule.do !== 'latency';
      if ((isFailure && isRefused) || !this.#strikes(active)) continue;
      isRefused ||= isFailure;
      found.push(rule);
    }
    return found;
  }

  /** The first failure of a gateway dispatch. */
  dispatch({ name, userId }: ChaosMoment): GatewayRule | null {
    const isAsked = (rule: ChaosRule): rule is GatewayRule =>
      rule.on === 'gateway' && isForFrame(rule) && fits(rule.event, name) && fits(rule.user, userId);
    return this.#first(isAsked);
  }

  /** The first failure instead of the answer to an opcode of a client. */
  opcode(on: 'gateway' | 'voice', { name, userId }: ChaosMoment): GatewayRule | VoiceRule | null {
    const isAsked = (rule: ChaosRule): rule is GatewayRule | VoiceRule =>
      isForSockets(rule) && rule.on === on && rule.opcode === name && fits(rule.user, userId);
    return this.#first(isAsked);
  }

  /** Failures of a connection that are due by time. */
  due(
    on: 'gateway' | 'voice',
    userId: string | null,
    struck: TimedStrikes,
  ): readonly (GatewayRule | VoiceRule)[] {
    const found: (GatewayRule | VoiceRule)[] = [];
    for (const active of this.#rules.values()) {
      const { rule, addedMs, id } = active;
      if (!isForSockets(rule) || rule.on !== on || (rule.at === undefined && rule.every === undefined))
        continue;
      const ageSec = (this.#nowMs() - addedMs) / 1000;
      const dueCount = timesDue(rule, ageSec);
      const before = struck.get(id) ?? 0;
      if (dueCount <= before || !fits(rule.user, userId)) continue;
      struck.set(id, dueCount);
      if (this.#strikes(active)) found.push(rule);
    }
    return found;
  }

  /** Sets what is already past for a connection that opens now, so that rules with `at` do not strike it later. */
  opened(struck: TimedStrikes): void {
    for (const { id, rule, addedMs } of this.#rules.values()) {
      if (!isForSockets(rule)) continue;
      const past = timesDue(rule, (this.#nowMs() - addedMs) / 1000);
      if (past > 0) struck.set(id, past);
    }
  }

  /** Whether a packet of a call is lost. */
  loses(direction: 'in' | 'out'): boolean {
    const isAsked = (rule: ChaosRule): rule is ChaosRule =>
      rule.on === 'udp' && (rule.direction === undefined || rule.direction === direction);
    return this.#first(isAsked) !== null;
  }

  #first<Rule extends ChaosRule>(isAsked: (rule: ChaosRule) => rule is Rule): Rule | null {
    for (const active of this.#rules.values()) {
      const { rule } = active;
      if (isAsked(rule) && this.#strikes(active)) return rule;
    }
    return null;
  }

  #strikes(active: Active): boolean {
    const { times, from = 0, until, probability = 1 } = active.rule;
    if (times !== undefined && active.strikes >= times) return false;
    const ageSec = (this.#nowMs() - active.addedMs) / 1000;
    if (ageSec < from || (until !== undefined && ageSec >= until)) return false;
    if (probability < 1 && active.random() >= probability) return false;
    active.strikes += 1;
    return true;
  }
}

const isForSockets = (rule: ChaosRule): rule is GatewayRule | VoiceRule =>
  rule.on === 'gateway' || rule.on === 'voice';

/** A rule without another trigger concerns every frame; one that ends the connection needs a trigger. */
const isForFrame = ({ event, opcode, at, every, do: action }: GatewayRule): boolean =>
  event !== undefined ||
  (opcode === undefined &&
    at === undefined &&
    every === undefined &&
    (action === 'drop' || action === 'delay'));

function timesDue({ at, every }: GatewayRule | VoiceRule, ageSec: number): number {
  if (every !== undefined) return Math.floor(ageSec / every);
  return at !== undefined && ageSec >= at ? 1 : 0;
}
