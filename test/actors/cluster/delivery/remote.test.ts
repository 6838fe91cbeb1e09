// Goal: a shard receives one frame for each dispatch, however many of its sessions are recipients, and sessions that
// have ended receive nothing.
import { describe, expect, it } from 'vitest';
import { type RemoteSession, RemoteSessions } from '../../../../actors/cluster/delivery/remote.ts';
import type {
  Ownership,
  OwnershipChange,
  SessionFrame,
  ShardInfo,
} from '../../../../actors/placement/ports.ts';
import { baseOf, epochOf } from '../../../../actors/runtime/stream.ts';
import { VirtualClock } from '../../../../actors/runtime/virtual.ts';
import { TimerWheel } from '../../../../actors/runtime/wheel.ts';
import { DispatchBody } from '../../../../engine/fanout/body.ts';
import type { GuildId, UserId } from '../../../../protocol/ids.ts';

const WINDOW_MS = 60_000;

function arrange(...homes: readonly string[]) {
  const clock = new VirtualClock();
  type Sent = SessionFrame | { readonly kind: 'tell'; readonly method: string; readonly args: unknown };
  const told: { readonly to: string; readonly frame: Sent }[] = [];
  const ended: RemoteSession[] = [];
  const shards = homes.map((instance) => ({ id: instance, instance }) as ShardInfo);
  let change: (change: OwnershipChange) => void = () => undefined;
  const ownership = {
    view: { shards },
    owns: (id: string) => id === '9',
    ownerOf: (id: string) => ({ shardId: 'c', instance: 'c', epoch: id === '9' ? 7 : 8 }),
    onChange: (run: typeof change) => {
      change = run;
      return () => undefined;
    },
  } as unknown as Ownership;
  const remote = new RemoteSessions({
    links: { tell: (to, frame) => told.push({ to, frame }) },
    router: { tellShard: (to, method, args) => told.push({ to, frame: { kind: 'tell', method, args } }) },
    ...{ ownership, clock, wheel: new TimerWheel(clock), resumeWindowMs: WINDOW_MS },
    ended: (session) => ended.push(session),
  });
  const named = (home: string, handle: number, talk = 1) => ({
    ...{ home, talk },
    session: {
      ...{ handle, sessionId: `session ${handle}`, intents: 1, shard: [0, 1] as const, largeThreshold: 50 },
      principal: {
        ...{ userId: '1' as UserId, bot: true, applicationId: null, applicationFlags: 0 },
        authorization: null,
      },
    },
  });
  return {
    ...{ clock, told, ended, remote, named },
    session: (home: string, handle: number, talk = 1) => remote.of(home, named(home, handle, talk)),
    lose(home: string) {
      const gone = shards.splice(
        shards.findIndex(({ id }) => id === home),
        1,
      );
      change({ moved: [], gone, came: [] });
    },
    /** Frames since the last call, most of them abbreviated. */
    news(): object[] {
      clock.settle();
      return told.splice(0).map(({ to, frame }) => {
        if (frame.kind === 'dispatch') return { to, t: frame.t, n: frame.n, handles: [...frame.handles] };
        if (frame.kind === 'following') return { to, following: frame.handle, n: frame.n };
        return { to, method: frame.method, args: frame.args };
      });
    },
  };
}

const body = (t: string, n = 0) => new DispatchBody(t, { t }, 0, n > 0 ? { ownerId: '9', n } : null);

/** The number of a dispatch, by the epoch of its owner. */
const numberOf = (epoch: number, counter: number): number => epoch * 2 ** 32 + counter;

it.each([
  ['its number', { ownerId: '9', n: numberOf(6, 1) }, 6],
  ['the sender that repeats it', { ownerId: '9', n: numberOf(5, 1), epoch: 7 }, 7],
  ['now, where its number has none', { ownerId: '9', n: 1 }, 7],
  ['nobody, where this shard does not own the aggregate', { ownerId: '10', n: 1 }, null],
  ['nobody, outside of streams', null, null],
])('a frame names the epoch of %s', (_, origin, epoch) => {
  const { session, told, clock } = arrange('a');
  session('a', 1).deliver(new DispatchBody('HEARD', {}, 0, origin));
  clock.settle();
  expect(told.map(({ frame }) => 'epoch' in frame && frame.epoch)).toEqual([epoch]);
});

describe('sessions of other shards', () => {
  it('share one frame per dispatch and home, in the order of sending', () => {
    const { session, news } = arrange('a', 'b');
    const [one, two, other] = [session('a', 1), session('a', 2), session('b', 7)];
    const [first, second] = [body('FIRST', 5), body('SECOND', 6)];
    for (const each of [one, two, other]) each.deliver(first);
    one.following('9', 5);
    for (const each of [one, two]) each.deliver(second);
    expect(news()).toEqual([
      { to: 'a', t: 'FIRST', n: 5, handles: [1, 2] },
      { to: 'a', following: 1, n: 5 },
      { to: 'a', t: 'SECOND', n: 6, handles: [1, 2] },
      { to: 'b', t: 'FIRST', n: 5, handles: [7] },
    ]);
    two.deliver(second);
    expect(news()).toEqual([{ to: 'a', t: 'SECOND', n: 6, handles: [2] }]);
  });

  it('receive the same dispatch in a second frame when a stream position is sent in between', () => {
    const { session, news } = arrange('a');
    const [one, two] = [session('a', 1), session('a', 2)];
    const same = body('SAME', 6);
    one.deliver(same);
    two.following('9', 5);
    two.deliver(same);
    expect(news()).toEqual([
      { to: 'a', t: 'SAME', n: 6, handles: [1] },
      { to: 'a', following: 2, n: 5 },
      { to: 'a', t: 'SAME', n: 6, handles: [2] },
    ]);
  });

  it('receive a stream position with the epoch of its number', () => {
    const { clock, told, session } = arrange('a');
    const n = baseOf(3) + 5;
    session('a', 1).following('9', n);
    clock.settle();
    const frame = { kind: 'following', epoch: epochOf(n), handle: 1, ownerId: '9', n };
    expect([epochOf(n), told]).toEqual([3, [{ to: 'a', frame }]]);
  });

  it('share one encoding, however many shards hold them', () => {
    const { clock, told, session } = arrange('a', 'b');
    const each = body('ONE');
    session('a', 1).deliver(each);
    session('b', 1).deliver(each);
    clock.settle();
    const [a, b] = told.map(({ frame }) => (frame.kind === 'dispatch' ? frame.json : null));
    expect(a).toBe(b);
    expect(Buffer.from(a ?? []).toString()).toBe('{"t":"ONE"}');
  });

  it('keep one object each during one peer epoch of their shard', () => {
    const { session, named, remote } = arrange('a');
    const one = session('a', 1);
    expect(session('a', 1)).toBe(one);
    const again = session('a', 1, 2);
    expect(again).not.toBe(one);
    expect(() => remote.of('a', named('a', 3, 1))).toThrow('Stale peer epoch: the peer has restarted.');
    expect(remote.size).toBe(1);
  });

  it('receive nothing under an earlier peer epoch, and end when the time for a resume is over', () => {
    const { clock, session, news, ended } = arrange('a');
    const before = session('a', 1);
    before.deliver(body('LOST'));
    const now = session('a', 2, 2);
    for (const each of [before, now]) each.deliver(body('HEARD'));
    expect(news()).toEqual([{ to: 'a', t: 'HEARD', n: 0, handles: [2] }]);
    clock.advance(WINDOW_MS - 100);
    expect(ended).toEqual([]);
    clock.advance(200);
    expect(ended).toEqual([before]);
    expect([before.over, now.over]).toEqual([true, false]);
  });

  it('end as long after their shard begins a peer epoch, although it opens no session under it', () => {
    const { clock, session, remote, news, ended } = arrange('a');
    const one = session('a', 1);
    remote.begin('a', 'a', 1);
    one.deliver(body('HEARD'));
    expect(news()).toEqual([{ to: 'a', t: 'HEARD', n: 0, handles: [1] }]);
    remote.begin('a', 'a', 2);
    one.deliver(body('LOST'));
    expect(news()).toEqual([]);
    clock.advance(WINDOW_MS + 100);
    expect(ended).toEqual([one]);
  });

  it('are not opened by a request of an epoch that ended before it arrived', () => {
    const { session, remote } = arrange('a');
    remote.begin('a', 'a', 2);
    expect(() => session('a', 1, 1)).toThrow('Stale peer epoch: the peer has restarted.');
    remote.begin('b', 'b', 2);
    expect(() => session('b', 1, 1)).toThrow('Unknown shard instance');
  });

  it('are kept as long when their shard is lost', async () => {
    const { clock, session, remote, news, ended, lose } = arrange('a', 'b');
    const [one, other] = [session('a', 1), session('b', 1)];
    const room = one.writable();
    expect(news()).toEqual([{ to: 'a', method: 'localSessions.whenWritable', args: [1, 1, 1] }]);
    lose('a');
    expect(remote.size).toBe(1);
    await expect(room).rejects.toThrow('has left the cluster');
    await expect(one.writable()).rejects.toThrow('has left the cluster');
    for (const each of [one, other]) each.deliver(body('MEANWHILE'));
    expect(news()).toEqual([{ to: 'b', t: 'MEANWHILE', n: 0, handles: [1] }]);
    clock.advance(WINDOW_MS + 100);
    expect(ended).toEqual([one]);
  });

  it('are refused when their home is unknown', () => {
    const { session } = arrange();
    expect(() => session('phantom', 1)).toThrow('Unknown shard instance');
  });

  it('end when their shard reports it: at once, or later when another shard may have them', () => {
    const { clock, session, ended, remote } = arrange('a');
    const [one, two] = [session('a', 1), session('a', 2)];
    remote.ended('a', 1, 1, false);
    remote.ended('a', 1, 2, true);
    remote.ended('a', 1, 9, false);
    expect(ended).toEqual([one]);
    clock.advance(WINDOW_MS + 100);
    expect(ended).toEqual([one, two]);
    clock.advance(WINDOW_MS + 100);
    expect(ended.length).toBe(2);
  });

  it('send nothing after their shard releases them, and do not delay a delivery that waits for room', async () => {
    const { clock, session, news, remote } = arrange('a');
    const [one, two] = [session('a', 1), session('a', 2)];
    expect([one.away, one.over]).toEqual([false, false]);
    one.deliver(body('BEFORE'));
    remote.ended('a', 1, 1, true);
    remote.ended('a', 1, 2, false);
    expect([one.away, one.over]).toEqual([true, false]);
    expect([two.away, two.over]).toEqual([true, true]);
    for (const each of [one, two]) {
      each.deliver(body('AFTER'));
      each.following('9', 1);
      each.join('9' as GuildId);
      each.replaced(null, 0);
      await each.writable();
    }
    expect(news()).toEqual([{ to: 'a', t: 'BEFORE', n: 0, handles: [1] }]);
    clock.advance(WINDOW_MS + 100);
    expect(one.over).toBe(true);
  });

  it('send messages of the catalogue behind earlier deliveries', () => {
    const { session, news } = arrange('a');
    const one = session('a', 1);
    one.deliver(body('FIRST'));
    one.join('9' as GuildId);
    one.replaced('9' as GuildId, 5);
    one.deliver(body('SECOND'));
    expect(news()).toEqual([
      { to: 'a', t: 'FIRST', n: 0, handles: [1] },
      { to: 'a', method: 'localSessions.join', args: [1, 1, '9'] },
      { to: 'a', method: 'localSessions.replaced', args: [1, 1, '9', 5] },
      { to: 'a', t: 'SECOND', n: 0, handles: [1] },
    ]);
  });

  it('are not created again by a late request once they have ended', () => {
    const { session, remote } = arrange('a');
    session('a', 1);
    remote.ended('a', 1, 1, true);
    remote.ended('a', 1, 2, false);
    for (const handle of [1, 2]) expect(() => session('a', handle)).toThrow('has ended');
    expect(session('a', 3).over).toBe(false);
  });

  it('are remembered after their end, the latest 4,096 of each shard', () => {
    const { session, remote } = arrange('a');
    session('a', 5_000);
    for (let handle = 1; handle <= 4_096; handle += 1) remote.ended('a', 1, handle, false);
    expect(() => session('a', 1)).toThrow('has ended');
    remote.ended('a', 1, 4_097, false);
    expect(session('a', 1).over).toBe(false);
    expect(() => session('a', 2)).toThrow('has ended');
  });

  it('are writable again only when their shard answers the latest request', async () => {
    const { session, remote } = arrange('a');
    let free = false;
    const room = session('a', 1)
      .writable()
      .then(() => {
        free = true;
      });
    remote.becameWritable('a', 1, 2);
    remote.becameWritable('a', 2, 1);
    await Promise.resolve();
    expect(free).toBe(false);
    remote.becameWritable('a', 1, 1);
    await room;
  });
});
