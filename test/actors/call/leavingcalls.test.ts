// Goal: connections of a call that continues elsewhere or later stay open as long as its members need to receive the new endpoint.
import { describe, expect, it } from 'vitest';
import { LeavingCalls } from '../../../actors/call/leavingcalls.ts';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';
import { TimerWheel } from '../../../actors/runtime/wheel.ts';

function arrange() {
  const clock = new VirtualClock();
  const leaving = new LeavingCalls(new TimerWheel(clock));
  const ended: string[] = [];
  const add = (name: string, because: 'moved' | 'interrupted', callId = '1') =>
    leaving.add({ callId, places: new Map(), terminate: () => void ended.push(name) } as never, because);
  return { clock, leaving, ended, add };
}

describe('connections', () => {
  it.each([
    ['moved', 5_000],
    ['interrupted', 60_000],
  ] as const)('end when their call is %s, after %i ms', (because, keptMs) => {
    const { clock, leaving, ended, add } = arrange();
    add('first', because);
    clock.advance(keptMs - 100);
    expect([ended, leaving.size]).toEqual([[], 1]);
    clock.advance(200);
    expect([ended, leaving.size]).toEqual([['first'], 0]);
  });

  it('end 1.5 s after their call is back, also when the wait has almost ended by then', () => {
    const { clock, leaving, ended, add } = arrange();
    add('first', 'moved');
    clock.advance(4_500);
    leaving.returned('1');
    clock.advance(1_400);
    expect(ended).toEqual([]);
    clock.advance(200);
    expect(ended).toEqual(['first']);
    clock.advance(120_000);
    expect(ended).toEqual(['first']);
  });

  it('end when their call leaves again, and those of the later call wait on their own', () => {
    const { clock, leaving, ended, add } = arrange();
    add('first', 'moved');
    clock.advance(4_000);
    add('second', 'moved');
    expect([ended, leaving.size]).toEqual([['first'], 1]);
    clock.advance(4_900);
    expect(ended).toEqual(['first']);
    clock.advance(200);
    expect([ended, leaving.size]).toEqual([['first', 'second'], 0]);
  });

  it('end when the server stops', () => {
    const { leaving, ended, add } = arrange();
    add('first', 'moved');
    add('other', 'interrupted', '2');
    leaving.end();
    expect([ended, leaving.size]).toEqual([['first', 'other'], 0]);
  });
});
