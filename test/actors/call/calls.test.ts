// Goal: a ticket opens exactly one voice session, which lives as long as its seat and its client, and no longer.
import { describe, expect, it } from 'vitest';
import type { Timer } from '../../../actors/runtime/clock.ts';
import { TimerWheel } from '../../../actors/runtime/wheel.ts';
import { VOICE_OP } from '../../../protocol/voice.ts';
import {
  arrange,
  CALL,
  codeOf,
  opened,
  RESUME_WINDOW_MS,
  RecordingSink,
  SERVER,
  seatOf,
  UDP,
} from './harness.ts';

describe('a seat', () => {
  it('sends its user an invitation, and another only for another channel or session', () => {
    const { calls, names } = arrange();
    calls.voiceJoined(seatOf('1'));
    calls.voiceJoined(seatOf('1', { silenced: true }));
    expect(names('invite')).toEqual(['1']);
    calls.voiceJoined(seatOf('1', { sessionId: 'other' }));
    calls.voiceJoined(seatOf('1', { sessionId: 'other', callId: '1001' as never }));
    expect(names('invite')).toEqual(['1', '1', '1']);
  });

  it('invites again on a repeated request, unless the user is connected', () => {
    const { calls, names, identify, tokenOf } = arrange();
    calls.voiceJoined(seatOf('1'));
    const token = tokenOf('1');
    calls.voiceJoined(seatOf('1'));
    expect([names('invite'), tokenOf('1')]).toEqual([['1', '1'], token]);
    opened(identify('1', new RecordingSink()));
    calls.voiceJoined(seatOf('1'));
    expect(names('invite')).toEqual(['1', '1']);
  });

  it('is refused beyond the bounds of calls and of members', () => {
    const { calls, names } = arrange({ callsMax: 1, membersMax: 2 });
    for (const id of ['1', '2', '3']) calls.voiceJoined(seatOf(id));
    calls.voiceJoined(seatOf('4', { callId: '1001' as never }));
    expect([names('invite'), names('dropped')]).toEqual([
      ['1', '2'],
      ['3', '4'],
    ]);
    expect([calls.refused, calls.size]).toEqual([2, 1]);
  });

  it('opens media with the first Identify, and closes them when the last member leaves', () => {
    const world = arrange();
    world.calls.voiceJoined(seatOf('1'));
    expect(() => world.room()).toThrow();
    const { session } = world.connect('1');
    expect(world.room().members.size).toBe(1);
    session.detach(world.connect('2').sink, true);
    world.calls.voiceLeft(SERVER, '1' as never);
    world.calls.voiceLeft(SERVER, '2' as never);
    expect([world.room().closed, world.calls.size]).toEqual([true, 0]);
  });
});

describe('Identify', () => {
  it.each([
    ['an unknown server', { serverId: '1' }, 4011],
    ['a user without a seat', { userId: '2' }, 4011],
    ['a wrong token', { token: 'x'.repeat(32) }, 4004],
    ['a token of another length', { token: '' }, 4004],
    ['another session', { sessionId: 'stolen' }, 4006],
    ['another channel (version 9)', { channelId: '1' }, 4011],
    ['no DAVE', { maxDaveVersion: 0 }, 4017],
    ['what is right', {}, 0],
  ])('is refused with %s', (_, changes, code) => {
    const { calls, identify } = arrange();
    calls.voiceJoined(seatOf('1'));
    expect(codeOf(identify('1', new RecordingSink(), changes))).toBe(code);
  });

  it('reports a client without DAVE to the operator once in ten minutes, however often it comes back', () => {
    const { calls, identify, clock, unencrypted } = arrange();
    for (const userId of ['1', '2']) calls.voiceJoined(seatOf(userId));
    const refuse = (userId: string) => identify(userId, new RecordingSink(), { maxDaveVersion: 0 });
    for (let tries = 0; tries < 20; tries++) refuse('1');
    refuse('2');
    expect(unencrypted).toEqual(['1', '2']);
    clock.advance(599_000);
    refuse('1');
    expect(unencrypted).toHaveLength(2);
    clock.advance(1_000);
    refuse('1');
    expect(unencrypted).toEqual(['1', '2', '1']);
  });

  it('closes a client without DAVE with a reason that names what to use instead', () => {
    const { calls, identify } = arrange();
    calls.voiceJoined(seatOf('1'));
    const outcome = identify('1', new RecordingSink(), { maxDaveVersion: 0 });
    expect(outcome).toMatchObject({ code: 4017, reason: expect.stringContaining('@discordjs/voice 0.19') });
  });

  it('lets members without DAVE in where it is not required', () => {
    const { calls, identify } = arrange({ e2eeRequired: false });
    calls.voiceJoined(seatOf('1'));
    expect(codeOf(identify('1', new RecordingSink(), { maxDaveVersion: 0 }))).toBe(0);
  });

  it('receives READY and the present members, and they receive the new member', () => {
    const world = arrange();
    const first = world.connect('1');
    first.sink.clear();
    world.calls.voiceJoined(seatOf('2'));
    const sink = new RecordingSink();
    world.identify('2', sink);
    expect(sink.frames).toMatchObject([
      { op: 2, seq: null, d: { ip: '192.0.2.1', port: 4000, ssrc: world.room().of('2').ssrc } },
      { op: 11, seq: 1, d: { user_ids: ['1'] } },
      { op: 5, seq: 2, d: { user_id: '1', speaking: 0 } },
    ]);
    expect(sink.frames[0]?.d).not.toHaveProperty('streams');
    expect(first.sink.frames).toMatchObject([
      { op: 11, d: { user_ids: ['2'] } },
      { op: 5, d: { user_id: '2', speaking: 0 } },
    ]);
  });

  it('closes an earlier connection of the same user with 4014', () => {
    const world = arrange();
    const first = world.connect('1');
    const other = world.connect('2');
    other.sink.clear();
    const again = new RecordingSink();
    opened(world.identify('1', again));
    expect(first.sink.closed?.code).toBe(4014);
    expect(other.sink.frames).toMatchObject([
      { op: 13, d: { user_id: '1' } },
      { op: 11, d: { user_ids: ['1'] } },
      { op: 5, d: { user_id: '1', ssrc: world.room().of('1').ssrc } },
    ]);
    first.session.detach(first.sink, false);
    expect(world.room().members.size).toBe(2);
  });

  it('is answered by a READY that lists each stream the client offers', () => {
    const world = arrange();
    const streams = [
      { type: 'video', rid: '100', quality: 100 },
      { type: 'video', rid: '50', quality: 50 },
    ];
    const { sink } = world.connect('1', {}, { video: true, streams });
    expect(sink.of(2)).toMatchObject([{ streams: [{ rid: '100' }, { rid: '50', active: false }] }]);
    expect(world.connect('2', {}, { video: true }).sink.of(2)).toMatchObject([{ streams: [{ rid: '100' }] }]);
  });
});

describe('Select Protocol', () => {
  it('gives each session a key of its own', () => {
    const world = arrange();
    const keys = ['1', '2'].map(
      (id) => (world.connect(id).sink.of(4)[0] as { secret_key: number[] }).secret_key,
    );
    expect(keys.map((key) => key.length)).toEqual([32, 32]);
    expect(keys[0]).not.toEqual(keys[1]);
    expect([...(world.room().of('1').udp?.key ?? [])]).toEqual(keys[0]);
  });

  it.each([
    ['127.0.0.1', { address: '127.0.0.1', port: 5 }],
    ['::ffff:127.0.0.1', { address: '::ffff:127.0.0.1', port: 5 }],
    ['192.0.2.7', null],
    ['[', null],
  ])('believes that a client is at %s only when its socket is', (address, claimed) => {
    const world = arrange();
    world.connect('1').session.selectProtocol({ ...UDP, address });
    expect(world.room().of('1').udp?.claimed).toEqual(claimed);
  });

  it('contains all fields that a client needs', () => {
    const [description] = arrange().connect('1').sink.of(4);
    expect(description).toEqual({
      mode: 'aead_aes256_gcm_rtpsize',
      secret_key: expect.any(Array),
      dave_protocol_version: 1,
      audio_codec: 'opus',
      video_codec: 'H264',
      media_session_id: expect.stringMatching(/^[0-9a-f]{32}$/),
    });
  });

  it.each(['xsalsa20_poly1305_lite', 'aead_aes256_gcm', 'plain', ''])('refuses the mode "%s"', (mode) => {
    const world = arrange();
    const { sink, session } = world.connect('1');
    session.selectProtocol({ ...UDP, mode });
    expect(sink.closed?.code).toBe(4016);
    expect(world.room().closed).toBe(true);
  });

  it('answers WebRTC with an SDP and no key', async () => {
    const { sink, session } = arrange().connect('1');
    session.selectProtocol({ protocol: 'webrtc', fragment: 'a=ice-ufrag:x', codecs: [] });
    await Promise.resolve();
    expect(sink.of(4)[1]).toMatchObject({ sdp: 'v=0', dave_protocol_version: 1 });
    expect(sink.of(4)[1]).not.toHaveProperty('secret_key');
  });

  it('closes with 4013 when media fail, which may be resumed, and with 4012 when the SDP is unusable', async () => {
    const world = arrange();
    const { sink, session } = world.connect('1');
    world.connect('2');
    world.room().sdp = Promise.reject(new Error('no more ports'));
    session.selectProtocol({ protocol: 'webrtc', fragment: '', codecs: [] });
    await Promise.resolve().then(() => Promise.resolve());
    expect([sink.closed?.code, world.faults.length, world.room().members.size]).toEqual([4013, 1, 2]);
    const back = new RecordingSink();
    const resumed = opened(world.resume('1', back, -1));
    world.room().sdp = Promise.resolve(null);
    resumed.selectProtocol({ protocol: 'webrtc', fragment: '', codecs: [] });
    await Promise.resolve();
    expect(back.closed?.code).toBe(4012);
  });

  it('cannot go on for ever, unless media come through now and then', () => {
    const world = arrange();
    const { sink, session } = world.connect('1');
    for (let times = 0; times < 60; times += 1) {
      session.selectProtocol(UDP);
      if (times % 10 === 0) world.room().emit({ type: 'connected', ssrc: world.room().of('1').ssrc });
    }
    expect(sink.closed).toBeNull();
    for (let times = 0; times < 20; times += 1) session.selectProtocol(UDP);
    expect(sink.closed?.code).toBe(4021);
  });
});

describe('an end', () => {
  it.each([
    ['of the seat', 4014, (world: ReturnType<typeof arrange>) => world.calls.voiceLeft(SERVER, '1' as never)],
    ['of the channel', 4022, (world: ReturnType<typeof arrange>) => world.calls.ended(CALL)],
    [
      'by a move',
      4014,
      (world: ReturnType<typeof arrange>) =>
        world.calls.voiceJoined(seatOf('1', { callId: '1001' as never })),
    ],
    [
      'by another session',
      4014,
      (world: ReturnType<typeof arrange>) => world.calls.voiceJoined(seatOf('1', { sessionId: 'other' })),
    ],
    ['of the server', 4022, (world: ReturnType<typeof arrange>) => world.calls.close()],
  ])('%s closes with %i and leaves nothing in media', (_, code, end) => {
    const world = arrange();
    const { sink } = world.connect('1');
    const room = world.room();
    end(world);
    expect(sink.closed?.code).toBe(code);
    expect(room.members.size).toBe(0);
    expect(codeOf(world.resume('1', new RecordingSink(), -1))).not.toBe(0);
    expect(world.names('dropped')).toEqual([]);
  });

  it('closes remaining clients of a channel that moved to another shard only after they know the new endpoint', () => {
    const world = arrange();
    const { sink } = world.connect('1');
    const { sink: other, session } = world.connect('2');
    world.calls.ended(CALL, 'guild');
    expect([world.moved, world.calls.size, world.calls.leaving]).toEqual([[CALL], 0, 1]);
    expect([sink.closed, other.closed]).toEqual([null, null]);
    session.speaking(1, 101);
    expect(sink.ops()).toContain(VOICE_OP.SPEAKING);
    expect(codeOf(world.resume('1', new RecordingSink(), -1))).toBe(4006);
    world.clock.advance(10_000);
    expect(sink.closed?.code).toBe(4015);
    world.clock.advance(RESUME_WINDOW_MS * 2);
    expect(world.names('dropped')).toEqual([]);
  });

  it('ends the waits for users of a channel that moved, which its next owner has', () => {
    const world = arrange();
    const absent = world.connect('1');
    absent.session.detach(absent.sink, false);
    world.calls.voiceJoined(seatOf('2', { afkAfterMs: 1_000 }));
    world.calls.ended(CALL, 'guild');
    world.clock.advance(RESUME_WINDOW_MS * 2);
    expect([world.names('dropped'), world.names('silent')]).toEqual([[], []]);
  });

  it('cannot come from the place of the user in a call that has moved', () => {
    const world = arrange();
    const { session, sink } = world.connect('1');
    world.calls.ended(CALL, 'guild');
    world.calls.voiceJoined(seatOf('1', { callId: '1001' as never }));
    session.detach(sink, false);
    world.clock.advance(RESUME_WINDOW_MS * 2);
    expect(world.names('dropped')).toEqual([]);
    expect(world.calls.voiceMemberOf(SERVER, '1')?.callId).toBe('1001');
  });

  it('closes remaining clients of a channel that moved soon after it returns, when they know the new endpoint', () => {
    const world = arrange();
    const { sink } = world.connect('1');
    world.calls.ended(CALL, 'guild');
    world.calls.voiceJoined(seatOf('1'));
    expect([sink.closed, world.connect('1').sink.closed]).toEqual([null, null]);
    world.clock.advance(2_000);
    expect([sink.closed?.code, world.calls.leaving]).toEqual([4015, 0]);
    expect(world.calls.members).toBe(1);
  });

  it('requested by the client leaves the call, and holds the voice state for a while', () => {
    const world = arrange();
    const { session, sink } = world.connect('1');
    const other = world.connect('2');
    session.detach(sink, false);
    expect(other.sink.of(13)).toEqual([{ user_id: '1' }]);
    expect(world.room().members.size).toBe(1);
    world.clock.advance(RESUME_WINDOW_MS - 100);
    expect(world.names('dropped')).toEqual([]);
    world.clock.advance(200);
    expect(world.names('dropped')).toEqual(['1']);
  });

  it('requested by the client is revoked when it identifies again in time', () => {
    const world = arrange();
    const { session, sink } = world.connect('1');
    session.detach(sink, false);
    opened(world.identify('1', new RecordingSink()));
    world.clock.advance(RESUME_WINDOW_MS * 2);
    expect(world.names('dropped')).toEqual([]);
  });

  it('drops every user with 4022 when the media are lost for good', () => {
    const world = arrange();
    const sinks = ['1', '2'].map((id) => world.connect(id).sink);
    world.room().emit({ type: 'lost' });
    expect(sinks.map(({ closed }) => closed?.code)).toEqual([4022, 4022]);
    expect([world.names('dropped'), world.calls.size]).toEqual([['1', '2'], 0]);
  });

  it('closes with 4006 when the nonces are used up, and invites the user again', () => {
    const world = arrange();
    const { sink } = world.connect('1');
    const token = world.tokenOf('1');
    world.room().emit({ type: 'exhausted', ssrc: world.room().of('1').ssrc });
    expect(sink.closed?.code).toBe(4006);
    expect(world.tokenOf('1')).not.toBe(token);
    expect(codeOf(world.identify('1', new RecordingSink()))).toBe(0);
  });
});

describe('Resume', () => {
  it('sends what was missed, in order and with its numbers, behind RESUMED', () => {
    const world = arrange();
    const { session, sink } = world.connect('1');
    const seen = sink.frames.at(-1)?.seq as number;
    session.detach(sink, true);
    const other = world.connect('2');
    other.session.speaking(1, 0);
    const back = new RecordingSink();
    opened(world.resume('1', back, seen));
    expect(back.frames).toEqual([
      { op: 9, d: null, seq: null },
      { op: 11, d: { user_ids: ['2'] }, seq: seen + 1 },
      { op: 5, d: { speaking: 0, ssrc: world.room().of('2').ssrc, user_id: '2' }, seq: seen + 2 },
      { op: 5, d: { speaking: 1, ssrc: world.room().of('2').ssrc, user_id: '2' }, seq: seen + 3 },
    ]);
    expect(other.sink.of(13)).toEqual([]);
  });

  it('takes over from a connection that is still there', () => {
    const world = arrange();
    const { session, sink } = world.connect('1');
    opened(world.resume('1', new RecordingSink(), sink.frames.at(-1)?.seq as number));
    expect(sink.closed?.code).toBe(4009);
    session.detach(sink, false);
    expect(world.calls.list()[0]?.members).toMatchObject([{ userId: '1', attached: true }]);
  });

  it.each([
    ['with a number never given', 50],
    ['of what was acknowledged', -1],
  ])('%s is refused, and the user is invited again', (_, seqAck) => {
    const world = arrange();
    const { session, sink } = world.connect('1');
    session.acknowledge(sink.frames.at(-1)?.seq as number);
    session.detach(sink, true);
    expect(codeOf(world.resume('1', new RecordingSink(), seqAck))).toBe(4006);
    expect(world.names('invite')).toEqual(['1', '1']);
    expect(codeOf(world.identify('1', new RecordingSink()))).toBe(0);
  });

  it('is refused for a wrong token without any change', () => {
    const world = arrange();
    const { sink } = world.connect('1');
    const resume = { version: 8, serverId: SERVER, sessionId: 'session of 1', token: 'no', seqAck: -1 };
    expect(codeOf(world.calls.resume(resume, new RecordingSink()))).toBe(4004);
    expect(sink.closed).toBeNull();
  });

  it('cannot be resumed after its resume window; the call and the owner of the channel are notified', () => {
    const world = arrange();
    const { session, sink } = world.connect('1');
    const other = world.connect('2');
    session.detach(sink, true);
    world.clock.advance(RESUME_WINDOW_MS + 100);
    expect(codeOf(world.resume('1', new RecordingSink(), -1))).toBe(4006);
    expect(other.sink.of(13)).toEqual([{ user_id: '1' }]);
    expect([world.names('dropped'), world.room().members.size]).toEqual([['1'], 1]);
  });

  it('closes the new connection when it crashes the session; the call goes on without the user', () => {
    const crash = new Error('This timer cannot be cancelled.');
    const cancel = () => {
      throw crash;
    };
    class FailingWheel extends TimerWheel {
      override add(run: () => void, delayMs: number): Timer {
        const timer = super.add(run, delayMs);
        return delayMs === RESUME_WINDOW_MS ? { ...timer, cancel } : timer;
      }
    }
    const world = arrange({}, (clock) => new FailingWheel(clock));
    const { sink, session } = world.connect('1');
    const stays = world.connect('2');
    session.detach(sink, true);
    const back = new RecordingSink();
    world.resume('1', back, -1);
    expect(back.closed).toMatchObject({ code: 4006 });
    expect(stays.sink.of(13)).toEqual([{ user_id: '1' }]);
    expect(world.faults).toEqual([crash]);
  });

  it('announces the other members again to a version without sequence numbers', () => {
    const world = arrange();
    const other = world.connect('2');
    other.session.speaking(1, 0);
    const { session, sink } = world.connect('1', {}, { version: 4 });
    expect(sink.frames.every(({ seq }) => seq === null)).toBe(true);
    session.detach(sink, true);
    const back = new RecordingSink();
    opened(world.resume('1', back, -1, 4));
    expect(back.ops()).toEqual([9, 11, 5]);
  });

  it('is requested of every member when the media worker was replaced', () => {
    const world = arrange();
    const sinks = ['1', '2'].map((id) => world.connect(id).sink);
    world.room().emit({ type: 'restored' });
    expect(sinks.map(({ closed }) => closed?.code)).toEqual([4015, 4015]);
    expect(codeOf(world.resume('1', new RecordingSink(), sinks[0]?.frames.at(-1)?.seq as number))).toBe(0);
    expect(world.room().members.size).toBe(2);
  });
});

describe('silence', () => {
  const AFK = { afkAfterMs: 60_000 };

  it('is reported to the owner repeatedly once it lasted the time of the voice state', () => {
    const world = arrange();
    world.calls.voiceJoined(seatOf('1', AFK));
    world.clock.advance(60_100);
    expect(world.names('silent')).toEqual(['1']);
    world.clock.advance(60_100);
    expect(world.names('silent')).toEqual(['1', '1']);
  });

  it('ends with any message of the client, and with audio while it arrives', () => {
    const world = arrange();
    const { session } = world.connect('1', AFK);
    world.clock.advance(50_000);
    session.speaking(1, 0);
    world.clock.advance(50_000);
    const { ssrc } = world.room().of('1');
    world.room().emit({ type: 'speaking', ssrc, speaking: true });
    world.clock.advance(600_000);
    expect(world.names('silent')).toEqual([]);
    world.room().emit({ type: 'speaking', ssrc, speaking: false });
    world.clock.advance(60_100);
    expect(world.names('silent')).toEqual(['1']);
  });

  it('is not reported without an AFK channel, nor after the user left', () => {
    const world = arrange();
    world.calls.voiceJoined(seatOf('1', AFK));
    world.calls.voiceJoined(seatOf('1'));
    world.calls.voiceJoined(seatOf('2', AFK));
    world.calls.voiceLeft(SERVER, '2' as never);
    world.clock.advance(600_000);
    expect(world.names('silent')).toEqual([]);
  });
});
