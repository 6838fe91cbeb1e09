// Goal: every fault of background work is counted, and the log names each place without growing by thousands of lines.
import { describe, expect, test } from 'vitest';
import { createFaults } from '../../../actors/runtime/faults.ts';
import { NotServed } from '../../../protocol/faults.ts';

function scene() {
  const lines: object[] = [];
  const lifetime = { over: false };
  const clock = { nowMs: 0, monotonic: () => clock.nowMs };
  const warnings: object[] = [];
  const log = {
    error: (details: object) => void lines.push(details),
    warn: (details: object) => void warnings.push(details),
  };
  const { faults, onFault } = createFaults(log, lifetime, clock);
  const fail = (times: number, where = 'session'): void => {
    for (let count = 0; count < times; count += 1) onFault(new Error('broken'), where);
  };
  return { lines, warnings, lifetime, clock, faults, onFault, fail };
}

describe('faults of background work', () => {
  test('are logged with their place and details, and counted by place', () => {
    const { lines, faults, onFault, fail } = scene();
    const error = new Error('broken');
    onFault(error, 'journal', { trace: 'abc' });
    fail(2);
    expect(lines[0]).toEqual({ err: error, where: 'journal', trace: 'abc' });
    expect(lines).toHaveLength(3);
    expect([...faults]).toEqual([
      ['journal', 1],
      ['session', 2],
    ]);
  });

  test('are logged as warnings when another shard serves the aggregate now', () => {
    const { lines, warnings, faults, onFault } = scene();
    const error = new NotServed('The guild has moved.');
    onFault(error, 'session');
    expect([lines, warnings]).toEqual([[], [{ err: error, where: 'session' }]]);
    expect(faults.get('session')).toBe(1);
  });

  test('fill at most twenty lines for one place in ten seconds, and the next line says how many were omitted', () => {
    const { lines, clock, faults, fail } = scene();
    fail(1000);
    fail(1, 'journal');
    expect(lines).toHaveLength(21);
    clock.nowMs = 9_999;
    fail(5);
    expect(lines).toHaveLength(21);
    clock.nowMs = 10_000;
    fail(2);
    expect(lines.slice(21)).toMatchObject([{ where: 'session', omitted_before: 985 }, { where: 'session' }]);
    expect(lines.at(-1)).not.toHaveProperty('omitted_before');
    expect(faults.get('session')).toBe(1007);
  });

  test('are all logged when they come now and then', () => {
    const { lines, clock, fail } = scene();
    for (let count = 0; count < 30; count += 1) {
      fail(1);
      clock.nowMs += 1000;
    }
    expect(lines).toHaveLength(30);
  });

  test('are neither counted nor logged once the engine closes, when nothing is served any more', () => {
    const { lines, lifetime, faults, onFault } = scene();
    lifetime.over = true;
    onFault(new NotServed('closing'), 'session');
    expect([lines, faults.size]).toEqual([[], 0]);
    onFault(new Error('broken'), 'session');
    expect([lines.length, faults.size]).toEqual([1, 1]);
  });
});
