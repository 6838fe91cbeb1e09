// Goal: a page answered from memory is the page that the database would answer, whatever is written, edited or deleted,
// also while a channel is being read.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MessageWindow } from '../../../actors/guild/guild.reader.ts';
import { type MessagePage, RECENT_MAX, type RecentMessages } from '../../../engine/channel/recent.ts';
import type { StoredMessage } from '../../../engine/guild/guild.ts';
import { type ChannelId, compareIds, type MessageId } from '../../../protocol/ids.ts';

const CHANNEL = '1' as ChannelId;
const OTHER = '2' as ChannelId;

const message = (id: string, content = 'first', channelId = CHANNEL): StoredMessage =>
  ({ id, channel_id: channelId, content }) as unknown as StoredMessage;

/** The page of a list of messages, as `storage/message` selects it. */
function selected(all: readonly StoredMessage[], { around, before, after, limit }: MessagePage) {
  const ascending = all.toSorted((one, other) => compareIds(one.id, other.id));
  const newestFirst = ascending.toReversed();
  if (around !== undefined) {
    const newer = Math.floor(limit / 2);
    const older = newestFirst.filter(({ id }) => compareIds(id, around) <= 0).slice(0, limit - newer);
    const rest = ascending.filter(({ id }) => compareIds(id, around) > 0).slice(0, newer);
    return [...rest.toReversed(), ...older];
  }
  if (before !== undefined) return newestFirst.filter(({ id }) => compareIds(id, before) < 0).slice(0, limit);
  if (after === undefined) return newestFirst.slice(0, limit);
  const newer = ascending.filter(({ id }) => compareIds(id, after) > 0).slice(0, limit);
  return newer.toReversed();
}

/** A channel with `count` stored messages, and a window into which nothing is read yet. */
function arrange(count: number) {
  const window = new MessageWindow();
  const rows = new Map(Array.from({ length: count }, (_, at) => [String(at + 1), message(String(at + 1))]));
  const newest = () => selected([...rows.values()], { limit: RECENT_MAX });
  const read = () => window.recent.begin(CHANNEL, window)(newest());
  return { window, recent: window.recent, rows, newest, read };
}

const idsOf = (recent: RecentMessages<StoredMessage>, page: MessagePage) =>
  recent.page(CHANNEL, page)?.map(({ id }) => id) ?? null;

describe('the newest messages of a channel', () => {
  test('are unknown until the channel is read', () => {
    expect(arrange(3).recent.page(CHANNEL, { limit: 50 })).toBeNull();
  });

  test('are answered newest first, and all of a short channel', () => {
    const { recent, read } = arrange(3);
    read();
    expect(idsOf(recent, { limit: 2 })).toEqual(['3', '2']);
    expect(idsOf(recent, { limit: 50 })).toEqual(['3', '2', '1']);
  });

  test('leave pages that reach beyond them to the database', () => {
    const { recent, read } = arrange(RECENT_MAX + 5);
    read();
    expect(idsOf(recent, { limit: RECENT_MAX })).toHaveLength(RECENT_MAX);
    expect(idsOf(recent, { limit: 10, before: '12' as MessageId })).toBeNull();
    expect(idsOf(recent, { limit: 10, after: '3' as MessageId })).toBeNull();
    expect(idsOf(recent, { limit: 10, around: '6' as MessageId })).toBeNull();
    expect(idsOf(recent, { limit: 2, after: '103' as MessageId })).toEqual(['105', '104']);
  });

  test('show an edit, and nothing of a deleted message', () => {
    const { window, recent, read } = arrange(3);
    read();
    window.set('2' as MessageId, message('2', 'edited'));
    window.set('3' as MessageId, null);
    expect(recent.page(CHANNEL, { limit: 50 })).toEqual([message('2', 'edited'), message('1')]);
  });

  test('stay within their bound, and are read again after many deletions', () => {
    const { window, recent, read } = arrange(RECENT_MAX + 5);
    read();
    window.set('106' as MessageId, message('106'));
    expect(recent.page(CHANNEL, { limit: 200 })).toBeNull();
    expect(idsOf(recent, { limit: RECENT_MAX })?.at(0)).toBe('106');
    for (let id = 106; id > 50; id -= 1) window.set(String(id) as MessageId, null);
    expect(recent.has(CHANNEL)).toBe(false);
  });

  test('are kept of eight channels; the one that was read longest ago is dropped', () => {
    const { window, recent, read } = arrange(1);
    read();
    for (let at = 0; at < 8; at += 1) recent.begin(`9${at}` as ChannelId, window)([]);
    expect([recent.has(CHANNEL), recent.has('90' as ChannelId)]).toEqual([false, true]);
  });

  test('are not kept when the read fails', () => {
    const { window, recent } = arrange(1);
    recent.begin(CHANNEL, window)(null);
    expect(recent.has(CHANNEL)).toBe(false);
  });
});

/** A change of a message, by its id. Ids of new messages are above those of all others. */
const change = fc.oneof(
  fc.record({ kind: fc.constant('create' as const), channel: fc.constantFrom(CHANNEL, OTHER) }),
  fc.record({ kind: fc.constant('edit' as const), pick: fc.nat(200) }),
  fc.record({ kind: fc.constant('delete' as const), pick: fc.nat(200) }),
  fc.record({ kind: fc.constant('evict' as const), pick: fc.nat(200) }),
  fc.record({ kind: fc.constant('beginRead' as const) }),
  fc.record({ kind: fc.constant('endRead' as const) }),
);

type Change = typeof change extends fc.Arbitrary<infer One> ? One : never;

const page = fc
  .record({
    kind: fc.constantFrom('newest', 'before', 'after', 'around'),
    at: fc.nat(160),
    limit: fc.integer({ min: 1, max: 100 }),
  })
  .map(({ kind, at, limit }): MessagePage => (kind === 'newest' ? { limit } : { [kind]: String(at), limit }));

test('every page from memory equals the page of the database, in any order of changes, evictions and reads', () => {
  let answered = 0;
  const holds = (count: number, changes: readonly Change[], pages: readonly MessagePage[]) => {
    const { window, recent, rows, newest } = arrange(count);
    let next = count + 1;
    let version = 0;
    let take: (() => void) | null = null;
    for (const each of changes) {
      if (each.kind === 'create') {
        const created = message(String(next++), 'new', each.channel);
        if (each.channel === CHANNEL) rows.set(created.id, created);
        window.set(created.id, created);
      } else if (each.kind === 'beginRead') {
        if (take) continue;
        // Rows as they are now, which arrive after the changes that follow.
        const [end, seen] = [recent.begin(CHANNEL, window), newest()];
        take = () => end(seen);
      } else if (each.kind === 'endRead') {
        take?.();
        take = null;
      } else {
        const id = [...rows.keys()][each.pick % Math.max(1, rows.size)] as MessageId | undefined;
        if (id === undefined) continue;
        if (each.kind === 'evict') window.delete(id);
        else {
          const changed = each.kind === 'edit' ? message(id, `edit ${version++}`) : null;
          if (changed) rows.set(id, changed);
          else rows.delete(id);
          window.set(id, changed);
        }
      }
      for (const one of pages) {
        const found = recent.page(CHANNEL, one);
        if (found === null) continue;
        answered += 1;
        expect(found).toEqual(selected([...rows.values()], one));
      }
    }
  };
  fc.assert(
    fc.property(
      fc.nat(130),
      fc.array(change, { maxLength: 40 }),
      fc.array(page, { minLength: 1, maxLength: 4 }),
      holds,
    ),
    { numRuns: 200 },
  );
  expect(answered).toBeGreaterThan(0);
});
