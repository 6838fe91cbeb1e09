// Goal: members of a call receive what they need about each other, and the media plane knows who may send and receive
// audio.
import { describe, expect, it } from 'vitest';
import { arrange, CALL, opened, RecordingSink, SERVER, seatOf } from './harness.ts';

describe('speaking', () => {
  it('is sent to the other members with the SSRC, once per change and rate-limited', () => {
    const world = arrange();
    const a = world.connect('1');
    const b = world.connect('2');
    b.sink.clear();
    for (const flags of [1, 1, 0, 1, 0, 1, 0]) a.session.speaking(flags, 12_345);
    expect(b.sink.of(5)).toHaveLength(1);
    world.clock.advance(1000);
    const { ssrc } = world.room().of('1');
    expect(b.sink.of(5)).toEqual([
      { speaking: 1, ssrc, user_id: '1' },
      { speaking: 0, ssrc, user_id: '1' },
    ]);
    expect(a.sink.of(5)).toMatchObject([{ user_id: '2' }]);
  });

  it('announces its SSRC before the first packet, unless no member may hear the speaker', () => {
    const world = arrange();
    const a = world.connect('1');
    const b = world.connect('2');
    const c = world.connect('3', { silenced: true });
    expect(a.sink.of(5)).toMatchObject([{ user_id: '2' }]);
    expect(b.sink.of(5)).toMatchObject([{ user_id: '1' }]);
    expect(c.sink.of(5)).toMatchObject([{ user_id: '1' }, { user_id: '2' }]);
    world.calls.voiceJoined(seatOf('3'));
    expect(a.sink.of(5).at(-1)).toEqual({ speaking: 0, ssrc: world.room().of('3').ssrc, user_id: '3' });
  });

  it('is inferred from audio that comes unannounced', () => {
    const world = arrange();
    world.connect('1');
    const { sink } = world.connect('2');
    sink.clear();
    const { ssrc } = world.room().of('1');
    for (const speaking of [true, false]) {
      world.room().emit({ type: 'speaking', ssrc, speaking });
      world.clock.advance(200);
    }
    expect(sink.of(5)).toMatchObject([{ speaking: 1 }, { speaking: 0 }]);
  });

  it('reaches a new member with the earlier states, so that it can match audio to users', () => {
    const world = arrange();
    world.connect('1').session.speaking(1, 0);
    world.connect('2').session.speaking(0, 0);
    const { sink } = world.connect('3');
    expect(sink.of(5)).toMatchObject([
      { speaking: 1, user_id: '1' },
      { speaking: 0, user_id: '2' },
    ]);
  });

  it('ends for the others when its speaker is silenced, and begins again after', () => {
    const world = arrange();
    world.connect('1').session.speaking(1, 0);
    const { sink } = world.connect('2');
    sink.clear();
    for (const silenced of [true, false]) {
      world.clock.advance(200);
      world.calls.voiceJoined(seatOf('1', { silenced }));
    }
    world.clock.advance(200);
    expect(sink.of(5)).toMatchObject([{ speaking: 0 }, { speaking: 1 }]);
  });
});

describe('gates', () => {
  it('change with the voice state', () => {
    const world = arrange();
    world.connect('1', { silenced: true });
    const gate = () => world.room().of('1').gate;
    expect(gate()).toEqual({ speaks: false, streams: true, receives: true });
    world.calls.voiceJoined(seatOf('1', { deafened: true, mayStream: false }));
    expect(gate()).toEqual({ speaks: true, streams: false, receives: false });
  });

  it('are sent to media only when they change', () => {
    const world = arrange();
    world.connect('1');
    const { setGate } = world.room();
    let times = 0;
    world.room().setGate = (ssrc, gate) => {
      times += 1;
      setGate.call(world.room(), ssrc, gate);
    };
    world.calls.voiceJoined(seatOf('1', { mayPrioritize: true }));
    expect(times).toBe(0);
    world.calls.voiceJoined(seatOf('1', { silenced: true }));
    expect(times).toBe(1);
  });
});

describe('audibility', () => {
  it('is sent to media by the SSRCs of the members who are connected, as members join and leave', () => {
    const world = arrange();
    world.connect('1');
    const audience = () => world.room().of('1').audience;
    expect(world.calls.setAudibility(CALL, '1', ['2', '3'])).toBe(true);
    expect(audience()).toEqual([]);
    const two = world.connect('2');
    const three = world.connect('3');
    expect(audience()).toEqual([world.room().of('2').ssrc, world.room().of('3').ssrc]);
    two.session.detach(two.sink, false);
    expect(audience()).toEqual([world.room().of('3').ssrc]);
    three.session.detach(three.sink, true);
    expect(audience()).toHaveLength(1);
    world.calls.setAudibility(CALL, '1', null);
    expect(audience()).toBeNull();
  });

  it('may be set before its user connects, and outlasts the connection', () => {
    const world = arrange();
    world.calls.voiceJoined(seatOf('1'));
    world.calls.setAudibility(CALL, '1', []);
    for (let times = 0; times < 2; times += 1) {
      opened(world.identify('1', new RecordingSink()));
      expect(world.room().of('1').audience).toEqual([]);
    }
  });

  it('excludes users outside the call, and keeps no more listeners than a call may have', () => {
    const world = arrange();
    expect(world.calls.setAudibility(CALL, '1', null)).toBe(false);
    world.calls.voiceJoined(seatOf('1'));
    const many = Array.from({ length: 11 }, (_, at) => String(at));
    expect(() => world.calls.setAudibility(CALL, '1', many)).toThrow(RangeError);
  });
});

describe('video', () => {
  const OFFER = { video: true };
  const update = (ssrc: number) => ({
    audioSsrc: 0,
    videoSsrc: ssrc,
    rtxSsrc: 0,
    streams: [{ type: 'video', rid: '100', quality: 100, active: true, ssrc, rtx_ssrc: 0 }],
  });

  it('is announced to the other members, to media and to later members', () => {
    const world = arrange();
    const a = world.connect('1', {}, OFFER);
    const b = world.connect('2');
    const [{ ssrc }] = (a.sink.of(2)[0] as { streams: [{ ssrc: number }] }).streams;
    a.session.video(update(ssrc));
    const told = { user_id: '1', audio_ssrc: world.room().of('1').ssrc, video_ssrc: ssrc };
    expect(b.sink.of(12)).toMatchObject([{ ...told, streams: [{ rid: '100', ssrc, rtx_ssrc: ssrc + 1 }] }]);
    expect(world.connect('3').sink.of(12)).toMatchObject([told]);
    expect(world.room().of('1').streams).toEqual([
      { ssrc, rtxSsrc: ssrc + 1, rid: '100', quality: 100, active: true },
    ]);
  });

  it('stops at once when the sender may no longer stream', () => {
    const world = arrange();
    const a = world.connect('1', {}, OFFER);
    const b = world.connect('2');
    a.session.video(update((a.sink.of(2)[0] as { streams: [{ ssrc: number }] }).streams[0].ssrc));
    world.calls.voiceJoined(seatOf('1', { mayStream: false }));
    expect(b.sink.of(12).at(-1)).toMatchObject({ video_ssrc: 0, streams: [] });
    expect(world.room().of('1').streams).toEqual([]);
    world.calls.voiceJoined(seatOf('1'));
    expect(b.sink.of(12)).toHaveLength(3);
  });

  it('is requested from its sender in the layers that the others want', () => {
    const world = arrange();
    const a = world.connect('1', {}, OFFER);
    const b = world.connect('2', {}, OFFER);
    const [{ ssrc }] = (a.sink.of(2)[0] as { streams: [{ ssrc: number }] }).streams;
    a.session.video(update(ssrc));
    b.session.sinkWants({ any: 0, bySsrc: new Map() });
    b.session.sinkWants({ any: 0, bySsrc: new Map([[1, 50]]) });
    b.session.sinkWants({ any: 0, bySsrc: new Map([[ssrc, 100]]) });
    expect(a.sink.of(15)).toEqual([{ [ssrc]: 100 }, { [ssrc]: 0 }, { [ssrc]: 100 }]);
    expect(world.room().wants.get(world.room().of('2').ssrc)?.bySsrc.get(ssrc)).toBe(100);
    world.calls.voiceLeft(SERVER, '2' as never);
    expect(a.sink.of(15).at(-1)).toEqual({ [ssrc]: 0 });
  });

  it('is not sent to members without video in Identify until they request it', () => {
    const world = arrange();
    const a = world.connect('1', {}, OFFER);
    const b = world.connect('2');
    const wantsOf = (userId: string) => world.room().wants.get(world.room().of(userId).ssrc)?.any;
    expect([wantsOf('1'), wantsOf('2')]).toEqual([100, 0]);
    const [{ ssrc }] = (a.sink.of(2)[0] as { streams: [{ ssrc: number }] }).streams;
    a.session.video(update(ssrc));
    b.session.sinkWants({ any: 100, bySsrc: new Map() });
    expect(a.sink.of(15)).toEqual([{ [ssrc]: 0 }, { [ssrc]: 100 }]);
    expect(wantsOf('2')).toBe(100);
  });

  it('changes its codec when a member joins who cannot decode it', () => {
    const world = arrange();
    const codec = (name: string, priority: number, encode = true) =>
      ({
        name,
        type: 'video',
        priority,
        payloadType: 101,
        rtxPayloadType: 102,
        encode,
        decode: true,
      }) as const;
    const a = world.connect('1');
    a.session.codecs([codec('AV1', 1), codec('VP8', 2)]);
    expect(a.sink.of(14)).toMatchObject([{ audio_codec: 'opus', video_codec: 'AV1' }]);
    world.connect('2').session.codecs([codec('VP8', 1)]);
    expect(a.sink.of(14).at(-1)).toMatchObject({ video_codec: 'VP8' });
    world.calls.voiceLeft(SERVER, '2' as never);
    expect(a.sink.of(14).at(-1)).toMatchObject({ video_codec: 'AV1' });
  });
});

describe('DAVE', () => {
  it('begins behind the Session Description, with the version in force', () => {
    const world = arrange();
    world.connect('1');
    const dave = world.deliveries[0]!;
    dave.script.push([{ type: 'binary', to: ['2', '1', '9'], op: 25, payload: Uint8Array.of(7) }]);
    const { sink } = world.connect('2');
    expect(sink.frames.slice(-2)).toMatchObject([
      { op: 4, d: { dave_protocol_version: 1 } },
      { op: 25, d: [7], seq: 4 },
    ]);
    expect(dave.inputs.map(([name, userId, version]) => [name, userId, version])).toEqual([
      ['join', '1', 1],
      ['join', '2', 1],
    ]);
  });

  it('ignores frames of a member before its Session Description, and removes users who leave', () => {
    const world = arrange();
    world.connect('1');
    world.calls.voiceJoined(seatOf('2'));
    const session = opened(world.identify('2', new RecordingSink()));
    session.dave(26, Uint8Array.of(1));
    session.transitionReady(1);
    world.calls.voiceLeft(SERVER, '2' as never);
    world.calls.voiceLeft(SERVER, '1' as never);
    // The delivery service ignores the leave of a user that is not a member.
    expect(world.deliveries[0]!.inputs.map((input) => input.slice(0, 2))).toEqual([
      ['join', '1'],
      ['leave', '2'],
      ['leave', '1'],
    ]);
  });

  it('closes members that send invalid frames, and reports to the others that they left', () => {
    const world = arrange();
    const a = world.connect('1');
    const b = world.connect('2');
    const dave = world.deliveries[0]!;
    dave.script.push([{ type: 'close', userId: '1', code: 4020, reason: 'Bad request.' }]);
    a.session.dave(28, Uint8Array.of(1));
    expect(a.sink.closed?.code).toBe(4020);
    expect(b.sink.of(13)).toEqual([{ user_id: '1' }]);
    expect(dave.inputs.at(-1)?.slice(0, 2)).toEqual(['leave', '1']);
  });

  it('is advanced at the deadline that it sets, and its results are counted', () => {
    const world = arrange();
    world.connect('1');
    const dave = world.deliveries[0]!;
    dave.deadlineMs = world.clock.monotonic() + 2000;
    dave.script.push([], [{ type: 'counted', what: 'transition', result: 'timed_out' }]);
    world.connect('2');
    world.clock.advance(1900);
    expect(dave.inputs.map(([name]) => name)).not.toContain('tick');
    dave.deadlineMs = null;
    world.clock.advance(200);
    expect(dave.inputs.at(-1)?.[0]).toBe('tick');
    expect(Object.fromEntries(world.calls.daveCounts)).toEqual({ 'transition timed_out': 1 });
  });

  it('lets only encrypted audio through where it is required, else once everyone is in one epoch', () => {
    const required = arrange();
    required.connect('1');
    expect(required.room().encryptedOnly).toBe(true);

    const world = arrange({ e2eeRequired: false });
    world.connect('1');
    const dave = world.deliveries[0]!;
    expect(world.room().encryptedOnly).toBe(false);
    dave.epoch = 1n;
    world.connect('2');
    expect(world.room().encryptedOnly).toBe(true);
    dave.transitions.deadlineMs = 5000;
    world.connect('3');
    expect(world.room().encryptedOnly).toBe(false);
    expect(world.calls.list()[0]?.dave).toEqual({ version: 1, epoch: '1', phase: 'transitioning' });
  });
});

describe('a bug', () => {
  it('ends the call when opening media fails, is counted, and drops its users', () => {
    const world = arrange();
    world.calls.voiceJoined(seatOf('1'));
    Object.assign(world.calls, {
      plane: {
        open() {
          throw new Error('no socket');
        },
      },
    });
    expect(() => world.identify('1', new RecordingSink())).toThrow();
    expect([world.calls.size, world.calls.bugs, world.names('dropped')]).toEqual([0, 1, ['1']]);
  });
});
