// Goal: in the channel that the helper has joined, applications hear who speaks, and hold the key to talk.
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { OP } from '../../../protocol/opcodes.ts';
import { RPC_OP } from '../../../protocol/rpc.ts';
import { VOICE_CLOSE, VOICE_OP } from '../../../protocol/voice.ts';
import { RpcHost } from '../../../sdk/rpc/host.ts';
import { APPLICATION, ME, PEER, ScriptedServer, SILENCE } from '../../support/sdk.ts';
import { ScriptedMedia } from '../call/scripted.ts';

const [GUILD, CHANNEL] = ['31', '41'];
type Frame = {
  readonly evt?: string | null;
  readonly nonce?: string | null;
  readonly data?: Record<string, unknown>;
};

let server: ScriptedServer;
let host: RpcHost;
let medias: ScriptedMedia[];
let frames: Frame[];
let lose: () => void;
let ask: (cmd: string, args?: object, evt?: string) => Promise<Frame>;

const heard = (event: string) => frames.filter(({ evt }) => evt === event).map(({ data }) => data);
/** The gateway's connection is the first, that of a call the latest. */
const gateway = () => server.sockets[0]!;
const voice = (op: number, d: object = {}) => server.socket.events.message(JSON.stringify({ op, d }));
let seq = 100;
const dispatch = (t: string, d: object) =>
  gateway().events.message(JSON.stringify({ op: 0, s: ++seq, t, d }));
const stateOf = (userId: string, channelId: string | null, session = 'session-1') => ({
  ...{ user_id: userId, channel_id: channelId, guild_id: GUILD, session_id: session },
  member: { user: { id: userId, username: 'x' } },
});
const ticket = (endpoint: string | null = 'voice.test') =>
  dispatch('VOICE_SERVER_UPDATE', { guild_id: GUILD, endpoint, token: 'ticket' });

/** The gateway and the voice server let the helper in. */
async function letIn(): Promise<void> {
  dispatch('VOICE_STATE_UPDATE', stateOf(ME, CHANNEL));
  ticket();
  await vi.advanceTimersByTimeAsync(0);
  voice(VOICE_OP.HELLO, { heartbeat_interval: 5_000 });
  voice(VOICE_OP.READY, { ssrc: 7 });
  voice(VOICE_OP.SESSION_DESCRIPTION);
}

/** An application that has authenticated; `ask` and `lose` are its own. */
async function connect(): Promise<void> {
  const connection = host.connect({
    ...{ kind: 'ipc', origin: null, closed: () => undefined },
    send: (_, data) => void frames.push(data as Frame),
  });
  lose = () => connection.lost();
  let nonces = 0;
  ask = async (cmd, args = {}, evt) => {
    const nonce = String(++nonces);
    connection.receive(RPC_OP.FRAME, { cmd, args, nonce, ...(evt && { evt }) });
    await vi.advanceTimersByTimeAsync(1);
    return frames.find((one) => one.nonce === nonce) ?? {};
  };
  connection.receive(RPC_OP.HANDSHAKE, { v: 1, client_id: APPLICATION });
  await vi.advanceTimersByTimeAsync(1);
  await ask('AUTHENTICATE', { access_token: 't' });
}

beforeEach(async () => {
  vi.useFakeTimers();
  [server, medias, frames] = [new ScriptedServer(), [], []];
  server.answer(`GET /applications/${APPLICATION}/rpc`, () => ({ body: { id: APPLICATION, name: 'Game' } }));
  server.answer('GET /oauth2/@me', () => ({
    body: {
      application: { id: APPLICATION },
      scopes: ['rpc', 'rpc.voice.write'],
      expires: 'x',
      user: { id: ME },
    },
  }));
  const { os, openSocket, fetch } = server.host();
  host = new RpcHost({
    ...{ api: 'http://server.test/api', gatewayUrl: 'ws://server.test', token: 'own', os, fetch },
    ...{ open: openSocket, nowMs: () => performance.now(), ended: () => undefined },
    audio: {
      ...SILENCE,
      open: (options) => {
        medias.push(new ScriptedMedia(options));
        return medias.at(-1)!;
      },
    },
    page: { locale: 'en', confirm: async () => true, openExternal: () => true, consent: async () => true },
  });
  server.welcome({ guilds: [{ id: GUILD, name: 'Hall', voice_states: [], members: [] }] });
  await host.started();
  await connect();
  await ask('SUBSCRIBE', {}, 'VOICE_CONNECTION_STATUS');
});
afterEach(() => {
  host.close();
  vi.useRealTimers();
});

describe('the call of the helper', () => {
  test('sends speakers to applications, for one channel or for any', async () => {
    await ask('SUBSCRIBE', { channel_id: CHANNEL }, 'SPEAKING_START');
    await ask('SUBSCRIBE', {}, 'SPEAKING_STOP');
    await letIn();
    medias[0]!.loud.set(PEER, 0.5);
    await vi.advanceTimersByTimeAsync(100);
    medias[0]!.loud.clear();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(heard('SPEAKING_START')).toEqual([{ channel_id: CHANNEL, user_id: PEER }]);
    expect(heard('SPEAKING_STOP')).toEqual([{ channel_id: CHANNEL, user_id: PEER }]);
  });

  test('sends its connection state to applications', async () => {
    await letIn();
    dispatch('VOICE_STATE_UPDATE', stateOf(ME, null));
    expect(heard('VOICE_CONNECTION_STATUS').map((data) => data?.state)).toEqual([
      ...['AWAITING_ENDPOINT', 'CONNECTING', 'VOICE_CONNECTING', 'VOICE_CONNECTED', 'DISCONNECTED'],
    ]);
    expect(medias[0]!.isClosed).toBe(true);
  });

  test('is not joined for a channel that another session of the user has joined', async () => {
    dispatch('VOICE_STATE_UPDATE', stateOf(ME, CHANNEL, 'of the browser'));
    ticket();
    await vi.advanceTimersByTimeAsync(0);
    expect(server.sockets).toHaveLength(1);
  });

  test('sends audio while the push-to-talk key is held, and not after the application has ended', async () => {
    await letIn();
    await ask('SET_VOICE_SETTINGS', { mode: { type: 'PUSH_TO_TALK', delay: 0 } });
    expect(medias[0]!.isOpen).toBe(false);
    expect(await ask('PUSH_TO_TALK', { active: true })).toMatchObject({ data: null });
    expect(medias[0]!.isOpen).toBe(true);
    expect(await ask('PUSH_TO_TALK', { active: 1 })).toMatchObject({ data: { code: 4000 } });
    lose();
    expect(medias[0]!.isOpen).toBe(false);
    // The key is not held for the next application.
    await connect();
    await ask('SET_VOICE_SETTINGS', { mode: { type: 'PUSH_TO_TALK', delay: 0 } });
    expect(medias[0]!.isOpen).toBe(false);
    host.close();
    expect(medias[0]!.isClosed).toBe(true);
  });

  test('applies the volume of a member, and mute and deaf of the user', async () => {
    await letIn();
    await ask('SET_USER_VOICE_SETTINGS', { user_id: PEER, volume: 50 });
    expect(medias[0]!.gains.get(PEER)).toBe(0.5);
    await ask('SET_USER_VOICE_SETTINGS', { user_id: PEER, mute: true });
    expect(medias[0]!.gains.get(PEER)).toBe(0);
    await ask('SET_VOICE_SETTINGS', { deaf: true });
    expect(medias[0]!.isDeaf).toBe(true);
  });

  test('requests at most five tickets in a row when the voice server keeps ending the session', async () => {
    dispatch('VOICE_STATE_UPDATE', stateOf(ME, CHANNEL));
    for (let n = 0; n < 10; n += 1) {
      ticket();
      await vi.advanceTimersByTimeAsync(0);
      if (server.socket !== gateway()) server.socket.events.closed(VOICE_CLOSE.SESSION_INVALID.code, '');
      await vi.advanceTimersByTimeAsync(10_000);
      dispatch('VOICE_STATE_UPDATE', stateOf(ME, null));
      dispatch('VOICE_STATE_UPDATE', stateOf(ME, CHANNEL));
    }
    const joins = gateway().sent.filter(
      ({ op, d }) => op === OP.VOICE_STATE_UPDATE && (d as { channel_id: unknown }).channel_id === CHANNEL,
    );
    expect(joins).toHaveLength(5);
  });
});
