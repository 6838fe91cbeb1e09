// Goal: players of a game, each with a client of the library in Node, hear each other in a lobby's call, as loud as they
// chose, and stay in it through what the network does.
import { once } from 'node:events';
import { createServer, connect as dial, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AuthorizationTokenType } from '../../sdk/enums.ts';
import { AudioModeType, type Call, CallError, CallStatus, Client, createNodeAudio } from '../../sdk/node.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { shareAt } from '../support/tone.ts';

const RATE_HZ = 48_000;
const CHANNELS = 2;
const RESUME_WINDOW_MS = 1_000;
const soon = { timeout: 15_000, interval: 100 };
/** More than waits to be played. */
const UNDERWAY_MS = 250;
/** How much is listened to. */
const LISTEN_MS = 600;

/** Sound that came, the left channel of it, newest last. */
class Ear {
  #samples: number[] = [];

  hear(samples: Int16Array): void {
    for (let at = 0; at < samples.length; at += CHANNELS) this.#samples.push(samples[at]! / 32_768);
  }

  /** What comes from now on, for a while; not what was on its way already. */
  async listen(): Promise<Float64Array> {
    await sleep(UNDERWAY_MS);
    this.#samples = [];
    await sleep(LISTEN_MS);
    return Float64Array.from(this.#samples);
  }
}

/** A tone without end. */
class Microphone {
  readonly hz: number;
  #at = 0;

  constructor(hz: number) {
    this.hz = hz;
  }

  fill(samples: Int16Array): void {
    for (let at = 0; at < samples.length; at += CHANNELS) {
      samples.fill(8_000 * Math.sin((2 * Math.PI * this.hz * this.#at) / RATE_HZ), at, at + CHANNELS);
      this.#at += 1;
    }
  }
}

/** What players reach the voice gateway through: it can be cut. */
class Cable {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #isCut = false;

  constructor(port: number) {
    this.#server = createServer((from) => {
      if (this.#isCut) {
        from.destroy();
        return;
      }
      const to = dial(port, '127.0.0.1');
      for (const socket of [from, to]) {
        this.#sockets.add(socket);
        socket.on('error', () => {});
        socket.on('close', () => {
          this.#sockets.delete(socket);
          from.destroy();
          to.destroy();
        });
      }
      from.pipe(to).pipe(from);
    });
  }

  async open(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    const address = this.#server.address();
    return `ws://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/voice/`;
  }

  cut(isCut: boolean): void {
    this.#isCut = isCut;
    if (isCut) for (const socket of this.#sockets) socket.destroy();
  }

  close(): void {
    this.cut(true);
    this.#server.close();
  }
}

/** Somebody at a game: their microphone sounds one tone. */
class Player {
  readonly id: string;
  readonly client: Client;
  readonly cable: Cable;
  readonly microphone: Microphone;
  /** Everything that is played to them. */
  readonly speaker: Ear;
  readonly statuses: CallStatus[] = [];

  private constructor(given: Pick<Player, 'id' | 'client' | 'cable' | 'microphone' | 'speaker'>) {
    this.id = given.id;
    this.client = given.client;
    this.cable = given.cable;
    this.microphone = given.microphone;
    this.speaker = given.speaker;
  }

  /** @param asDevice Whether the microphone is one for all calls, or the application fills frames of each. */
  static async open(name: string, hz: number, asDevice: boolean): Promise<Player> {
    const cable = new Cable(server.port);
    const url = await cable.open();
    const speaker = new Ear();
    const microphone = new Microphone(hz);
    const client = new Client({
      apiBase: `${server.info.api}/v10`,
      createAudio: () =>
        createNodeAudio({
          play: (samples) => speaker.hear(samples),
          ...(asDevice && { capture: ({ samples }) => microphone.fill(samples) }),
        }),
      voiceUrl: () => url,
    });
    await client.updateToken(AuthorizationTokenType.Bearer, await tokenOf(name));
    await client.connect();
    return new Player({ id: client.getCurrentUserV2()!.id, client, cable, microphone, speaker });
  }

  start(): Call {
    const call = this.client.startCall(lobbyId);
    call.setStatusChangedCallback((status) => void this.statuses.push(status));
    return call;
  }

  /** The same, with the application between call and devices. @param heard Hears everyone. */
  startBetween(heard: (userId: string, samples: Int16Array) => void): Call {
    const call = this.client.startCallWithAudioCallbacks(
      lobbyId,
      ({ userId, samples }) => heard(userId, samples),
      ({ samples }) => this.microphone.fill(samples),
    );
    call.setStatusChangedCallback((status) => void this.statuses.push(status));
    return call;
  }

  get call(): Call {
    return this.client.getCall(lobbyId)!;
  }

  /** How much of what is played is the other's tone, 0 to 1. */
  async hears(other: Player): Promise<number> {
    return shareAt(await this.speaker.listen(), other.microphone.hz);
  }

  async close(): Promise<void> {
    await this.client.endCalls();
    this.client.destroy();
    this.cable.close();
  }
}

/** A token of a player whom the game's bot vouches for. */
async function tokenOf(name: string): Promise<string> {
  const body = { external_user_id: name };
  return (await server.bot().call<{ access_token: string }>('bot_partner_sdk_token', { body })).access_token;
}

const loudness = (samples: Float64Array): number =>
  Math.sqrt(samples.reduce((sum, sample) => sum + sample * sample, 0) / Math.max(1, samples.length));

let server: TestServer;
let juniper: Player;
let rowan: Player;
let lobbyId: string;

/** Both hear each other. */
async function bothHear(): Promise<void> {
  await expect.poll(() => juniper.hears(rowan), soon).toBeGreaterThan(0.8);
  await expect.poll(() => rowan.hears(juniper), soon).toBeGreaterThan(0.8);
}

beforeAll(async () => {
  server = await startServer({ set: { voice_resume_window_ms: RESUME_WINDOW_MS } });
  [juniper, rowan] = await Promise.all([Player.open('juniper', 440, false), Player.open('rowan', 700, true)]);
  lobbyId = await juniper.client.createOrJoinLobby('the same for both');
  expect(await rowan.client.createOrJoinLobby('the same for both')).toBe(lobbyId);
});

afterAll(async () => {
  await Promise.all([juniper?.close(), rowan?.close()]);
  await server?.finish();
});

describe('two players in a lobby', () => {
  test('are in one call, encrypted end to end, and hear each other', async () => {
    const ear = new Ear();
    const calls = [
      juniper.startBetween((userId, samples) => userId === rowan.id && ear.hear(samples)),
      rowan.start(),
    ];
    await Promise.all(calls.map((call) => call.connected()));
    expect(juniper.statuses).toEqual([
      CallStatus.Connecting,
      CallStatus.SignalingConnected,
      CallStatus.Connected,
    ]);
    await bothHear();
    expect(shareAt(await ear.listen(), rowan.microphone.hz)).toBeGreaterThan(0.8);
    const [one, other] = calls.map((call) => call.getEncryption());
    expect(one).toMatchObject({ ready: true, privacyCode: expect.stringMatching(/^\d{30}$/) });
    expect(other?.privacyCode).toBe(one?.privacyCode);
    for (const call of calls) expect(call.getParticipants().sort()).toEqual([juniper.id, rowan.id].sort());
    expect(juniper.client.getLobbyHandle(lobbyId)?.getCallInfoHandle()?.getParticipants()).toHaveLength(2);
  });

  test('play each other as loud as they choose', async () => {
    const normal = loudness(await rowan.speaker.listen());
    rowan.call.setParticipantVolume(juniper.id, 50);
    expect(loudness(await rowan.speaker.listen()) / normal).toBeCloseTo(0.5, 1);
    rowan.call.setParticipantVolume(juniper.id, 200);
    expect(loudness(await rowan.speaker.listen()) / normal).toBeGreaterThan(1.7);
    rowan.call.setParticipantVolume(juniper.id, 100);
    rowan.client.setOutputVolume(50);
    expect(loudness(await rowan.speaker.listen()) / normal).toBeLessThan(0.7);
    rowan.client.setOutputVolume(100);
  });

  test('who is muted here is not heard here, and knows nothing of it', async () => {
    rowan.call.setLocalMute(juniper.id, true);
    expect(loudness(await rowan.speaker.listen())).toBe(0);
    expect(rowan.call.getVoiceStateHandle(juniper.id)?.selfMute).toBe(false);
    rowan.call.setLocalMute(juniper.id, false);
    await bothHear();
  });

  test('who mutes or deafens themselves is heard by nobody or hears nobody, and all are told', async () => {
    const speaking: string[] = [];
    rowan.call.setSpeakingStatusChangedCallback(
      (userId, speaks) => void speaking.push(`${userId} ${speaks}`),
    );
    juniper.call.setSelfMute(true);
    const state = () => rowan.call.getVoiceStateHandle(juniper.id);
    await expect.poll(() => state()?.selfMute, soon).toBe(true);
    await expect.poll(() => rowan.hears(juniper), soon).toBe(0);
    expect(speaking).toContain(`${juniper.id} false`);
    juniper.call.setSelfMute(false);
    juniper.client.setSelfDeafAll(true);
    await expect.poll(() => state()?.selfDeaf, soon).toBe(true);
    await expect.poll(() => juniper.hears(rowan), soon).toBe(0);
    juniper.client.setSelfDeafAll(false);
    await bothHear();
  });

  test('who talks by key is heard while they hold it', async () => {
    rowan.call.setAudioMode(AudioModeType.MODE_PTT);
    await expect.poll(() => juniper.hears(rowan), soon).toBe(0);
    rowan.call.setPTTActive(true);
    await expect.poll(() => juniper.hears(rowan), soon).toBeGreaterThan(0.8);
    rowan.call.setPTTActive(false);
    await expect.poll(() => juniper.hears(rowan), soon).toBe(0);
    rowan.call.setAudioMode(AudioModeType.MODE_VAD);
    await bothHear();
  });

  test('a connection that breaks is resumed: nobody leaves the call', async () => {
    const code = rowan.call.getEncryption()?.privacyCode;
    juniper.statuses.length = 0;
    juniper.cable.cut(true);
    juniper.cable.cut(false);
    await expect.poll(() => juniper.statuses.at(-1), soon).toBe(CallStatus.Connected);
    expect(juniper.statuses).toEqual([CallStatus.Reconnecting, CallStatus.Connected]);
    await bothHear();
    expect(rowan.call.getEncryption()?.privacyCode).toBe(code);
  });

  test('one that is gone too long enters the call anew', async () => {
    const code = rowan.call.getEncryption()?.privacyCode;
    juniper.statuses.length = 0;
    juniper.cable.cut(true);
    await sleep(3 * RESUME_WINDOW_MS);
    juniper.cable.cut(false);
    await expect.poll(() => juniper.statuses.at(-1), { ...soon, timeout: 40_000 }).toBe(CallStatus.Connected);
    await bothHear();
    expect(rowan.call.getEncryption()?.privacyCode).not.toBe(code);
    expect(juniper.call.getEncryption()?.privacyCode).toBe(rowan.call.getEncryption()?.privacyCode);
  });

  test('another session on the gateway takes the call over', async () => {
    rowan.statuses.length = 0;
    await rowan.client.updateToken(AuthorizationTokenType.Bearer, await tokenOf('rowan'));
    await expect.poll(() => rowan.statuses.at(-1), soon).toBe(CallStatus.Connected);
    expect(rowan.statuses[0]).toBe(CallStatus.Reconnecting);
    await bothHear();
    expect(rowan.call.getParticipants().sort()).toEqual([juniper.id, rowan.id].sort());
  });

  test('who leaves is gone for the other, and may come again', async () => {
    const told: string[] = [];
    rowan.call.setParticipantChangedCallback((userId, isAdded) => void told.push(`${userId} ${isAdded}`));
    await juniper.client.endCall(lobbyId);
    await expect.poll(() => told, soon).toEqual([`${juniper.id} false`]);
    expect(rowan.call.getParticipants()).toEqual([rowan.id]);
    expect(juniper.client.getCalls()).toEqual([]);
    await juniper.startBetween(() => {}).connected();
    await bothHear();
  });

  test('who is put out of the lobby is out of the call', async () => {
    const call = juniper.call;
    let why: CallError = CallError.None;
    call.setStatusChangedCallback((_, error) => {
      why = error;
    });
    const params = { lobby_id: lobbyId, user_id: juniper.id };
    const { status } = await server.bot().ask('delete_lobby_member', { params });
    expect(status).toBe(204);
    await expect.poll(() => call.getStatus(), soon).toBe(CallStatus.Disconnected);
    expect(why).toBe(CallError.Forbidden);
    await expect.poll(() => rowan.call.getParticipants(), soon).toEqual([rowan.id]);
    await expect(juniper.start().connected()).rejects.toThrow('JoinTimeout');
  });
});
