// Goal: a frame reaches the sessions that its sender means, or none: never those of another peer epoch, another run of a
// shard or another owner of the guild.
import { describe, expect, it } from 'vitest';
import type { GuildStream, StreamSource } from '../../../../actors/cluster/delivery/guildstream.ts';
import { newGuildStream } from '../../../../actors/cluster/delivery/guildstream.ts';
import type { GuildSubscriptions } from '../../../../actors/cluster/delivery/guildsubscriptions.ts';
import { LocalSessions } from '../../../../actors/cluster/delivery/localsessions.ts';
import type { LocalSession } from '../../../../actors/cluster/delivery/peer.ts';
import type { SessionFrame, ShardInfo } from '../../../../actors/placement/ports.ts';
import type { LiveSession } from '../../../../actors/session/backend.ts';
import type { DispatchBody } from '../../../../engine/fanout/body.ts';
import { directStream } from '../../../../engine/fanout/direct.ts';
import type { GuildId } from '../../../../protocol/ids.ts';
import { scriptedOwners } from '../../../support/scriptedowners.ts';

const GUILD = '9' as GuildId;
const shardOf = (instance: string) => ({ id: instance.split('#')[0], instance }) as ShardInfo;

/** The sessions of shard `self`, which knows the shards `a#1` and `b#1`, and what it tells them. */
function arrange() {
  const { ownership, shards, tell } = scriptedOwners();
  shards.push(shardOf('self#1'), shardOf('a#1'), shardOf('b#1'));
  const told: unknown[] = [];
  const log: unknown[] = [];
  const streams = new Map<string, GuildStream>();
  const state = {
    breakLink: (_shardId: string): void => undefined,
    /** Which sessions get a dispatch of a guild; undefined for all. */
    isNews: undefined as ((local: LocalSession) => boolean) | undefined,
  };
  const sessions = new LocalSessions(
    {
      links: {
        onBroken(run) {
          state.breakLink = run;
          return () => undefined;
        },
      },
      router: { tellShard: (...args: unknown[]) => void told.push(args) },
      ...{ ownership, nowMs: () => 77 },
      peerLost: ({ shardId, peerEpoch }) => log.push(['peerLost', shardId, peerEpoch]),
      direct: ({ sessionId }, { t, origin }) => log.push(['direct', sessionId, t, origin]),
      deliveriesMissed: () => log.push(['missed']),
    },
    {
      stream: (guildId: string) => streams.get(guildId),
      noteDispatch(_stream: GuildStream, n: number, { t }: DispatchBody) {
        log.push(['note', n, t]);
        return state.isNews;
      },
      guildCreated: (_stream: GuildStream, { session }: LocalSession, n: number) =>
        log.push(['created', session.sessionId, n]),
      caughtUp: (_peer: unknown, { session }: LocalSession, ownerId: string, n: number) =>
        log.push(['caughtUp', session.sessionId, ownerId, n]),
    } as unknown as GuildSubscriptions,
  );
  const received: unknown[] = [];
  const add = (sessionId: string): LocalSession => {
    const deliver = ({ t, origin, recipients, bornMs, d }: DispatchBody) =>
      received.push([sessionId, t, d, origin, recipients, bornMs]);
    const identity = { sessionId, principal: { userId: '1' }, intents: 3, shard: [0, 1], largeThreshold: 50 };
    return sessions.add({ ...identity, deliver } as unknown as LiveSession);
  };
  /** Has the stream of the guild come from this source. */
  const follow = (source: StreamSource): void => {
    streams.set(GUILD, { ...newGuildStream(GUILD), source });
  };
  return { sessions, shards, tell, told, log, state, received, add, follow };
}

const dispatch = (handles: readonly number[], change: Partial<SessionFrame & { kind: 'dispatch' }> = {}) =>
  ({
    ...{ kind: 'dispatch', t: 'MESSAGE_CREATE', json: Buffer.from('{"é":1}'), ownerId: '', n: 0 },
    ...{ handles: Uint32Array.from(handles), ...change },
  }) as SessionFrame;

describe('a session of this shard', () => {
  it('is kept once for each session object, until it is removed', () => {
    const { sessions, add } = arrange();
    const one = add('one');
    expect([sessions.add(one.session), sessions.get(one.session), [...sessions.all()]]).toEqual([
      one,
      one,
      [one],
    ]);
    add('two');
    expect(sessions.size).toBe(2);
    sessions.remove(one, false);
    expect([sessions.size, sessions.get(one.session)]).toEqual([1, undefined]);
  });

  it('is known to each shard by a handle of its own, which stays the same within a peer epoch', () => {
    const { sessions, add } = arrange();
    const [one, two] = [add('one'), add('two')];
    const [a, b] = [sessions.peer('a', 'a#1'), sessions.peer('b', 'b#1')];
    const references = [
      sessions.reference(one, a),
      sessions.reference(one, a),
      sessions.reference(two, a),
      sessions.reference(one, b),
    ];
    expect(references.map(({ talk, session }) => [talk, session.handle])).toEqual([
      [1, 1],
      [1, 1],
      [1, 2],
      [2, 3],
    ]);
    expect(references[0]).toEqual({
      ...{ home: 'self#1', talk: 1 },
      session: {
        ...{ handle: 1, sessionId: 'one', principal: { userId: '1' } },
        ...{ intents: 3, shard: [0, 1], largeThreshold: 50 },
      },
    });
    expect([
      sessions.byHandle('a', 1, 1),
      sessions.byHandle('b', 2, 3),
      sessions.byHandle('a', 1, 3),
    ]).toEqual([one, one, undefined]);
  });

  it.each([true, false])(
    'is reported as ended to the shards that know it when it is removed, with moving %s',
    (isMoving) => {
      const { sessions, told, add } = arrange();
      const [one, two] = [add('one'), add('two')];
      const [a, b] = [sessions.peer('a', 'a#1'), sessions.peer('b', 'b#1')];
      for (const peer of [a, b]) sessions.reference(one, peer);
      sessions.reference(two, a);
      sessions.remove(one, isMoving);
      expect(told).toEqual([
        ['a', 'remoteSessions.ended', ['self#1', 1, 1, isMoving]],
        ['b', 'remoteSessions.ended', ['self#1', 2, 2, isMoving]],
      ]);
      expect([sessions.byHandle('a', 1, 1), sessions.byHandle('a', 1, 3)]).toEqual([undefined, two]);
    },
  );

  it('is not reported as ended under a peer epoch that is over', () => {
    const { sessions, told, add } = arrange();
    const one = add('one');
    sessions.reference(one, sessions.peer('a', 'a#1'));
    sessions.broken('a');
    told.length = 0;
    sessions.remove(one, false);
    expect(told).toEqual([]);
  });
});

describe('a peer epoch', () => {
  it('lasts as long as the links to the run of the shard, and no two have one number', () => {
    const { sessions, log } = arrange();
    const first = sessions.peer('a', 'a#1');
    expect([sessions.peer('a', 'a#1'), sessions.isCurrent(first)]).toEqual([first, true]);
    const second = sessions.peer('a', 'a#2');
    expect([sessions.isCurrent(first), sessions.isCurrent(second)]).toEqual([false, true]);
    expect(log).toEqual([['missed'], ['peerLost', 'a', 1]]);
    const epochs = [first, second, sessions.peer('b', 'b#1')].map(({ peerEpoch }) => peerEpoch);
    expect(new Set(epochs).size).toBe(3);
  });

  it('ends with the links to a shard that is still a member, and the shard receives the number of the next', () => {
    const { sessions, state, told, log, add } = arrange();
    const one = add('one');
    const peer = sessions.peer('a', 'a#1');
    const { session } = sessions.reference(one, peer);
    state.breakLink('a');
    expect([log, told]).toEqual([
      [['missed'], ['peerLost', 'a', 1]],
      [['a', 'remoteSessions.begin', ['self#1', 2]]],
    ]);
    expect([peer.sessions.size, one.handles.length, sessions.byHandle('a', 1, session.handle)]).toEqual([
      ...[0, 0, undefined],
    ]);
    const next = sessions.peer('a', 'a#1');
    expect(sessions.reference(one, next)).toMatchObject({ talk: 2, session: { handle: session.handle + 1 } });
  });

  it('has a successor when the same run of the shard is a member again, and none for another run', () => {
    for (const [back, begun] of [
      ['a#1', [['a', 'remoteSessions.begin', ['self#1', 2]]]],
      ['a#2', []],
    ] as const) {
      const { sessions, shards, tell, told } = arrange();
      sessions.peer('a', 'a#1');
      const [left] = shards.splice(1, 1);
      tell({ gone: [left!] });
      expect(told).toEqual([]);
      shards.push(shardOf(back));
      tell({ came: [shardOf(back)] });
      expect(told).toEqual(begun);
    }
  });

  it('has no successor when the shard has left', () => {
    const { sessions, shards, told, log } = arrange();
    const peer = sessions.peer('a', 'a#1');
    shards.splice(1, 1);
    sessions.broken('a');
    expect([told, log, sessions.isCurrent(peer)]).toEqual([[], [['missed'], ['peerLost', 'a', 1]], false]);
  });

  it('ends when this run of the shard leaves the cluster, and not when an earlier run does', () => {
    const { sessions, tell, log } = arrange();
    const peer = sessions.peer('a', 'a#2');
    tell({ gone: [shardOf('a#1'), shardOf('b#1')] });
    expect([sessions.isCurrent(peer), log]).toEqual([true, []]);
    tell({ gone: [shardOf('a#2')] });
    expect(sessions.isCurrent(peer)).toBe(false);
    const next = sessions.peer('a', 'a#3');
    sessions.close();
    tell({ gone: [shardOf('a#3')] });
    expect(sessions.isCurrent(next)).toBe(true);
  });

  it('is not needed to report that direct notifications were lost with the links', () => {
    const { sessions, told, log } = arrange();
    sessions.broken('a');
    expect([log, told]).toEqual([[['missed']], []]);
  });
});

/** Sessions `one` and `two` with handles 1 and 2 at shard `a`. */
function known() {
  const instance = arrange();
  const peer = instance.sessions.peer('a', 'a#1');
  const locals = ['one', 'two'].map((sessionId) => instance.add(sessionId));
  for (const local of locals) instance.sessions.reference(local, peer);
  const owner = { shardId: 'a', instance: 'a#1', epoch: 1 };
  return { ...instance, peer, source: { from: 'peer', peer, owner } as const };
}

describe('a frame', () => {
  it('delivers one body to its sessions, without a stream when it has no number', () => {
    const { sessions, received, log } = known();
    sessions.frames('a', [dispatch([1, 2])]);
    expect(received).toEqual(['one', 'two'].map((id) => [id, 'MESSAGE_CREATE', { é: 1 }, null, 2, 77]));
    expect(log).toEqual([]);
  });

  it('is dropped when no session has its handle, or its sender is unknown', () => {
    const { sessions, received, log } = known();
    sessions.frames('b', [dispatch([1])]);
    sessions.frames('a', [
      dispatch([0, 3]),
      { kind: 'following', handle: 3, ownerId: GUILD, epoch: 0, n: 5 },
      dispatch([3], { ownerId: directStream('5'), n: 1 }),
    ]);
    expect([received, log]).toEqual([[], []]);
  });

  it('is a direct notification to each session when its stream is direct', () => {
    const { sessions, received, log } = known();
    const ownerId = directStream('5');
    sessions.frames('a', [dispatch([1, 2], { ownerId, n: 4 })]);
    expect([received, log]).toEqual([
      [],
      ['one', 'two'].map((id) => ['direct', id, 'MESSAGE_CREATE', { ownerId, n: 4 }]),
    ]);
  });
});

describe('a frame of a guild', () => {
  it('is delivered with its position from its source, or from the last source while it has none', () => {
    const { sessions, follow, received, log, source } = known();
    for (const from of [source, { from: 'nobody', last: source } as const]) {
      follow(from);
      sessions.frames('a', [dispatch([2], { ownerId: GUILD, n: 1 })]);
      expect([received.splice(0), log.splice(0)]).toEqual([
        [['two', 'MESSAGE_CREATE', { é: 1 }, { ownerId: GUILD, n: 1 }, 1, 77]],
        [['note', 1, 'MESSAGE_CREATE']],
      ]);
    }
  });

  it('is dropped when no session here subscribes to it, or another shard is its source', () => {
    const { sessions, follow, received, log, source } = known();
    const frame = dispatch([1], { ownerId: GUILD, n: 6 });
    sessions.frames('a', [frame]);
    follow({ ...source, peer: sessions.peer('b', 'b#1') });
    sessions.frames('a', [frame]);
    follow({ from: 'here', owner: source.owner });
    sessions.frames('a', [frame]);
    expect([received, log]).toEqual([[], []]);
  });

  it('is not delivered to sessions that already have it', () => {
    const { sessions, follow, state, received, source } = known();
    follow(source);
    state.isNews = ({ session }) => session.sessionId === 'two';
    sessions.frames('a', [dispatch([1, 2], { ownerId: GUILD, n: 6 })]);
    expect(received.map((each) => (each as string[])[0])).toEqual(['two']);
  });

  it('gives its sessions its position in the stream when it is GUILD_CREATE', () => {
    const { sessions, follow, log, source } = known();
    follow(source);
    sessions.frames('a', [dispatch([2], { ownerId: GUILD, n: 6, t: 'GUILD_CREATE' })]);
    expect(log).toEqual([
      ['note', 6, 'GUILD_CREATE'],
      ['created', 'two', 6],
    ]);
  });

  it('reports a session that caught up, after the dispatches before it', () => {
    const { sessions, follow, log, source } = known();
    follow(source);
    sessions.frames('a', [
      dispatch([1], { ownerId: GUILD, n: 6 }),
      { kind: 'following', handle: 1, ownerId: GUILD, epoch: 0, n: 7 },
    ]);
    expect(log).toEqual([
      ['note', 6, 'MESSAGE_CREATE'],
      ['caughtUp', 'one', GUILD, 7],
    ]);
  });
});
