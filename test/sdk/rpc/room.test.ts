// Goal: a voice-room page that knows the secret carries out the voice commands of applications; no other page does, and none of another person.
import { createHmac } from 'node:crypto';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { RPC_OP } from '../../../protocol/rpc.ts';
import { RpcHost } from '../../../sdk/rpc/host.ts';
import { challengeOf, type FromRoom } from '../../../sdk/rpc/roomlink.ts';
import { VOICE_DEFAULTS } from '../../../sdk/rpc/voicesettings.ts';
import { APPLICATION, ME, PEER, ScriptedServer } from '../../support/sdk.ts';

const [GUILD, CHANNEL, SECOND] = ['31', '41', '42'];
const NONCE = 'ab'.repeat(16);
type Json = Readonly<Record<string, unknown>>;

let server: ScriptedServer;
let host: RpcHost;
let nowMs: number;

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  nowMs = 0;
  server = new ScriptedServer();
  server.answer(`GET /applications/${APPLICATION}/rpc`, () => ({ body: { id: APPLICATION, name: 'Game' } }));
  for (const id of [CHANNEL, SECOND])
    server.answer(`GET /channels/${id}`, () => ({ body: { id, type: 2, guild_id: GUILD } }));
  const { os, openSocket, fetch } = server.host();
  host = new RpcHost({
    ...{ api: 'http://server.test/api', gatewayUrl: 'ws://server.test', token: 'own', os, fetch },
    ...{ open: openSocket, nowMs: () => nowMs, ended: () => undefined, audio: null },
    page: { locale: 'en', confirm: async () => true, openExternal: () => true, consent: async () => true },
  });
  server.welcome({ guilds: [{ id: GUILD, name: 'Hall', icon: null, voice_states: [], members: [] }] });
  await host.started();
  return () => {
    host.close();
    vi.useRealTimers();
  };
});

const secretOf = () => /\.([0-9a-f]{32})$/.exec(host.room.linkFor('http://server.test', 6463))![1]!;
const sign = (text: string, secret = secretOf()) => createHmac('sha256', secret).update(text).digest('hex');

function openPage() {
  const got: Json[] = [];
  const closed: string[] = [];
  const link = host.room.connect({
    send: (text) => void got.push(JSON.parse(text) as Json),
    close: (code, reason) => void closed.push(`${code} ${reason}`),
  });
  return {
    ...{ got, closed, link },
    say: (message: FromRoom | Json) => link.receive(JSON.stringify(message)),
    last: () => got.at(-1),
  };
}

/** A page that has proved that it knows the secret. */
function linkedPage(userId: string = ME) {
  const page = openPage();
  page.say({ op: 'hello', nonce: NONCE });
  const { nonce } = page.last() as { nonce: string };
  page.say({ op: 'proof', proof: sign(challengeOf('page', nonce)), user_id: userId });
  return page;
}

/** An application with the scopes of voice, by a socket of its own. */
async function game() {
  const frames: Json[] = [];
  const connection = host.connect({
    ...{ kind: 'ipc', origin: null, closed: () => undefined },
    send: (_, data) => void frames.push(data as Json),
  });
  let nonces = 0;
  const settle = async () => {
    for (let n = 0; n < 8; n += 1) await new Promise((resolve) => setImmediate(resolve));
  };
  const ask = async (cmd: string, args: object = {}, evt?: string) => {
    const nonce = String(++nonces);
    connection.receive(RPC_OP.FRAME, { cmd, args, nonce, ...(evt && { evt }) });
    await settle();
    return frames.find((one) => one.nonce === nonce) ?? {};
  };
  connection.receive(RPC_OP.HANDSHAKE, { v: 1, client_id: APPLICATION });
  await settle();
  const body = { application: { id: APPLICATION }, scopes: ['rpc', 'rpc.voice.write'], user: { id: ME } };
  server.answer('GET /oauth2/@me', () => ({ body }));
  await ask('AUTHENTICATE', { access_token: 't' });
  const heard = (event: string) => frames.filter(({ evt }) => evt === event).map(({ data }) => data);
  return { ask, heard, lost: () => connection.lost() };
}

const devices = (...ids: string[]) => ({
  ...{ available_devices: ids.map((id) => ({ id, name: `Device ${id}` })), device_id: ids[0], volume: 100 },
});
const settings = { ...VOICE_DEFAULTS, input: devices('default', 'usb'), output: devices('default') };
const voiceOf = (channelId: string | null, session: string) => ({
  ...{ user_id: ME, channel_id: channelId, guild_id: GUILD, session_id: session },
  member: { user: { id: ME, username: 'me' } },
});

describe('a page', () => {
  test('is linked after both sides have proved that they know the secret', () => {
    const page = openPage();
    page.say({ op: 'hello', nonce: NONCE });
    expect(page.last()).toMatchObject({ op: 'challenge', proof: sign(challengeOf('helper', NONCE)) });
    expect([page.link.isProved(), host.room.isLinked]).toEqual([false, false]);
    const { nonce } = page.last() as { nonce: string };
    page.say({ op: 'proof', proof: sign(challengeOf('page', nonce)), user_id: ME });
    expect([page.link.isProved(), host.room.isLinked, page.closed]).toEqual([true, true, []]);
  });

  test.each([
    [
      'another secret',
      (nonce: string) => ({ proof: sign(challengeOf('page', nonce), 'other'), user_id: ME }),
    ],
    [
      'the proof of the other side',
      (nonce: string) => ({ proof: sign(challengeOf('helper', nonce)), user_id: ME }),
    ],
    ['no proof', () => ({ user_id: ME })],
    ['the proof for another nonce', () => ({ proof: sign(challengeOf('page', NONCE)), user_id: ME })],
    ['another user', (nonce: string) => ({ proof: sign(challengeOf('page', nonce)), user_id: PEER })],
  ])('is refused with %s', (_, proofFor) => {
    const page = openPage();
    page.say({ op: 'hello', nonce: NONCE });
    const { nonce } = page.last() as { nonce: string };
    page.say({ op: 'proof', ...proofFor(nonce) });
    expect(page.closed).toEqual([expect.stringMatching(/^1008 /)]);
    // The right proof comes too late.
    page.say({ op: 'proof', proof: sign(challengeOf('page', nonce)), user_id: ME });
    expect([page.closed.length, host.room.isLinked]).toEqual([1, false]);
  });

  test.each([
    ['settings before the proof', JSON.stringify({ op: 'settings', settings })],
    ['a short nonce', JSON.stringify({ op: 'hello', nonce: 'ab' })],
    ['a list', '[]'],
    ['no JSON', '{'],
  ])('is refused without a response when it sends %s first', (_, text) => {
    const page = openPage();
    page.link.receive(text);
    expect([page.got, page.closed.length, host.room.isLinked]).toEqual([[], 1, false]);
  });

  test('replaces the previous page, whose disconnect changes nothing', () => {
    const [first, second] = [linkedPage(), linkedPage()];
    expect(first.closed).toEqual(['1008 Another page has been linked.']);
    first.link.lost();
    expect(host.room.isLinked).toBe(true);
    second.link.lost();
    expect(host.room.isLinked).toBe(false);
  });

  test.each([
    { op: 'speaking', channel_id: 'x', user_id: ME, speaking: true },
    { op: 'connection', state: 'ELSEWHERE', ping: null },
    { op: 'settings', settings: { ...settings, input: { ...settings.input, device_id: 'gone' } } },
    { op: 'settings', settings: { ...settings, input: { available_devices: Array(65).fill({}) } } },
    { op: 'settings', settings: { ...settings, mute: 'yes' } },
    { op: 'anything' },
  ])('is disconnected when it is linked and sends $op wrongly', (message) => {
    const page = linkedPage();
    page.say(message);
    expect([page.closed.length, host.room.isLinked]).toEqual([1, false]);
  });

  test('may send 600 messages in 5 seconds and is disconnected after one more', () => {
    const page = linkedPage();
    const speaking = { op: 'speaking', channel_id: CHANNEL, user_id: ME, speaking: true };
    for (let n = 2; n < 600; n += 1) page.say(speaking);
    expect(page.closed).toEqual([]);
    page.say(speaking);
    expect(page.closed).toEqual(['1008 The page sends too much.']);
    const later = linkedPage();
    for (let n = 0; n < 1_200; n += 1) {
      if (n % 500 === 0) nowMs += 5_000;
      later.say(speaking);
    }
    expect(later.closed).toEqual([]);
  });
});

describe('an application, while a page is linked,', () => {
  test('moves the page into a voice channel and out of it, and not the session of the helper', async () => {
    const page = linkedPage();
    const { ask } = await game();
    expect(await ask('SELECT_VOICE_CHANNEL', { channel_id: CHANNEL })).toMatchObject({
      data: { id: CHANNEL },
    });
    expect(page.last()).toEqual({ op: 'select', guild_id: GUILD, channel_id: CHANNEL });
    server.dispatch('VOICE_STATE_UPDATE', voiceOf(CHANNEL, 'of the page'));
    expect(await ask('SELECT_VOICE_CHANNEL', { channel_id: SECOND })).toMatchObject({ data: { code: 5003 } });
    expect(await ask('SELECT_VOICE_CHANNEL', { channel_id: null })).toMatchObject({ data: null });
    expect(page.last()).toEqual({ op: 'leave' });
    expect(server.sent(4)).toEqual([]);
  });

  test('changes settings, volumes and key of the page’s call; the settings end when it disconnects', async () => {
    const page = linkedPage();
    page.say({ op: 'settings', settings });
    const { ask, lost } = await game();
    expect(await ask('SET_VOICE_SETTINGS', { mute: true, input: { device_id: 'usb' } })).toMatchObject({
      data: { mute: true, input: { device_id: 'usb' } },
    });
    expect(page.last()).toMatchObject({
      op: 'settings',
      settings: { mute: true, input: { device_id: 'usb' } },
    });
    expect(await ask('SET_VOICE_SETTINGS', { input: { device_id: 'gone' } })).toMatchObject({ evt: 'ERROR' });
    await ask('SET_USER_VOICE_SETTINGS', { user_id: PEER, volume: 50 });
    expect(page.last()).toEqual({ op: 'user', user_id: PEER, gain: 0.5 });
    await ask('PUSH_TO_TALK', { active: true });
    expect(page.last()).toEqual({ op: 'hold', active: true });
    lost();
    expect(page.got.slice(-2)).toMatchObject([
      { op: 'hold', active: false },
      { op: 'settings', settings: { mute: false } },
    ]);
    expect(server.sent(4)).toEqual([]);
  });

  test('receives changes that the user makes in the page, which remain when it disconnects', async () => {
    const page = linkedPage();
    page.say({ op: 'settings', settings });
    const { ask, heard, lost } = await game();
    await ask('SUBSCRIBE', {}, 'VOICE_SETTINGS_UPDATE');
    await ask('SET_VOICE_SETTINGS', { deaf: true });
    page.say({ op: 'settings', settings: { ...settings, deaf: true, mute: true } });
    page.say({ op: 'settings', settings: { ...settings, deaf: true, mute: true } });
    expect(heard('VOICE_SETTINGS_UPDATE')).toMatchObject([
      { deaf: true, mute: false },
      { deaf: true, mute: true },
    ]);
    lost();
    expect(page.last()).toMatchObject({ op: 'settings', settings: { deaf: false, mute: true } });
  });

  test('receives speakers and connection states of the page’s call, and the end of the page', async () => {
    const page = linkedPage();
    const { ask, heard } = await game();
    for (const event of ['SPEAKING_START', 'SPEAKING_STOP', 'VOICE_CONNECTION_STATUS'])
      await ask('SUBSCRIBE', {}, event);
    page.say({ op: 'connection', state: 'VOICE_CONNECTED', ping: 12 });
    page.say({ op: 'speaking', channel_id: CHANNEL, user_id: PEER, speaking: true });
    page.say({ op: 'speaking', channel_id: CHANNEL, user_id: PEER, speaking: false });
    page.link.lost();
    expect(heard('SPEAKING_START')).toEqual([{ channel_id: CHANNEL, user_id: PEER }]);
    expect(heard('SPEAKING_STOP')).toEqual([{ channel_id: CHANNEL, user_id: PEER }]);
    expect(heard('VOICE_CONNECTION_STATUS')).toMatchObject([
      { state: 'VOICE_CONNECTED', hostname: 'server.test', last_ping: 12, pings: [{ value: 12 }] },
      { state: 'DISCONNECTED', pings: [] },
    ]);
    expect(await ask('GET_VOICE_SETTINGS')).toMatchObject({ data: VOICE_DEFAULTS });
  });
});

test('voice settings do not change a call that the user joined in another client', async () => {
  const { ask } = await game();
  server.dispatch('VOICE_STATE_UPDATE', voiceOf(CHANNEL, 'of a browser'));
  await ask('SET_VOICE_SETTINGS', { mute: true });
  expect(server.sent(4)).toEqual([]);
  server.dispatch('VOICE_STATE_UPDATE', voiceOf(CHANNEL, 'session-1'));
  await ask('SET_VOICE_SETTINGS', { mute: true });
  expect(server.sent(4)).toEqual([
    { guild_id: GUILD, channel_id: CHANNEL, self_mute: true, self_deaf: false },
  ]);
});
