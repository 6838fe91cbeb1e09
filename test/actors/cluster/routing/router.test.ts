// Goal: a call reaches the owner of its key over handovers and broken links, runs once where the catalogue says so,
// and always ends.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LinkFault, type LinkFaultKind, NotServed } from '../../../../protocol/faults.ts';
import { DEADLINE_MS, outcome, routerOf } from '../routed.ts';

const nobody = async (): Promise<never> => {
  throw new Error('It is not ours.');
};

describe('a call', () => {
  test('runs on this shard when it owns the key, with a command key only for methods that need one', async () => {
    const { router, give, asked } = routerOf();
    give('k', 'a');
    expect(await router.askOwner('once', 'k', [], async (key) => key)).toBeNull();
    const first = await router.askOwner('keyed', 'k', [], async (key) => key);
    const second = await router.askOwner('keyed', 'k', [], async (key) => key);
    expect(first).toMatch(/^\S+$/);
    expect(second).not.toBe(first);
    expect(asked).toEqual([]);
  });

  test('is sent to the owner with its deadline, a command key and a trace', async () => {
    const { router, give, asked } = routerOf();
    give('k', 'b');
    expect(await router.askOwner('keyed', 'k', [1, 'x'], nobody, { deadlineMs: 500 })).toBe('answer');
    expect(asked).toMatchObject([
      { to: 'b', method: 'keyed', args: [1, 'x'], context: { key: 'k', deadlineMs: 500 } },
    ]);
    expect(asked[0]?.context.commandKey).toBe(asked[0]?.context.trace);
  });

  test('waits while the key has no owner, and continues as soon as it has one', async () => {
    const { router, give, clock } = routerOf();
    const call = router.askOwner('once', 'k', [], nobody);
    clock.advance(3000);
    expect(await outcome(call)).toBe('waits');
    expect(router.metrics.waiting).toBe(1);
    give('k', 'b');
    expect(await outcome(call)).toBe('answer');
    expect(router.metrics.waiting).toBe(0);
  });

  test('waits while this shard is the owner but may not decide', async () => {
    const { router, give, suspend, clock } = routerOf();
    give('k', 'a');
    suspend();
    const call = router.askOwner('once', 'k', [], nobody);
    clock.advance(1000);
    expect(await outcome(call)).toBe('waits');
    give('k', 'c');
    expect(await outcome(call)).toBe('answer');
  });

  test('is answered by a suspended owner when it only reads and the database knows of no later owner', async () => {
    const { scene, router, give, suspend, clock } = routerOf();
    const here = async () => 'known';
    give('k', 'a');
    suspend();
    for (const isLast of [false, new Error('away')]) {
      scene.isLast = isLast;
      const call = router.askOwner('reading', 'k', [], here, { deadlineMs: 10 });
      await outcome(call);
      clock.advance(1_000);
      expect(await outcome(call)).toBeInstanceOf(NotServed);
    }
    scene.isLast = true;
    expect(await outcome(router.askOwner('reading', 'k', [], here))).toBe('known');
    expect(await outcome(router.askOwner('once', 'k', [], here))).not.toBe('known');
    give('k', 'b');
    expect(await outcome(router.askOwner('reading', 'k', [], here))).toBe('answer');
  });

  test('is answered NotServed when its time is over, and not before', async () => {
    const { router, clock } = routerOf();
    const call = router.askOwner('once', 'k', [], nobody);
    for (let ms = 0; ms < DEADLINE_MS - 100; ms += 100) {
      clock.advance(100);
      expect(await outcome(call)).toBe('waits');
    }
    clock.advance(200);
    expect(await outcome(call)).toBeInstanceOf(NotServed);
    expect(router.metrics).toMatchObject({ waiting: 0, notServed: 1 });
  });

  test('is answered NotServed at once when too many wait, and when the shard ends', async () => {
    const { router, scope, give } = routerOf(2);
    const waiting = [router.askOwner('once', 'k', [], nobody), router.askOwner('once', 'k', [], nobody)];
    expect(await outcome(router.askOwner('once', 'k', [], nobody))).toBeInstanceOf(NotServed);
    expect(router.metrics.waiting).toBe(2);
    await scope.close();
    for (const call of waiting) expect(await outcome(call)).toBeInstanceOf(NotServed);
    give('k', 'a');
    expect(await outcome(router.askOwner('once', 'k', [], async () => 'ours'))).toBe('ours');
  });

  test('waits beside 19,999 others, and is answered NotServed at once beside 20,000', async () => {
    const { router, scope } = routerOf();
    const calls = Array.from({ length: 20_000 }, () => router.askOwner('once', 'k', [], nobody));
    expect(await outcome(router.askOwner('once', 'k', [], nobody))).toBeInstanceOf(NotServed);
    expect(router.metrics.waiting).toBe(20_000);
    await scope.close();
    await Promise.allSettled(calls);
  });

  test('is sent to the next owner when this shard lost the key meanwhile', async () => {
    for (const fault of [
      new NotServed('handed over'),
      Object.assign(new Error('old'), { name: 'StaleEpoch' }),
    ]) {
      const { router, give } = routerOf();
      give('k', 'a');
      const keys: (string | null)[] = [];
      const call = router.askOwner('keyed', 'k', [], async (key) => {
        keys.push(key);
        throw fault;
      });
      expect(await outcome(call)).toBe('waits');
      give('k', 'b');
      expect(await outcome(call)).toBe('answer');
      expect(keys).toHaveLength(1);
    }
  });

  test('runs again under the same command key when its aggregate moved while it ran', async () => {
    const { router, give } = routerOf();
    give('k', 'a');
    const keys: (string | null)[] = [];
    const run = async (key: string | null) => {
      keys.push(key);
      if (keys.length === 1) throw new LinkFault('lost', 'The aggregate has moved to another shard.');
      return 'done';
    };
    const call = router.askOwner('keyed', 'k', [], run);
    expect(await outcome(call)).toBe('waits');
    give('k', 'a');
    expect(await outcome(call)).toBe('done');
    expect(keys).toEqual([keys[0], keys[0]]);
    keys.length = 0;
    expect(await outcome(router.askOwner('once', 'k', [], run))).toMatchObject({ kind: 'lost' });
  });

  test.each([
    ['a bug', new TypeError('bug')],
    ['a fault of the storage', Object.assign(new Error('gone'), { name: 'StorageFault' })],
    [
      'a wait in the midst of it that came to nothing',
      new NotServed('x', 1, { cause: new LinkFault('timeout', 'y') }),
    ],
    ['a link of its own', new LinkFault('unreachable', 'z')],
  ])('fails with the fault of this shard when it is %s', async (_, fault) => {
    const { router, give } = routerOf();
    give('k', 'a');
    let runs = 0;
    const call = router.askOwner('keyed', 'k', [], async () => {
      runs += 1;
      throw fault;
    });
    expect(await outcome(call)).toBe(fault);
    expect(runs).toBe(1);
  });

  const undone: readonly (readonly [string, Error])[] = [
    ['unreachable', new LinkFault('unreachable', 'x')],
    ['notOwner', new LinkFault('notOwner', 'x')],
    ['overloaded', new LinkFault('overloaded', 'x')],
    ['NotServed', new NotServed('x')],
    ['StaleEpoch', Object.assign(new Error('x'), { name: 'StaleEpoch' })],
  ];
  test.each(undone)('is sent again after %s, whatever its method', async (_, fault) => {
    const { router, give, scene, asked, clock } = routerOf();
    give('k', 'b');
    scene.answer = async () => {
      if (asked.length === 1) throw fault;
      return 'second';
    };
    const call = router.askOwner('once', 'k', [], nobody);
    expect(await outcome(call)).toBe('waits');
    clock.advance(150);
    expect(await outcome(call)).toBe('second');
  });

  test.each<LinkFaultKind>(['lost', 'timeout'])(
    'is sent again after %s only under its key, or when it may be done twice',
    async (kind) => {
      const lose = (method: string) => {
        const made = routerOf();
        made.give('k', 'b');
        made.scene.answer = async () => {
          if (made.asked.length === 1) throw new LinkFault(kind, 'x');
          return 'second';
        };
        return { ...made, call: made.router.askOwner(method, 'k', [], nobody) };
      };
      expect(await outcome(lose('once').call)).toMatchObject({ kind });
      for (const method of ['keyed', 'repeatable']) {
        const { call, clock, asked } = lose(method);
        expect(await outcome(call)).toBe('waits');
        clock.advance(150);
        expect(await outcome(call)).toBe('second');
        expect(asked[1]?.context.commandKey).toBe(asked[0]?.context.commandKey);
        expect(asked[0]?.context.commandKey === null).toBe(method === 'repeatable');
      }
    },
  );

  test('is sent again without a key when its method is keyed and this command may be run twice', async () => {
    const { router, give, scene, asked, clock } = routerOf();
    give('k', 'b');
    scene.answer = async () => {
      if (asked.length === 1) throw new LinkFault('lost', 'x');
      return 'second';
    };
    const call = router.askOwner('keyed', 'k', [], nobody, { repeatable: true });
    expect(await outcome(call)).toBe('waits');
    clock.advance(150);
    expect(await outcome(call)).toBe('second');
    expect(asked.map(({ context }) => context.commandKey)).toEqual([null, null]);
    give('k', 'a');
    expect(await router.askOwner('keyed', 'k', [], async (key) => key, { repeatable: true })).toBeNull();
  });

  test('reports that it may be done in part when its outcome is unknown at the end', async () => {
    const { router, give, scene, clock } = routerOf();
    give('k', 'b');
    const fates: LinkFaultKind[] = ['lost', 'unreachable'];
    scene.answer = async () => {
      throw new LinkFault(fates.length > 1 ? (fates.shift() as LinkFaultKind) : 'unreachable', 'x');
    };
    const call = router.askOwner('keyed', 'k', [], nobody);
    for (let ms = 0; ms <= DEADLINE_MS; ms += 500) {
      clock.advance(500);
      await outcome(call);
    }
    const end = (await outcome(call)) as NotServed;
    expect(end).toBeInstanceOf(NotServed);
    expect(end.cause).toMatchObject({ kind: 'lost' });
  });

  test('asks a peer that is not reached a few times a second at first, then once a second', async () => {
    const { router, give, scene, asked, clock } = routerOf();
    give('k', 'b');
    scene.answer = async () => {
      throw new LinkFault('unreachable', 'x');
    };
    const call = router.askOwner('once', 'k', [], nobody);
    for (let ms = 0; ms < 1000; ms += 50) {
      clock.advance(50);
      await outcome(call);
    }
    expect(asked.length).toBeGreaterThanOrEqual(3);
    for (let ms = 0; ms < DEADLINE_MS; ms += 50) {
      clock.advance(50);
      await outcome(call);
    }
    expect(await outcome(call)).toBeInstanceOf(NotServed);
    expect(asked.length).toBeLessThan(20);
  });

  test('is sent to the new owner at once when the old owner replies that it is no longer the owner', async () => {
    const { router, give, scene, asked } = routerOf();
    give('k', 'b');
    scene.answer = async ({ to }) => {
      if (to === 'c') return 'from c';
      give('k', 'c');
      throw new LinkFault('notOwner', 'x');
    };
    expect(await outcome(router.askOwner('once', 'k', [], nobody))).toBe('from c');
    expect(asked.map(({ to }) => to)).toEqual(['b', 'c']);
  });

  test('keeps its order among waiting calls', async () => {
    const { router, give, asked } = routerOf();
    const calls = [1, 2, 3].map((n) => router.askOwner('once', 'k', [n], nobody));
    await outcome(calls[0] as Promise<unknown>);
    give('k', 'b');
    await Promise.all(calls);
    expect(asked.map(({ args }) => args[0])).toEqual([1, 2, 3]);
  });
});

describe('a command', () => {
  /** The fate of one attempt, and the owner of the key afterwards. */
  const step = fc.record({
    fate: fc.constantFrom(
      'done',
      'lostBefore',
      'lostAfter',
      'timeoutAfter',
      'unreachable',
      'notOwner',
      'overloaded',
      'notServed',
      'stale',
    ),
    owner: fc.constantFrom('a', 'b', 'c', null),
  });

  test('runs at most once, and its caller gets the reply of that run, with and without a command key', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), fc.boolean(), async (script, once) => {
        const { router, give, scene, clock } = routerOf();
        const known = new Map<string, string>();
        let done = 0;
        const steps = [...script];
        const attempt = async (key: string | null, isHere: boolean): Promise<string> => {
          const { fate, owner } = steps.shift() ?? { fate: 'done', owner: 'b' };
          const run = () => {
            const kept = key === null ? undefined : known.get(key);
            if (kept !== undefined) return kept;
            done += 1;
            if (key !== null) known.set(key, `reply ${done}`);
            return `reply ${done}`;
          };
          const refused = { unreachable: 1, notOwner: 1, overloaded: 1 };
          give('k', owner);
          if (fate === 'notServed') throw new NotServed('x');
          if (fate === 'stale') throw Object.assign(new Error('x'), { name: 'StaleEpoch' });
          if (isHere || fate === 'done') return run();
          if (fate in refused) throw new LinkFault(fate as LinkFaultKind, 'x');
          if (fate !== 'lostBefore') run();
          throw new LinkFault(fate === 'timeoutAfter' ? 'timeout' : 'lost', 'x');
        };
        scene.answer = ({ context }) => attempt(context.commandKey, false);
        give('k', script[0]?.owner ?? 'b');
        const call = router.askOwner(once ? 'keyed' : 'once', 'k', [], (key) => attempt(key, true));
        let end = await outcome(call);
        for (let ms = 0; ms < 2 * DEADLINE_MS && end === 'waits'; ms += 1000) {
          clock.advance(1000);
          end = await outcome(call);
        }
        expect(end).not.toBe('waits');
        expect(done).toBeLessThanOrEqual(1);
        if (typeof end === 'string') expect([end, done]).toEqual(['reply 1', 1]);
      }),
      { numRuns: 300 },
    );
  });
});
