// Goal: clients written from the description alone call each other over every transport mode, end-to-end encrypted, come
// back after a cut, and are refused for what the description says is refused.
import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { TRANSPORT_MODES, type TransportMode, VOICE_OP } from '../../protocol/voice.ts';
import { GatewayClient } from '../support/gateway-client.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { joinChannel, VoiceClient, type VoiceTicket } from '../support/voice-client.ts';
import { VoiceDave } from '../support/voice-dave.ts';
import { VoiceUdp } from '../support/voice-rtp.ts';

let server: TestServer;
const closers: (() => unknown)[] = [];
beforeAll(async () => {
  server = await startServer({ bots: 3 });
});
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});
afterAll(() => server?.finish());

const dialect = () => ({ caFile: server.info.ca_file });

async function ticketOf(bot: number): Promise<{ gateway: GatewayClient; ticket: VoiceTicket }> {
  const { gateway: url, bots, guild } = server.info;
  const gateway = await GatewayClient.ready(url, { token: bots[bot]!.token });
  closers.push(() => gateway.close());
  return { gateway, ticket: await joinChannel(gateway, guild.id, guild.voice_channel_id) };
}

/** A bot in the call, with media and DAVE. */
async function caller(bot: number, mode: TransportMode = TRANSPORT_MODES[0]) {
  const { gateway, ticket } = await ticketOf(bot);
  const { client, ready } = await VoiceClient.ready(ticket, dialect(), { max_dave_protocol_version: 1 });
  const dave = new VoiceDave(client, ticket.userId, ticket.channelId);
  const udp = await VoiceUdp.open(ready);
  closers.push(
    () => udp.close(),
    () => client.close(),
  );
  const description = await client.selectUdp(await udp.discover(), mode);
  udp.use(description.mode, Uint8Array.from(description.secret_key));
  return { gateway, ticket, client, ready, dave, udp, description };
}

const agreed = (...callers: { dave: VoiceDave }[]) =>
  expect
    .poll(() => new Set(callers.map(({ dave }) => (dave.ready ? dave.privacyCode : Math.random()))).size, {
      timeout: 10_000,
    })
    .toBe(1);

describe('a call', () => {
  test('delivers each frame unchanged, in every encryption mode', async () => {
    const a = await caller(0, 'aead_aes256_gcm_rtpsize');
    const b = await caller(1, 'aead_xchacha20_poly1305_rtpsize');
    await agreed(a, b);
    expect(a.dave.privacyCode).toMatch(/^\d{30}$/);
    for (const [from, to] of [
      [a, b],
      [b, a],
    ] as const) {
      from.client.speak(from.ready.ssrc);
      const told = await to.client.waitFor(VOICE_OP.SPEAKING, ({ d }) => d.speaking === 1);
      expect(told.d).toMatchObject({ ssrc: from.ready.ssrc, user_id: from.ticket.userId });
      const spoken = Array.from({ length: 20 }, () => randomBytes(80));
      // A first packet gives the server the client's address.
      to.udp.sendOpus(Uint8Array.of(0xf8, 0xff, 0xfe));
      for (const frame of spoken) from.udp.sendOpus(from.dave.encrypt(frame));
      await expect
        .poll(
          () =>
            to.udp.rtp.filter(({ ssrc, payload }) => ssrc === from.ready.ssrc && payload.length > 3).length,
        )
        .toBe(20);
      const heard = to.udp.rtp
        .filter(({ ssrc, payload }) => ssrc === from.ready.ssrc && payload.length > 3)
        .map(({ payload }) => to.dave.decrypt(from.ticket.userId, payload));
      expect(heard).toEqual(spoken);
    }
  });

  test('continues for a client that resumes; it receives op 9 and the missed frames', async () => {
    const a = await caller(0);
    const b = await caller(1);
    await agreed(a, b);
    const { seq } = a.client;
    await a.client.terminate();
    b.client.speak(b.ready.ssrc);
    const again = await VoiceClient.connect(a.ticket.endpoint, dialect());
    closers.push(() => again.close());
    again.resume(a.ticket, seq);
    await again.waitFor(VOICE_OP.RESUMED);
    const missed = await again.waitFor(VOICE_OP.SPEAKING);
    expect(missed).toMatchObject({ seq: seq + 1, d: { user_id: b.ticket.userId } });
    const frame = randomBytes(60);
    a.udp.sendOpus(a.dave.encrypt(frame));
    b.udp.sendOpus(b.dave.encrypt(frame));
    await Promise.all([a.udp.nextRtp(), b.udp.nextRtp()]);
  });

  test('closes the connection of a leaving client with 4014, and notifies the others', async () => {
    const a = await caller(0);
    const b = await caller(1);
    a.gateway.send(4, {
      guild_id: server.info.guild.id,
      channel_id: null,
      self_mute: false,
      self_deaf: false,
    });
    expect((await a.client.closed).code).toBe(4014);
    const gone = await b.client.waitFor(VOICE_OP.CLIENT_DISCONNECT);
    expect(gone.d).toEqual({ user_id: a.ticket.userId });
  });
});

describe('a client', () => {
  test.each([
    ['with a token of its own', { token: 'forged' }, 4004],
    ['without end-to-end encryption', { max_dave_protocol_version: 0 }, 4017],
  ])('%s', async (_, more, code) => {
    const { ticket } = await ticketOf(2);
    const client = await VoiceClient.connect(ticket.endpoint, dialect());
    client.identify(ticket, { max_dave_protocol_version: 1, ...more });
    expect((await client.closed).code).toBe(code);
  });

  const select = (mode: string) => ({ protocol: 'udp', data: { address: '127.0.0.1', port: 9, mode } });
  test.each<[object, number]>([
    [select('xsalsa20_poly1305'), 4016],
    [select('xsalsa20_poly1305_suffix'), 4016],
    [select('xsalsa20_poly1305_lite'), 4016],
    [select('xsalsa20_poly1305_lite_rtpsize'), 4016],
    [select('aead_aes256_gcm'), 4016],
    [{ protocol: 'quic', data: {} }, 4012],
    [{ protocol: 'udp', data: {} }, 4020],
  ])('is refused for %j', async (selected, code) => {
    const { ticket } = await ticketOf(2);
    const { client } = await VoiceClient.ready(ticket, dialect(), { max_dave_protocol_version: 1 });
    client.send(VOICE_OP.SELECT_PROTOCOL, selected);
    expect((await client.closed).code).toBe(code);
  });

  test.each([[null], [''], [1], [3], [10], ['8.0'], ['x']])('is refused for v=%s', async (v) => {
    const { endpoint } = server.info.voice!;
    const client = VoiceClient.dial(endpoint, { ...dialect(), v });
    expect((await client.closed).code).toBe(4012);
    expect(client.received).toEqual([]);
  });

  test('is closed with 4006 when it resumes an unknown session', async () => {
    const { ticket } = await ticketOf(2);
    const client = await VoiceClient.connect(ticket.endpoint, dialect());
    client.resume({ ...ticket, sessionId: 'none' }, 3);
    expect((await client.closed).code).toBe(4006);
  });

  test('gets no answer without TLS on the voice port', async () => {
    const { endpoint } = server.info.voice!;
    expect((await VoiceClient.dial(endpoint, { caFile: null }).closed).code).toBe(1006);
  });
});

test('the voice gateway is served on the main port too, under /voice', async () => {
  const { ticket } = await ticketOf(2);
  const endpoint = `${new URL(server.info.gateway).host}/voice`;
  const { ready } = await VoiceClient.ready(
    { ...ticket, endpoint },
    { caFile: null },
    { max_dave_protocol_version: 1 },
  );
  expect(ready.modes).toEqual(TRANSPORT_MODES);
});
