// Goal: over real sockets, members receive exactly the audio they may hear, also after the lane was killed.
import { randomBytes } from 'node:crypto';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { createMediaPlane, type RunningMediaPlane } from '../../../media/io/plane.ts';
import type { MediaEvent, MediaRoom } from '../../../media/plane.ts';
import type { PeerEvents } from '../../../media/webrtc/ports.ts';
import { builtAddon } from './addon.build.ts';
import { UdpClient } from './client.ts';

const OPEN_GATE = { speaks: true, streams: true, receives: true };
const WAIT = { timeout: 3000, interval: 5 };

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function arrange(options: Partial<Parameters<typeof createMediaPlane>[0]> = {}) {
  const faults: string[] = [];
  const plane = await createMediaPlane({
    host: '127.0.0.1',
    port: 0,
    externalAddress: null,
    workers: 0,
    peers: null,
    onFault: ({ message }) => faults.push(message),
    ...options,
  });
  closers.push(() => plane.close());
  const events: MediaEvent[] = [];
  const room = plane.open('call', (event) => events.push(event));
  return { plane, room, events, faults };
}

async function member(room: MediaRoom, hasClaim = false) {
  const { ssrc } = room.join({ userId: '1', layers: [] });
  const key = randomBytes(32);
  const client = await UdpClient.open(ssrc, key, room.address.port);
  closers.push(() => client.close());
  room.setGate(ssrc, OPEN_GATE);
  const claimed = hasClaim ? { address: '127.0.0.1', port: client.port } : null;
  room.connectUdp(ssrc, { mode: 'aead_aes256_gcm_rtpsize', key, claimed });
  return { ssrc, client };
}

/** Both members speak until the lane has learned their addresses. */
async function acquaint(one: UdpClient, other: UdpClient): Promise<void> {
  await vi.waitFor(() => {
    one.say(randomBytes(10));
    other.say(randomBytes(10));
    expect(Math.min(one.received.length, other.received.length)).toBeGreaterThan(0);
  }, WAIT);
}

/** Speaks until `until` holds: orders and packets reach the lane in different ways. */
async function speakUntil(client: UdpClient, payload: Uint8Array, until: () => boolean): Promise<void> {
  await vi.waitFor(() => {
    client.say(payload);
    expect(until()).toBe(true);
  }, WAIT);
}

const { addon, why } = builtAddon();

describe.each(addon === null ? [false] : [true, false])(
  `a plane in this thread, with the addon: %s ${why}`,
  (isNative) => {
    test('forwards the audio of one member to a listener, byte for byte', async () => {
      const { room, events } = await arrange({ isNative });
      const speaker = await member(room);
      const listener = await member(room, true);
      listener.client.discover();
      const payload = randomBytes(160);
      await speakUntil(speaker.client, payload, () => listener.client.received.length > 0);
      expect(listener.client.received[0]).toEqual({ ssrc: speaker.ssrc, payload });
      expect(speaker.client.received).toEqual([]);
      const [answer] = listener.client.other;
      expect(answer).toHaveLength(74);
      expect(answer!.readUInt16BE(72)).toBe(listener.client.port);
      expect(events).toContainEqual({ type: 'connected', ssrc: speaker.ssrc });
      expect(events).toContainEqual({ type: 'speaking', ssrc: speaker.ssrc, speaking: true });
    });

    test('counts packets, drops and latency', async () => {
      const { plane, room } = await arrange({ isNative });
      const speaker = await member(room);
      speaker.client.say(randomBytes(20));
      speaker.client.raw(randomBytes(40).fill(0x80, 0, 1));
      await vi.waitFor(async () => {
        speaker.client.say(randomBytes(20));
        const { workers, calls } = await plane.metrics();
        expect(workers[0]!.drops.unknown).toBe(1);
        expect(workers[0]!.drops.no_receiver).toBeGreaterThan(0);
        expect(workers[0]!.latency.counts.reduce((sum, count) => sum + count, 0)).toBeGreaterThan(0);
        expect(calls.get('call')).toMatchObject([{ ssrc: speaker.ssrc, userId: '1', transport: 'udp' }]);
      }, WAIT);
    });

    test('a killed lane restarts on its port, and its members continue without reconnecting', async () => {
      const { plane, room, events, faults } = await arrange({ isNative });
      const speaker = await member(room);
      const listener = await member(room);
      const { port } = room.address;
      await acquaint(speaker.client, listener.client);
      // The listener's address is known to a successor as soon as a report has named it.
      await plane.metrics();
      plane.killWorker(0);
      await vi.waitFor(() => expect(events).toContainEqual({ type: 'restored' }), WAIT);
      const heard = listener.client.received.length;
      await speakUntil(speaker.client, randomBytes(10), () => listener.client.received.length > heard);
      expect(room.address.port).toBe(port);
      // Another process may have taken the port meanwhile, and then it is tried again.
      expect(faults.map(String)).toContainEqual(expect.stringContaining('A media lane died'));
      expect((await plane.metrics()).workers[0]!.restarts).toBe(faults.length);
    });

    test('a lane that keeps dying ends its calls and serves new ones', async () => {
      const { plane, room, events } = await arrange({ isNative });
      await member(room);
      for (let death = 1; death <= 3; death += 1) {
        await vi.waitFor(() => {
          if (events.filter(({ type }) => type === 'restored').length < death - 1) throw new Error('not yet');
        }, WAIT);
        plane.killWorker(0);
        await vi.waitFor(() => expect(events.length).toBeGreaterThanOrEqual(death), WAIT);
      }
      expect(events.map(({ type }) => type)).toEqual(['restored', 'restored', 'lost']);
      const next: MediaEvent[] = [];
      const another = plane.open('another', (event) => next.push(event));
      const [speaker, listener] = [await member(another), await member(another)];
      await acquaint(speaker.client, listener.client);
    });

    test('calls are spread over all lanes, and SSRCs are unique across lanes', async () => {
      const { plane } = await arrange({
        isNative,
        workers: 3,
        start: (await import('../../../media/io/inline.ts')).startInline,
      });
      const ports = new Set<number>();
      const ssrcs = new Set<number>();
      for (let index = 0; index < 9; index += 1) {
        const room = plane.open(`c${index}`, () => {});
        ports.add(room.address.port);
        for (let each = 0; each < 3; each += 1) {
          const layers = [{ rid: '100', quality: 100, type: 'video' }];
          const joined = room.join({ userId: '1', layers });
          for (const ssrc of [joined.ssrc, ...joined.streams.flatMap((s) => [s.ssrc, s.rtxSsrc])])
            ssrcs.add(ssrc);
        }
      }
      expect(ports).toEqual(new Set(plane.udpPorts));
      expect(ssrcs.size).toBe(81);
    });
  },
);

describe('browsers', () => {
  async function withPeer(sdp: string | null) {
    let events: PeerEvents | null = null;
    const sent: [number, Uint8Array][] = [];
    const closed: number[] = [];
    const arranged = await arrange({
      peers: (given) => {
        events = given;
        return {
          open: async () => sdp,
          send: (ssrc, packet) => sent.push([ssrc, Uint8Array.from(packet)]) > 0,
          close: (ssrc) => closed.push(ssrc),
          closeAll: () => {},
        };
      },
    });
    return { ...arranged, peer: events as PeerEvents | null as PeerEvents, sent, closed };
  }
  const rtp = (ssrc: number, payload: Uint8Array): Buffer => {
    const header = Buffer.from([0x80, 0x78, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0]);
    header.writeUInt32BE(ssrc, 8);
    return Buffer.concat([header, payload]);
  };

  test('exchange audio with clients over UDP', async () => {
    const { room, peer, sent, events } = await withPeer('answer');
    const { ssrc } = room.join({ userId: '2', layers: [] });
    room.setGate(ssrc, OPEN_GATE);
    expect(await room.connectPeer(ssrc, 'offer')).toBe('answer');
    peer.state(ssrc, 'connected');
    await vi.waitFor(() => expect(events).toEqual([{ type: 'connected', ssrc }]), WAIT);
    const other = await member(room);
    const said = randomBytes(50);
    await speakUntil(other.client, said, () => sent.length > 0);
    expect(sent[0]![0]).toBe(ssrc);
    expect(Buffer.from(sent[0]![1]).subarray(12)).toEqual(said);
    const payload = randomBytes(60);
    peer.packet(ssrc, rtp(ssrc, payload));
    await vi.waitFor(() => expect(other.client.received).toEqual([{ ssrc, payload }]), WAIT);
  });

  test('are reported when they fail, and closed when their member leaves', async () => {
    const { room, peer, closed, events } = await withPeer('answer');
    const first = room.join({ userId: '2', layers: [] }).ssrc;
    const second = room.join({ userId: '3', layers: [] }).ssrc;
    await room.connectPeer(first, 'offer');
    await room.connectPeer(second, 'offer');
    peer.state(first, 'failed');
    expect(events).toEqual([{ type: 'unreachable', ssrc: first }]);
    room.leave(second);
    expect(closed).toEqual([second]);
    room.close();
    peer.state(first, 'connected');
    expect(events).toHaveLength(1);
  });

  test('are refused when their SDP cannot be used', async () => {
    const { room } = await withPeer(null);
    const { ssrc } = room.join({ userId: '2', layers: [] });
    expect(await room.connectPeer(ssrc, 'nonsense')).toBeNull();
    expect(await room.connectPeer(12, 'unknown member')).toBeNull();
  });
});

test('a plane rejects a port that is already in use', async () => {
  const { plane } = await arrange();
  const port = (plane as RunningMediaPlane).udpPorts[0]!;
  await expect(arrange({ port })).rejects.toThrow('EADDRINUSE');
});
