// Goal: whatever a client sends, whenever, it gets the documented answer or close code, and others notice nothing.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CLOSE } from '../../../protocol/closecodes.ts';
import { dispatchOf } from '../../actors/session/harness.ts';
import { writeEtf } from '../../support/codec-client.ts';
import { arrange, type FakeWire, IDENTIFY, portOf } from './harness.ts';

type Arranged = ReturnType<typeof arrange>;
const ops = (wire: FakeWire) => wire.payloads.map((payload) => payload.t ?? payload.op);

async function identified(arranged: Arranged, d: object = {}) {
  const client = arranged.connect();
  client.say(2, { ...IDENTIFY, ...d });
  await arranged.flush();
  const { session } = client.socket;
  if (!session) throw new Error('no session');
  return { ...client, session };
}

describe('a connection', () => {
  it('begins with HELLO', () => {
    const { wire } = arrange().connect();
    expect(wire.payloads).toEqual([{ op: 10, d: { heartbeat_interval: 41_250 }, s: null, t: null }]);
  });

  it('gets READY and its guilds when it identifies', async () => {
    const { wire } = await identified(arrange());
    expect(ops(wire)).toEqual([10, 'READY', 'GUILD_CREATE', 'GUILD_CREATE', 'GUILD_CREATE']);
  });

  it('has its heartbeats answered at once, identified or not', async () => {
    const arranged = arrange();
    const { wire, say } = arranged.connect();
    say(1, null);
    expect(ops(wire)).toEqual([10, 11]);
    say(2, IDENTIFY);
    say(1, 0);
    expect(ops(wire)).toEqual([10, 11, 11]);
  });

  it.each([
    [4, 'RESUMED'],
    [3, 9],
  ])('answers, after a heartbeat with 4, a RESUME from %i with %s', async (seq, answer) => {
    const arranged = arrange();
    const first = await identified(arranged);
    first.say(1, 4);
    first.socket.closed(1006);
    const second = arranged.connect();
    second.say(6, { token: 'bot', session_id: first.session.id, seq });
    await arranged.flush();
    expect(ops(second.wire)).toEqual([10, answer]);
  });

  it('may identify after a RESUME that was refused', async () => {
    const arranged = arrange();
    const { wire, say } = arranged.connect();
    say(6, { token: 'bot', session_id: 'x', seq: 0 });
    await arranged.flush();
    expect(wire.payloads.at(-1)).toMatchObject({ op: 9, d: false });
    say(2, IDENTIFY);
    await arranged.flush();
    expect(ops(wire)).toContain('READY');
  });

  it('ends its session when its client closes it for good, and keeps it resumable after other codes', async () => {
    const arranged = arrange();
    let kept = 0;
    for (const code of [1000, 1001, 1005, 1006, 4200]) {
      if (code === 1005 || kept > 0) kept += 1;
      const { socket } = await identified(arranged);
      socket.closed(code);
      await arranged.flush();
      expect(arranged.sessions.size).toBe(kept);
    }
  });

  it('leaves a resumable session when it closes during Identify', async () => {
    const arranged = arrange();
    const { socket, say } = arranged.connect();
    say(2, IDENTIFY);
    socket.closed(1006);
    await arranged.flush();
    expect(arranged.sessions.size).toBe(1);
    arranged.clock.advance(100_000);
    expect(arranged.sessions.size).toBe(0);
  });
});

describe('close codes', () => {
  const raw = (text: string, binary = false) => ({ bytes: Buffer.from(text), binary });
  const payload = (op: unknown, d?: unknown) => raw(JSON.stringify({ op, d }));

  it.each([
    ['JSON that is broken', raw('{'), 4002],
    ['no object', raw('5'), 4002],
    ['an opcode that is no number', payload('2'), 4002],
    ['bytes that are not UTF-8', { bytes: Buffer.from([0xff, 0xfe]), binary: true }, 4002],
    ['broken zlib', { bytes: Buffer.from([0x78, 0x9c, 1, 2]), binary: true }, 4002],
    ['more than 4096 bytes', payload(2, { ...IDENTIFY, token: 'x'.repeat(4096) }), 4002],
    ['an unknown opcode', payload(12), 4001],
    ['a dispatch', payload(0, {}), 4001],
    ['a negative opcode', payload(-1), 4001],
    ["a user client's opcode", payload(14, {}), 4001],
    ['a heartbeat with text', payload(1, 'x'), 4001],
    ['IDENTIFY without a token', payload(2, { ...IDENTIFY, token: undefined }), 4001],
    ['IDENTIFY with a number as token', payload(2, { ...IDENTIFY, token: 5 }), 4001],
    ['IDENTIFY without d', payload(2), 4001],
    ['a bad token', payload(2, { ...IDENTIFY, token: 'nobody' }), 4004],
    ['no intents', payload(2, { ...IDENTIFY, intents: undefined }), 4013],
    ['intents that are no bits', payload(2, { ...IDENTIFY, intents: 0.5 }), 4013],
    ['a shard beyond the count', payload(2, { ...IDENTIFY, shard: [1, 1] }), 4010],
    ['a shard of three', payload(2, { ...IDENTIFY, shard: [0, 1, 2] }), 4010],
    [
      'a presence before IDENTIFY',
      payload(3, { status: 'online', activities: [], afk: false, since: null }),
      4003,
    ],
    ['a voice state before IDENTIFY', payload(4, {}), 4003],
    ['RESUME without a session id', payload(6, { token: 'bot', seq: 1 }), 4001],
    ['RESUME with a bad token', payload(6, { token: 'nobody', session_id: 'x', seq: 1 }), 4004],
  ] as const)('%s', async (_, frame, code) => {
    const arranged = arrange();
    const { socket, wire } = arranged.connect();
    socket.received(frame.bytes, frame.binary);
    await arranged.flush();
    expect(wire.ended?.code).toBe(code);
    expect(arranged.faults).toEqual([]);
  });

  it.each([
    ['a second IDENTIFY', 2, IDENTIFY, 4005],
    ['a RESUME', 6, { token: 'bot', session_id: 'x', seq: 0 }, 4005],
    [
      'a presence with an unknown status',
      3,
      { status: 'happy', activities: [], afk: false, since: null },
      4001,
    ],
    ['a voice state of an id that is none', 4, { guild_id: 'x', channel_id: null }, 4001],
    ['a member request without query and ids', 8, { guild_id: '1' }, 4001],
    ['a member request for two guilds', 8, { guild_id: ['1', '2'], query: '', limit: 0 }, 4001],
    [
      'a member request with an id out of range',
      8,
      { guild_id: '99999999999999999999', query: '', limit: 0 },
      4001,
    ],
    ['soundboards of no list', 31, { guild_ids: '1' }, 4001],
    ['channel info without fields', 43, { guild_id: '1' }, 4001],
    ["a user client's opcode", 14, {}, 4001],
  ])('%s of an identified bot', async (_, op, d, code) => {
    const arranged = arrange();
    const { wire, say } = await identified(arranged);
    say(op, d);
    await arranged.flush();
    expect(wire.ended?.code).toBe(code);
    // Each of these keeps the session.
    expect(arranged.sessions.size).toBe(1);
  });

  it('a second IDENTIFY while the first is under way', async () => {
    const arranged = arrange();
    const { wire, say } = arranged.connect();
    say(2, IDENTIFY);
    say(2, IDENTIFY);
    await arranged.flush();
    expect(wire.ended?.code).toBe(4005);
  });

  it('a fault of the engine is 4000', async () => {
    const arranged = arrange({ port: portOf(() => Promise.reject(new Error('planted'))) });
    const { wire, say } = arranged.connect();
    say(2, IDENTIFY);
    await arranged.flush();
    expect(wire.ended?.code).toBe(4000);
    expect(arranged.faults).toHaveLength(1);
  });

  it('the 121st payload of a minute is 4008', async () => {
    const arranged = arrange();
    const { wire, say } = await identified(arranged);
    for (let index = 0; index < 120; index += 1) say(43, { guild_id: '1', fields: [] });
    await arranged.flush();
    expect(wire.ended).toBeNull();
    say(43, { guild_id: '1', fields: [] });
    await arranged.flush();
    expect(wire.ended?.code).toBe(4008);
  });

  it('are counted', async () => {
    const arranged = arrange();
    for (const text of ['{', '[]', '{"op":99}']) arranged.connect().socket.received(Buffer.from(text), false);
    await arranged.flush();
    expect(arranged.host.counters.closes).toEqual(
      new Map([
        [4002, 2],
        [4001, 1],
      ]),
    );
    expect(arranged.gone).toHaveLength(3);
  });
});

describe('deadlines', () => {
  const after = async (arranged: Arranged, ms: number, { socket }: ReturnType<Arranged['connect']>) => {
    arranged.clock.advance(ms);
    socket.sweep(arranged.clock.monotonic());
    await arranged.flush();
  };

  it('a socket that never identifies is closed, whatever its heartbeats', async () => {
    const arranged = arrange();
    const client = arranged.connect();
    await after(arranged, 29_000, client);
    client.say(1, null);
    expect(client.wire.ended).toBeNull();
    await after(arranged, 1000, client);
    expect(client.wire.ended?.code).toBe(4003);
  });

  it('a socket whose heartbeat stops is closed with a code that keeps the session', async () => {
    const arranged = arrange();
    const client = await identified(arranged);
    await after(arranged, 61_000, client);
    client.say(1, 4);
    await after(arranged, 61_000, client);
    expect(client.wire.ended).toBeNull();
    await after(arranged, 250, client);
    expect(client.wire.ended?.code).toBe(4000);
    expect(CLOSE.UNKNOWN_ERROR).toMatchObject({ code: 4000, resumable: true });
    expect(arranged.sessions.size).toBe(1);
  });

  it('an IDENTIFY that is never answered is a fault', async () => {
    const arranged = arrange({ port: portOf(() => new Promise(() => {})) });
    const client = arranged.connect();
    client.say(2, IDENTIFY);
    await after(arranged, 30_000, client);
    expect(client.wire.ended?.code).toBe(4000);
  });

  it('presence updates are limited to five in 20 s, and the last one of the rest is applied later', async () => {
    const arranged = arrange();
    const client = await identified(arranged);
    const statuses = () =>
      arranged.backend.named('presence').map(([, given]) => (given as { status: string }).status);
    arranged.backend.calls.length = 0;
    for (const status of ['idle', 'dnd', 'idle', 'dnd', 'idle', 'dnd', 'online', 'invisible'])
      client.say(3, { status, activities: [], afk: false, since: null });
    expect(statuses()).toEqual(['idle', 'dnd', 'idle', 'dnd', 'idle']);
    await after(arranged, 19_000, client);
    expect(statuses()).toHaveLength(5);
    await after(arranged, 1000, client);
    expect(statuses().slice(5)).toEqual(['invisible']);
    await after(arranged, 20_000, client);
    expect(statuses()).toHaveLength(6);
  });
});

describe('frames', () => {
  it('leave together, in order, in one tick', async () => {
    const arranged = arrange();
    const { wire, session } = await identified(arranged);
    wire.frames.length = 0;
    const deliver = (content: string) =>
      (session as unknown as { deliver(body: unknown): void }).deliver(dispatchOf(content));
    deliver('a');
    await arranged.flush();
    for (const content of ['b', 'c', 'd']) deliver(content);
    expect(wire.frames).toHaveLength(1);
    await arranged.flush();
    expect(wire.frames.map((frame) => frame.corked)).toEqual([false, true, true, true]);
    expect(wire.payloads.map(({ s, d }) => [s, (d as { content: string }).content])).toEqual([
      [5, 'a'],
      [6, 'b'],
      [7, 'c'],
      [8, 'd'],
    ]);
  });

  it('are bounded for a client that does not read: it is closed, can resume, and the others notice nothing', async () => {
    const arranged = arrange();
    const slow = await identified(arranged);
    const other = await identified(arranged);
    const body = dispatchOf('x'.repeat(1000));
    slow.wire.stalled = true;
    for (let index = 0; index < 500; index += 1) {
      for (const each of [slow, other])
        (each.session as unknown as { deliver(given: unknown): void }).deliver(body);
      await arranged.flush();
    }
    expect(slow.wire.buffered).toBeLessThan(102_000);
    expect(slow.wire.ended).toBeNull();
    expect(arranged.host.counters.overflows).toBe(1);
    expect(other.wire.frames).toHaveLength(505);
    arranged.clock.advance(5000);
    slow.socket.sweep(arranged.clock.monotonic());
    expect(slow.wire.cut).toBe(true);
    expect(arranged.sessions.size).toBe(2);
  });

  it('are sent before the close code when they wait at the close', async () => {
    const arranged = arrange();
    const { wire, say } = await identified(arranged);
    wire.stalled = true;
    wire.buffered = 10;
    say(12, null);
    await arranged.flush();
    expect(wire.ended).toBeNull();
    wire.drain();
    expect(wire.ended?.code).toBe(4001);
  });

  it('close only their connection when they cannot be encoded', async () => {
    const arranged = arrange();
    const bad = await identified(arranged);
    const good = await identified(arranged);
    (bad.session as unknown as { deliver(given: unknown): void }).deliver(dispatchOf(1n as never));
    (good.session as unknown as { deliver(given: unknown): void }).deliver(dispatchOf('fine'));
    await arranged.flush();
    expect(bad.wire.ended?.code).toBe(4000);
    expect(good.wire.payloads.at(-1)).toMatchObject({ d: { content: 'fine' } });
    expect(arranged.faults).toHaveLength(1);
  });

  it('are written all the same when their tick never ends', async () => {
    const arranged = arrange();
    const { wire, session } = await identified(arranged);
    const body = dispatchOf('');
    const deliver = () => (session as unknown as { deliver(given: unknown): void }).deliver(body);
    for (let index = 0; index < 300_000; index += 1) deliver();
    expect(wire.frames.length).toBeGreaterThan(260_000);
    await arranged.flush();
    expect(wire.frames).toHaveLength(300_005);
    expect(wire.payloads.at(-1)?.s).toBe(300_004);
  });
});

describe('opcodes', () => {
  const heard = async (op: number, d: unknown, identify: object = {}) => {
    const arranged = arrange();
    const { say, wire } = await identified(arranged, identify);
    arranged.backend.calls.length = 0;
    say(op, d);
    await arranged.flush();
    expect(wire.ended).toBeNull();
    return arranged.backend.calls[0];
  };

  it.each([
    [
      { guild_id: '5', query: 'a', limit: 3 },
      { guildId: '5', query: 'a', userIds: null, limit: 3 },
    ],
    [
      { guild_id: ['5'], query: 'a', limit: 500 },
      { query: 'a', limit: 100 },
    ],
    [
      { guild_id: 5, query: 'a' },
      { guildId: '5', limit: 100 },
    ],
    [
      { guild_id: '5', query: '', limit: 7 },
      { query: '', limit: 7 },
    ],
    [
      { guild_id: '5', user_ids: '8', query: '' },
      { query: null, userIds: ['8'] },
    ],
    [{ guild_id: '5', user_ids: Array.from({ length: 150 }, (_, id) => `${id}`) }, { limit: 100 }],
    [{ guild_id: '5', query: 'a', limit: 1, nonce: 'n' }, { nonce: 'n' }],
    [{ guild_id: '5', query: 'a', limit: 1, nonce: 'é'.repeat(17) }, { nonce: null }],
    [{ guild_id: '5', query: 'a', limit: 1, presences: true }, { presences: false }],
  ])('opcode 8 with %j is handled as %j', async (d, request) => {
    expect(await heard(8, d)).toEqual(['members', expect.objectContaining(request)]);
  });

  it('4, 31 and 43 reach the engine in its own terms', async () => {
    const asked = { guild_id: '5', channel_id: '6', self_mute: true, self_video: true };
    expect(await heard(4, asked)).toEqual([
      'voiceState',
      { guildId: '5', channelId: '6', selfMute: true, selfDeaf: false, selfVideo: true },
    ]);
    expect(await heard(31, { guild_ids: ['5', '6', '5'] })).toEqual(['soundboard', ['5', '6']]);
    expect(await heard(43, { guild_id: '5', fields: ['status', 'x'] })).toEqual([
      'channelInfo',
      { guildId: '5', fields: ['status'] },
    ]);
  });

  it('2 accepts every form that stock libraries send', async () => {
    for (const d of [
      { token: 'Bot bot', shard: null, presence: null, compress: true },
      { properties: undefined, large_threshold: 9999 },
      {
        presence: {
          status: 'idle',
          since: null,
          afk: false,
          activities: [{ name: 'x', type: 0 }],
          game: null,
        },
      },
    ])
      await identified(arrange(), d);
  });

  it("are passed over in a user's session when user clients have them, its measured heartbeat answered", async () => {
    const arranged = arrange();
    const { wire, say } = await identified(arranged, { token: 'human', intents: undefined });
    say(14, { guild_id: '5' });
    say(40, { seq: 4, qos: {} });
    await arranged.flush();
    expect(wire.ended).toBeNull();
    expect(wire.payloads.at(-1)).toMatchObject({ op: 11 });
  });

  it('wait for READY when they arrive before it', async () => {
    const arranged = arrange();
    const { say } = arranged.connect();
    say(2, IDENTIFY);
    say(43, { guild_id: '5', fields: [] });
    await arranged.flush();
    expect(arranged.backend.named('channelInfo')).toHaveLength(1);
  });
});

describe('any input', () => {
  const json = fc.jsonValue({ maxDepth: 3 });
  const known = fc.constantFrom(0, 1, 2, 3, 4, 6, 8, 31, 43, 5, 14, 40, 99, -1, 1.5, '2', null);
  const op = fc.oneof({ weight: 4, arbitrary: known }, fc.integer({ min: 18, max: 22 }));
  const id = fc.oneof(fc.constantFrom('1', '4194304', 5, 'x', '', '99999999999999999999'), json);
  const shaped = fc.record(
    {
      token: fc.constantFrom('bot', 'human', 'nobody', 5),
      intents: fc.constantFrom(0, 1, 513, -1, 2 ** 31, 'x'),
      shard: fc.constantFrom([0, 1], [1, 2], [2, 1], [], null, 'x'),
      session_id: fc.constantFrom('x', '', 5),
      seq: fc.constantFrom(0, 1, -1, 1e99, null, 'x'),
      status: fc.constantFrom('online', 'x', 5),
      activities: json,
      presence: json,
      guild_id: id,
      guild_ids: fc.array(id),
      user_ids: fc.oneof(id, fc.array(id)),
      query: fc.constantFrom('', 'a', 5, null),
      limit: fc.constantFrom(0, 5, -1, 1e9, 'x'),
      nonce: json,
      channel_id: id,
      fields: json,
    },
    { requiredKeys: [] },
  );
  const payload = fc.record(
    { op, d: fc.oneof({ weight: 3, arbitrary: shaped }, json) },
    { requiredKeys: ['op'] },
  );
  const text = fc.oneof(
    payload.map((each) => JSON.stringify(each)),
    fc.json(),
    fc.string(),
  );
  const frame = fc.oneof(
    fc.record({ bytes: text.map((each) => Buffer.from(each)), binary: fc.boolean() }),
    fc.record({ bytes: payload.map((each) => writeEtf(each)), binary: fc.constant(true) }),
    fc.record({ bytes: fc.uint8Array({ maxLength: 100 }), binary: fc.boolean() }),
  );
  const documented = new Set<number>(Object.values(CLOSE).map((row) => row.code));

  it('gets an answer or a documented close code, never an exception', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.boolean(),
        fc.constantFrom('json' as const, 'etf' as const),
        fc.array(frame, { maxLength: 12 }),
        async (first, encoding, frames) => {
          const arranged = arrange();
          const { socket, wire } = arranged.connect(encoding);
          const greeting = { op: 2, d: IDENTIFY };
          if (first)
            socket.received(
              encoding === 'etf' ? writeEtf(greeting) : Buffer.from(JSON.stringify(greeting)),
              encoding === 'etf',
            );
          for (const { bytes, binary } of frames) {
            socket.received(bytes, binary);
            await arranged.flush();
          }
          expect(arranged.faults).toEqual([]);
          if (wire.ended) expect(documented).toContain(wire.ended.code);
        },
      ),
      { numRuns: 400 },
    );
  });
});
