// Goal: injected failures strike exactly when their rules say, repeat with the same seed, and no input breaks the reader.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Chaos } from '../../engine/chaos/chaos.ts';
import { CHAOS_RULES_MAX, type ChaosRule, chaosRule, chaosScenario } from '../../protocol/chaos.ts';

const LIMIT: ChaosRule = { on: 'rest', do: 'rate_limit', scope: 'user' };

function made(rules: readonly ChaosRule[], seed = 1) {
  const clock = { nowMs: 0 };
  return { clock, chaos: new Chaos({ seed, rules }, () => clock.nowMs) };
}

describe('a rule', () => {
  test('applies only to the operations and users it names', () => {
    const { chaos } = made([{ ...LIMIT, operation: ['create_message', 'get_channel'], user: '7' }]);
    expect(chaos.rest({ name: 'create_message', userId: '7' })).toHaveLength(1);
    expect(chaos.rest({ name: 'get_channel', userId: '7' })).toHaveLength(1);
    expect(chaos.rest({ name: 'get_guild', userId: '7' })).toEqual([]);
    expect(chaos.rest({ name: 'create_message', userId: '8' })).toEqual([]);
    expect(chaos.rest({ name: 'create_message', userId: null })).toEqual([]);
  });

  test('strikes at most so many times', () => {
    const { chaos } = made([{ ...LIMIT, times: 2 }]);
    const struck = Array.from({ length: 5 }, () => chaos.rest({ name: 'x', userId: null }).length);
    expect([struck, chaos.list()[0]!.strikes]).toEqual([[1, 1, 0, 0, 0], 2]);
  });

  test('does not apply to a call that an earlier rule has rejected, but delays it', () => {
    const once = { times: 1 } as const;
    const { chaos } = made([
      { ...LIMIT, ...once },
      { on: 'rest', do: 'error', status: 502, ...once },
      { on: 'rest', do: 'latency', ms: 5, ...once },
    ]);
    const calls = Array.from({ length: 3 }, () => chaos.rest({ name: 'x', userId: null }));
    expect(calls.map((struck) => struck.map((rule) => rule.do))).toEqual([
      ['rate_limit', 'latency'],
      ['error'],
      [],
    ]);
  });

  test('strikes only between its times', () => {
    const { chaos, clock } = made([{ ...LIMIT, from: 1, until: 2 }]);
    const at = (ms: number) => {
      clock.nowMs = ms;
      return chaos.rest({ name: 'x', userId: null }).length;
    };
    expect([at(999), at(1000), at(1999), at(2000)]).toEqual([0, 1, 1, 0]);
  });

  test('applies with its probability, equally for the same seed, whatever other rules exist', () => {
    const rule: ChaosRule = { on: 'udp', do: 'loss', probability: 0.2 };
    const run = (seed: number, more: readonly ChaosRule[] = []) => {
      const { chaos } = made([rule, ...more], seed);
      return Array.from({ length: 1000 }, () => chaos.loses('in'));
    };
    const lost = run(5).filter(Boolean).length;
    expect(lost).toBeGreaterThan(150);
    expect(lost).toBeLessThan(250);
    expect(run(5, [{ ...LIMIT, probability: 0.5 }])).toEqual(run(5));
    expect(run(6)).not.toEqual(run(5));
  });

  test('concerns packets of one direction or of both', () => {
    const { chaos } = made([{ on: 'udp', do: 'loss', direction: 'out' }]);
    expect([chaos.loses('in'), chaos.loses('out')]).toEqual([false, true]);
  });

  test('closes connections only after its event, and drops every frame when it names no event', () => {
    const { chaos } = made([
      { on: 'gateway', do: 'close', code: 4000, event: 'READY' },
      { on: 'gateway', do: 'reconnect', at: 5 },
      { on: 'gateway', do: 'drop', user: '7' },
    ]);
    expect(chaos.dispatch({ name: 'READY', userId: '8' })?.do).toBe('close');
    expect(chaos.dispatch({ name: 'MESSAGE_CREATE', userId: '8' })).toBeNull();
    expect(chaos.dispatch({ name: 'MESSAGE_CREATE', userId: '7' })?.do).toBe('drop');
  });

  test('replaces the answer to an opcode of its own place', () => {
    const { chaos } = made([{ on: 'voice', do: 'close', code: 4014, opcode: 'IDENTIFY' }]);
    expect(chaos.opcode('gateway', { name: 'IDENTIFY', userId: null })).toBeNull();
    expect(chaos.opcode('voice', { name: 'IDENTIFY', userId: '7' })?.do).toBe('close');
  });

  test('applies at its time once to each open connection, and to none that opens later', () => {
    const { chaos, clock } = made([{ on: 'gateway', do: 'zombie', at: 5 }]);
    const [one, two, late] = [new Map(), new Map(), new Map()];
    chaos.opened(one);
    chaos.opened(two);
    const due = (struck: Map<string, number>) => chaos.due('gateway', '7', struck).length;
    expect(due(one)).toBe(0);
    clock.nowMs = 5000;
    expect([due(one), due(one), due(two)]).toEqual([1, 0, 1]);
    chaos.opened(late);
    expect(due(late)).toBe(0);
  });

  test('strikes each connection again and again at its interval', () => {
    const { chaos, clock } = made([{ on: 'gateway', do: 'reconnect', every: 10 }]);
    const struck = new Map<string, number>();
    const counts = [9, 10, 15, 20, 45].map((second) => {
      clock.nowMs = second * 1000;
      return chaos.due('gateway', null, struck).length;
    });
    expect(counts).toEqual([0, 1, 0, 1, 1]);
  });

  test('is removed by its id, and their number is bounded', () => {
    const { chaos } = made([LIMIT]);
    const id = chaos.add(LIMIT);
    expect([chaos.remove(id), chaos.remove(id), chaos.list().length]).toEqual([true, false, 1]);
    for (let at = 1; at < CHAOS_RULES_MAX; at += 1) chaos.add(LIMIT);
    expect(() => chaos.add(LIMIT)).toThrow(RangeError);
    chaos.clear();
    expect(chaos.list()).toEqual([]);
  });
});

describe('the reader of scenarios', () => {
  test.each([
    [{ rules: [{ on: 'moon', do: 'error' }] }, 'Rule 1: on must be rest, gateway, voice, udp.'],
    [
      { rules: [LIMIT, { on: 'rest', do: 'zombie' }] },
      'Rule 2: on rest, do must be rate_limit, error, latency.',
    ],
    [{ rules: [{ ...LIMIT, probablity: 1 }] }, 'Rule 1: rate_limit on rest has a field'],
    [{ rules: [{ on: 'gateway', do: 'close', code: 1000 }] }, 'Rule 1: close on gateway has a field'],
    [{ rule: [] }, 'A scenario has a list of rules'],
    [null, 'A scenario has a list of rules'],
  ])('explains what is wrong with %j', (value, message) => {
    expect(() => chaosScenario(value)).toThrow(message);
  });

  test('accepts or explains any value', () => {
    fc.assert(
      fc.property(fc.anything(), (value) => {
        try {
          expect(chaosRule(value)).toBe(value);
        } catch (error) {
          expect(error).toBeInstanceOf(RangeError);
        }
      }),
    );
  });
});
