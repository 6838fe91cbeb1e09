// Goal: a session's cursor is never ahead of what it received of a stream, nor behind it while it is subscribed.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { StreamCursors } from '../../../engine/session/cursors.ts';

const GUILD = '1';

describe('cursors', () => {
  it('are one number for all sessions that follow a stream', () => {
    const cursors = new StreamCursors();
    cursors.following(1, GUILD, 5);
    cursors.following(2, GUILD, 7);
    expect(cursors.advance(GUILD, 9)).toBeNull();
    expect([cursors.cursor(1, GUILD), cursors.cursor(2, GUILD)]).toEqual([9, 9]);
    cursors.ended(1);
    expect([cursors.of(1), cursors.of(2)]).toEqual([[], [[GUILD, 9]]]);
  });

  it('do not move after an interruption until each session catches up or subscribes again', () => {
    const cursors = new StreamCursors();
    for (const handle of [1, 2, 3]) cursors.following(handle, GUILD, 5);
    cursors.lagging(GUILD);
    const laggards = cursors.advance(GUILD, 6) ?? new Map();
    cursors.advanceOne(laggards, 1, 6);
    cursors.following(2, GUILD, 8);
    expect([1, 2, 3].map((handle) => cursors.cursor(handle, GUILD))).toEqual([6, 8, 5]);
    expect([1, 2, 3].map((handle) => cursors.lags(handle, GUILD))).toEqual([true, false, true]);
    cursors.left(1, GUILD);
    cursors.following(3, GUILD, 8);
    expect(cursors.advance(GUILD, 9)).toBeNull();
    expect([cursors.cursor(1, GUILD), cursors.cursor(2, GUILD), cursors.cursor(3, GUILD)]).toEqual([
      null,
      9,
      9,
    ]);
  });

  it('are not moved by a session that arrives with a higher position from another shard', () => {
    const cursors = new StreamCursors();
    cursors.following(1, GUILD, 5);
    cursors.lag(2, GUILD, 9);
    expect([cursors.cursor(1, GUILD), cursors.cursor(2, GUILD)]).toEqual([5, 9]);
    for (const n of [6, 10]) cursors.advanceOne(cursors.advance(GUILD, n) ?? new Map(), 2, n);
    expect([cursors.cursor(1, GUILD), cursors.cursor(2, GUILD)]).toEqual([10, 10]);
    cursors.following(2, GUILD, 10);
    expect(cursors.advance(GUILD, 11)).toBeNull();
  });

  it('are null for a stream without followers', () => {
    const cursors = new StreamCursors();
    cursors.lagging(GUILD);
    cursors.left(1, GUILD);
    expect([cursors.advance(GUILD, 3), cursors.cursor(1, GUILD)]).toEqual([null, null]);
  });

  it('never exceed what each session was sent, over any interruptions', () => {
    const act = fc.record({
      kind: fc.constantFrom('tell', 'lag', 'catchUp'),
      handle: fc.integer({ min: 1, max: 3 }),
    });
    fc.assert(
      fc.property(fc.array(act), (acts) => {
        const cursors = new StreamCursors();
        const has = new Map<number, number>();
        const following = new Set<number>();
        let n = 0;
        for (const { kind, handle } of acts) {
          if (kind === 'tell') {
            n += 1;
            const laggards = cursors.advance(GUILD, n);
            const to = [...following];
            for (const own of to) {
              has.set(own, n);
              if (laggards) cursors.advanceOne(laggards, own, n);
            }
          } else if (kind === 'lag') {
            cursors.lagging(GUILD);
            following.clear();
          } else {
            cursors.following(handle, GUILD, n);
            following.add(handle);
            has.set(handle, n);
          }
        }
        for (const [own, newest] of has) expect(cursors.cursor(own, GUILD)).toBe(newest);
      }),
    );
  });
});
