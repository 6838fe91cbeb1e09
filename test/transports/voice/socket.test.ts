// Goal: a voice socket follows the protocol, bounds what its client may do, and answers any bytes with a documented code.
import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { VOICE_CLOSE } from '../../../protocol/voice.ts';
import { VoiceSocket } from '../../../transports/voice/socket.ts';
import { arrange, IDENTIFY } from './harness.ts';

describe('a voice connection', () => {
  it('begins with HELLO', () => {
    const { wire } = arrange({ version: 5 });
    expect(wire.payloads).toEqual([{ op: 8, d: { v: 5, heartbeat_interval: 13_750 } }]);
  });

  it('identifies with the fields of Identify, and with defaults for absent fields', () => {
    const { say, calls, wire } = arrange({ version: 9 });
    const streams = [{ type: 'video', rid: '50', quality: 50 }, { type: 'screen' }];
    say(0, { ...IDENTIFY, channel_id: '6', max_dave_protocol_version: 1, video: true, streams, future: [] });
    expect(calls.identified).toEqual([
      {
        version: 9,
        serverId: '5',
        channelId: '6',
        userId: '7',
        sessionId: 'abc',
        token: 'ticket',
        maxDaveVersion: 1,
        video: true,
        streams: [
          { type: 'video', rid: '50', quality: 50 },
          { type: 'screen', rid: '100', quality: 100 },
        ],
      },
    ]);
    expect(wire.payloads.at(-1)).toEqual({ op: 2, d: { ssrc: 1 } });
  });

  it.each([
    [8, { seq_ack: 70 }, 70],
    [8, {}, -1],
    [8, { seq_ack: null }, -1],
    [7, { seq_ack: 70 }, -1],
  ])('resumes in version %i with %j from %i', (version, more, seqAck) => {
    const { say, calls, wire } = arrange({ version });
    say(7, { server_id: '5', session_id: 'abc', token: 'ticket', ...more });
    expect(calls.resumed).toEqual([{ version, serverId: '5', sessionId: 'abc', token: 'ticket', seqAck }]);
    expect(wire.payloads.at(-1)).toEqual({ op: 9, d: null });
  });

  it('writes the sequence numbers of its session into text and binary frames', () => {
    const { identified, wire } = arrange();
    const { sink } = identified();
    sink.send(5, { speaking: 1 }, 300);
    sink.sendBinary(27, Uint8Array.of(0, 9), 301);
    expect(wire.frames.slice(-2)).toEqual([
      '{"op":5,"d":{"speaking":1},"seq":300}',
      Buffer.from([1, 45, 27, 0, 9]),
    ]);
  });

  it('answers a version request before and after Identify', () => {
    const { say, wire, identified } = arrange();
    say(16, {});
    identified();
    say(16, null);
    const told = { op: 16, d: { voice: 'guildhall 1.2.3', rtc_worker: 'guildhall 1.2.3' } };
    expect(wire.payloads.filter(({ op }) => op === 16)).toEqual([told, told]);
  });

  it('passes client messages on to its session', () => {
    const { identified, say, sayBinary } = arrange();
    const { session } = identified();
    const codec = { name: 'opus', type: 'audio', priority: 1000, payload_type: 120 };
    say(1, { protocol: 'udp', data: { address: '1.2.3.4', port: 5, mode: 'none such' }, codecs: [codec] });
    say(1, { protocol: 'webrtc', data: 'a=ice-ufrag:x', sdp: 'a=ice-ufrag:x', rtc_connection_id: '1' });
    say(5, { speaking: 13, delay: 0, ssrc: 4 });
    say(5, { speaking: true });
    say(14, { codecs: [{ ...codec, rtx_payload_type: 121, encode: false }] });
    say(15, { any: 0, 77: 50, 78: 100, pixelCounts: { 77: 230_400 } });
    say(15, {});
    say(23, { transition_id: 3 });
    say(31, { transition_id: 65_535 });
    say(32, {});
    sayBinary(26, 1, 2, 3);
    sayBinary(28);
    const known = { name: 'opus', type: 'audio', priority: 1000, payloadType: 120, decode: true };
    expect(session.asked).toEqual([
      [
        'selectProtocol',
        {
          protocol: 'udp',
          address: '1.2.3.4',
          port: 5,
          mode: 'none such',
          codecs: [{ ...known, rtxPayloadType: null, encode: true }],
        },
      ],
      ['selectProtocol', { protocol: 'webrtc', fragment: 'a=ice-ufrag:x', codecs: [] }],
      ['speaking', 5, 4],
      ['speaking', 1, 0],
      ['codecs', [{ ...known, rtxPayloadType: 121, encode: false }]],
      [
        'sinkWants',
        {
          any: 0,
          bySsrc: new Map([
            [77, 50],
            [78, 100],
          ]),
        },
      ],
      ['sinkWants', { any: 100, bySsrc: new Map() }],
      ['transitionReady', 3],
      ['invalidCommitWelcome', 65_535],
      ['dave', 26, Uint8Array.of(1, 2, 3)],
      ['dave', 28, new Uint8Array()],
    ]);
  });

  it('passes streams on to its session, with their known fields only', () => {
    const { identified, say } = arrange();
    const { session } = identified();
    const size = { type: 'fixed', width: 1280, height: 720, depth: 3 };
    const stream = { type: 'video', rid: '50', quality: 50, active: true, ssrc: 11, rtx_ssrc: 12 };
    const limits = { max_bitrate: 2_500_000, max_framerate: 30 };
    const streams = [
      { ...stream, ...limits, max_resolution: size, extra: 1 },
      { type: 'video', ssrc: 20 },
    ];
    say(12, { audio_ssrc: 1, video_ssrc: 11, rtx_ssrc: 12, streams });
    say(12, { audio_ssrc: 1, video_ssrc: 0xffff_ffff });
    expect(session.asked).toEqual([
      [
        'video',
        {
          audioSsrc: 1,
          videoSsrc: 11,
          rtxSsrc: 12,
          streams: [
            { ...stream, ...limits, max_resolution: { type: 'fixed', width: 1280, height: 720 } },
            { type: 'video', rid: '100', quality: 100, active: false, ssrc: 20, rtx_ssrc: 21 },
          ],
        },
      ],
      ['video', { audioSsrc: 1, videoSsrc: 0xffff_ffff, rtxSsrc: 0, streams: [] }],
    ]);
  });

  it('copies binary payloads before it passes them on', () => {
    const { identified, socket } = arrange();
    const { session } = identified();
    const bytes = Uint8Array.of(26, 1, 2);
    socket.received(bytes, true);
    bytes.fill(0);
    expect(session.asked).toEqual([['dave', 26, Uint8Array.of(1, 2)]]);
  });
});

describe('a heartbeat', () => {
  it('is answered in the form it came in', () => {
    const { say, wire } = arrange();
    say(3, 1234);
    say(3, null);
    say(3, { t: 1_501_184_119_561, seq_ack: 10 });
    say(3, { t: 1.5 });
    expect(wire.payloads.slice(1)).toEqual([
      { op: 6, d: 1234 },
      { op: 6, d: null },
      { op: 6, d: { t: 1_501_184_119_561 } },
      { op: 6, d: { t: 1.5 } },
    ]);
  });

  it('acknowledges frames when its seq_ack is not negative', () => {
    const { identified, say } = arrange();
    const { session } = identified();
    for (const seq_ack of [-1, 0, null, 65_535]) say(3, { t: 1, seq_ack });
    expect(session.asked).toEqual([
      ['acknowledge', 0],
      ['acknowledge', 65_535],
    ]);
  });

  it('keeps the connection open; without heartbeats the connection closes with 4009 and stays resumable', () => {
    const { identified, say, pass, wire, calls } = arrange();
    identified();
    for (let beat = 0; beat < 5; beat += 1) {
      pass(33_000);
      say(3, { t: beat });
    }
    pass(33_749);
    expect(wire.ended).toBeNull();
    pass(1);
    expect(wire.ended).toEqual({ code: 4009, reason: 'Session timeout.' });
    expect(calls.session.detached).toEqual([true]);
  });
});

describe('a client', () => {
  it.each([
    ['malformed JSON', 'hello', 4002],
    ['JSON that is not a payload', '[]', 4002],
    ['an empty text', '', 4002],
    ['a null payload', 'null', 4002],
    ['a fractional opcode', '{"op":1.5,"d":{}}', 4002],
    ['an unknown opcode', '{"op":99,"d":{}}', 4001],
    ['an opcode of the server', '{"op":2,"d":{}}', 4001],
    ['a binary opcode as text', '{"op":26,"d":{}}', 4001],
    ['an opcode before it identifies', '{"op":5,"d":{"speaking":1}}', 4003],
    ['an IDENTIFY without a token', '{"op":0,"d":{"server_id":"5","user_id":"7","session_id":"a"}}', 4020],
    [
      'an IDENTIFY of an unknown user',
      '{"op":0,"d":{"server_id":"5","user_id":"x","session_id":"a","token":"t"}}',
      4020,
    ],
    ['a malformed heartbeat', '{"op":3,"d":"now"}', 4020],
  ])('is closed for %s', (_, text, code) => {
    const { sayRaw, closeCode } = arrange();
    sayRaw(text);
    expect(closeCode()).toBe(code);
  });

  it.each([
    ['no bytes', [], 4002],
    ['JSON', [...Buffer.from('{"op":3,"d":1}')], 4002],
    ['an opcode of the server', [25, 1], 4001],
    ['a key package before it identifies', [26, 1], 4003],
  ])('is closed for %s in a binary frame', (_, bytes, code) => {
    const { sayBinary, closeCode } = arrange();
    sayBinary(...bytes);
    expect(closeCode()).toBe(code);
  });

  it.each([
    ['a second IDENTIFY', 0, IDENTIFY, 4005],
    ['a RESUME', 7, { server_id: '5', session_id: 'abc', token: 'ticket' }, 4005],
    ['an unknown protocol', 1, { protocol: 'quic', data: { any: 1 } }, 4012],
    ['UDP without an address', 1, { protocol: 'udp', data: null }, 4020],
    ['an invalid port', 1, { protocol: 'udp', data: { address: 'a', port: 70_000, mode: 'm' } }, 4020],
    ['a fragment that is too long', 1, { protocol: 'webrtc', data: 'x'.repeat(33_000) }, 4020],
    ['too many codecs', 14, { codecs: Array(33).fill({}) }, 4020],
    ['too many streams', 12, { streams: Array(9).fill({ type: 'video' }) }, 4020],
    ['an invalid SSRC', 5, { speaking: 1, ssrc: 2 ** 32 }, 4020],
    ['an invalid quality', 15, { any: 101 }, 4020],
    ['an invalid quality of an SSRC', 15, { 77: 'all' }, 4020],
    ['a key that is not an SSRC', 15, { 9999999999: 1 }, 4020],
    ['an invalid transition id', 23, { transition_id: 65_536 }, 4020],
  ])('is closed for %s after it has identified', (_, op, d, code) => {
    const { identified, say, closeCode, calls } = arrange();
    identified();
    say(op, d);
    expect(closeCode()).toBe(code);
    const row = Object.values(VOICE_CLOSE).find((each) => each.code === code)!;
    expect(calls.session.detached).toEqual([row.resumable]);
  });

  it.each([
    ['IDENTIFY', 0, IDENTIFY],
    ['RESUME', 7, { server_id: '5', session_id: 'abc', token: 'ticket' }],
  ])('is closed for an %s of version 9 that names no channel', (_, op, d) => {
    const { say, closeCode } = arrange({ version: 9 });
    say(op, d);
    expect(closeCode()).toBe(4020);
  });

  it('is closed with the code and reason of a rejected IDENTIFY', () => {
    const { say, closeCode, wire, calls } = arrange();
    say(0, { ...IDENTIFY, token: 'forged' });
    expect(closeCode()).toBe(4004);
    expect(wire.ended).toEqual({ code: 4004, reason: 'No.' });
    expect(calls.session.detached).toEqual([]);
  });

  it('is closed when it does not identify in time', () => {
    const { pass, wire } = arrange();
    pass(29_999);
    expect(wire.ended).toBeNull();
    pass(1);
    expect(wire.ended?.code).toBe(4009);
  });

  it('is closed with 4021 for too many text frames, binary frames or bytes', () => {
    const beats = arrange();
    for (let count = 0; count < 241; count += 1) beats.say(3, 1);
    expect(beats.closeCode()).toBe(4021);
    expect(beats.wire.payloads).toHaveLength(241);

    const frames = arrange();
    frames.identified();
    for (let count = 0; count < 121; count += 1) frames.sayBinary(28, 1);
    expect(frames.closeCode()).toBe(4021);
    expect(frames.calls.session.asked).toHaveLength(120);
    expect(frames.calls.session.detached).toEqual([false]);

    const bytes = arrange();
    bytes.identified();
    const large = new Uint8Array(64 << 10).fill(28);
    for (let count = 0; count < 65; count += 1) bytes.socket.received(large, true);
    expect(bytes.closeCode()).toBe(4021);
  });

  it('is closed for a frame that is too large', () => {
    for (const [binary, bytes] of [
      [true, 512 << 10],
      [false, 64 << 10],
    ] as const) {
      const { socket, closeCode } = arrange();
      socket.received(new Uint8Array(bytes + 1).fill(26), binary);
      expect(closeCode()).toBe(4020);
    }
  });
});

describe('a voice session', () => {
  it('is detached when the connection ends, and stays resumable unless the close code is final', () => {
    for (const [code, resumable] of [
      [1006, true],
      [1005, true],
      [4000, true],
      [1000, false],
      [1001, false],
    ] as const) {
      const { identified, socket, calls, gone } = arrange();
      identified();
      socket.closed(code);
      expect([code, calls.session.detached]).toEqual([code, [resumable]]);
      expect(gone).toEqual([socket]);
    }
  });

  it('is detached exactly once when it closes, after the closing call has returned', () => {
    for (const [code, resumable] of [
      [4014, false],
      [4015, true],
    ] as const) {
      const { identified, closeCode, calls, host, say } = arrange();
      identified();
      calls.through((sink) => sink.close(code, 'Because.'));
      calls.through((sink) => sink.close(4022, 'Again.'));
      say(5, { speaking: 1 });
      expect(calls.session.detached).toEqual([]);
      expect(closeCode()).toBe(code);
      expect(calls.session.detached).toEqual([resumable]);
      expect(calls.session.asked).toEqual([]);
      expect([...host.counters.closes]).toEqual([[code, 1]]);
    }
  });

  it('is detached when it closes during IDENTIFY', () => {
    const { calls, say, closeCode } = arrange();
    calls.greet = (sink) => sink.close(4015, 'Not now.');
    say(0, IDENTIFY);
    expect(closeCode()).toBe(4015);
    expect(calls.session.detached).toEqual([true]);
  });

  it('stays resumable when its socket is closed because it reads too slowly', () => {
    const { identified, wire, calls, closeCode, clock, host } = arrange();
    identified();
    wire.stalled = true;
    const said = { text: 'x'.repeat(1_000) };
    calls.through((sink) => {
      for (let seq = 1; seq <= 50; seq += 1) sink.send(11, said, seq);
    });
    expect(wire.frames.length).toBeLessThan(15);
    expect(calls.session.detached).toEqual([]);
    expect(closeCode()).toBeNull();
    expect(calls.session.detached).toEqual([true]);
    wire.drain();
    expect(wire.ended?.code).toBe(4015);
    expect(host.counters).toMatchObject({ overflows: 1 });
    clock.settle();
  });

  it('disconnects a client that does not read its close after a grace period of 5 seconds', () => {
    const { identified, wire, calls, pass } = arrange();
    identified();
    wire.stalled = true;
    calls.through((sink) => sink.send(11, {}, 1));
    calls.through((sink) => sink.close(4014, 'Go.'));
    pass(4_999);
    expect(wire.cut).toBe(false);
    pass(1);
    expect(wire.cut).toBe(true);
    expect(wire.ended).toBeNull();
    expect(calls.session.detached).toEqual([false]);
  });

  it('closes its socket with 4015 when it throws, and stays resumable', () => {
    const { identified, say, closeCode, faults, calls } = arrange();
    identified();
    calls.session.react = () => {
      throw new Error('broken');
    };
    say(5, { speaking: 1 });
    expect(closeCode()).toBe(4015);
    expect(faults).toEqual([new Error('broken')]);
    expect(calls.session.detached).toEqual([true]);
  });

  it('is closed with 4015 when IDENTIFY throws', () => {
    const { say, closeCode, faults } = arrange({
      calls: {
        identify: () => {
          throw new Error('broken');
        },
        resume: () => ({ kind: 'closed', code: 4006, reason: '' }),
      },
    });
    say(0, IDENTIFY);
    expect(closeCode()).toBe(4015);
    expect(faults).toHaveLength(1);
  });
});

describe('a client that is closed with the code of a rejected IDENTIFY', () => {
  it.each([
    ['counts as refused by the shard that rejected it', 'here', 1],
    ['does not count as refused by a shard that relays it', { received() {}, closed() {} }, 0],
  ] as const)('%s', (_what, relay, times) => {
    const refused: VoiceSocket[] = [];
    const relays = { open: () => relay };
    const { socket, say, closeCode } = arrange({
      open: (version, host) =>
        new VoiceSocket(
          '127.0.0.1',
          version,
          { ...host, onRefused: (each) => void refused.push(each) },
          relays,
        ),
    });
    say(0, { ...IDENTIFY, token: 'forged' });
    socket.close(4004, 'No.');
    expect(closeCode()).toBe(4004);
    expect(refused).toHaveLength(times);
  });
});

/** Almost valid payloads, and any others. */
const near = fc.record({
  op: fc.oneof(fc.integer({ min: -1, max: 40 }), fc.constantFrom(0, 1, 3, 5, 7, 12, 14, 15, 16, 23, 31, 32)),
  d: fc.oneof(
    fc.jsonValue(),
    fc.constant(IDENTIFY),
    fc.dictionary(
      fc.constantFrom(
        'protocol',
        'data',
        'codecs',
        'streams',
        'speaking',
        'ssrc',
        'any',
        '77',
        't',
        'seq_ack',
      ),
      fc.oneof(fc.jsonValue(), fc.constantFrom('udp', 'webrtc', 0, 1, 50)),
    ),
    fc.record({ transition_id: fc.oneof(fc.nat(), fc.jsonValue()) }),
  ),
});
const frame = fc.oneof(
  fc.record({ bytes: fc.uint8Array({ maxLength: 64 }), binary: fc.boolean() }),
  fc
    .oneof(near, fc.jsonValue())
    .map((value) => ({ bytes: Buffer.from(JSON.stringify(value)), binary: false })),
  fc.uint8Array({ maxLength: 64 }).map((rest) => ({ bytes: Uint8Array.of(26, ...rest), binary: true })),
);

test('any client frame is accepted or answered with a documented close code, and its session is released once', () => {
  const documented = new Set<number>(Object.values(VOICE_CLOSE).map(({ code }) => code));
  fc.assert(
    fc.property(
      fc.boolean(),
      fc.integer({ min: 4, max: 9 }),
      fc.array(frame, { maxLength: 12 }),
      (open, version, frames) => {
        const { socket, wire, clock, faults, calls, say } = arrange({ version });
        if (open) say(0, { ...IDENTIFY, channel_id: '6' });
        for (const { bytes, binary } of frames) socket.received(bytes, binary);
        clock.settle();
        if (wire.ended) expect(documented).toContain(wire.ended.code);
        else socket.closed(1006);
        expect(faults).toEqual([]);
        const opened = calls.sink === null ? 0 : 1;
        expect(calls.session.detached).toHaveLength(opened);
      },
    ),
    { numRuns: 2_000 },
  );
});
