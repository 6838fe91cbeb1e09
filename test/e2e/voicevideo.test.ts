// Goal: pictures reach who wants them in the layer they want, unbroken and end-to-end encrypted, under each one's own numbers,
// and never from somebody who may not show them.
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { VOICE_OP } from '../../protocol/voice.ts';
import { GatewayClient } from '../support/gateway-client.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { agreed, type Caller, Camera, callIn, seenIn } from '../support/voice-caller.ts';
import { joinChannel } from '../support/voice-client.ts';

let server: TestServer;
const closers: (() => unknown)[] = [];
beforeAll(async () => {
  server = await startServer({ bots: 3 });
});
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});
afterAll(() => server?.finish());

const OFFER = {
  video: true,
  streams: [
    { type: 'video', rid: '100', quality: 100 },
    { type: 'video', rid: '50', quality: 50 },
  ],
};
const vp8 = (payloadType: number, more: object = {}) => ({
  name: 'VP8',
  type: 'video',
  priority: 1000,
  payload_type: payloadType,
  rtx_payload_type: payloadType + 1,
  ...more,
});
const OWN_TYPE = 100;
const THEIR_TYPE = 122;

async function caller(token: string, type: number, identify: object = OFFER): Promise<Caller> {
  const { gateway: url, guild, ca_file: caFile } = server.info;
  const gateway = await GatewayClient.ready(url, { token });
  closers.push(() => gateway.close());
  const ticket = await joinChannel(gateway, guild.id, guild.voice_channel_id);
  const joined = await callIn(ticket, { caFile }, { identify: { ...identify }, codecs: [vp8(type)] });
  closers.push(() => joined.close());
  // Where its media is to go.
  joined.udp.sendOpus(Uint8Array.of(0xf8, 0xff, 0xfe));
  return joined;
}

const layersOf = ({ ready }: Caller) => {
  const [high, low] = ready.streams ?? [];
  if (!high || !low) throw new Error('READY allots no layers.');
  return { high, low };
};

/** Media may be a moment behind the dispatches to members; its metrics follow all orders it has received. */
const settled = async (): Promise<void> => {
  await (await fetch(`${server.info.admin.url}/metrics`)).text();
};

/** Op 12 with both layers, and a camera for each; once a viewer has heard of it, what is filmed is forwarded. */
async function cameras(from: Caller, viewer: Caller) {
  const { high, low } = layersOf(from);
  const wire = (layer: typeof high, quality: number) => ({
    ...{ type: 'video', rid: layer.rid, quality, active: true, ssrc: layer.ssrc, rtx_ssrc: layer.rtx_ssrc },
    ...{
      max_bitrate: 900_000,
      max_framerate: 30,
      max_resolution: { type: 'fixed', width: 640, height: 360 },
    },
  });
  from.client.send(VOICE_OP.VIDEO, {
    audio_ssrc: from.ready.ssrc,
    video_ssrc: high.ssrc,
    rtx_ssrc: high.rtx_ssrc,
    streams: [wire(high, 100), wire(low, 50)],
  });
  const told = await viewer.client.waitFor(VOICE_OP.VIDEO);
  await settled();
  const payloadType = OWN_TYPE;
  return {
    told: told.d,
    high: new Camera(from, { ssrc: high.ssrc, payloadType, seq: 65_530 }),
    low: new Camera(from, { ssrc: low.ssrc, payloadType, seq: 300 }),
  };
}

const wants = (viewer: Caller, from: Caller, quality: number) =>
  viewer.client.send(VOICE_OP.MEDIA_SINK_WANTS, { any: 0, [layersOf(from).high.ssrc]: quality });
/** Waits until the sender is asked for these layers, from then on. */
const asked = (from: Caller, high: number, low: number) => {
  const layers = layersOf(from);
  return from.client.waitFor(
    VOICE_OP.MEDIA_SINK_WANTS,
    ({ d }) => d[layers.high.ssrc] === high && d[layers.low.ssrc] === low,
  );
};
/** SSRCs of which somebody was asked for a keyframe. */
const keyframesAsked = ({ udp }: Caller): number[] =>
  udp.rtcp
    .filter(({ clear }) => clear[1] === 206 && (clear[0]! & 0x1f) === 1)
    .map(({ body }) => body.readUInt32BE(0));
const pictures = (viewer: Caller, from: Caller) =>
  viewer.udp.rtp.filter(({ ssrc }) => ssrc === layersOf(from).high.ssrc);
const seen = (viewer: Caller, from: Caller) =>
  pictures(viewer, from).map(({ payload }) => seenIn(viewer, from.ticket.userId, payload));

/** A generic NACK for one packet. @source RFC 4585, 6.2.1 */
function nack(from: Caller, media: number, seq: number): void {
  const packet = Buffer.alloc(16);
  packet.writeUInt32BE(0x81cd0003, 0);
  packet.writeUInt32BE(from.ready.ssrc, 4);
  packet.writeUInt32BE(media, 8);
  packet.writeUInt16BE(seq, 12);
  from.udp.sendRtcp(packet);
}

describe('video', () => {
  test('arrives in the requested layer, switches at a keyframe, and lost packets are retransmitted', async () => {
    const [a, b] = [
      await caller(server.info.bots[0]!.token, OWN_TYPE),
      await caller(server.info.bots[1]!.token, THEIR_TYPE),
    ];
    await agreed(a, b);
    const { high, low } = layersOf(a);
    expect(a.ready.streams).toMatchObject([
      { type: 'video', rid: '100', quality: 100, active: false, rtx_ssrc: high.ssrc + 1 },
      { type: 'video', rid: '50', quality: 50, active: false, rtx_ssrc: low.ssrc + 1 },
    ]);
    wants(b, a, 50);
    const film = await cameras(a, b);
    expect(film.told).toMatchObject({
      ...{ user_id: a.ticket.userId, audio_ssrc: a.ready.ssrc, video_ssrc: high.ssrc },
      streams: [
        { rid: '100', ssrc: high.ssrc, quality: 100, active: true, max_framerate: 30 },
        { rid: '50', ssrc: low.ssrc, quality: 50, active: true },
      ],
    });
    expect(film.told).not.toHaveProperty('rtx_ssrc');
    await asked(a, 0, 50);

    // Nothing before a keyframe; of that the sender is asked.
    film.low.film(false, 'early');
    await expect.poll(() => keyframesAsked(a)).toEqual([low.ssrc]);
    film.high.film(true, 'not wanted');
    film.low.film(true, 'low 1');
    film.low.film(false, 'low 2');
    await expect.poll(() => seen(b, a)).toEqual(['low 1', 'low 2']);

    // The other layer, from its next keyframe on.
    wants(b, a, 100);
    await asked(a, 100, 0);
    await expect.poll(() => keyframesAsked(a)).toEqual([low.ssrc, high.ssrc]);
    await settled();
    film.high.film(false, 'no keyframe');
    film.low.film(false, 'low 3');
    await expect.poll(() => seen(b, a).length).toBe(3);
    film.high.film(true, 'high 1');
    const second = film.high.film(false, 'high 2');
    film.low.film(false, 'low 4');
    await expect.poll(() => seen(b, a)).toEqual(['low 1', 'low 2', 'low 3', 'high 1', 'high 2']);
    const came = pictures(b, a);
    const first = came[0]!.seq;
    expect(came.map(({ seq }) => (seq - first) & 0xffff)).toEqual([0, 1, 2, 3, 4]);
    expect(came.every(({ payloadType, marker }) => payloadType === THEIR_TYPE && marker)).toBe(true);
    const times = came.map(({ timestamp }) => (timestamp - came[0]!.timestamp) >>> 0);
    expect(times).toEqual([...times].sort((x, y) => x - y));

    // The viewer names the packet by the number it saw; the sender receives its own number, and sends the packet again.
    const lost = came[4]!;
    nack(b, high.ssrc, lost.seq);
    const nacks = () => a.udp.rtcp.filter(({ clear }) => clear[1] === 205);
    await expect.poll(() => nacks().length).toBe(1);
    expect([nacks()[0]!.body.readUInt32BE(0), nacks()[0]!.body.readUInt16BE(4)]).toEqual([
      high.ssrc,
      second.seq,
    ]);
    const number = Buffer.alloc(2);
    number.writeUInt16BE(second.seq);
    a.udp.sendRtp(
      { payloadType: OWN_TYPE + 1, marker: true, seq: 9, timestamp: 0, ssrc: high.rtx_ssrc },
      Buffer.concat([number, second.payload]),
    );
    const again = await b.udp.nextRtp(({ ssrc }) => ssrc === high.rtx_ssrc);
    expect(again.payloadType).toBe(THEIR_TYPE + 1);
    expect([again.payload.readUInt16BE(0), again.payload.subarray(2)]).toEqual([lost.seq, second.payload]);
  });

  test('is announced to a new member, starts with a keyframe, and ends when its sender stops it', async () => {
    const [a, b] = [
      await caller(server.info.bots[0]!.token, OWN_TYPE),
      await caller(server.info.bots[1]!.token, THEIR_TYPE),
    ];
    await agreed(a, b);
    const { high } = layersOf(a);
    const film = await cameras(a, b);
    film.high.film(true, 'for b');
    await expect.poll(() => seen(b, a)).toEqual(['for b']);

    const c = await caller(server.info.bots[2]!.token, THEIR_TYPE);
    const told = await c.client.waitFor(VOICE_OP.VIDEO);
    expect(told.d).toMatchObject({ user_id: a.ticket.userId, video_ssrc: high.ssrc });
    await agreed(a, b, c);
    const before = keyframesAsked(a).length;
    await settled();
    film.high.film(false, 'half');
    await expect.poll(() => keyframesAsked(a).length).toBeGreaterThan(before);
    film.high.film(true, 'for all');
    await expect.poll(() => seen(c, a)).toEqual(['for all']);
    await expect.poll(() => seen(b, a)).toEqual(['for b', 'half', 'for all']);

    a.client.send(VOICE_OP.VIDEO, { audio_ssrc: a.ready.ssrc, video_ssrc: 0, rtx_ssrc: 0, streams: [] });
    for (const viewer of [b, c])
      expect((await viewer.client.waitFor(VOICE_OP.VIDEO, ({ d }) => d.video_ssrc === 0)).d).toMatchObject({
        user_id: a.ticket.userId,
        streams: [],
      });
    await settled();
    film.high.film(true, 'too late');
    await heardBehind(a, b);
    expect(seen(b, a)).toEqual(['for b', 'half', 'for all']);
  });

  test('is not sent to a client without stream wishes until it requests some', async () => {
    const a = await caller(server.info.bots[0]!.token, OWN_TYPE);
    const b = await caller(server.info.bots[1]!.token, THEIR_TYPE, {});
    await agreed(a, b);
    expect(b.ready).not.toHaveProperty('streams');
    const film = await cameras(a, b);
    await asked(a, 0, 0);
    film.high.film(true, 'unseen');
    await heardBehind(a, b);
    expect(pictures(b, a)).toEqual([]);
    b.client.send(VOICE_OP.MEDIA_SINK_WANTS, { any: 100 });
    await asked(a, 100, 0);
    await settled();
    film.high.film(true, 'seen');
    await expect.poll(() => seen(b, a)).toEqual(['seen']);
  });

  test('is not forwarded from the moment its sender loses the permission to stream', async () => {
    const filmer = await server.newBot('Filmer');
    const a = await caller(filmer.token, OWN_TYPE);
    const b = await caller(server.info.bots[1]!.token, THEIR_TYPE);
    await agreed(a, b);
    const { high } = layersOf(a);
    const film = await cameras(a, b);
    film.high.film(true, 'allowed');
    await expect.poll(() => seen(b, a)).toEqual(['allowed']);
    const { guild } = server.info;
    const place = { channel_id: guild.voice_channel_id, overwrite_id: filmer.id };
    await server.bot(0).call('set_channel_permission_overwrite', {
      params: place,
      body: { type: 1, deny: String(1n << 9n) },
    });
    await b.client.waitFor(VOICE_OP.VIDEO, ({ d }) => d.video_ssrc === 0);
    await settled();
    film.high.film(true, 'forbidden');
    await heardBehind(a, b);
    expect(seen(b, a)).toEqual(['allowed']);
    await server.bot(0).call('delete_channel_permission_overwrite', { params: place });
    await b.client.waitFor(VOICE_OP.VIDEO, ({ d }) => d.video_ssrc === high.ssrc);
    await settled();
    film.high.film(true, 'allowed again');
    await expect.poll(() => seen(b, a)).toEqual(['allowed', 'allowed again']);
  });
});

/** Resolves when all that one sent before has come to the other, or will not: sound takes the same way behind it. */
async function heardBehind(from: Caller, to: Caller): Promise<void> {
  const packet = from.udp.sendOpus(from.dave.encrypt(Buffer.from('behind')));
  const seq = packet.readUInt16BE(2);
  await to.udp.nextRtp((heard) => heard.ssrc === from.ready.ssrc && heard.seq === seq);
}
