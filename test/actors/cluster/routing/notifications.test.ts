// Goal: notifications and requests between shards reach their owner in order, and a failed one delays no other.
import { describe, expect, test } from 'vitest';
import type { LinkFrame, SessionFrame } from '../../../../actors/placement/ports.ts';
import { LinkFault, NotServed } from '../../../../protocol/faults.ts';
import { DEADLINE_MS, outcome, routerOf } from '../routed.ts';

describe('a notification to the owner of a key', () => {
  test('is sent to the owner, or runs on this shard when it is the owner, in order', () => {
    const { router, give, told } = routerOf();
    const here: number[] = [];
    give('mine', 'a');
    give('theirs', 'b');
    router.tellOwner('told', 'mine', [1], () => here.push(1));
    router.tellOwner('told', 'theirs', [2], () => here.push(2));
    router.tellOwner('told', 'theirs', [3], () => here.push(3));
    expect(here).toEqual([1]);
    expect(told).toEqual(
      [2, 3].map((n) => ({ to: 'b', frame: { kind: 'tell', method: 'told', key: 'theirs', args: [n] } })),
    );
  });

  test('waits for an owner and keeps its place before later notifications', () => {
    const { router, give, told } = routerOf();
    router.tellOwner('told', 'k', [1], () => undefined);
    router.tellOwner('told', 'k', [2], () => undefined);
    expect(router.metrics.held).toBe(2);
    give('k', 'b');
    router.tellOwner('told', 'k', [3], () => undefined);
    expect(told.map(({ frame }) => frame.kind === 'tell' && frame.args[0])).toEqual([1, 2, 3]);
    expect(router.metrics.held).toBe(0);
  });

  test('is not overtaken by a later one when a new owner was not announced yet', () => {
    const { router, own, told } = routerOf();
    router.tellOwner('told', 'k', [1], () => undefined);
    own('k', 'b');
    router.tellOwner('told', 'k', [2], () => undefined);
    expect(told.map(({ frame }) => frame.kind === 'tell' && frame.args[0])).toEqual([1, 2]);
  });

  test('is dropped when its key gets no owner in time, or too many wait', async () => {
    const { router, clock, faults } = routerOf(2);
    for (const n of [1, 2, 3]) router.tellOwner('told', 'k', [n], () => undefined);
    expect(router.metrics).toMatchObject({ held: 2, lost: 1 });
    clock.advance(DEADLINE_MS + 1000);
    expect(router.metrics).toMatchObject({ held: 0, lost: 3 });
    expect(faults).toHaveLength(3);
  });

  test('is sent to every other shard when it is for all shards', () => {
    const { router, told } = routerOf();
    router.tellAll('told', [7]);
    expect(told.map(({ to, frame }) => [to, frame])).toEqual(
      ['b', 'c'].map((to) => [to, { kind: 'tell', method: 'told', key: '', args: [7] }]),
    );
  });
});

describe('a request between shards', () => {
  const context = { key: 'k', deadlineMs: 100, commandKey: 'c', trace: 't' };

  test('runs the method of that name if this shard owns the key', async () => {
    const { router, give } = routerOf();
    router.serve('once', (args: [number], about) => ({ sum: args[0] + 1, about }));
    give('k', 'a');
    expect(await router.handler.ask('b', 'once', [1], context)).toEqual({
      sum: 2,
      about: { ...context, from: 'b' },
    });
    give('k', 'b');
    await expect(router.handler.ask('b', 'once', [1], context)).rejects.toMatchObject({ kind: 'notOwner' });
    await expect(router.handler.ask('b', 'once', [1], { ...context, key: '' })).resolves.toBeDefined();
    await expect(router.handler.ask('b', 'other', [], context)).rejects.toMatchObject({ kind: 'failed' });
    expect(() => router.serve('once', () => 0)).toThrow(RangeError);
  });

  test('is answered by a suspended owner when it only reads and the database knows of no later owner', async () => {
    const { scene, router, give, suspend } = routerOf();
    router.serve('reading', () => 'known');
    router.serve('other', () => 'known');
    give('k', 'a');
    suspend();
    await expect(router.handler.ask('b', 'reading', [], context)).rejects.toMatchObject({ kind: 'notOwner' });
    scene.isLast = true;
    expect(await router.handler.ask('b', 'reading', [], context)).toBe('known');
    await expect(router.handler.ask('b', 'other', [], context)).rejects.toMatchObject({ kind: 'notOwner' });
    give('k', 'b');
    await expect(router.handler.ask('b', 'reading', [], context)).rejects.toMatchObject({ kind: 'notOwner' });
  });

  test.each([
    [new LinkFault('lost', 'x'), { kind: 'lost' }],
    [new LinkFault('timeout', 'x'), { kind: 'failed' }],
    [new LinkFault('unreachable', 'x'), { kind: 'failed' }],
    [new LinkFault('notOwner', 'x'), { kind: 'notOwner' }],
    [new LinkFault('overloaded', 'x'), { kind: 'overloaded' }],
    [new NotServed('x'), { name: 'NotServed' }],
    [new TypeError('x'), { name: 'TypeError' }],
  ])(
    'reports %o so that the caller does not take it for a fault of its own link',
    async (fault, expected) => {
      const { router, give } = routerOf();
      give('k', 'a');
      router.serve('once', () => {
        throw fault;
      });
      await expect(router.handler.ask('b', 'once', [], context)).rejects.toMatchObject(expected);
    },
  );

  test('fails before its method runs when an argument is malformed, and so does a malformed reply', async () => {
    const { router, scene, give } = routerOf();
    let runs = 0;
    router.serve('once', () => {
      runs += 1;
    });
    give('k', 'a');
    const failed = { kind: 'failed', message: expect.stringContaining('argument 1 must be integer') };
    await expect(router.handler.ask('b', 'once', ['1'], context)).rejects.toMatchObject(failed);
    expect(runs).toBe(0);
    give('k', 'b');
    scene.answer = async () => 'text';
    await expect(router.askOwner('typed', 'k', [], async () => 1)).rejects.toMatchObject({
      kind: 'failed',
      message: 'Malformed reply of typed: expected integer, got string.',
    });
  });

  test('runs here when it names this shard', async () => {
    const { router, asked } = routerOf();
    router.serve('once', (args: [number], { from }) => [args[0], from]);
    expect(await router.askShard('a', 'once', [7])).toEqual([7, 'a']);
    expect(await router.askShard('b', 'once', [7])).toBe('answer');
    expect(asked).toMatchObject([{ to: 'b', context: { key: '', commandKey: null } }]);
  });
});

describe('a notification from another shard', () => {
  const dispatch: SessionFrame = {
    kind: 'dispatch',
    t: 'T',
    json: Buffer.from('{}'),
    ownerId: '1',
    n: 1,
    handles: Uint32Array.of(1),
  };
  const following: SessionFrame = { kind: 'following', handle: 1, ownerId: '1', epoch: 1, n: 1 };
  const tell = (n: number, key = ''): LinkFrame => ({ kind: 'tell', method: 'told', key, args: [n] });

  test('reaches sessions and methods in the order in which it was sent', () => {
    const { router } = routerOf();
    const heard: unknown[] = [];
    router.sessions({
      frames: (from, frames) => heard.push([from, ...frames.map(({ kind }) => kind)]),
      broken: (from) => heard.push(['broken', from]),
    });
    router.serve('told', (args: [number]) => heard.push(args[0]));
    router.handler.notified('b', [dispatch, following, tell(1), tell(2), dispatch]);
    router.handler.broken('b');
    router.handler.notified('b', [dispatch, dispatch]);
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
    router.serve('told', () => undefined);
    give('k', 'c');
    router.handler.notified('b', [tell(1, 'k')]);
    router.handler.notified('b', [{ ...tell(2, 'k'), hops: 3 } as LinkFrame]);
    expect(told).toEqual([{ to: 'c', frame: { ...tell(1, 'k'), hops: 1 } }]);
    expect(faults).toHaveLength(1);
  });

  test('waits for an owner, and runs here once this shard owns its key', () => {
    const { router, give } = routerOf();
    const heard: number[] = [];
    router.serve('told', (args: [number]) => heard.push(args[0]));
    router.handler.notified('b', [tell(1, 'k')]);
    expect(heard).toEqual([]);
    give('k', 'a');
    expect(heard).toEqual([1]);
  });

  test('is logged when it fails, and delays nothing behind it', async () => {
    const { router, faults } = routerOf();
    const heard: number[] = [];
    router.serve('told', (args: [number]) => {
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
    router.handler.notified('b', [tell(1), dispatch, tell(2), tell(3)]);
    router.handler.notified('b', [{ kind: 'tell', method: 'unknown', key: '', args: [] }]);
    router.handler.notified('b', [{ kind: 'tell', method: 'told', key: '', args: ['x'] }]);
    await outcome(Promise.resolve());
    expect(heard).toEqual([1, 2, 3]);
    expect(faults.sort()).toEqual([
      'sessions: sessions',
      'told: Malformed call of told: argument 1 must be integer or nothing, got string.',
      'told: one',
      'told: two',
      'unknown: This shard serves no method "unknown".',
    ]);
  });
});
