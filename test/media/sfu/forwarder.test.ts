// Goal: audio reaches exactly the members that may hear it, unchanged and under their own keys.
import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { Arranged, type Client, GCM, OPEN, rtp, unseal, XCHACHA } from './harness.ts';

const MODES = [GCM, XCHACHA, 'peer'] as const;
const SILENCE = Buffer.of(0xf8, 0xff, 0xfe);

describe('audio', () => {
  test.each(MODES.flatMap((from) => MODES.map((to) => [from, to] as const)))(
    'is forwarded from %s to %s byte for byte',
    (from, to) => {
      const arranged = new Arranged();
      const [speaker, hearer] = [arranged.client(from), arranged.client(to)];
      arranged.forget();
      const payload = randomBytes(160);
      speaker.send(rtp(speaker.ssrc, 65_535, 0xffff_ffff, 120, true), payload);
      expect(hearer.take()).toMatchObject([
        {
          ssrc: speaker.ssrc,
          sequence: 65_535,
          timestamp: 0xffff_ffff,
          payloadType: 120,
          marker: true,
          payload,
        },
      ]);
      expect(speaker.take()).toEqual([]);
    },
  );

  test('is sent with the minimal header, whatever the received header was', () => {
    const arranged = new Arranged();
    const [speaker, hearer] = [arranged.client(GCM), arranged.client(XCHACHA)];
    const header = Buffer.concat([rtp(speaker.ssrc, 7, 960), Buffer.alloc(8), Buffer.of(0xbe, 0xde, 0, 2)]);
    header[0] = 0x80 | 0x20 | 0x10 | 2;
    const payload = Buffer.from('frame\xfa\xfa', 'latin1');
    speaker.send(header, Buffer.concat([Buffer.alloc(8, 1), payload, Buffer.of(0, 0, 3)]));
    expect(hearer.take()).toMatchObject([{ header: rtp(speaker.ssrc, 7, 960), payload }]);
  });

  test('is not forwarded to other calls, or to members excluded by gates, audience or their sink wants', () => {
    const arranged = new Arranged();
    const { forwarder } = arranged;
    forwarder.open('other');
    const speaker = arranged.client();
    const hearer = arranged.client();
    arranged.client(GCM, { callId: 'other' });
    const deaf = arranged.client(GCM, { gate: { ...OPEN, receives: false } });
    const turnedAway = arranged.client();
    forwarder.setSinkWants(turnedAway.ssrc, 100, new Map([[speaker.ssrc, 0]]), arranged.nowMs);
    arranged.forget();
    const beforeGates = arranged.drops.not_allowed;
    const heardBy = () => {
      speaker.speak();
      return [...arranged.clients.values()]
        .filter((client) => client.take().length > 0)
        .map(({ ssrc }) => ssrc);
    };
    expect(heardBy()).toEqual([hearer.ssrc]);
    forwarder.setAudience(speaker.ssrc, [deaf.ssrc]);
    expect(heardBy()).toEqual([]);
    forwarder.setAudience(speaker.ssrc, null);
    forwarder.setGate(speaker.ssrc, { ...OPEN, speaks: false });
    expect(heardBy()).toEqual([]);
    forwarder.setGate(speaker.ssrc, OPEN);
    expect(heardBy()).toEqual([hearer.ssrc]);
    forwarder.leave(hearer.ssrc);
    expect(heardBy()).toEqual([]);
    expect(arranged.drops).toMatchObject({ not_allowed: beforeGates + 1, no_receiver: 2 });
  });

  test('is dropped without the DAVE marker where encryption is required, except silence', () => {
    const arranged = new Arranged();
    const [speaker, hearer] = [arranged.client(), arranged.client()];
    arranged.forwarder.setEncryptedOnly('call', true);
    arranged.forget();
    for (const frame of ['plain', '\xf8\xff\xfe', '\xf8\xff\xff', '', 'x\xfa\xfa'])
      speaker.speak(Buffer.from(frame, 'latin1'));
    expect(hearer.take().map(({ payload }) => payload.toString('latin1'))).toEqual([
      '\xf8\xff\xfe',
      'x\xfa\xfa',
    ]);
    expect(arranged.drops.plain).toBe(3);
  });

  test('is limited to 500 packets a second', () => {
    const arranged = new Arranged();
    const [speaker, hearer] = [arranged.client(), arranged.client()];
    arranged.forget();
    for (let sent = 0; sent < 600; sent += 1) speaker.speak();
    expect(hearer.take().length).toBeLessThanOrEqual(500);
    arranged.advance(1000);
    speaker.speak();
    expect(hearer.take()).toHaveLength(1);
  });
});

describe('speaking', () => {
  test('begins with the first packet of sound and ends 200 ms after the last', () => {
    const arranged = new Arranged();
    const speaker = arranged.client();
    arranged.forget();
    speaker.speak(SILENCE);
    expect(arranged.events).toEqual([]);
    speaker.speak();
    speaker.speak();
    arranged.advance(199);
    expect(arranged.events).toEqual([{ type: 'speaking', ssrc: speaker.ssrc }]);
    speaker.speak(SILENCE);
    arranged.advance(1);
    expect(arranged.events.at(-1)).toEqual({ type: 'silent', ssrc: speaker.ssrc });
    arranged.advance(1000);
    expect(arranged.events).toHaveLength(2);
  });

  test('ends when the speaker leaves', () => {
    const arranged = new Arranged();
    const speaker = arranged.client('peer');
    speaker.speak();
    arranged.forwarder.disconnect(speaker.ssrc);
    expect(arranged.events.map(({ type }) => type)).toEqual(['connected', 'speaking', 'silent']);
  });
});

describe('a packet that is not authentic', () => {
  test.each([GCM, XCHACHA])(
    'is dropped and changes neither the address nor the nonces of the member (%s)',
    (mode) => {
      const arranged = new Arranged();
      const [speaker, hearer] = [arranged.client(mode), arranged.client(mode)];
      arranged.forget();
      const thief = { address: '198.51.100.66', port: 6666 };
      const good = speaker.packet(rtp(speaker.ssrc, 9, 9), randomBytes(50));
      for (let at = 0; at < good.length; at += 1) {
        const bad = Buffer.from(good);
        bad[at]! ^= 1;
        speaker.transmit(bad, thief);
      }
      expect(hearer.take()).toEqual([]);
      hearer.speak();
      expect(speaker.take()).toHaveLength(1);
      expect(arranged.astray).toEqual([]);
      speaker.transmit(good);
      expect(hearer.take()).toHaveLength(1);
    },
  );

  test('is dropped when it is sealed with the key of another member', () => {
    const arranged = new Arranged();
    const [speaker, hearer] = [arranged.client(), arranged.client()];
    const header = rtp(speaker.ssrc, 9, 9);
    arranged.forget();
    hearer.send(header, randomBytes(20));
    expect(arranged.drops.unauthenticated).toBe(1);
    expect(speaker.heard.concat(hearer.heard)).toEqual([]);
  });
});

test('a browser cannot send audio as another member', () => {
  const arranged = new Arranged();
  const [speaker, browser, hearer] = [arranged.client(), arranged.client('peer'), arranged.client()];
  arranged.forget();
  browser.send(rtp(speaker.ssrc, 9, 9), randomBytes(20));
  browser.send(rtp(4711, 9, 9), randomBytes(20));
  arranged.forwarder.handlePeer(speaker.ssrc, rtp(speaker.ssrc, 9, 9), 12, arranged.nowMs);
  expect(hearer.heard.concat(speaker.heard)).toEqual([]);
  expect(arranged.drops.unknown).toBe(3);
});

describe('replay', () => {
  test('is rejected for RTP and RTCP', () => {
    const arranged = new Arranged();
    const [speaker, hearer] = [arranged.client(), arranged.client()];
    const audio = speaker.packet(rtp(speaker.ssrc, 9, 9), randomBytes(50));
    const report = Buffer.alloc(8);
    report.writeUInt32BE(0x80c8_0006, 0);
    report.writeUInt32BE(speaker.ssrc, 4);
    const rtcp = speaker.packet(report, Buffer.alloc(20));
    arranged.forget();
    for (let times = 0; times < 3; times += 1) {
      speaker.transmit(audio);
      speaker.transmit(rtcp);
    }
    expect(hearer.take()).toHaveLength(2);
    expect(arranged.drops.replayed).toBe(4);
  });

  test('a late packet does not change the address of its member; a newer packet does', () => {
    const arranged = new Arranged();
    const [speaker, hearer] = [arranged.client(), arranged.client()];
    const held = speaker.packet(rtp(speaker.ssrc, 5, 5), randomBytes(9));
    speaker.speak();
    arranged.forget();
    // A late packet is forwarded, but does not prove where its sender is now.
    speaker.transmit(held, { address: '198.51.100.66', port: 6666 });
    expect(hearer.take()).toHaveLength(1);
    hearer.speak();
    expect(arranged.astray).toEqual([]);
    speaker.at = { address: '203.0.113.5', port: 5 };
    speaker.speak();
    hearer.speak();
    expect(speaker.take()).toHaveLength(2);
  });

  test('is rejected for nonces of the server, which shares the key with the client', () => {
    const arranged = new Arranged();
    const [speaker, hearer] = [arranged.client(), arranged.client()];
    arranged.forget();
    const send = arranged.send.bind(arranged);
    let reflected = Buffer.alloc(0);
    arranged.send = (to, bytes, offset, length) => {
      reflected = Buffer.from(bytes.subarray(offset, offset + length));
      send(to, bytes, offset, length);
    };
    hearer.speak();
    const { nonce } = speaker.take()[0]!;
    expect(unseal(GCM, speaker.key, reflected, 12)).toBeInstanceOf(Buffer);
    const suffix = Buffer.alloc(4);
    suffix.writeUInt32BE(nonce);
    speaker.transmit(speaker.packet(rtp(speaker.ssrc, 1, 1), Buffer.from('x'), suffix));
    expect(arranged.drops.replayed).toBe(1);
  });
});

describe('addresses', () => {
  const discovery = (ssrc: number) => {
    const request = Buffer.alloc(74);
    request.writeUInt32BE(0x0001_0046, 0);
    request.writeUInt32BE(ssrc, 4);
    return request;
  };
  const silent = (arranged: Arranged) => {
    const client = arranged.client();
    arranged.forwarder.disconnect(client.ssrc);
    return client;
  };
  const transport = (key: Uint8Array, claimed: { address: string; port: number } | null) =>
    ({ mode: GCM, key, claimed, resume: null }) as const;

  test('are returned to a discovery request in as many bytes as it has', () => {
    const arranged = new Arranged();
    const client = silent(arranged);
    const request = discovery(client.ssrc);
    arranged.forwarder.handleUdp(request, 74, { address: '192.0.2.77', port: 77 }, 0);
    const [{ to, bytes }] = arranged.astray as [(typeof arranged.astray)[0]];
    expect(to).toEqual({ address: '192.0.2.77', port: 77 });
    expect(bytes).toHaveLength(74);
    expect(bytes.readUInt32BE(0)).toBe(0x0002_0046);
    expect(bytes.readUInt32BE(4)).toBe(client.ssrc);
    expect(bytes.subarray(8, 19).toString('latin1')).toBe('192.0.2.77\0');
    expect(bytes.readUInt16BE(72)).toBe(77);
    arranged.forwarder.handleUdp(discovery(4711), 74, to, 0);
    expect(arranged.astray).toHaveLength(1);
    for (let times = 0; times < 100; times += 1) arranged.forwarder.handleUdp(request, 74, to, 0);
    expect(arranged.astray.length).toBeLessThan(30);
    expect(arranged.drops.rate_limited).toBeGreaterThan(50);
  });

  test('are returned once to a discovery request up to a second before the member joins', () => {
    const { forwarder, astray } = new Arranged();
    const asker = { address: '192.0.2.78', port: 78 };
    const join = (ssrc: number, atMs: number) =>
      forwarder.join('call', { ssrc, userId: '1', layers: [] }, atMs);
    forwarder.handleUdp(discovery(4711), 74, asker, 0);
    forwarder.handleUdp(discovery(4712), 74, asker, 0);
    join(4711, 1_000);
    expect(astray.map(({ to, bytes }) => [to, bytes.readUInt32BE(0), bytes.readUInt32BE(4)])).toEqual([
      [asker, 0x0002_0046, 4711],
    ]);
    join(4712, 1_001);
    join(4711, 1_001);
    expect(astray).toHaveLength(1);
  });

  test('are pending for the last 64 early requests only', () => {
    const { forwarder, astray } = new Arranged();
    const ssrcs = Array.from({ length: 65 }, (_, at) => 5_000 + at);
    for (const ssrc of ssrcs)
      forwarder.handleUdp(discovery(ssrc), 74, { address: `192.0.2.${ssrc % 200}`, port: ssrc }, 0);
    for (const ssrc of ssrcs) forwarder.join('call', { ssrc, userId: '1', layers: [] }, 0);
    expect(astray.map(({ to }) => to.port)).toEqual(ssrcs.slice(1));
  });

  test('are accepted for a listener only when a discovery packet came from them', () => {
    const arranged = new Arranged();
    const [speaker, listener] = [arranged.client(), silent(arranged)];
    const { forwarder } = arranged;
    const victim = { address: '203.0.113.1', port: 53 };
    forwarder.handleUdp(discovery(listener.ssrc), 74, listener.at, 0);
    forwarder.connectUdp(listener.ssrc, transport(listener.key, victim), 0);
    arranged.astray.length = 0;
    speaker.speak();
    expect(arranged.astray).toEqual([]);
    expect(listener.heard).toEqual([]);
    forwarder.connectUdp(listener.ssrc, transport(listener.key, listener.at), 0);
    speaker.speak();
    expect(listener.take()).toHaveLength(1);
    // A later discovery packet from elsewhere does not change the address.
    forwarder.handleUdp(discovery(listener.ssrc), 74, victim, 0);
    arranged.astray.length = 0;
    speaker.speak();
    expect(arranged.astray).toEqual([]);
  });

  test('are reported unreachable once per silence, which only a keepalive from them ends', () => {
    const arranged = new Arranged();
    const client = arranged.client();
    arranged.forget();
    const keepalive = (from = client.at) =>
      arranged.forwarder.handleUdp(Buffer.alloc(8), 8, from, arranged.nowMs);
    arranged.advance(10_000);
    keepalive();
    arranged.advance(10_000);
    keepalive({ address: '192.0.2.99', port: 1 });
    expect(arranged.events).toEqual([]);
    arranged.advance(10_000);
    arranged.advance(10_000);
    expect(arranged.events).toEqual([{ type: 'unreachable', ssrc: client.ssrc }]);
    keepalive();
    arranged.advance(20_000);
    expect(arranged.events).toHaveLength(2);
  });

  test('receive a pong with the number of their ping', () => {
    const arranged = new Arranged();
    arranged.forwarder.handleUdp(
      Buffer.from('1337cafe00000005', 'hex'),
      8,
      { address: '192.0.2.9', port: 9 },
      0,
    );
    expect(arranged.astray[0]?.bytes.toString('hex')).toBe('1337f00d00000005');
  });
});

describe('nonces', () => {
  test('are never reused, and continue above all used nonces after a restart', () => {
    const arranged = new Arranged();
    const [speaker, hearer] = [arranged.client(), arranged.client()];
    arranged.forget();
    for (let sent = 0; sent < 300; sent += 1) speaker.speak();
    const used = new Set(hearer.take().map(({ nonce }) => nonce));
    expect(used.size).toBe(300);
    const [, report] = arranged.forwarder.nonces();
    const successor = new Arranged();
    for (const client of [speaker, hearer]) {
      successor.clients.set(client.ssrc, client);
      successor.forwarder.join('call', { ssrc: client.ssrc, userId: '1', layers: [] }, successor.nowMs);
      successor.forwarder.setGate(client.ssrc, OPEN);
    }
    const [ofSpeaker] = arranged.forwarder.nonces();
    const transport = { mode: GCM, claimed: null } as const;
    successor.forwarder.connectUdp(speaker.ssrc, { ...transport, key: speaker.key, resume: ofSpeaker! }, 0);
    successor.forwarder.connectUdp(hearer.ssrc, { ...transport, key: hearer.key, resume: report! }, 0);
    const old = speaker.packet(rtp(speaker.ssrc, 1, 1), Buffer.from('x'), Buffer.of(0, 0, 0, 9));
    successor.forwarder.handleUdp(old, old.length, speaker.at, 0);
    expect(successor.drops.replayed).toBe(1);
    const next = speaker.packet(rtp(speaker.ssrc, 400, 1), Buffer.from('x'));
    successor.forwarder.handleUdp(next, next.length, speaker.at, 0);
    const [heard] = hearer.take();
    expect(used.has(heard!.nonce)).toBe(false);
  });

  test('are reported as exhausted once when half of them are used', () => {
    const arranged = new Arranged();
    const [speaker, hearer] = [arranged.client(), arranged.client()];
    const [, report] = arranged.forwarder.nonces();
    const key = randomBytes(32);
    hearer.key.set(key);
    const resume = { ...report!, sent: 2 ** 29 - 2 ** 20 - 2, received: null };
    arranged.forwarder.connectUdp(hearer.ssrc, { mode: GCM, key, claimed: null, resume }, 0);
    arranged.forget();
    speaker.speak();
    expect(arranged.events).toEqual([{ type: 'speaking', ssrc: speaker.ssrc }]);
    speaker.speak();
    speaker.speak();
    expect(arranged.events.slice(1)).toEqual([{ type: 'exhausted', ssrc: hearer.ssrc }]);
    expect(hearer.take()).toHaveLength(3);
  });
});

test('packets that the system has not sent yet are not overwritten', () => {
  const arranged = new Arranged();
  const [speaker, ...hearers] = Array.from({ length: 61 }, () => arranged.client(XCHACHA)) as [
    Client,
    ...Client[],
  ];
  arranged.forget();
  const waiting: (() => void)[] = [];
  const send = arranged.send.bind(arranged);
  arranged.send = (to, bytes, offset, length) => {
    waiting.push(() => send(to, bytes, offset, length));
  };
  const payload = speaker.speak();
  for (const sendNow of waiting) sendNow();
  for (const hearer of hearers) expect(hearer.take().map((heard) => heard.payload)).toEqual([payload]);
});

test('a closed call keeps no members and ignores orders for them', () => {
  const arranged = new Arranged();
  const { forwarder } = arranged;
  const [speaker, hearer] = [arranged.client(), arranged.client('peer')];
  speaker.speak();
  arranged.forget();
  forwarder.close('call');
  forwarder.close('call');
  forwarder.join('call', { ssrc: 1, userId: '1', layers: [] }, 0);
  for (const ssrc of [speaker.ssrc, 1]) {
    forwarder.setGate(ssrc, OPEN);
    forwarder.connectPeer(ssrc, 0);
    forwarder.connectUdp(ssrc, { mode: GCM, key: speaker.key, claimed: null, resume: null }, 0);
  }
  speaker.speak();
  hearer.speak();
  expect(arranged.drops.unknown).toBe(2);
  expect(arranged.events).toEqual([{ type: 'silent', ssrc: speaker.ssrc }]);
  expect([forwarder.nonces(), [...forwarder.members()]]).toEqual([[], []]);
});

test('metrics count lost packets', () => {
  const arranged = new Arranged();
  const [speaker] = [arranged.client(), arranged.client('peer')];
  for (const sequence of [1, 2, 3, 5, 6, 7, 8, 9]) {
    arranged.nowMs += 20;
    speaker.send(rtp(speaker.ssrc, sequence, sequence * 960), Buffer.from('x'));
  }
  const [metrics, other] = arranged.forwarder.members().get('call')!;
  expect(metrics).toMatchObject({ transport: 'udp', packetsIn: 9, packetsOut: 0, loss: expect.closeTo(0.1) });
  expect(metrics?.jitterMs).toBeGreaterThan(0);
  expect(other).toMatchObject({ transport: 'webrtc', packetsIn: 0, packetsOut: 8 });
});
