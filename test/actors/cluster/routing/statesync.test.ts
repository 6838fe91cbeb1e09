// Goal: a new owner of an id has received its latest state, whatever is lost, refused or moved meanwhile.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { StateSync } from '../../../../actors/cluster/routing/statesync.ts';
import type { Owner, Ownership, OwnershipChange } from '../../../../actors/placement/ports.ts';
import { VirtualClock } from '../../../../actors/runtime/virtual.ts';
import { TimerWheel } from '../../../../actors/runtime/wheel.ts';
import { LinkFault } from '../../../../protocol/faults.ts';

type Letters = readonly (readonly [string, readonly (readonly [string, number])[]])[];

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** This shard is `self`; `other` takes what it owns, unless questions are lost. */
function arrange() {
  const clock = new VirtualClock();
  const owners = new Map<string, string>();
  const hearers: ((change: OwnershipChange) => void)[] = [];
  const taken = new Map<string, number>();
  const asked: Letters[] = [];
  const way = { lost: false, silent: false };
  const ownerOf = (id: string): Owner | null => {
    const shardId = owners.get(id);
    return shardId === undefined ? null : { shardId, instance: shardId, epoch: 1 };
  };
  const ownership = {
    self: { id: 'self', instance: 'self' },
    ownerOf,
    owns: (id: string) => owners.get(id) === 'self',
    onChange: (run: (change: OwnershipChange) => void) => void hearers.push(run),
  } as unknown as Ownership;
  const note = (id: string, about: string, item: number) => taken.set(`${id} ${about}`, item);
  const send = async (shardId: string, letters: Letters): Promise<string[]> => {
    if (way.lost) throw new LinkFault('unreachable', 'No way.');
    asked.push(letters);
    const refused: string[] = [];
    for (const [id, items] of letters)
      if (owners.get(id) !== shardId) refused.push(id);
      else for (const [about, item] of items) note(id, about, item);
    if (way.silent) throw new LinkFault('timeout', 'No answer.');
    return refused;
  };
  const faults: unknown[] = [];
  const due = new Set(['x', 'y']);
  const post = new StateSync<number, string, string>({
    ...{ ownership, link: { send, serve: () => undefined }, clock, wheel: new TimerWheel(clock) },
    ...{ apply: note, isOurs: (about) => due.has(about) },
    onFault: (fault) => faults.push(fault),
  });
  return {
    ...{ post, taken, asked, way, due, owners, faults, clock },
    own(id: string, shardId: string | null) {
      if (shardId === null) owners.delete(id);
      else owners.set(id, shardId);
      for (const hear of hearers) hear({ moved: [0], gone: [], came: [] });
    },
    async pass(ms: number) {
      for (let at = 0; at < ms; at += 50) {
        clock.advance(50);
        await turn();
      }
    },
  };
}

describe('a state update for the owner of an id', () => {
  it('is applied at once when this shard is the owner, and sent in one request per other shard', async () => {
    const { post, owners, taken, asked, pass } = arrange();
    owners.set('1', 'self').set('2', 'other').set('3', 'other');
    for (const id of ['1', '2', '3']) post.put(id, 'x', 7);
    expect([...taken]).toEqual([['1 x', 7]]);
    await pass(50);
    expect(asked).toEqual([
      [
        ['2', [['x', 7]]],
        ['3', [['x', 7]]],
      ],
    ]);
    expect([taken.size, post.size]).toEqual([3, 0]);
  });

  it('is sent again until it is acknowledged, each time in its latest state only', async () => {
    const { post, owners, taken, asked, way, pass } = arrange();
    owners.set('2', 'other');
    way.lost = true;
    post.put('2', 'x', 1);
    await pass(1000);
    post.put('2', 'x', 2);
    way.lost = false;
    way.silent = true;
    await pass(3000);
    expect([taken.get('2 x'), post.size]).toEqual([2, 1]);
    way.silent = false;
    await pass(3000);
    expect([asked.flat().every(([, items]) => items[0]?.[1] === 2), post.size]).toEqual([true, 0]);
  });

  it('is applied soon when the owner is known again without a change of ownership', async () => {
    const { post, owners, taken, pass } = arrange();
    post.put('1', 'x', 1);
    post.put('2', 'x', 1);
    await pass(1_000);
    owners.set('1', 'self').set('2', 'other');
    await pass(2_100);
    expect([[...taken].sort(), post.size]).toEqual([
      [
        ['1 x', 1],
        ['2 x', 1],
      ],
      0,
    ]);
  });

  it('is dropped when another shard became responsible for it', async () => {
    const { post, owners, due, taken, way, pass } = arrange();
    owners.set('2', 'other');
    way.lost = true;
    post.put('2', 'x', 1);
    post.put('2', 'y', 2);
    await pass(100);
    due.delete('x');
    way.lost = false;
    await pass(3000);
    expect([[...taken], post.size]).toEqual([[['2 y', 2]], 0]);
  });

  it('is applied once when this shard becomes the owner while the update waits', async () => {
    const { post, owners, taken, way, own, pass } = arrange();
    owners.set('2', 'other');
    way.lost = true;
    post.put('2', 'x', 1);
    await pass(100);
    own('2', 'self');
    await pass(50);
    expect([[...taken], post.size]).toEqual([[['2 x', 1]], 0]);
    taken.clear();
    way.lost = false;
    await pass(3000);
    own('2', 'other');
    await pass(3000);
    expect([...taken]).toEqual([]);
  });

  it('is applied in its latest state when this shard becomes the owner and the item changes at once', async () => {
    const { post, owners, taken, way, own, pass } = arrange();
    owners.set('2', 'other');
    way.lost = true;
    post.put('2', 'x', 1);
    await pass(100);
    own('2', 'self');
    post.put('2', 'x', 2);
    expect([[...taken], post.size]).toEqual([[['2 x', 2]], 0]);
    await pass(3000);
    expect([...taken]).toEqual([['2 x', 2]]);
  });

  it('is forgotten with its id when it is applied here: nothing waits any longer', async () => {
    const { post, taken, clock, own, pass } = arrange();
    post.put('2', 'x', 1);
    own('2', 'self');
    await pass(50);
    expect([[...taken], post.size, clock.timers]).toEqual([[['2 x', 1]], 0, 0]);
  });

  it('is refused and reported when 500,000 others wait', () => {
    const { post, faults } = arrange();
    const about = Array.from({ length: 500_000 }, (_, at) => String(at));
    for (const each of about) post.put('2', each, 1);
    expect([post.size, faults]).toEqual([500_000, []]);
    for (const each of ['0', 'x']) post.put('2', each, 2);
    expect([post.size, faults]).toMatchObject([500_000, [{ kind: 'overloaded' }]]);
  });

  it('is sent again after growing delays, up to two seconds, while the other shard refuses it', async () => {
    const { post, owners, asked, pass } = arrange();
    owners.set('2', 'other');
    post.put('2', 'x', 1);
    // The other shard has lost the id already, and this shard does not know yet.
    owners.set('2', 'third');
    await pass(10_000);
    expect(asked.length).toBeGreaterThan(5);
    expect(asked.length).toBeLessThan(12);
  });

  it('reaches the final owner, over any changes of ownership', async () => {
    const id = fc.constantFrom('1', '2', '3');
    const step = fc.oneof(
      fc.record({ kind: fc.constant('put' as const), id, about: fc.constantFrom('x', 'y') }),
      fc.record({
        kind: fc.constant('own' as const),
        id,
        by: fc.constantFrom('self', 'other', 'third', null),
      }),
      fc.record({ kind: fc.constant('way' as const), lost: fc.boolean(), silent: fc.boolean() }),
      fc.record({ kind: fc.constant('pass' as const), ms: fc.constantFrom(50, 400) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        const { post, taken, way, own, pass } = arrange();
        const last = new Map<string, number>();
        for (const [at, each] of steps.entries()) {
          if (each.kind === 'put') {
            last.set(`${each.id} ${each.about}`, at);
            post.put(each.id, each.about, at);
          } else if (each.kind === 'own') own(each.id, each.by);
          else if (each.kind === 'way') Object.assign(way, { lost: each.lost, silent: each.silent });
          else await pass(each.ms);
        }
        Object.assign(way, { lost: false, silent: false });
        for (const each of ['1', '2', '3']) own(each, 'other');
        await pass(5000);
        expect([new Map([...taken].sort()), post.size]).toEqual([new Map([...last].sort()), 0]);
      }),
      { numRuns: 40 },
    );
  });
});
