// Goal: each viewer receives one continuous stream under one SSRC, whichever layer it comes from, and senders receive
// requests for lost packets.
import { describe, expect, test } from 'vitest';
import { Member, Room } from '../../../media/sfu/room.ts';
import { chooseLayer } from '../../../media/sfu/subscription.ts';
import { Arranged, type Client, GCM, OPEN, rtp, XCHACHA } from './harness.ts';

const [VP8, VP8_RTX] = [103, 104];
const KEYFRAME = Buffer.of(0x10, 0x00, 1, 2, 3);
const DELTA = Buffer.of(0x10, 0x01, 4, 5, 6);
const layersOf = (base: number) => [
  { ssrc: base + 1, rtxSsrc: base + 2, rid: '100', quality: 100 },
  { ssrc: base + 3, rtxSsrc: base + 4, rid: '50', quality: 50 },
];

/** A sender with two active layers, and one viewer for each wanted quality. */
function call(...wants: readonly number[]) {
  const arranged = new Arranged();
  const sender = arranged.client(GCM, { layers: layersOf(1000) });
  const viewers = wants.map((_, index) => arranged.client(index % 2 === 0 ? XCHACHA : 'peer'));
  const [high, low] = layersOf(1000) as [ReturnType<typeof layersOf>[0], ReturnType<typeof layersOf>[0]];
  const activate = (...active: readonly boolean[]) =>
    arranged.forwarder.setStreams(
      sender.ssrc,
      [high, low].map((layer, index) => ({ ...layer, active: active[index] ?? false })),
    );
  activate(true, true);
  const want = (viewer: Client, any: number) =>
    arranged.forwarder.setSinkWants(viewer.ssrc, any, new Map(), arranged.nowMs);
  for (const [index, viewer] of viewers.entries()) want(viewer, wants[index]!);
  const film = (ssrc: number, sequence: number, timestamp: number, frame = DELTA) =>
    sender.send(rtp(ssrc, sequence, timestamp, VP8, true), frame);
  return { arranged, sender, viewers, high, low, activate, want, film };
}

const pli = (heard: ReturnType<Client['take']>) =>
  heard
    .filter(({ isRtcp, payloadType }) => isRtcp && payloadType === 206)
    .map(({ payload }) => payload.readUInt32BE(0));
const pictures = (client: Client) => client.take().filter(({ isRtcp }) => !isRtcp);

function rtcp(type: number, count: number, ssrc: number, ...words: number[]): [Buffer, Buffer] {
  const header = Buffer.alloc(8);
  header[0] = 0x80 | count;
  header[1] = type;
  header.writeUInt16BE(words.length + 1, 2);
  header.writeUInt32BE(ssrc, 4);
  const body = Buffer.alloc(words.length * 4);
  for (const [index, word] of words.entries()) body.writeUInt32BE(word >>> 0, index * 4);
  return [header, body];
}

describe('layers', () => {
  const chosen = (quality: number, ...active: readonly boolean[]) => {
    const member = new Member(new Room('x'), { ssrc: 1, userId: '1', layers: layersOf(0) });
    member.layers.forEach((layer, index) => {
      layer.active = active[index]!;
    });
    return chooseLayer(member.layers, quality)?.quality ?? null;
  };
  test.each([
    [100, true, true, 100],
    [99, true, true, 50],
    [50, true, true, 50],
    [10, true, true, 50],
    [10, true, false, 100],
    [100, false, true, 50],
    [0, true, true, null],
    [100, false, false, null],
  ])(
    'requested at quality %d (high active: %s, low active: %s) give quality %s',
    (quality, high, low, layer) => {
      expect(chosen(quality, high, low)).toBe(layer);
    },
  );
});

test('a subscriber waits for a keyframe, which is requested at once and at most twice a second', () => {
  const { arranged, sender, viewers, high, film } = call(100, 100);
  expect(pli(sender.take())).toEqual([high.ssrc]);
  film(high.ssrc, 1, 0);
  film(high.ssrc, 2, 3000);
  expect(viewers.flatMap(pictures)).toEqual([]);
  arranged.advance(499);
  expect(pli(sender.take())).toEqual([]);
  arranged.advance(1);
  expect(pli(sender.take())).toEqual([high.ssrc]);
  film(high.ssrc, 3, 6000, KEYFRAME);
  film(high.ssrc, 4, 9000);
  for (const viewer of viewers)
    expect(pictures(viewer)).toMatchObject([
      { ssrc: high.ssrc, sequence: 3, timestamp: 6000, payloadType: VP8, marker: true, payload: KEYFRAME },
      { ssrc: high.ssrc, sequence: 4, timestamp: 9000, payload: DELTA },
    ]);
});

test('no video is sent to a viewer that wants none, or from a sender without permission', () => {
  const { arranged, sender, viewers, high, film } = call(0);
  film(high.ssrc, 1, 0, KEYFRAME);
  arranged.forwarder.setSinkWants(viewers[0]!.ssrc, 0, new Map([[high.ssrc, 100]]), arranged.nowMs);
  arranged.forwarder.setGate(sender.ssrc, { ...OPEN, streams: false });
  film(high.ssrc, 2, 0, KEYFRAME);
  expect(pictures(viewers[0]!)).toEqual([]);
  expect(arranged.drops).toMatchObject({ no_receiver: 1, not_allowed: 2 + 1 });
  arranged.forwarder.setGate(sender.ssrc, OPEN);
  film(high.ssrc, 3, 0, KEYFRAME);
  expect(pictures(viewers[0]!)).toHaveLength(1);
});

test('a change of layer happens at a keyframe and leaves no gap', () => {
  const { arranged, sender, viewers, high, low, film, want } = call(100);
  const [viewer] = viewers as [Client];
  film(high.ssrc, 65_535, 90_000, KEYFRAME);
  film(low.ssrc, 500, 777, KEYFRAME);
  want(viewer, 50);
  sender.take();
  film(high.ssrc, 0, 93_000);
  film(low.ssrc, 501, 3777);
  arranged.advance(500);
  expect(pli(sender.take())).toEqual([low.ssrc]);
  arranged.nowMs += 40;
  film(low.ssrc, 502, 6777, KEYFRAME);
  film(high.ssrc, 1, 96_000);
  film(low.ssrc, 501, 3777);
  film(low.ssrc, 503, 9777);
  const seen = pictures(viewer);
  expect(seen.map(({ ssrc }) => ssrc)).toEqual(Array(4).fill(high.ssrc));
  expect(seen.map(({ sequence }) => sequence)).toEqual([65_535, 0, 1, 2]);
  expect(seen.map(({ timestamp }) => timestamp)).toEqual([
    90_000,
    93_000,
    93_000 + 540 * 90,
    96_000 + 540 * 90,
  ]);
  // A NACK of the viewer is sent on with the sequence numbers of the layer.
  viewer.send(...rtcp(205, 1, viewer.ssrc, high.ssrc, (2 << 16) | 0b101));
  const [nack] = sender.take();
  expect(nack?.payloadType).toBe(205);
  expect(nack?.payload.readUInt32BE(0)).toBe(low.ssrc);
  expect(nack?.payload.readUInt16BE(4)).toBe(503);
  expect(nack?.payload.readUInt16BE(6)).toBe(0b101);
  // The retransmission gets the numbers of the viewer; packets from before the change are dropped.
  const again = (osn: number, ssrc = low.rtxSsrc) =>
    sender.send(rtp(ssrc, 9, 9777, VP8_RTX, true), Buffer.concat([Buffer.of(osn >> 8, osn & 255), DELTA]));
  again(503);
  again(501);
  again(1, high.rtxSsrc);
  expect(pictures(viewer)).toMatchObject([
    {
      ssrc: high.rtxSsrc,
      payloadType: VP8_RTX,
      timestamp: 96_000 + 540 * 90,
      payload: Buffer.concat([Buffer.of(0, 2), DELTA]),
    },
  ]);
});

test('sequence numbers continue without a gap after a pause', () => {
  const { viewers, high, film, want } = call(100);
  const [viewer] = viewers as [Client];
  film(high.ssrc, 10, 0, KEYFRAME);
  want(viewer, 0);
  for (let sequence = 11; sequence < 20; sequence += 1) film(high.ssrc, sequence, 0);
  want(viewer, 100);
  film(high.ssrc, 20, 0, KEYFRAME);
  expect(pictures(viewer).map(({ sequence }) => sequence)).toEqual([10, 11]);
});

test('a long stream wraps its sequence numbers without interruption', () => {
  const { arranged, viewers, high, film } = call(100);
  film(high.ssrc, 0, 0, KEYFRAME);
  let seen = 1;
  for (let sent = 1; sent < 140_000; sent += 100) {
    if (sent % 1000 === 1) arranged.nowMs += 1000;
    film(high.ssrc, sent & 0xffff, sent * 30);
    seen += 1;
  }
  expect(pictures(viewers[0]!)).toHaveLength(seen);
});

test('payload types are translated to the types that each side negotiated', () => {
  const { arranged, sender, viewers, high } = call(100, 100);
  arranged.forwarder.setPayloadTypes(sender.ssrc, [{ name: 'VP8', payloadType: 96, rtxPayloadType: 97 }]);
  arranged.forwarder.setPayloadTypes(viewers[0]!.ssrc, [
    { name: 'VP8', payloadType: 111, rtxPayloadType: null },
  ]);
  arranged.forwarder.setPayloadTypes(viewers[1]!.ssrc, [
    { name: 'H264', payloadType: 96, rtxPayloadType: 97 },
  ]);
  sender.send(rtp(high.ssrc, 1, 0, VP8), KEYFRAME);
  sender.send(rtp(high.ssrc, 2, 0, 96), KEYFRAME);
  expect(pictures(viewers[0]!)).toMatchObject([{ sequence: 2, payloadType: 111 }]);
  expect(pictures(viewers[1]!)).toEqual([]);
  expect(arranged.drops.malformed).toBe(1);
});

describe('reports', () => {
  test('sender reports go to the viewers of the stream, with its SSRC and timestamps and without report blocks', () => {
    const { arranged, sender, viewers, high, low, film, want } = call(100, 0);
    const [viewer, listener] = viewers as [Client, Client];
    film(high.ssrc, 1, 1000, KEYFRAME);
    want(viewer, 50);
    film(low.ssrc, 1, 5000, KEYFRAME);
    arranged.forget();
    const report = (ssrc: number) => rtcp(200, 1, ssrc, 11, 22, 5000, 33, 44, viewer.ssrc, 1, 2, 3, 4, 5);
    sender.send(...report(high.ssrc));
    const reported = () => viewer.take().filter(({ payloadType }) => payloadType === 200);
    expect(reported()).toEqual([]);
    sender.send(...report(low.ssrc));
    const [video] = reported();
    expect(video).toMatchObject({ payloadType: 200, ssrc: high.ssrc });
    expect(video?.header[0]).toBe(0x80);
    expect(video?.payload.readUInt32BE(8)).toBe(1000 + 1500);
    expect(video?.payload).toHaveLength(20);
    expect(listener.take()).toEqual([]);
    sender.send(...report(sender.ssrc));
    for (const hearer of [viewer, listener])
      expect(
        hearer
          .take()
          .filter(({ ssrc, payloadType }) => payloadType === 200 && ssrc === sender.ssrc)
          .map(({ payload }) => payload),
      ).toEqual([rtcp(200, 0, 0, 11, 22, 5000, 33, 44)[1]]);
  });

  test('receiver reports go only to the sender that they report on, within the call', () => {
    const { arranged, sender, viewers, high, film } = call(100, 0);
    const [viewer, other] = viewers as [Client, Client];
    arranged.forwarder.open('elsewhere');
    const stranger = arranged.client(GCM, { callId: 'elsewhere' });
    film(high.ssrc, 1, 1000, KEYFRAME);
    arranged.forget();
    const block = (ssrc: number) => [ssrc, 0x10000002, 0x00010005, 7, 8, 9];
    const blocks = [sender.ssrc, high.ssrc, stranger.ssrc, 12345].flatMap(block);
    viewer.send(...rtcp(201, 4, viewer.ssrc, ...blocks));
    const heard = sender.take();
    expect(heard.map(({ ssrc, payload }) => [ssrc, payload])).toEqual([
      [viewer.ssrc, rtcp(201, 1, 0, ...block(sender.ssrc))[1]],
      [viewer.ssrc, rtcp(201, 1, 0, ...block(high.ssrc))[1]],
    ]);
    expect([...stranger.take(), ...other.take(), ...viewer.take()]).toEqual([]);
  });

  test('receiver reports beyond 1,000 blocks are dropped', () => {
    const { sender, viewers } = call(100);
    const [viewer] = viewers as [Client];
    sender.take();
    const blocks = Array.from({ length: 31 }, () => [sender.ssrc, 0, 0, 0, 0, 0]).flat();
    for (let sent = 0; sent < 200; sent += 1) viewer.send(...rtcp(201, 31, viewer.ssrc, ...blocks));
    expect(sender.take().length).toBeLessThanOrEqual(1000);
  });
});

test('keyframe requests and bit rates go to the layer that is being sent', () => {
  const { arranged, sender, viewers, high, low, film } = call(50, 50);
  film(low.ssrc, 1, 0, KEYFRAME);
  arranged.advance(1000);
  arranged.forget();
  const [viewer] = viewers as [Client];
  viewer.send(...rtcp(206, 1, viewer.ssrc, high.ssrc));
  viewer.send(...rtcp(206, 4, viewer.ssrc, 0, high.ssrc, 0x0100_0000));
  expect(pli(sender.take())).toEqual([low.ssrc]);
  viewer.send(...rtcp(206, 15, viewer.ssrc, 0, 0x52454d42, 0x0104_2000, high.ssrc));
  const [remb] = sender.take();
  expect(remb?.payload).toEqual(rtcp(206, 15, 0, 0, 0x52454d42, 0x0104_2000, low.ssrc)[1]);
  arranged.forwarder.setSinkWants(viewer.ssrc, 0, new Map(), arranged.nowMs);
  arranged.advance(1000);
  sender.take();
  viewer.send(...rtcp(206, 1, viewer.ssrc, high.ssrc));
  expect(sender.take()).toEqual([]);
});

test('forged, truncated or unrelated feedback is dropped', () => {
  const { arranged, sender, viewers, high, film } = call(100, 0);
  const [viewer, other] = viewers as [Client, Client];
  film(high.ssrc, 1, 0, KEYFRAME);
  arranged.advance(1000);
  arranged.forget();
  for (const [header, body] of [
    rtcp(200, 0, sender.ssrc, 1, 2, 3, 4, 5),
    rtcp(200, 0, viewer.ssrc, 1, 2, 3),
    rtcp(201, 31, viewer.ssrc, sender.ssrc, 1, 2, 3, 4),
    rtcp(205, 1, viewer.ssrc),
    rtcp(205, 1, viewer.ssrc, high.rtxSsrc, 1 << 16),
    rtcp(205, 15, viewer.ssrc, high.ssrc, 1, 2, 3),
    rtcp(206, 15, viewer.ssrc, 0, 0x52454d43, 0x0104_2000, high.ssrc),
    rtcp(206, 4, viewer.ssrc, 0, 4711, 0),
    rtcp(203, 1, viewer.ssrc),
    rtcp(204, 0, viewer.ssrc, 1, 2),
  ])
    viewer.send(header, body);
  for (const [header, body] of [
    rtcp(200, 0, sender.ssrc, 1, 2, 3, 4, 5),
    rtcp(200, 0, high.ssrc, 1, 2, 3, 4, 5),
    rtcp(205, 1, other.ssrc, high.ssrc, 1 << 16),
    rtcp(206, 1, other.ssrc, high.ssrc),
    rtcp(206, 15, other.ssrc, 0, 0x52454d42, 0x0104_2000, high.ssrc),
  ])
    other.send(header, body);
  expect([...sender.take(), ...viewer.take(), ...other.take()]).toEqual([]);
  sender.send(rtp(high.ssrc, 2, 0, VP8), DELTA);
  expect(pictures(viewer)).toHaveLength(1);
  // A sender that may no longer stream is asked for no keyframe, even before its next packet.
  arranged.forwarder.setGate(sender.ssrc, { ...OPEN, streams: false });
  viewer.send(...rtcp(206, 1, viewer.ssrc, high.ssrc));
  expect(sender.take()).toEqual([]);
});

test('a sender who leaves receives no pending keyframe request', () => {
  const { arranged, sender, viewers } = call(100);
  sender.take();
  viewers[0]!.send(...rtcp(206, 1, viewers[0]!.ssrc, 1001));
  arranged.forwarder.disconnect(sender.ssrc);
  arranged.advance(1000);
  arranged.forwarder.leave(sender.ssrc);
  arranged.advance(1000);
  expect(sender.take()).toEqual([]);
  expect(arranged.astray).toEqual([]);
});
