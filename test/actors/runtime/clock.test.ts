// Goal: what is begun with a lifetime ends with it: after `close` nothing of it runs, and `close` has waited for all of it.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Lifetime, systemClock } from '../../../actors/runtime/clock.ts';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';
import { TimerWheel } from '../../../actors/runtime/wheel.ts';

const never = () => expect.fail('ran after the end');

describe('a lifetime', () => {
  it('runs timers and deferred jobs at the time of its clock', () => {
    const clock = new VirtualClock();
    const lifetime = new Lifetime(clock);
    const ran: string[] = [];
    lifetime.setTimer(() => ran.push('timer'), 100);
    lifetime.setTimer(never, 50).cancel();
    lifetime.defer(() => ran.push('deferred'));
    clock.advance(99);
    expect(ran).toEqual(['deferred']);
    clock.advance(1);
    expect(ran).toEqual(['deferred', 'timer']);
    expect(lifetime.size).toBe(0);
  });

  it('runs no timer, deferred job or wheel wait once it is closed, begun before or after', async () => {
    const clock = new VirtualClock();
    const lifetime = new Lifetime(clock);
    const wheel = new TimerWheel(lifetime);
    lifetime.own(() => wheel.stop());
    const begin = () => {
      lifetime.setTimer(never, 10);
      lifetime.defer(never);
      wheel.after(never, 10);
      wheel.add(never, 10);
    };
    begin();
    const pauses = [lifetime.pause(10), wheel.pause(10)];
    await lifetime.close();
    begin();
    clock.advance(100_000);
    expect(await Promise.all(pauses)).toEqual([false, false]);
    expect(await lifetime.pause(10)).toBe(false);
    expect(lifetime.size + wheel.size).toBe(0);
  });

  it('rejects a step that ends after it, and returns the result of one that ends before', async () => {
    const lifetime = new Lifetime(new VirtualClock());
    expect(await lifetime.during(Promise.resolve('done'))).toBe('done');
    await expect(lifetime.during(Promise.reject(new Error('Down.')))).rejects.toThrow('Down.');
    const late = expect(lifetime.during(Promise.resolve('late'))).rejects.toThrow('The lifetime is closed.');
    void lifetime.close();
    await late;
  });

  it('runs its closers in reverse order, one at a time, including those of its children', async () => {
    const lifetime = new Lifetime(new VirtualClock());
    const ended: string[] = [];
    const end = (name: string) => async () => {
      await Promise.resolve();
      ended.push(name);
    };
    lifetime.own(end('first'));
    const child = lifetime.child();
    child.own(end('child 1'));
    child.own(end('child 2'));
    const gone = lifetime.child();
    gone.own(end('gone'));
    lifetime.own(end('last'));
    await gone.close();
    expect(ended).toEqual(['gone']);
    await lifetime.close();
    expect(ended).toEqual(['gone', 'last', 'child 2', 'child 1', 'first']);
    expect(lifetime.size + child.size + gone.size).toBe(0);
  });

  it('waits for the jobs that it runs, and for those that they begin', async () => {
    const lifetime = new Lifetime(systemClock);
    const done: string[] = [];
    const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
    async function second(): Promise<void> {
      await turn();
      done.push('second');
    }
    async function first(): Promise<void> {
      await turn();
      done.push('first');
      void lifetime.run(second());
    }
    void lifetime.run(first());
    void lifetime.run(Promise.reject(new Error('its own business'))).catch(() => done.push('failed'));
    await lifetime.close();
    expect(done).toEqual(['failed', 'first', 'second']);
  });

  it('ends loops by their pause', async () => {
    const clock = new VirtualClock();
    const lifetime = new Lifetime(clock);
    let turns = 0;
    async function loop(): Promise<void> {
      do turns += 1;
      while (await lifetime.pause(1_000));
    }
    void lifetime.run(loop());
    clock.advance(1_000);
    await lifetime.close();
    expect(turns).toBe(2);
  });

  it('closes completely when a closer fails, and reports the failure', async () => {
    const lifetime = new Lifetime(new VirtualClock());
    const ended: string[] = [];
    lifetime.own(() => void ended.push('first'));
    lifetime.own(() => Promise.reject(new Error('stuck')));
    lifetime.own(() => void ended.push('last'));
    await expect(lifetime.close()).rejects.toThrow('stuck');
    await expect(lifetime.close()).rejects.toThrow('stuck');
    expect(ended).toEqual(['last', 'first']);
  });

  it('closes resources that finish opening after it was closed', async () => {
    const lifetime = new Lifetime(new VirtualClock());
    const ended: string[] = [];
    const made = (name: string) => ({ close: () => void ended.push(name) });
    await expect(lifetime.opening(Promise.resolve(made('in time')))).resolves.toBeDefined();
    const closing = lifetime.close();
    await expect(lifetime.opening(Promise.resolve(made('late')))).rejects.toThrow('closed');
    await closing;
    lifetime.own(() => void ended.push('owned late'));
    await Promise.resolve();
    expect(ended).toEqual(['late', 'owned late']);
  });

  it('leaves no work behind, whatever is begun in it, in any order', async () => {
    const kinds = ['timer', 'defer', 'wait', 'pause', 'child', 'own'] as const;
    const steps = fc.array(fc.tuple(fc.constantFrom(...kinds), fc.nat(500)), { maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(steps, fc.nat(600), async (begun, closeMs) => {
        const clock = new VirtualClock();
        const lifetime = new Lifetime(clock);
        const wheel = new TimerWheel(lifetime, 10);
        lifetime.own(() => wheel.stop());
        let isClosed = false;
        let late = 0;
        const run = () => {
          if (isClosed) late += 1;
        };
        for (const [kind, ms] of begun) {
          if (kind === 'timer') lifetime.setTimer(run, ms);
          else if (kind === 'defer') lifetime.defer(run);
          else if (kind === 'wait') wheel.after(run, ms);
          else if (kind === 'pause') void lifetime.run(lifetime.pause(ms).then(run));
          else if (kind === 'child') lifetime.child().setTimer(run, ms);
          else lifetime.own(run);
        }
        clock.advance(closeMs);
        await lifetime.close();
        isClosed = true;
        clock.advance(1_000);
        await new Promise<void>((resolve) => setImmediate(resolve));
        expect({ late, size: lifetime.size + wheel.size }).toEqual({ late: 0, size: 0 });
      }),
      { numRuns: 200 },
    );
  });

  it('closes what is already open when a step of opening fails, and throws the error of the step', async () => {
    const lifetime = new Lifetime(new VirtualClock());
    const log: string[] = [];
    const opening = lifetime.openAll(async () => {
      lifetime.own(() => void log.push('first'));
      lifetime.own(() => Promise.reject(new Error('broken end')));
      lifetime.own(() => void log.push('last'));
      throw new Error('port in use');
    });
    await expect(opening).rejects.toThrow('port in use');
    expect(log).toEqual(['last', 'first']);
    expect(await new Lifetime(new VirtualClock()).openAll(async () => 1)).toBe(1);
  });
});
