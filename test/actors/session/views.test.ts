// Goal: the operator's view of sessions is paged by handle, shows what is kept for RESUME, and stays bounded with many sessions.
import { expect, test } from 'vitest';
import { sessionViews, type ViewedSession } from '../../../actors/session/views.ts';
import { DispatchBody, ReplayBuffer } from '../../../engine/fanout/body.ts';
import { snowflakeOf } from '../../../protocol/ids.ts';

function session(handle: number, sent: number, framesMax = 250): ViewedSession {
  const buffer = new ReplayBuffer({ framesMax, ageMs: 60_000, weightBytesMax: 1_000_000 });
  for (let n = 1; n <= sent; n += 1) buffer.push(new DispatchBody('MESSAGE_CREATE', { n }, 0));
  const feed = { latest: (max: number) => buffer.latest(max, 0) };
  return { handle, userId: snowflakeOf(7n), bot: false, intents: 1, seq: sent, authorization: null, feed };
}
const mapOf = (sessions: readonly ViewedSession[]) => new Map(sessions.map((one) => [`s${one.handle}`, one]));
const handles = (views: readonly { readonly handle: number }[]) => views.map(({ handle }) => handle);

test('pages continue after a handle', () => {
  const live = mapOf([session(1, 0), session(2, 0), session(4, 0)]);
  expect(handles(sessionViews(live, 0, 2))).toEqual([1, 2]);
  expect(handles(sessionViews(live, 2, 2))).toEqual([4]);
  expect(sessionViews(live, 4, 2)).toEqual([]);
});

test('returns the twenty newest dispatches, or fewer if fewer are kept', () => {
  const [many] = sessionViews(mapOf([session(1, 30)]), 0, 1);
  expect(many?.latest).toHaveLength(20);
  expect(many?.latest[0]).toEqual({ seq: 30, t: 'MESSAGE_CREATE' });
  expect(sessionViews(mapOf([session(1, 30, 3)]), 0, 1)[0]?.latest.map(({ seq }) => seq)).toEqual([
    30, 29, 28,
  ]);
  expect(sessionViews(mapOf([session(1, 30, 0)]), 0, 1)[0]?.latest).toEqual([]);
  expect(sessionViews(mapOf([session(1, 0)]), 0, 1)[0]?.latest).toEqual([]);
});

test('reads the buffers of one page only among 100,000 sessions', () => {
  let reads = 0;
  const idle = session(1, 1);
  const latest = (max: number) => {
    reads += 1;
    return idle.feed.latest(max);
  };
  const live = mapOf(
    Array.from({ length: 100_000 }, (_, at) => ({ ...idle, handle: at + 1, feed: { latest } })),
  );
  expect(handles(sessionViews(live, 99_000, 50)).at(-1)).toBe(99_050);
  expect(reads).toBe(50);
});
