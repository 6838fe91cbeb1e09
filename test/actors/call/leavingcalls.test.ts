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

describe('the connections of a call', () => {
  it.each([
    ['moved', 5_000],
    ['interrupted', 60_000],
  ] as const)('that is %s are closed after %i ms', (because, keptMs) => {
    const { clock, leaving, ended, add } = arrange();
    add('first', because);
    clock.advance(keptMs - 100);
    expect([ended, leaving.size]).toEqual([[], 1]);
    clock.advance(200);
    expect([ended, leaving.size]).toEqual([['first'], 0]);
  });

  it('that is back are closed 1.5 s later, also when it is back just before the end of the wait', () => {
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

  it('that leaves again are closed, and those of the later call have their own time', () => {
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

  it('are closed when the server stops', () => {
    const { leaving, ended, add } = arrange();
    add('first', 'moved');
    add('other', 'interrupted', '2');
    leaving.end();
    expect([ended, leaving.size]).toEqual([['first', 'other'], 0]);
  });
});
