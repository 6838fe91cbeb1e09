// Goal: players of a game, each with a client of the library in Node, hear each other in a lobby's call, as loud as they
// chose, and stay in it through what the network does.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AuthorizationTokenType } from '../../sdk/enums.ts';
import { AudioModeType, CallError, CallStatus } from '../../sdk/node.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { shareAt } from '../support/tone.ts';
import { Ear, loudness, Player, tokenOf } from '../support/voice-player.ts';

const RESUME_WINDOW_MS = 1_000;
const soon = { timeout: 15_000, interval: 100 };

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
  [juniper, rowan] = await Promise.all([
    Player.open(server, 'juniper', 440),
    Player.open(server, 'rowan', 700, true),
  ]);
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
      juniper.startBetween(lobbyId, (userId, samples) => userId === rowan.id && ear.hear(samples)),
      rowan.start(lobbyId),
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

  test('set each other’s playback volume', async () => {
    const normal = loudness(await rowan.speaker.listen());
    rowan.call(lobbyId).setParticipantVolume(juniper.id, 50);
    expect(loudness(await rowan.speaker.listen()) / normal).toBeCloseTo(0.5, 1);
    rowan.call(lobbyId).setParticipantVolume(juniper.id, 200);
    expect(loudness(await rowan.speaker.listen()) / normal).toBeGreaterThan(1.7);
    rowan.call(lobbyId).setParticipantVolume(juniper.id, 100);
    rowan.client.setOutputVolume(50);
    expect(loudness(await rowan.speaker.listen()) / normal).toBeLessThan(0.7);
    rowan.client.setOutputVolume(100);
  });

  test('a locally muted player is not played, and is not notified', async () => {
    rowan.call(lobbyId).setLocalMute(juniper.id, true);
    expect(loudness(await rowan.speaker.listen())).toBe(0);
    expect(rowan.call(lobbyId).getVoiceStateHandle(juniper.id)?.selfMute).toBe(false);
    rowan.call(lobbyId).setLocalMute(juniper.id, false);
    await bothHear();
  });

  test('a muted player is not heard, a deafened one hears nothing, and the others are notified', async () => {
    const speaking: string[] = [];
    rowan
      .call(lobbyId)
      .setSpeakingStatusChangedCallback((userId, speaks) => void speaking.push(`${userId} ${speaks}`));
    juniper.call(lobbyId).setSelfMute(true);
    const state = () => rowan.call(lobbyId).getVoiceStateHandle(juniper.id);
    await expect.poll(() => state()?.selfMute, soon).toBe(true);
    await expect.poll(() => rowan.hears(juniper), soon).toBe(0);
    expect(speaking).toContain(`${juniper.id} false`);
    juniper.call(lobbyId).setSelfMute(false);
    juniper.client.setSelfDeafAll(true);
    await expect.poll(() => state()?.selfDeaf, soon).toBe(true);
    await expect.poll(() => juniper.hears(rowan), soon).toBe(0);
    juniper.client.setSelfDeafAll(false);
    await bothHear();
  });

  test('a player with push-to-talk is heard only while the key is held', async () => {
    rowan.call(lobbyId).setAudioMode(AudioModeType.MODE_PTT);
    await expect.poll(() => juniper.hears(rowan), soon).toBe(0);
    rowan.call(lobbyId).setPTTActive(true);
    await expect.poll(() => juniper.hears(rowan), soon).toBeGreaterThan(0.8);
    rowan.call(lobbyId).setPTTActive(false);
    await expect.poll(() => juniper.hears(rowan), soon).toBe(0);
    rowan.call(lobbyId).setAudioMode(AudioModeType.MODE_VAD);
    await bothHear();
  });

  test('a broken connection is resumed, and no player leaves the call', async () => {
    const code = rowan.call(lobbyId).getEncryption()?.privacyCode;
    juniper.statuses.length = 0;
    juniper.cable.cut(true);
    juniper.cable.cut(false);
    await expect.poll(() => juniper.statuses.at(-1), soon).toBe(CallStatus.Connected);
    expect(juniper.statuses).toEqual([CallStatus.Reconnecting, CallStatus.Connected]);
    await bothHear();
    expect(rowan.call(lobbyId).getEncryption()?.privacyCode).toBe(code);
  });

  test('a connection broken beyond the resume window rejoins the call with a new group', async () => {
    const code = rowan.call(lobbyId).getEncryption()?.privacyCode;
    juniper.statuses.length = 0;
    juniper.cable.cut(true);
    await sleep(3 * RESUME_WINDOW_MS);
    juniper.cable.cut(false);
    await expect.poll(() => juniper.statuses.at(-1), { ...soon, timeout: 40_000 }).toBe(CallStatus.Connected);
    await bothHear();
    expect(rowan.call(lobbyId).getEncryption()?.privacyCode).not.toBe(code);
    expect(juniper.call(lobbyId).getEncryption()?.privacyCode).toBe(
      rowan.call(lobbyId).getEncryption()?.privacyCode,
    );
  });

  test('another session on the gateway takes the call over', async () => {
    rowan.statuses.length = 0;
    await rowan.client.updateToken(AuthorizationTokenType.Bearer, await tokenOf(server, 'rowan'));
    await expect.poll(() => rowan.statuses.at(-1), soon).toBe(CallStatus.Connected);
    expect(rowan.statuses[0]).toBe(CallStatus.Reconnecting);
    await bothHear();
    expect(rowan.call(lobbyId).getParticipants().sort()).toEqual([juniper.id, rowan.id].sort());
  });

  test('a player who leaves is removed from the participants, and may rejoin', async () => {
    const told: string[] = [];
    rowan
      .call(lobbyId)
      .setParticipantChangedCallback((userId, isAdded) => void told.push(`${userId} ${isAdded}`));
    await juniper.client.endCall(lobbyId);
    await expect.poll(() => told, soon).toEqual([`${juniper.id} false`]);
    expect(rowan.call(lobbyId).getParticipants()).toEqual([rowan.id]);
    expect(juniper.client.getCalls()).toEqual([]);
    await juniper.startBetween(lobbyId, () => {}).connected();
    await bothHear();
  });

  test('a player removed from the lobby is disconnected from the call, and cannot rejoin', async () => {
    const call = juniper.call(lobbyId);
    let why: CallError = CallError.None;
    call.setStatusChangedCallback((_, error) => {
      why = error;
    });
    const params = { lobby_id: lobbyId, user_id: juniper.id };
    const { status } = await server.bot().ask('delete_lobby_member', { params });
    expect(status).toBe(204);
    await expect.poll(() => call.getStatus(), soon).toBe(CallStatus.Disconnected);
    expect(why).toBe(CallError.Forbidden);
    await expect.poll(() => rowan.call(lobbyId).getParticipants(), soon).toEqual([rowan.id]);
    await expect(juniper.start(lobbyId).connected()).rejects.toThrow('Forbidden');
  });
});
