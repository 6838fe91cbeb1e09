// Goal: a call goes from its start to sound, survives faults of networks and servers, ends when it must, and reports
// each step; settings of the application take effect.
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { OP } from '../../../protocol/opcodes.ts';
import { VOICE_OP } from '../../../protocol/voice.ts';
import type { Call } from '../../../sdk/call/call.ts';
import { AudioModeType, CallError, CallStatus, callStatusToString } from '../../../sdk/call/enums.ts';
import { ErrorType } from '../../../sdk/enums.ts';
import { ClientError } from '../../../sdk/result.ts';
import { LOBBY, ME, OTHER, World } from './scripted.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
const at = (selfMute = false, selfDeaf = false) => [
  { lobby_id: LOBBY, self_mute: selfMute, self_deaf: selfDeaf },
];

function started() {
  const world = new World();
  const call = world.calls.startCall(LOBBY);
  const statuses: string[] = [];
  call.setStatusChangedCallback((status, error, detail) => {
    statuses.push(`${callStatusToString(status)}${error === CallError.None ? '' : ` ${error} ${detail}`}`);
  });
  return { world, call, statuses };
}

async function connected() {
  const made = started();
  await made.world.letIn();
  made.statuses.length = 0;
  made.world.sent.length = 0;
  return made;
}

const sentence = (call: Call): string | undefined => call.getFailure()?.message;

describe('a call', () => {
  test('ends at once with the reason when the player is not in the lobby', async () => {
    const world = new World();
    world.isMember = false;
    const call = world.calls.startCall(LOBBY);
    const statuses: CallStatus[] = [];
    call.setStatusChangedCallback((status) => void statuses.push(status));
    await expect(call.connected()).rejects.toMatchObject({ result: { type: ErrorType.NetworkError } });
    expect(statuses).toEqual([CallStatus.Disconnected]);
    expect(sentence(call)).toContain('Forbidden');
    expect(world.calls.getCalls()).toEqual([]);
    expect(world.places.at(-1)).toEqual([]);
  });

  test('ends when it was started before READY, and READY does not name its lobby', async () => {
    const world = new World();
    world.isMember = null;
    const call = world.calls.startCall(LOBBY);
    await pass(0);
    expect(call.isOn).toBe(true);
    world.isMember = false;
    world.say('READY', { lobbies: [] });
    await pass(0);
    expect(call.getStatus()).toBe(CallStatus.Disconnected);
  });

  test('connects through the gateway and the voice server until audio flows', async () => {
    const { world, call, statuses } = started();
    expect([call.getStatus(), world.places]).toEqual([CallStatus.Joining, [at()]]);
    const connecting = call.connected();
    await world.letIn();
    await connecting;
    expect(statuses).toEqual(['Connecting', 'SignalingConnected', 'Connected']);
    expect(world.line.url).toBe('wss://voice.test:443?v=9');
    expect(world.heard(VOICE_OP.IDENTIFY)).toEqual([
      {
        server_id: LOBBY,
        channel_id: LOBBY,
        user_id: ME,
        session_id: 'session',
        token: 'ticket',
        max_dave_protocol_version: 1,
        video: false,
      },
    ]);
    expect([call.getChannelId(), call.getGuildId(), call.getParticipants()]).toEqual([LOBBY, null, [ME]]);
    expect(world.calls.startCall(LOBBY)).toBe(call);
    expect(world.calls.getCalls()).toEqual([call]);
  });

  test('waits for what it needs to be loaded, and fails with the reason when it cannot be', async () => {
    const world = new World();
    const missing = new ClientError(ErrorType.Disabled, 'It is not installed.');
    world.loading = Promise.reject(missing);
    const call = world.calls.startCall(LOBBY);
    world.voiceServer();
    await expect(call.connected()).rejects.toBe(missing);
    expect([world.connections.length, world.calls.getCall(LOBBY), world.places.at(-1)]).toEqual([
      0,
      null,
      [],
    ]);
  });

  test('fails after ten seconds without a response', async () => {
    const { world, call, statuses } = started();
    const connecting = call.connected();
    connecting.catch(() => {});
    await pass(10_000);
    expect(statuses).toEqual([`Disconnected ${CallError.JoinTimeout} 0`]);
    await expect(connecting).rejects.toMatchObject({ type: ErrorType.NetworkError });
    expect([world.places.at(-1), sentence(call)]).toEqual([[], 'The call failed: JoinTimeout.']);
  });

  test('ends on request: it leaves on the gateway, and is over when the gateway confirms', async () => {
    const { world, statuses } = await connected();
    const ending = world.calls.endCall(LOBBY);
    expect([world.places, world.line.code, world.media.isClosed]).toEqual([[[]], 1000, true]);
    world.voiceState(ME, { channel_id: null });
    await ending;
    expect([statuses, world.calls.getCall(LOBBY)]).toEqual([['Disconnecting', 'Disconnected'], null]);
  });

  test('ends after a second without a confirmation, and at once when it is started again', async () => {
    const { world, call } = await connected();
    const ending = world.calls.endCalls();
    await pass(1000);
    await ending;
    const second = world.calls.startCall(LOBBY);
    expect(second).not.toBe(call);
    void world.calls.endCall(LOBBY);
    const third = world.calls.startCall(LOBBY);
    expect([second.getStatus(), third.getStatus()]).toEqual([CallStatus.Disconnected, CallStatus.Joining]);
    expect(world.places.slice(-3)).toEqual([at(), [], at()]);
  });
});

describe('a broken connection', () => {
  test('is resumed, and the way for sound is kept', async () => {
    const { world, statuses } = await connected();
    world.line.events.closed(1006, '');
    await pass(1000);
    world.voice(VOICE_OP.HELLO, { heartbeat_interval: 5000 });
    expect(world.heard(VOICE_OP.RESUME)).toHaveLength(1);
    world.voice(VOICE_OP.RESUMED);
    expect([statuses, world.medias.length]).toEqual([['Reconnecting', 'Connected'], 1]);
  });

  test('is resumed when the way for sound broke, which the media make again', async () => {
    const { world, statuses } = await connected();
    world.line.events.closed(4013, 'crashed');
    await pass(1000);
    world.voice(VOICE_OP.HELLO, { heartbeat_interval: 5000 });
    world.voice(VOICE_OP.RESUMED);
    world.voice(VOICE_OP.SESSION_DESCRIPTION);
    expect(statuses).toEqual(['SignalingConnected', 'Reconnecting', 'SignalingConnected', 'Connected']);
    expect(world.media.told).toContain('broken');
  });

  test.each([[4006], [4009]])('closed with %i requests the endpoint again, then identifies', async (code) => {
    const { world, statuses } = await connected();
    world.line.events.closed(code, '');
    expect([statuses, world.media.isClosed]).toEqual([['Reconnecting'], true]);
    await pass(800);
    expect(world.sent).toEqual([{ op: 42, d: { lobby_id: LOBBY } }]);
    await pass(6500);
    expect(world.places).toEqual([[], at()]);
    world.voiceServer({ token: 'another' });
    world.welcome();
    expect(statuses).toEqual(['Reconnecting', 'Connecting', 'SignalingConnected', 'Connected']);
    expect(world.heard(VOICE_OP.IDENTIFY)).toMatchObject([{ token: 'another' }]);
  });

  test('keeps its place in the voice channel after a fresh voice server, since joining again would end it', async () => {
    const { world, statuses } = await connected();
    world.line.events.closed(4006, '');
    await pass(6000);
    world.voiceServer({ token: 'another' });
    world.welcome();
    await pass(4000);
    expect([world.places, statuses.at(-1)]).toEqual([[], 'Connected']);
  });

  test('is given up after five attempts', async () => {
    const { world, call, statuses } = await connected();
    world.line.events.closed(4006, '');
    await pass(120_000);
    expect(statuses).toEqual(['Reconnecting', `Disconnected ${CallError.VoiceConnectionFailed} 4006`]);
    expect(call.getFailure()).toMatchObject({ result: { errorCode: 4006, retryable: true } });
    expect(world.places.at(-1)).toEqual([]);
  });

  test('requests its place again when the server released it meanwhile', async () => {
    const { world, statuses } = await connected();
    world.line.events.closed(1006, '');
    world.voiceState(ME, { channel_id: null });
    await pass(800);
    expect(world.places).toEqual([at()]);
    await world.letIn();
    expect(statuses.at(-1)).toBe('Connected');
  });

  test.each([
    [4004, CallError.Forbidden],
    [4014, CallError.Forbidden],
    [4017, CallError.Forbidden],
    [4022, CallError.SignalingUnexpectedClose],
    [4016, CallError.SignalingConnectionFailed],
  ])('closed with %i ends the call with error %i', async (code, error) => {
    const { world, statuses } = await connected();
    world.line.events.closed(code, '');
    await pass(60_000);
    expect(statuses).toEqual([`Disconnected ${error} ${code}`]);
    expect([world.places, world.connections.length]).toEqual([[[]], 1]);
  });

  test.each([
    ['deleted', 'LOBBY_DELETE', { id: LOBBY, reason: 'deleted' }],
    ['left', 'LOBBY_MEMBER_REMOVE', { lobby_id: LOBBY, member: { user: { id: ME } } }],
  ])('ends the call when the lobby was %s', async (_, name, d) => {
    const { world, statuses } = await connected();
    world.say(name, d);
    expect(statuses).toEqual([`Disconnected ${CallError.Forbidden} 0`]);
  });

  test('is tried again when the media found no way', async () => {
    const { world, call, statuses } = await connected();
    world.media.options.events.failed('No way.');
    expect(statuses).toEqual(['Reconnecting']);
    await pass(800);
    world.voiceServer({ token: 'another' });
    world.welcome();
    expect(call.getStatus()).toBe(CallStatus.Connected);
  });
});

describe('a new gateway session', () => {
  test('continues the call that the previous session lost', async () => {
    const { world, call, statuses } = await connected();
    world.sessionId = null;
    world.line.events.closed(4014, '');
    expect(statuses).toEqual(['Reconnecting']);
    world.sessionId = 'another';
    world.say('READY', { lobbies: [] });
    await pass(0);
    await world.letIn();
    expect(call.getStatus()).toBe(CallStatus.Connected);
  });

  test('ends all calls when it cannot start', async () => {
    const { world, call } = await connected();
    world.calls.drop();
    expect([call.getStatus(), world.media.isClosed]).toEqual([CallStatus.Disconnected, true]);
    expect(world.calls.getCalls()).toEqual([]);
  });

  test('requests the place of the call again, and the call rejoins', async () => {
    const { world, call } = await connected();
    world.sessionId = 'another';
    world.say('READY', { lobbies: [{ id: LOBBY, voice_states: [] }] });
    await pass(0);
    expect(world.places).toEqual([at()]);
    await world.letIn();
    expect(world.heard(VOICE_OP.IDENTIFY)).toMatchObject([{ session_id: 'another' }]);
    expect(call.getStatus()).toBe(CallStatus.Connected);
    await pass(4000);
    expect(world.sent).toEqual([{ op: OP.LOBBY_VOICE_STATES, d: at() }]);
  });

  test('requests the place of the call again after RESUMED, and the call continues', async () => {
    const { world, statuses } = await connected();
    world.say('RESUMED', {});
    await pass(0);
    expect([world.places, statuses]).toEqual([[at()], []]);
  });

  test('sends nothing without calls', async () => {
    const world = new World();
    world.say('READY', { lobbies: [] });
    world.say('RESUMED', {});
    await pass(0);
    expect(world.sent).toEqual([]);
  });
});

describe('a voice server', () => {
  test('changes nothing when it is announced again, and is replaced when another one is announced', async () => {
    const { world, statuses } = await connected();
    world.voiceServer();
    world.voiceServer({ endpoint: null, token: 'later' });
    expect([statuses, world.connections.length]).toEqual([[], 1]);
    world.voiceServer({ endpoint: 'other.test:443' });
    expect([statuses, world.connections[0]?.code, world.line.url]).toEqual([
      ['Connecting'],
      1000,
      'wss://other.test:443?v=9',
    ]);
  });

  test('is ignored for a lobby that we are not in, or without an address', () => {
    const { world } = started();
    world.voiceServer({ lobby_id: '701' });
    world.voiceServer({ token: 5 });
    expect(world.connections).toEqual([]);
  });
});

describe('settings of the application', () => {
  test('mute and deafen are sent to the gateway, for one call and for all', async () => {
    const { world, call } = await connected();
    call.setSelfMute(true);
    call.setSelfDeaf(true);
    expect([world.media.isDeaf, call.getSelfMute(), call.getSelfDeaf()]).toEqual([true, true, true]);
    call.setSelfDeaf(false);
    call.setSelfMute(false);
    world.calls.setSelfMuteAll(true);
    world.calls.setSelfMuteAll(true);
    world.calls.setSelfDeafAll(true);
    expect(world.places).toEqual([at(true), at(true, true), at(true), at(), at(true), at(true, true)]);
    expect([call.getSelfMute(), world.calls.getSelfMuteAll(), world.calls.getSelfDeafAll()]).toEqual([
      false,
      true,
      true,
    ]);
  });

  test('volumes and local mutes reach the sound of this stay and of the next', async () => {
    const { world, call } = await connected();
    call.setParticipantVolume(OTHER, 150);
    expect(world.media.gains.get(OTHER)).toBe(1.5);
    call.setLocalMute(OTHER, true);
    expect([world.media.gains.get(OTHER), call.getParticipantVolume(OTHER)]).toEqual([0, 150]);
    world.line.events.closed(4006, '');
    await pass(800);
    world.voiceServer({ token: 'another' });
    expect([world.medias.length, world.media.gains.get(OTHER)]).toEqual([2, 0]);
    call.setLocalMute(OTHER, false);
    expect([world.media.gains.get(OTHER), call.getLocalMute(OTHER)]).toEqual([1.5, false]);
    world.calls.setInputVolume(50);
    world.calls.setOutputVolume(200);
    expect(world.volumes).toEqual({ input: 0.5, output: 2 });
  });

  test('are refused outside their bounds', () => {
    const { world, call } = started();
    const no = expect.objectContaining({ type: ErrorType.ValidationError });
    expect(() => call.setParticipantVolume(OTHER, 201)).toThrow(no);
    expect(() => call.setParticipantVolume(OTHER, Number.NaN)).toThrow(no);
    expect(() => call.setVADThreshold(false, 1)).toThrow(no);
    expect(() => call.setPTTReleaseDelay(-1)).toThrow(no);
    expect(() => call.setAudioMode(AudioModeType.MODE_UNINIT)).toThrow(no);
    expect(() => world.calls.setInputVolume(101)).toThrow(no);
    expect(() => world.calls.setOutputVolume(-1)).toThrow(no);
    expect(() =>
      world.calls.startCallWithAudioCallbacks(
        LOBBY,
        () => {},
        () => {},
      ),
    ).toThrow(no);
  });

  test('the key opens the mouth, and its release closes it after the delay', async () => {
    const { world, call } = await connected();
    call.setAudioMode(AudioModeType.MODE_PTT);
    call.setPTTReleaseDelay(150);
    expect([call.getAudioMode(), call.getPTTReleaseDelay()]).toEqual([AudioModeType.MODE_PTT, 150]);
    world.media.options.events.level(-10);
    expect(world.media.isOpen).toBe(false);
    call.setPTTActive(true);
    expect([world.media.isOpen, call.getPTTActive()]).toEqual([true, true]);
    call.setPTTActive(false);
    await pass(100);
    expect(world.media.isOpen).toBe(true);
    await pass(100);
    expect(world.media.isOpen).toBe(false);
    expect(world.heard(VOICE_OP.SPEAKING).slice(-2)).toMatchObject([
      { speaking: 1, ssrc: 7 },
      { speaking: 0 },
    ]);
  });

  test('a muted player sends no audio, however loud', async () => {
    const { world, call } = await connected();
    call.setVADThreshold(false, -50);
    expect(call.getVADThreshold()).toEqual({ automatic: false, vadThreshold: -50 });
    world.media.options.events.level(-20);
    expect(world.media.isOpen).toBe(true);
    call.setSelfMute(true);
    expect(world.media.isOpen).toBe(false);
    world.media.options.events.level(-20);
    expect(world.media.isOpen).toBe(false);
  });

  test('audio processing settings are applied together', () => {
    const { world } = started();
    world.calls.setEchoCancellation(false);
    world.calls.setNoiseSuppression(false);
    world.calls.setAutomaticGainControl(false);
    expect(world.processing.at(-1)).toEqual({
      echoCancellation: false,
      noiseSuppression: false,
      automaticGainControl: false,
    });
  });
});

describe('callbacks of the application', () => {
  test('report players who join, leave and change, per call and for all calls', async () => {
    const { world, call } = await connected();
    const told: string[] = [];
    call.setParticipantChangedCallback((userId, isAdded) => void told.push(`${userId} ${isAdded}`));
    call.setOnVoiceStateChangedCallback((userId) => void told.push(`${userId} state`));
    world.calls.setVoiceParticipantChangedCallback((lobbyId, userId, isAdded) => {
      told.push(`${lobbyId} ${userId} ${isAdded}`);
    });
    world.voiceState(OTHER);
    world.voiceState(OTHER, { self_mute: true });
    expect(call.getVoiceStateHandle(OTHER)).toEqual({ selfMute: true, selfDeaf: false });
    const info = world.calls.getCallInfoHandle(LOBBY);
    expect([info?.channelId, info?.guildId, info?.getParticipants()]).toEqual([LOBBY, null, [ME, OTHER]]);
    expect(info?.getVoiceStateHandle(OTHER)?.selfMute).toBe(true);
    world.voiceState(OTHER, { channel_id: null });
    expect(told).toEqual([
      ...['200 true', '200 state', '700 200 true', '200 state', '200 false', '700 200 false'],
    ]);
    expect(world.calls.getCallInfoHandle('701')).toBeNull();
  });

  test('report speaking players, the own player included', async () => {
    const { world, call } = await connected();
    const told: string[] = [];
    call.setSpeakingStatusChangedCallback((userId, speaks) => void told.push(`${userId} ${speaks}`));
    world.voice(VOICE_OP.SPEAKING, { user_id: OTHER, ssrc: 9, speaking: 1 });
    world.voice(VOICE_OP.SPEAKING, { user_id: ME, ssrc: 7, speaking: 1 });
    expect(world.media.told.at(-1)).toBe('200 speaks 9');
    world.media.loud.set(OTHER, 0.1);
    await pass(100);
    world.media.loud.set(OTHER, 0);
    await pass(1000);
    world.media.options.events.level(-20);
    await pass(1000);
    expect(told).toEqual(['200 true', '200 false', '100 true', '100 false']);
  });

  test('the media receive members who join and leave, and DAVE messages', async () => {
    const { world, call } = await connected();
    world.voice(VOICE_OP.CLIENTS_CONNECT, { user_ids: [OTHER] });
    world.voice(VOICE_OP.DAVE_PREPARE_EPOCH, { epoch: 1 });
    world.line.events.message(Uint8Array.of(0, 1, VOICE_OP.DAVE_MLS_PROPOSALS, 0));
    world.voice(VOICE_OP.CLIENT_DISCONNECT, { user_id: OTHER });
    expect(world.media.told.slice(-4)).toEqual(['joined 200', 'json 24', 'binary 27', 'left 200']);
    const status = { version: 1, ready: true, epoch: '3', privacyCode: '1'.repeat(30), userIds: [ME] };
    world.media.options.events.dave(status);
    world.media.options.events.complaint('The microphone is taken.');
    expect([call.getEncryption(), call.getComplaint()]).toEqual([status, 'The microphone is taken.']);
  });

  test('report a silent microphone after five seconds, and its return', async () => {
    const { world } = await connected();
    const told: boolean[] = [];
    world.calls.setNoAudioInputCallback((hasInput) => void told.push(hasInput));
    world.calls.setNoAudioInputThreshold(-80);
    const { level } = world.media.options.events;
    for (let sec = 0; sec < 7; sec++) {
      level(-90);
      await pass(1000);
    }
    level(-50);
    expect(told).toEqual([false, true]);
  });

  test('do not break the call when they throw', async () => {
    const { world, call } = started();
    call.setStatusChangedCallback(() => {
      throw new Error('mine');
    });
    await world.letIn();
    expect([call.getStatus(), world.complaints.length]).toEqual([CallStatus.Connected, 3]);
  });
});

test('devices are those of the audio, and the current one is among them or none', async () => {
  const { calls } = new World();
  const named = { id: 'default', name: 'Default', isDefault: true };
  expect(await calls.getInputDevices()).toEqual([named]);
  expect([await calls.getCurrentInputDevice(), await calls.getCurrentOutputDevice()]).toEqual([named, null]);
  expect(calls.getDefaultAudioDeviceId()).toBe('default');
});

test('closed, nothing is left of any call', async () => {
  const { world, call } = await connected();
  world.calls.close();
  expect([call.getStatus(), world.line.code, world.media.isClosed, world.isClosed]).toEqual([
    CallStatus.Disconnected,
    1000,
    true,
    true,
  ]);
  expect(vi.getTimerCount()).toBe(0);
});
