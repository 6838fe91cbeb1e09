// Goal: gates, speaking flags and requested video layers follow from the rights and requests of members alone.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { gateOf } from '../../../engine/call/audibility.ts';
import { davePhase } from '../../../engine/call/encryption.ts';
import { ownVideo } from '../../../engine/call/member.ts';
import { speakingFlags } from '../../../engine/call/speaking.ts';
import { EVERYTHING, sharedCodecs, videoCodec, wantedLayers } from '../../../engine/call/video.ts';

const FREE = { silenced: false, deafened: false, mayStream: true, mayPrioritize: false };

describe('a gate', () => {
  it.each([
    ['open', {}, { speaks: true, streams: true, receives: true }],
    [
      'closed for the voice of a silenced member',
      { silenced: true },
      { speaks: false, streams: true, receives: true },
    ],
    [
      'closed for audio to a deafened member',
      { deafened: true },
      { speaks: true, streams: true, receives: false },
    ],
    [
      'closed for the video of a member that may not stream',
      { mayStream: false },
      { speaks: true, streams: false, receives: true },
    ],
    [
      'not changed by the right to have priority',
      { mayPrioritize: true },
      { speaks: true, streams: true, receives: true },
    ],
  ])('is %s', (_, rights, gate) => {
    expect(gateOf({ ...FREE, ...rights })).toEqual(gate);
  });
});

describe('speaking', () => {
  it.each([
    ['as the client claims', { claimed: 3, isReceived: false }, FREE, 3],
    [
      'as the microphone when the client sends audio without a claim',
      { claimed: null, isReceived: true },
      FREE,
      1,
    ],
    ['as silent when the client claims to be silent', { claimed: 0, isReceived: true }, FREE, 0],
    [
      'as silent when the member is silenced',
      { claimed: 1, isReceived: true },
      { ...FREE, silenced: true },
      0,
    ],
    ['without priority when the permission is missing', { claimed: 5, isReceived: true }, FREE, 1],
    [
      'with priority when the permission is held',
      { claimed: 5, isReceived: true },
      { ...FREE, mayPrioritize: true },
      5,
    ],
    ['without unknown flags', { claimed: 0xff, isReceived: true }, { ...FREE, mayPrioritize: true }, 7],
  ])('is reported %s', (_, speech, rights, flags) => {
    expect(speakingFlags(speech, rights)).toBe(flags);
  });
});

const layer = (ssrc: number, quality: number) => ({
  ssrc,
  rtxSsrc: ssrc + 1,
  rid: String(quality),
  quality,
  type: 'video',
});
const LAYERS = [layer(20, 50), layer(10, 100)];
const wants = (any: number, bySsrc: [number, number][] = []) => ({ any, bySsrc: new Map(bySsrc) });

describe('wanted layers', () => {
  it.each([
    ['the best layer when everything is wanted', [EVERYTHING], { 10: 100, 20: 0 }],
    ['none when no receiver wants any', [wants(0)], { 10: 0, 20: 0 }],
    ['none without receivers', [], { 10: 0, 20: 0 }],
    ['the layer within the wanted quality', [wants(60)], { 10: 0, 20: 50 }],
    ['the lowest layer for a quality below all layers', [wants(10)], { 10: 0, 20: 50 }],
    ['every layer that a receiver wants', [wants(60), EVERYTHING], { 10: 100, 20: 50 }],
    ['selected by the SSRC of the best layer', [wants(0, [[10, 70]])], { 10: 0, 20: 50 }],
    ['not selected by the SSRC of another layer', [wants(0, [[20, 70]])], { 10: 0, 20: 0 }],
  ])('are %s', (_, receivers, expected) => {
    expect(wantedLayers(LAYERS, receivers)).toEqual(expected);
  });
});

describe('codecs', () => {
  const codec = (name: string, priority: number, encode = true, decode = true) =>
    ({ name, type: 'video', priority, encode, decode }) as const;

  it('are chosen by priority among the codecs that all members decode', () => {
    const own = [codec('AV1', 1000), codec('VP8', 2000), codec('H264', 3000)];
    const shared = sharedCodecs([own, [codec('VP8', 1), codec('H264', 2)], []]);
    expect([...shared].sort()).toEqual(['H264', 'VP8']);
    expect(videoCodec(own, shared)).toBe('VP8');
  });

  it('fall back to the first codec of the sender, and to H264 without a usable codec', () => {
    expect(videoCodec([codec('AV1', 2), codec('VP9', 1)], new Set())).toBe('VP9');
    expect(videoCodec([codec('MPEG1', 2)], new Set(['VP8']))).toBe('H264');
    expect(videoCodec([codec('VP8', 1, false)], new Set(['VP8']))).toBe('H264');
  });
});

describe('own video', () => {
  const stream = (rid: string, ssrc: number) => ({ rid, ssrc, active: true });
  const member = { ssrc: 1, layers: LAYERS };

  it('is announced with the allotted SSRCs, whatever SSRCs the browser named', () => {
    const { videoSsrc, streams } = ownVideo(member, { videoSsrc: 777, streams: [stream('100', 777)] });
    expect([videoSsrc, streams]).toMatchObject([10, [{ rid: '100', ssrc: 10, rtx_ssrc: 11, active: true }]]);
  });

  it('never names an SSRC that was not allotted', () => {
    fc.assert(
      fc.property(
        fc.nat(),
        fc.array(
          fc.record({ rid: fc.constantFrom('50', '100', 'x'), ssrc: fc.nat(30), active: fc.boolean() }),
        ),
        (videoSsrc, streams) => {
          const video = ownVideo(member, { videoSsrc, streams });
          expect([0, 10]).toContain(video.videoSsrc);
          expect(video.streams.every(({ ssrc }) => ssrc === 10 || ssrc === 20)).toBe(true);
          expect(video.streams.length).toBeLessThanOrEqual(2);
        },
      ),
    );
  });

  it('is empty when it is switched off or no layer was requested', () => {
    expect(ownVideo(member, { videoSsrc: 0, streams: [stream('100', 10)] }).streams).toEqual([]);
    expect(ownVideo({ ssrc: 1, layers: [] }, { videoSsrc: 5, streams: [] }).videoSsrc).toBe(0);
  });
});

describe('the phase of encryption', () => {
  it.each([
    ['plain', { version: 0, epoch: null, transitions: { deadlineMs: null } }],
    ['negotiating', { version: 1, epoch: null, transitions: { deadlineMs: null } }],
    ['secure', { version: 1, epoch: 3n, transitions: { deadlineMs: null } }],
    ['transitioning', { version: 1, epoch: 3n, transitions: { deadlineMs: 5 } }],
    ['transitioning', { version: 0, epoch: null, transitions: { deadlineMs: 5 } }],
  ])('is %s', (phase, delivery) => {
    expect(davePhase(delivery)).toBe(phase);
  });
});
