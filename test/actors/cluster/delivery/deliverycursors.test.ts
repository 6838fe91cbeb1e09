// Goal: a session receives each direct notification once, on any shard, and cursors that are no longer needed are
// deleted.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DeliveryCursors } from '../../../../actors/cluster/delivery/deliverycursors.ts';
import type { LiveSession } from '../../../../actors/session/backend.ts';
import { DispatchBody } from '../../../../engine/fanout/body.ts';
import { directStream, SINCE } from '../../../../engine/fanout/direct.ts';
import { type Cursor, StreamCursors } from '../../../../engine/session/cursors.ts';

const RECORD_AGE_MS = 1000;

/** A session whose journal keeps its cursors, and a clock that is set by hand. */
function arrange() {
  const clock = { nowMs: 1_000_000 };
  const heard = new DeliveryCursors({ nowMs: () => clock.nowMs, recordAgeMs: RECORD_AGE_MS });
  const cursors = new StreamCursors();
  function session() {
    const got: string[] = [];
    const made = {
      following: (streamId: string, n: number) => cursors.following(1, streamId, n),
      left: (streamId: string) => cursors.left(1, streamId),
      deliver({ origin }: DispatchBody) {
        const laggards = origin && cursors.advance(origin.ownerId, origin.n);
        if (laggards && origin) cursors.advanceOne(laggards, 1, origin.n);
        got.push(origin ? `${origin.ownerId} ${origin.n}` : 'none');
      },
    } as unknown as LiveSession;
    return { session: made, got };
  }
  const tell = (to: LiveSession, ownerId: string, n: number) =>
    heard.deliver(to, new DispatchBody('T', {}, 0, { ownerId, n }));
  return { clock, heard, cursors, session, tell };
}

describe('the delivery cursors of a session', () => {
  it('is not delivered again, in any order of old and new notifications, here or at the next shard of the session', () => {
    const told = fc.tuple(fc.constantFrom('1', '2', '3'), fc.integer({ min: 1, max: 20 }));
    fc.assert(
      fc.property(fc.array(told), fc.array(told), (before, after) => {
        const { heard, cursors, session, tell } = arrange();
        const first = session();
        heard.beginOpening(first.session);
        for (const [owner, n] of before) tell(first.session, directStream(owner), n);
        const kept = new Map(heard.cursors(first.session));
        expect(new Map(cursors.of(1))).toEqual(kept);
        const next = session();
        heard.begin(next.session, [...kept] as Cursor[]);
        for (const [owner, n] of after) tell(next.session, directStream(owner), n);
        const all = [...first.got, ...next.got];
        for (const owner of ['1', '2', '3']) {
          const numbers = all.flatMap((each) =>
            each.startsWith(`${directStream(owner)} `) ? [Number(each.split(' ')[1])] : [],
          );
          expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b));
          const asked = [...before, ...after].flatMap(([of, n]) => (of === owner ? [n] : []));
          if (asked.length > 0) expect(numbers.at(-1)).toBe(Math.max(...asked));
        }
      }),
    );
  });

  it('evicts a cursor when the database no longer holds its notification', () => {
    const { clock, heard, cursors, session, tell } = arrange();
    const { session: one, got } = session();
    heard.beginOpening(one);
    tell(one, directStream('1'), 5);
    clock.nowMs += RECORD_AGE_MS * 3;
    tell(one, directStream('2'), 5);
    expect(heard.cursors(one).map(([id]) => id)).toEqual([directStream(''), directStream('2')]);
    expect(cursors.of(1).map(([id]) => id)).toEqual([directStream(''), directStream('2')]);
    expect(got.length).toBe(2);
  });

  it('excludes streams of guilds, and sessions of other shards', () => {
    const { heard, session, tell } = arrange();
    const [here, elsewhere] = [session(), session()];
    heard.beginOpening(here.session);
    for (const n of [5, 5, 4]) tell(here.session, '1', n);
    for (const n of [5, 5, 4]) tell(elsewhere.session, directStream('1'), n);
    expect([here.got.length, elsewhere.got.length]).toEqual([3, 3]);
  });

  it('keep the newer position when a session begins again with an older one', () => {
    const { heard, session, tell } = arrange();
    const { session: one, got } = session();
    for (const n of [5, 3]) heard.begin(one, [[directStream('1'), n]]);
    expect(new Map(heard.cursors(one)).get(directStream('1'))).toBe(5);
    for (const n of [4, 5, 6]) tell(one, directStream('1'), n);
    expect(got).toEqual([`${directStream('1')} 6`]);
  });

  it('start from the last of several openings, without the positions of what is dropped', () => {
    const { clock, heard, cursors, session, tell } = arrange();
    const { session: one, got } = session();
    heard.beginOpening(one);
    tell(one, directStream('1'), 5);
    clock.nowMs += 10;
    tell(one, directStream('2'), 8);
    // What the session keeps of the attempt before is not delivered again.
    Object.assign(one, { feed: { dropOutdated: () => new Set([directStream('2')]) } });
    heard.beginOpening(one);
    const kept = [
      [SINCE, clock.nowMs],
      [directStream('2'), 8],
    ];
    expect(heard.cursors(one)).toEqual(kept);
    expect(new Map(cursors.of(1))).toEqual(new Map(kept as [string, number][]));
    tell(one, directStream('2'), 8);
    tell(one, directStream('1'), 5);
    expect(got).toHaveLength(3);
  });

  it('record the position before the first dispatch of a stream until the session has received it', () => {
    const { heard, cursors, session, tell } = arrange();
    const { session: one } = session();
    const positions: (number | null)[] = [];
    const deliver = () => void positions.push(cursors.cursor(1, directStream('1')));
    const watched = { ...one, deliver } as LiveSession;
    heard.beginOpening(watched);
    tell(watched, directStream('1'), 5);
    expect(positions).toEqual([4]);
  });
});
