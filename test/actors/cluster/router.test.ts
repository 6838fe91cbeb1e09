// Goal: a call reaches whoever owns its key, over changes of hands and broken links; it is done once where it says so, and nobody waits for ever.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type {
  AskContext,
  LinkFrame,
  Links,
  Ownership,
  OwnershipChange,
  SessionFrame,
  ShardInfo,
} from '../../../actors/cluster/ports.ts';
import { createRouter } from '../../../actors/cluster/router.ts';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';
import { TimerWheel } from '../../../actors/runtime/wheel.ts';
import { LinkFault, type LinkFaultKind, NotServed } from '../../../protocol/faults.ts';

const shard = (id: string): ShardInfo => ({
  id,
  instance: `${id}-run`,
  address: '',
  adminUrl: null,
  host: '',
  pid: 1,
  weight: 1,
  worker: 0,
  version: '0.0.0',
  startedMs: 0,
  draining: false,
});

interface Asked {
  readonly to: string;
  readonly method: string;
  readonly args: readonly unknown[];
  readonly context: AskContext;
}

const DEADLINE_MS = 10_000;

/** The router of shard `a` among `a`, `b` and `c`; the test says who owns what, and what links do. */
function routerOf(waitingMax?: number) {
  const clock = new VirtualClock();
  const owners = new Map<string, string>();
  const listeners: ((change: OwnershipChange) => void)[] = [];
  const asked: Asked[] = [];
  const told: { to: string; frame: LinkFrame }[] = [];
  const faults: string[] = [];
  let owned = (key: string): boolean => owners.get(key) === 'a';
  const ownership = {
    self: shard('a'),
    alone: false,
    state: 'serving',
    view: { revision: 1, shards: ['a', 'b', 'c'].map(shard), owners: [] },
    owns: (key) => owned(key),
    ownerOf(key) {
      const shardId = owners.get(key);
      return shardId === undefined ? null : { shardId, instance: `${shardId}-run`, epoch: 1 };
    },
    onChange(run) {
      listeners.push(run);
      return () => undefined;
    },
  } as Partial<Ownership> as Ownership;
  const scene = {
    clock,
    asked,
    told,
    faults,
    answer: async (_: Asked): Promise<unknown> => 'answer',
    /** Sets an owner of which nobody is told yet. */
    own: (key: string, by: string) => owners.set(key, by),
    /** Sets an owner, or nobody, and tells of it. */
    give(key: string, to: string | null): void {
      if (to === null) owners.delete(key);
      else owners.set(key, to);
      for (const run of listeners) run({ moved: [0], gone: [], came: [] });
    },
    /** It is the owner, and yet may not decide now. */
    suspend(): void {
      owned = () => false;
    },
  };
  const links = {
    ask(to: string, method: string, args: readonly unknown[], context: AskContext) {
      const question = { to, method, args, context };
      asked.push(question);
      return scene.answer(question);
    },
    tell: (to: string, frame: LinkFrame) => told.push({ to, frame }),
  } as unknown as Links;
  const router = createRouter({
    ownership,
    links,
    clock,
    wheel: new TimerWheel(clock),
    randomBytes: (size) => Buffer.alloc(size, 128),
    deadlineMs: DEADLINE_MS,
    onFault: (where, fault) => faults.push(`${where}: ${(fault as Error).message}`),
    ...(waitingMax !== undefined && { waitingMax }),
  });
  return { ...scene, scene, router };
}

/** What a promise has come to, once all that waits on nothing has run. */
async function outcome<T>(promise: Promise<T>): Promise<T | Error | 'waits'> {
  const settled = promise.catch((error: Error) => error);
  return Promise.race([settled, new Promise<'waits'>((resolve) => setImmediate(resolve, 'waits'))]);
}

const nobody = async (): Promise<never> => {
  throw new Error('It is not ours.');
};

describe('a call', () => {
  test('runs here when the key is ours, with a key of its own only when it says once', async () => {
    const { router, give, asked } = routerOf();
    give('k', 'a');
    expect(await router.at('k', 'm', [], async (key) => key)).toBeNull();
    const first = await router.at('k', 'm', [], async (key) => key, { once: true });
    const second = await router.at('k', 'm', [], async (key) => key, { once: true });
    expect(first).toMatch(/^\S+$/);
    expect(second).not.toBe(first);
    expect(asked).toEqual([]);
  });

  test('goes to the owner, with its deadline and its name', async () => {
    const { router, give, asked } = routerOf();
    give('k', 'b');
    expect(await router.at('k', 'm', [1, 'x'], nobody, { once: true, deadlineMs: 500 })).toBe('answer');
    expect(asked).toMatchObject([
      { to: 'b', method: 'm', args: [1, 'x'], context: { key: 'k', deadlineMs: 500 } },
    ]);
    expect(asked[0]?.context.commandKey).toBe(asked[0]?.context.trace);
  });

  test('waits for an owner, and goes on the moment there is one', async () => {
    const { router, give, clock } = routerOf();
    const call = router.at('k', 'm', [], nobody);
    clock.advance(3000);
    expect(await outcome(call)).toBe('waits');
    expect(router.figures.waiting).toBe(1);
    give('k', 'b');
    expect(await outcome(call)).toBe('answer');
    expect(router.figures.waiting).toBe(0);
  });

  test('waits while this shard is the owner but may not decide', async () => {
    const { router, give, suspend, clock } = routerOf();
    give('k', 'a');
    suspend();
    const call = router.at('k', 'm', [], nobody);
    clock.advance(1000);
    expect(await outcome(call)).toBe('waits');
    give('k', 'c');
    expect(await outcome(call)).toBe('answer');
  });

  test('is answered NotServed when its time is over, and not before', async () => {
    const { router, clock } = routerOf();
    const call = router.at('k', 'm', [], nobody);
    for (let ms = 0; ms < DEADLINE_MS - 100; ms += 100) {
      clock.advance(100);
      expect(await outcome(call)).toBe('waits');
    }
    clock.advance(200);
    expect(await outcome(call)).toBeInstanceOf(NotServed);
    expect(router.figures).toMatchObject({ waiting: 0, notServed: 1 });
  });

  test('is answered NotServed at once when too many wait, and when the shard ends', async () => {
    const { router, give } = routerOf(2);
    const waiting = [router.at('k', 'm', [], nobody), router.at('k', 'm', [], nobody)];
    expect(await outcome(router.at('k', 'm', [], nobody))).toBeInstanceOf(NotServed);
    expect(router.figures.waiting).toBe(2);
    router.close();
    for (const call of waiting) expect(await outcome(call)).toBeInstanceOf(NotServed);
    give('k', 'a');
    expect(await outcome(router.at('k', 'm', [], async () => 'ours'))).toBe('ours');
  });

  test('moves on when what it met here was a change of hands', async () => {
    for (const fault of [
      new NotServed('handed over'),
      Object.assign(new Error('old'), { name: 'StaleEpoch' }),
    ]) {
      const { router, give } = routerOf();
      give('k', 'a');
      const keys: (string | null)[] = [];
      const call = router.at(
        'k',
        'm',
        [],
        async (key) => {
          keys.push(key);
          throw fault;
        },
        { once: true },
      );
      expect(await outcome(call)).toBe('waits');
      give('k', 'b');
      expect(await outcome(call)).toBe('answer');
      expect(keys).toHaveLength(1);
    }
  });

  test.each([
    ['a bug', new TypeError('bug')],
    ['a fault of the storage', Object.assign(new Error('gone'), { name: 'StorageFault' })],
    [
      'a wait in the midst of it that came to nothing',
      new NotServed('x', 1, { cause: new LinkFault('timeout', 'y') }),
    ],
    ['a link of its own', new LinkFault('unreachable', 'z')],
  ])('fails with what it met here when that is %s', async (_, fault) => {
    const { router, give } = routerOf();
    give('k', 'a');
    let runs = 0;
    const call = router.at(
      'k',
      'm',
      [],
      async () => {
        runs += 1;
        throw fault;
      },
      { once: true, repeatable: true },
    );
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
  test.each(undone)('is sent again after %s, whatever it is', async (_, fault) => {
    const { router, give, scene, asked, clock } = routerOf();
    give('k', 'b');
    scene.answer = async () => {
      if (asked.length === 1) throw fault;
      return 'second';
    };
    const call = router.at('k', 'm', [], nobody);
    expect(await outcome(call)).toBe('waits');
    clock.advance(150);
    expect(await outcome(call)).toBe('second');
  });

  test.each<LinkFaultKind>(['lost', 'timeout'])(
    'is sent again after %s only under its key, or when it may be done twice',
    async (kind) => {
      const lose = (options: { once?: boolean; repeatable?: boolean }) => {
        const made = routerOf();
        made.give('k', 'b');
        made.scene.answer = async () => {
          if (made.asked.length === 1) throw new LinkFault(kind, 'x');
          return 'second';
        };
        return { ...made, call: made.router.at('k', 'm', [], nobody, options) };
      };
      expect(await outcome(lose({}).call)).toMatchObject({ kind });
      for (const options of [{ once: true }, { repeatable: true }]) {
        const { call, clock, asked } = lose(options);
        expect(await outcome(call)).toBe('waits');
        clock.advance(150);
        expect(await outcome(call)).toBe('second');
        expect(asked[1]?.context.commandKey).toBe(asked[0]?.context.commandKey);
        expect(asked[0]?.context.commandKey === null).toBe(options.once !== true);
      }
    },
  );

  test('says that a part of it may be done when its fate was not known at the end', async () => {
    const { router, give, scene, clock } = routerOf();
    give('k', 'b');
    const fates: LinkFaultKind[] = ['lost', 'unreachable'];
    scene.answer = async () => {
      throw new LinkFault(fates.length > 1 ? (fates.shift() as LinkFaultKind) : 'unreachable', 'x');
    };
    const call = router.at('k', 'm', [], nobody, { once: true });
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
    const call = router.at('k', 'm', [], nobody);
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

  test('goes on at once when the owner has changed while it was asked', async () => {
    const { router, give, scene, asked } = routerOf();
    give('k', 'b');
    scene.answer = async ({ to }) => {
      if (to === 'c') return 'from c';
      give('k', 'c');
      throw new LinkFault('notOwner', 'x');
    };
    expect(await outcome(router.at('k', 'm', [], nobody))).toBe('from c');
    expect(asked.map(({ to }) => to)).toEqual(['b', 'c']);
  });

  test('keeps its place among those that wait', async () => {
    const { router, give, asked } = routerOf();
    const calls = [1, 2, 3].map((n) => router.at('k', 'm', [n], nobody));
    await outcome(calls[0] as Promise<unknown>);
    give('k', 'b');
    await Promise.all(calls);
    expect(asked.map(({ args }) => args[0])).toEqual([1, 2, 3]);
  });
});

describe('a command', () => {
  /** What happens to one attempt, and who owns the key afterwards. */
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

  test('with a key is done once at most, and is answered as it was done; without a key as well', async () => {
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
        const call = router.at('k', 'm', [], (key) => attempt(key, true), { once });
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

describe('what is told', () => {
  test('goes to the owner, or runs here, in order', () => {
    const { router, give, told } = routerOf();
    const here: number[] = [];
    give('mine', 'a');
    give('theirs', 'b');
    router.tell('mine', 'm', [1], () => here.push(1));
    router.tell('theirs', 'm', [2], () => here.push(2));
    router.tell('theirs', 'm', [3], () => here.push(3));
    expect(here).toEqual([1]);
    expect(told).toEqual(
      [2, 3].map((n) => ({ to: 'b', frame: { kind: 'tell', method: 'm', key: 'theirs', args: [n] } })),
    );
  });

  test('waits for an owner in its order, before what is told later', () => {
    const { router, give, told } = routerOf();
    router.tell('k', 'm', [1], () => undefined);
    router.tell('k', 'm', [2], () => undefined);
    expect(router.figures.held).toBe(2);
    give('k', 'b');
    router.tell('k', 'm', [3], () => undefined);
    expect(told.map(({ frame }) => frame.kind === 'tell' && frame.args[0])).toEqual([1, 2, 3]);
    expect(router.figures.held).toBe(0);
  });

  test('before is not overtaken by what is told when an owner is there of which nobody was told', () => {
    const { router, own, told } = routerOf();
    router.tell('k', 'm', [1], () => undefined);
    own('k', 'b');
    router.tell('k', 'm', [2], () => undefined);
    expect(told.map(({ frame }) => frame.kind === 'tell' && frame.args[0])).toEqual([1, 2]);
  });

  test('is given up when nobody comes to own its key, or too much waits', async () => {
    const { router, clock, faults } = routerOf(2);
    for (const n of [1, 2, 3]) router.tell('k', 'm', [n], () => undefined);
    expect(router.figures).toMatchObject({ held: 2, lost: 1 });
    clock.advance(DEADLINE_MS + 1000);
    expect(router.figures).toMatchObject({ held: 0, lost: 3 });
    expect(faults).toHaveLength(3);
  });

  test('to everyone goes to all other shards', () => {
    const { router, told } = routerOf();
    router.everywhere('forget', ['x']);
    expect(told.map(({ to, frame }) => [to, frame])).toEqual(
      ['b', 'c'].map((to) => [to, { kind: 'tell', method: 'forget', key: '', args: ['x'] }]),
    );
  });
});

describe('what others ask', () => {
  const context = { key: 'k', deadlineMs: 100, commandKey: 'c', trace: 't' };

  test('is done by the method of that name, when the key is ours', async () => {
    const { router, give } = routerOf();
    router.handle('m', (args: [number], about) => ({ sum: args[0] + 1, about }));
    give('k', 'a');
    expect(await router.handler.ask('b', 'm', [1], context)).toEqual({
      sum: 2,
      about: { ...context, from: 'b' },
    });
    give('k', 'b');
    await expect(router.handler.ask('b', 'm', [1], context)).rejects.toMatchObject({ kind: 'notOwner' });
    await expect(router.handler.ask('b', 'm', [1], { ...context, key: '' })).resolves.toBeDefined();
    await expect(router.handler.ask('b', 'other', [], context)).rejects.toMatchObject({ kind: 'failed' });
    expect(() => router.handle('m', () => 0)).toThrow(RangeError);
  });

  test.each([
    [new LinkFault('lost', 'x'), { kind: 'failed' }],
    [new LinkFault('timeout', 'x'), { kind: 'failed' }],
    [new LinkFault('unreachable', 'x'), { kind: 'failed' }],
    [new LinkFault('notOwner', 'x'), { kind: 'notOwner' }],
    [new LinkFault('overloaded', 'x'), { kind: 'overloaded' }],
    [new NotServed('x'), { name: 'NotServed' }],
    [new TypeError('x'), { name: 'TypeError' }],
  ])('and fails with %o is told so that it is not taken for our own link', async (fault, expected) => {
    const { router, give } = routerOf();
    give('k', 'a');
    router.handle('m', () => {
      throw fault;
    });
    await expect(router.handler.ask('b', 'm', [], context)).rejects.toMatchObject(expected);
  });

  test('of this shard by name runs here', async () => {
    const { router, asked } = routerOf();
    router.handle('m', (args: [number], { from }) => [args[0], from]);
    expect(await router.ask('a', 'm', [7])).toEqual([7, 'a']);
    expect(await router.ask('b', 'm', [7])).toBe('answer');
    expect(asked).toMatchObject([{ to: 'b', context: { key: '', commandKey: null } }]);
  });
});

describe('what others tell', () => {
  const dispatch: SessionFrame = {
    kind: 'dispatch',
    t: 'T',
    json: Buffer.from('{}'),
    ownerId: '1',
    n: 1,
    handles: Uint32Array.of(1),
  };
  const following: SessionFrame = { kind: 'following', handle: 1, ownerId: '1', epoch: 1, n: 1 };
  const tell = (n: number, key = ''): LinkFrame => ({ kind: 'tell', method: 'm', key, args: [n] });

  test('reaches sessions and methods in the order in which it was told', () => {
    const { router } = routerOf();
    const heard: unknown[] = [];
    router.sessions({
      frames: (from, frames) => heard.push([from, ...frames.map(({ kind }) => kind)]),
      broken: (from) => heard.push(['broken', from]),
    });
    router.handle('m', (args: [number]) => heard.push(args[0]));
    router.handler.told('b', [dispatch, following, tell(1), tell(2), dispatch]);
    router.handler.broken('b');
    router.handler.told('b', [dispatch, dispatch]);
    expect(heard).toEqual([
      ['b', 'dispatch', 'following'],
      1,
      2,
      ['b', 'dispatch'],
      ['broken', 'b'],
      ['b', 'dispatch', 'dispatch'],
    ]);
  });

  test('goes on to the owner when the key has changed hands, a few times at most', () => {
    const { router, give, told, faults } = routerOf();
    router.handle('m', () => undefined);
    give('k', 'c');
    router.handler.told('b', [tell(1, 'k')]);
    router.handler.told('b', [{ ...tell(2, 'k'), hops: 3 } as LinkFrame]);
    expect(told).toEqual([{ to: 'c', frame: { ...tell(1, 'k'), hops: 1 } }]);
    expect(faults).toHaveLength(1);
  });

  test('that waited here for an owner runs here when it has become ours', () => {
    const { router, give } = routerOf();
    const heard: number[] = [];
    router.handle('m', (args: [number]) => heard.push(args[0]));
    router.handler.told('b', [tell(1, 'k')]);
    expect(heard).toEqual([]);
    give('k', 'a');
    expect(heard).toEqual([1]);
  });

  test('and fails is written down, and holds up nothing', async () => {
    const { router, faults } = routerOf();
    const heard: number[] = [];
    router.handle('m', (args: [number]) => {
      heard.push(args[0]);
      if (args[0] === 1) throw new Error('one');
      return args[0] === 2 ? Promise.reject(new Error('two')) : undefined;
    });
    router.sessions({
      frames() {
        throw new Error('sessions');
      },
      broken: () => undefined,
    });
    router.handler.told('b', [tell(1), dispatch, tell(2), tell(3)]);
    router.handler.told('b', [{ kind: 'tell', method: 'unknown', key: '', args: [] }]);
    await outcome(Promise.resolve());
    expect(heard).toEqual([1, 2, 3]);
    expect(faults.sort()).toEqual([
      'm: one',
      'm: two',
      'sessions: sessions',
      'unknown: There is no method "unknown" here.',
    ]);
  });
});
