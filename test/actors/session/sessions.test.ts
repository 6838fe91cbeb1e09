// Goal: a session is opened, kept, resumed and ended as the gateway's documentation says, and loses nothing meanwhile.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { GatewaySessionActor } from '../../../actors/session/session.shell.ts';
import type { GuildId, UserId } from '../../../protocol/ids.ts';
import { INTENTS } from '../../../protocol/intents.ts';
import { arrange, dispatchOf, FakeSink, identifyWith, settled } from './harness.ts';

type Arranged = ReturnType<typeof arrange>;

async function open({ sessions }: Arranged, change = {}, sink = new FakeSink()) {
  const outcome = await sessions.identify(identifyWith(change), sink);
  await settled();
  if (outcome.kind !== 'open') throw new Error(`not open: ${JSON.stringify(outcome)}`);
  return { session: outcome.session as GatewaySessionActor, sink };
}

async function resume({ sessions }: Arranged, sessionId: string, seq: number, token = 'bot') {
  const sink = new FakeSink();
  const outcome = await sessions.resume({ token, sessionId, seq }, sink);
  await settled();
  return { outcome, sink };
}

describe('IDENTIFY', () => {
  it('is answered with READY and then the guilds in order', async () => {
    const arranged = arrange();
    const { sink, session } = await open(arranged);
    expect(sink.names).toEqual(['READY', 'GUILD_CREATE', 'GUILD_CREATE', 'GUILD_CREATE']);
    expect(sink.seqs).toEqual([1, 2, 3, 4]);
    expect(sink.sent[0]?.d).toMatchObject({
      v: 10,
      session_id: session.id,
      resume_gateway_url: 'ws://127.0.0.1:3000',
      application: { id: '200' },
      guilds: arranged.backend.guildIds.map((id) => ({ id, unavailable: true })),
    });
    expect(arranged.backend.named('presence')).toHaveLength(1);
  });

  it('is answered with READY first, and then in order with dispatches that were queued while its user was loaded', async () => {
    const arranged = arrange();
    const { backend } = arranged;
    const early = ['a', 'b', 'c'].map((content) => dispatchOf(content));
    const opening = backend.open.bind(backend);
    backend.open = async (session) => {
      const opened = await opening(session);
      for (const body of early) session.deliver(body);
      expect(session).toMatchObject({ seq: 0 });
      return opened;
    };
    const { sink, session } = await open(arranged);
    expect(sink.names.slice(0, 5)).toEqual(['READY', ...early.map(({ t }) => t), 'GUILD_CREATE']);
    expect(sink.sent.slice(1, 4).map(({ body }) => body)).toEqual(early);
    expect(sink.seqs).toEqual([1, 2, 3, 4, 5, 6, 7]);
    session.detach(sink, true);
    const { sink: again } = await resume(arranged, session.id, 1);
    expect(again.seqs).toEqual([2, 3, 4, 5, 6, 7, 8]);
  });

  it('is closed when the queue before READY overflows, and its state is released', async () => {
    const { sessions, backend } = arrange();
    const opening = backend.open.bind(backend);
    backend.open = async (session) => {
      const opened = await opening(session);
      for (let count = 0; count < 1024; count += 1) session.deliver(dispatchOf('early'));
      expect(session.over).toBe(false);
      session.deliver(dispatchOf('one more'));
      return opened;
    };
    const sink = new FakeSink();
    expect(await sessions.identify(identifyWith(), sink)).toMatchObject({ kind: 'closed' });
    await settled();
    expect([sink.names, sink.closedWith]).toEqual([[], 4000]);
    expect([sessions.size, backend.live.size]).toEqual([0, 0]);
  });

  it.each([
    ['a bad token', { token: 'nobody' }, 4004],
    ['a bad shard', { shard: [2, 2] }, 4010],
    ['unknown intents', { intents: 1 << 30 }, 4013],
  ])('is refused with %s', async (_, change, code) => {
    const { sessions } = arrange();
    const outcome = await sessions.identify(identifyWith(change as object), new FakeSink());
    expect(outcome).toMatchObject({ kind: 'closed', code });
    expect(sessions.size).toBe(0);
  });

  it('announces and sends only the guilds of its shard', async () => {
    const arranged = arrange();
    const { sink } = await open(arranged, { shard: [1, 2] });
    const mine = arranged.backend.guildIds.filter((_, index) => index % 2 === 0);
    expect(sink.sent[0]?.d).toMatchObject({ guilds: mine.map((id) => ({ id })), shard: [1, 2] });
    expect(sink.names).toHaveLength(1 + mine.length);
  });

  it('requires shards beyond a number of guilds, and releases its state', async () => {
    const { sessions, backend } = arrange({ shardingRequiredGuilds: 2 });
    expect(await sessions.identify(identifyWith(), new FakeSink())).toMatchObject({ code: 4011 });
    await settled();
    expect(sessions.size).toBe(0);
    expect(backend.live.size).toBe(0);
    expect(await sessions.identify(identifyWith({ shard: [1, 2] }), new FakeSink())).toMatchObject({
      kind: 'open',
    });
  });

  it('starts one session per bucket in five seconds and so many a day', async () => {
    const { sessions, clock } = arrange({ limited: true, sessionStartsPerDay: 2 });
    const kinds: unknown[] = [];
    for (const waitMs of [0, 0, 5000, 5000]) {
      clock.advance(waitMs);
      const outcome = await sessions.identify(identifyWith(), new FakeSink());
      kinds.push(outcome.kind === 'closed' ? outcome.code : outcome.kind);
    }
    expect(kinds).toEqual(['open', 'invalid', 'open', 4004]);
    expect(await sessions.startLimitOf('100' as UserId)).toMatchObject({ total: 2, remaining: 0 });
  });

  it('returns no session start limit to bots when none is applied', async () => {
    const { sessions } = arrange({ limited: false, sessionStartsPerDay: 2, maxConcurrency: 1 });
    for (const _ of [1, 2, 3])
      expect(await sessions.identify(identifyWith(), new FakeSink())).toMatchObject({ kind: 'open' });
    const { remaining, max_concurrency } = await sessions.startLimitOf('100' as UserId);
    expect(remaining).toBeGreaterThan(2);
    expect(max_concurrency).toBeGreaterThan(1);
  });

  it('is refused when the maximum number of sessions is reached', async () => {
    const { sessions } = arrange({ sessionsMax: 1 });
    await sessions.identify(identifyWith(), new FakeSink());
    expect(await sessions.identify(identifyWith({ token: 'other' }), new FakeSink())).toMatchObject({
      code: 4008,
    });
  });

  it.each(['authenticate', 'open', 'presence'])(
    'fails with a fault of %s and leaves no session',
    async (fault) => {
      const { sessions, backend } = arrange();
      backend.fault = fault;
      await expect(sessions.identify(identifyWith(), new FakeSink())).rejects.toThrow(/planted/);
      await settled();
      expect(sessions.size).toBe(0);
      expect(backend.live.size).toBe(0);
    },
  );

  it('sends an unavailable guild when it cannot be read', async () => {
    const arranged = arrange();
    arranged.backend.fault = 'subscribe';
    const { sink } = await open(arranged);
    expect(sink.sent[1]).toMatchObject({ t: 'GUILD_DELETE', d: { unavailable: true } });
    expect(arranged.faults).toHaveLength(3);
  });

  it('sends small guilds together once the client reads', async () => {
    const arranged = arrange();
    const sink = new FakeSink();
    sink.room = false;
    await open(arranged, {}, sink);
    expect(sink.names).toEqual(['READY']);
    sink.makeRoom();
    await settled();
    expect(sink.names).toEqual(['READY', 'GUILD_CREATE', 'GUILD_CREATE', 'GUILD_CREATE']);
  });

  it('sends the guild after a large one only when the client reads', async () => {
    const arranged = arrange();
    arranged.backend.guildMembers = Array.from({ length: 64 }, () => ({}));
    const sink = new FakeSink();
    sink.room = false;
    await open(arranged, {}, sink);
    expect(sink.names).toEqual(['READY']);
    sink.makeRoom();
    await settled();
    expect(sink.names).toEqual(['READY', 'GUILD_CREATE']);
  });

  it('ends with 4004 when its token is revoked meanwhile', async () => {
    const { sessions, backend } = arrange();
    let release = () => {};
    const sink = new FakeSink();
    const outcome = sessions.identify(identifyWith(), sink);
    await Promise.resolve();
    backend.gate = new Promise((resolve) => {
      release = resolve;
    });
    await settled();
    sessions.closeSessionsOf('100' as UserId, { code: 4004, reason: '' });
    release();
    expect(await outcome).toMatchObject({ kind: 'closed', code: 4004 });
    await settled();
    expect(sink.closedWith).toBe(4004);
    expect(backend.live.size).toBe(0);
    expect(backend.named('ended')).toHaveLength(1);
  });
});

describe('RESUME', () => {
  it('replays exactly the missed dispatches in order, then RESUMED, then new dispatches', async () => {
    const arranged = arrange();
    const { session, sink } = await open(arranged);
    session.deliver(dispatchOf('seen'));
    session.detach(sink, true);
    session.deliver(dispatchOf('a'));
    session.deliver(dispatchOf('b'));
    const again = await resume(arranged, session.id, 5);
    session.deliver(dispatchOf('c'));
    expect(again.outcome.kind).toBe('open');
    expect(again.sink.names).toEqual(['MESSAGE_CREATE', 'MESSAGE_CREATE', 'RESUMED', 'MESSAGE_CREATE']);
    expect(again.sink.seqs).toEqual([6, 7, 8, 9]);
    expect(sink.names).toHaveLength(5);
  });

  it('takes over from an open connection, and closes that one', async () => {
    const arranged = arrange();
    const { session, sink } = await open(arranged);
    const again = await resume(arranged, session.id, 4);
    expect(sink.closedWith).toBe(4000);
    session.detach(sink, true);
    session.deliver(dispatchOf('a'));
    expect(again.sink.names).toEqual(['RESUMED', 'MESSAGE_CREATE']);
    expect(arranged.sessions.size).toBe(1);
  });

  it.each([
    ['an unknown session', 'nothing', 0, 'bot', { kind: 'invalid' }],
    ["another bot's session", null, 0, 'other', { kind: 'invalid' }],
    ['a bad token', null, 0, 'nobody', { kind: 'closed', code: 4004 }],
    ['a sequence number that was never sent', null, 5, 'bot', { kind: 'closed', code: 4007 }],
    ['no sequence number', null, Number.NaN, 'bot', { kind: 'closed', code: 4007 }],
  ])('is refused with %s', async (_, id, seq, token, wanted) => {
    const arranged = arrange();
    const { session, sink } = await open(arranged);
    session.detach(sink, true);
    expect((await resume(arranged, id ?? session.id, seq, token)).outcome).toMatchObject(wanted);
  });

  it('is rejected when missed dispatches were evicted, and the session ends', async () => {
    const arranged = arrange({ replayFramesMax: 3 });
    const { session, sink } = await open(arranged);
    session.detach(sink, true);
    for (const content of ['a', 'b', 'c', 'd']) session.deliver(dispatchOf(content));
    expect((await resume(arranged, session.id, 4)).outcome).toEqual({ kind: 'invalid' });
    expect(arranged.sessions.size).toBe(0);
  });

  it('replays what followed the READY and guilds that the client acknowledged', async () => {
    const arranged = arrange();
    const { session } = await open(arranged);
    session.acknowledge(4);
    session.deliver(dispatchOf('a'));
    expect((await resume(arranged, session.id, 4)).sink.seqs).toEqual([5, 6]);
  });

  it('is rejected after the resume window', async () => {
    const arranged = arrange();
    const { session, sink } = await open(arranged);
    session.detach(sink, true);
    arranged.clock.advance(89_000);
    expect(arranged.sessions.size).toBe(1);
    arranged.clock.advance(2000);
    expect(arranged.sessions.size).toBe(0);
    expect(arranged.backend.live.size).toBe(0);
    expect((await resume(arranged, session.id, 4)).outcome).toEqual({ kind: 'invalid' });
  });

  it('stops the window', async () => {
    const arranged = arrange();
    const { session, sink } = await open(arranged);
    session.detach(sink, true);
    arranged.clock.advance(80_000);
    const again = await resume(arranged, session.id, 4);
    arranged.clock.advance(500_000);
    session.deliver(dispatchOf('a'));
    expect(again.sink.names).toEqual(['RESUMED', 'MESSAGE_CREATE']);
  });

  it('restores the presence of a bot, which appeared offline after a second', async () => {
    const arranged = arrange();
    const shown = () => arranged.backend.named('presence').map(([, presence]) => presence);
    const { session, sink } = await open(arranged);
    const busy = { since: null, activities: [], status: 'dnd', afk: false } as never;
    session.ask({ name: 'presence', input: busy });
    session.detach(sink, true);
    arranged.clock.advance(700);
    expect(shown()).toHaveLength(2);
    arranged.clock.advance(300);
    expect(shown().slice(2)).toMatchObject([{ status: 'invisible', activities: [] }]);
    await resume(arranged, session.id, 4);
    expect(shown().slice(3)).toEqual([busy]);
  });

  it('leaves the presence of a bot unchanged within a second', async () => {
    const arranged = arrange();
    const { session, sink } = await open(arranged);
    session.detach(sink, true);
    arranged.clock.advance(700);
    await resume(arranged, session.id, 4);
    arranged.clock.advance(5_000);
    expect(arranged.backend.named('presence')).toHaveLength(1);
  });

  it('leaves the presence of a user unchanged within the resume window', async () => {
    const arranged = arrange();
    const { session, sink } = await open(arranged, { token: 'human' });
    session.detach(sink, true);
    arranged.clock.advance(80_000);
    await resume(arranged, session.id, 4, 'human');
    expect(arranged.backend.named('presence')).toHaveLength(1);
  });

  it('replays a long absence at the pace of the client, with new dispatches behind', async () => {
    const arranged = arrange();
    const { session, sink } = await open(arranged);
    session.detach(sink, true);
    for (let index = 0; index < 200; index += 1) session.deliver(dispatchOf(String(index)));
    const slow = new FakeSink();
    slow.room = false;
    await arranged.sessions.resume({ token: 'bot', sessionId: session.id, seq: 4 }, slow);
    expect(slow.sent).toHaveLength(8);
    session.deliver(dispatchOf('live'));
    while (slow.waiters.length > 0) slow.makeRoom();
    session.deliver(dispatchOf('later'));
    expect(slow.seqs).toEqual(Array.from({ length: 203 }, (_, index) => 5 + index));
    expect(slow.names.indexOf('RESUMED')).toBe(200);
  });

  it('ends the session when the client can never catch up', async () => {
    const arranged = arrange({ replayFramesMax: 100 });
    const { session, sink } = await open(arranged);
    session.detach(sink, true);
    for (let index = 0; index < 90; index += 1) session.deliver(dispatchOf(String(index)));
    const slow = new FakeSink();
    slow.room = false;
    await arranged.sessions.resume({ token: 'bot', sessionId: session.id, seq: 4 }, slow);
    for (let index = 0; index < 200; index += 1) session.deliver(dispatchOf(String(index)));
    slow.makeRoom();
    expect(slow.closedWith).toBe(4009);
    expect(arranged.sessions.size).toBe(0);
  });

  it('loses, duplicates and reorders no dispatch over any sequence of disconnects', async () => {
    const step = fc.oneof(
      { weight: 5, arbitrary: fc.constant('deliver' as const) },
      { weight: 1, arbitrary: fc.constant('drop' as const) },
      { weight: 1, arbitrary: fc.constant('steal' as const) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(step, fc.nat(3)), { maxLength: 120 }), async (steps) => {
        const arranged = arrange();
        let { session, sink } = await open(arranged);
        const seen = new Map<number, unknown>();
        const sent: string[] = [];
        /** The client reads all but the last `lost` frames, which the network dropped. */
        const read = (lost: number): number => {
          const arrived = sink.sent.slice(0, Math.max(0, sink.sent.length - lost));
          for (const { seq, d } of arrived) {
            expect(seen.has(seq)).toBe(false);
            seen.set(seq, d);
          }
          return seen.size;
        };
        for (const [act, lost] of [...steps, ['drop', 0] as const]) {
          if (act === 'deliver') {
            sent.push(`m${sent.length}`);
            session.deliver(dispatchOf(sent[sent.length - 1] as string));
            continue;
          }
          const seq = read(lost);
          if (act === 'drop') session.detach(sink, true);
          const again = await resume(arranged, session.id, seq);
          expect(again.outcome.kind).toBe('open');
          sink = again.sink;
          session = (again.outcome as unknown as { session: GatewaySessionActor }).session;
        }
        read(0);
        expect([...seen.keys()]).toEqual([...seen.keys()].map((_, index) => index + 1));
        const contents = [...seen.values()].map((d) => (d as { content?: string }).content).filter(Boolean);
        expect(contents).toEqual(sent);
      }),
      { numRuns: 60 },
    );
  });
});

describe('a session', () => {
  it('ends at once when its client closes it', async () => {
    const arranged = arrange();
    const { session, sink } = await open(arranged);
    session.detach(sink, false);
    session.deliver(dispatchOf('a'));
    expect(session.over).toBe(true);
    expect(session.seq).toBe(4);
    expect(arranged.backend.named('ended')).toHaveLength(1);
  });

  it('is reported as ended after the pending read of a guild', async () => {
    const arranged = arrange();
    let release = () => {};
    const sink = new FakeSink();
    const outcome = await arranged.sessions.identify(identifyWith(), sink);
    arranged.backend.gate = new Promise((resolve) => {
      release = resolve;
    });
    await settled();
    if (outcome.kind === 'open') outcome.session.detach(sink, false);
    expect(arranged.backend.named('ended')).toHaveLength(0);
    release();
    await settled();
    expect(arranged.backend.named('subscribe')).toHaveLength(1);
    expect(arranged.backend.named('ended')).toHaveLength(1);
  });

  it('closes with 4004 when its token is revoked, connected or not', async () => {
    const arranged = arrange();
    const first = await open(arranged);
    const second = await open(arranged);
    const other = await open(arranged, { token: 'other' });
    second.session.detach(second.sink, true);
    arranged.sessions.closeSessionsOf('100' as UserId, { code: 4004, reason: '' });
    expect([first.sink.closedWith, second.session.over, other.session.over]).toEqual([4004, true, false]);
  });

  it('keeps no dispatch that is too old, even when nothing new comes', async () => {
    const arranged = arrange();
    const { session } = await open(arranged);
    session.deliver(dispatchOf('a'));
    arranged.clock.advance(300_000);
    expect(session.feed.missedSince(0)).toEqual({ kind: 'seqTooOld' });
    expect(session.feed.missedSince(5)).toMatchObject({ kind: 'missed', bodies: [] });
  });

  it('ends alone and is reported when its actor has a bug', async () => {
    const arranged = arrange();
    const bad = await open(arranged);
    const good = await open(arranged);
    bad.sink.close = () => {
      throw new Error('planted bug');
    };
    await resume(arranged, bad.session.id, 4);
    await settled();
    expect(arranged.faults).toHaveLength(1);
    expect([bad.session.over, good.session.over, arranged.sessions.size]).toEqual([true, false, 1]);
  });
});

describe('Request Guild Members', () => {
  const guildId = '5' as GuildId;
  const all = { guildId, query: '', userIds: null, limit: 0, presences: false, nonce: 'n' };

  it('accepts one request for all members in 30 s and then answers with RATE_LIMITED', async () => {
    const arranged = arrange();
    const { session, sink } = await open(arranged, { intents: INTENTS.GUILD_MEMBERS });
    session.ask({ name: 'members', input: all });
    arranged.clock.advance(10_000);
    session.ask({ name: 'members', input: all });
    await settled();
    expect(arranged.backend.named('members')).toEqual([['members', all]]);
    expect(sink.sent.at(-1)).toMatchObject({
      t: 'RATE_LIMITED',
      d: { opcode: 8, retry_after: 20, meta: { guild_id: guildId, nonce: 'n' } },
    });
  });

  it('ignores a request for all members without the intent', async () => {
    const arranged = arrange();
    const { session, sink } = await open(arranged);
    session.ask({ name: 'members', input: all });
    await settled();
    expect(arranged.backend.named('members')).toEqual([]);
    expect(sink.names.at(-1)).toBe('GUILD_CREATE');
  });

  it('runs one after the other, and drops requests beyond its queue', async () => {
    const arranged = arrange();
    const { session } = await open(arranged);
    let release = () => {};
    arranged.backend.gate = new Promise((resolve) => {
      release = resolve;
    });
    for (let index = 0; index < 30; index += 1)
      session.ask({ name: 'members', input: { ...all, query: 'a', limit: 1 } });
    release();
    await settled();
    await settled();
    expect(arranged.backend.named('members')).toHaveLength(9);
  });

  it('is reported when it fails, and does not stop the next', async () => {
    const arranged = arrange();
    const { session } = await open(arranged);
    arranged.backend.fault = 'members';
    session.ask({ name: 'members', input: { ...all, query: 'a', limit: 1 } });
    session.ask({ name: 'members', input: { ...all, query: 'b', limit: 1 } });
    await settled();
    expect(arranged.faults).toHaveLength(2);
  });
});
