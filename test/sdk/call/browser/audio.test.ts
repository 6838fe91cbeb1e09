// Goal: a page that cannot hold calls says why; one that can has one microphone and one worker for all of them, and lets
// go of both.
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createBrowserAudio } from '../../../../sdk/call/browser/audio.ts';
import { decibels } from '../../../../sdk/call/gate.ts';
import type { CallMediaEvents } from '../../../../sdk/call/media.ts';
import { ErrorType } from '../../../../sdk/enums.ts';
import { FakePage } from './page.ts';

let page: FakePage;
beforeEach(() => {
  page = new FakePage();
  page.install();
});
afterEach(() => void vi.unstubAllGlobals());

const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 10; turn++) await Promise.resolve();
};

function recorder() {
  const told: string[] = [];
  const events: CallMediaEvents = {
    select: () => {},
    send: (op) => void told.push(`send ${op}`),
    sendBinary: (op) => void told.push(`binary ${op}`),
    sound: () => {},
    level: (levelDb) => void told.push(`level ${levelDb}`),
    dave: () => void told.push('dave'),
    complaint: (sentence) => void told.push(`complaint ${sentence}`),
    failed: (sentence) => void told.push(`failed ${sentence}`),
  };
  return { told, options: { userId: '1', groupId: '2', callbacks: null, events } };
}

async function loaded() {
  const audio = createBrowserAudio({ openWorker: page.openWorker });
  const loading = audio.load();
  page.say({ type: 'loaded' });
  await loading;
  return audio;
}

describe('a page', () => {
  test.each([
    ['no worker', {}, false, 'openWorker'],
    ['no https', { isSecureContext: false }, true, 'https'],
    ['no isolation', { crossOriginIsolated: false }, true, 'COOP'],
    ['no transforms', { RTCRtpScriptTransform: undefined }, true, 'RTCRtpScriptTransform'],
  ])('reports %s', async (_, globals, hasWorker, word) => {
    page.install(globals);
    const audio = createBrowserAudio(hasWorker ? { openWorker: page.openWorker } : {});
    await expect(audio.load()).rejects.toMatchObject({
      type: ErrorType.Disabled,
      message: expect.stringContaining(word),
    });
  });

  test('ends a worker that cannot load, and may try again', async () => {
    const audio = createBrowserAudio({ openWorker: page.openWorker });
    const loading = audio.load();
    page.say({ type: 'unloaded', reason: 'no wasm' });
    await expect(loading).rejects.toThrow('no wasm');
    expect(page.isTerminated).toBe(true);
    const again = audio.load();
    page.say({ type: 'loaded' });
    await again;
  });
});

describe('the microphone', () => {
  test('is opened with the first call and the chosen settings, and closed after the last call', async () => {
    const audio = await loaded();
    await audio.useInput('usb');
    expect(page.asked).toEqual([]);
    audio.setProcessing({ echoCancellation: false, noiseSuppression: true, automaticGainControl: false });
    const first = audio.open(recorder().options);
    const second = audio.open(recorder().options);
    await settle();
    expect(page.asked).toEqual([
      {
        deviceId: { exact: 'usb' },
        echoCancellation: false,
        noiseSuppression: true,
        autoGainControl: false,
      },
    ]);
    first.close();
    expect(page.streams[0]?.tracks[0]?.isStopped).toBe(false);
    second.close();
    expect(page.streams[0]?.tracks[0]?.isStopped).toBe(true);
    expect(page.told.map(({ type, session }) => `${type} ${session}`)).toEqual(['end 1', 'end 2']);
  });

  test('is released when permission arrives after the end of the call', async () => {
    const audio = await loaded();
    audio.open(recorder().options).close();
    await settle();
    expect(page.streams[0]?.tracks[0]?.isStopped).toBe(true);
  });

  test('reports a complaint when permission is denied, and stays in use when another device fails', async () => {
    const audio = await loaded();
    page.refusal = Object.assign(new Error(), { name: 'NotAllowedError' });
    const { told, options } = recorder();
    audio.open(options);
    await settle();
    expect(told).toEqual(['complaint The microphone is not allowed for this page. You can hear, not speak.']);
    page.refusal = null;
    await audio.useInput('usb');
    expect([told.at(-1), audio.inputDevice]).toEqual(['complaint null', 'usb']);
    page.refusal = Object.assign(new Error(), { name: 'NotFoundError' });
    await expect(audio.useInput('gone')).rejects.toMatchObject({ type: ErrorType.Disabled });
    expect([audio.inputDevice, page.streams[0]?.tracks[0]?.isStopped]).toEqual(['usb', false]);
  });

  test('is measured by the clock of the worker, for every call', async () => {
    const audio = await loaded();
    const [one, other] = [recorder(), recorder()];
    audio.open(one.options);
    audio.open(other.options);
    page.say({ type: 'tick' });
    expect(one.told).toEqual([]);
    await settle();
    page.level = 0.5;
    page.say({ type: 'tick' });
    expect(one.told.at(-1)).toBe(`level ${decibels(0.5)}`);
    expect(other.told.at(-1)).toBe(`level ${decibels(0.5)}`);
  });
});

describe('while the audio context does not run', () => {
  test('the microphone is sent unprocessed, and its loudness is unknown', async () => {
    page.contextState = 'suspended';
    const audio = await loaded();
    const { told, options } = recorder();
    const media = audio.open(options);
    await settle();
    page.say({ type: 'tick' });
    expect(told).toEqual(['level null']);
    audio.setInputVolume(2);
    media.begin({});
    media.send(true);
    expect(page.sent()).toBe('microphone');
    page.contextState = 'running';
    for (const changed of page.stateListeners) changed();
    expect(page.sent()).toBe('made here');
    audio.setInputVolume(1);
    expect(page.sent()).toBe('microphone');
    media.close();
  });

  test('a volume of 0 sends nothing', async () => {
    page.contextState = 'suspended';
    const audio = await loaded();
    const media = audio.open(recorder().options);
    await settle();
    media.begin({});
    media.send(true);
    audio.setInputVolume(0);
    expect(page.sent()).toBe(null);
    media.close();
  });

  test('each gesture of the user resumes it until it runs', async () => {
    page.contextState = 'suspended';
    await loaded();
    const before = page.resumes;
    page.gestures.get('click')!();
    page.gestures.get('keydown')!();
    expect(page.resumes).toBe(before + 2);
    page.contextState = 'running';
    page.gestures.get('click')!();
    expect([page.resumes, page.gestures.size]).toEqual([before + 2, 0]);
  });

  test('a stream that cannot join the context is sent and played all the same', async () => {
    page.sourceRefusal = new Error('rates differ');
    const audio = await loaded();
    const media = audio.open(recorder().options);
    await settle();
    media.begin({});
    media.send(true);
    expect(page.sent()).toBe('microphone');
    media.speaks('7', 70);
    expect(page.elements.map(({ dataset }) => dataset.user)).toEqual(['7']);
    expect(media.levels()).toEqual(new Map([['7', 0]]));
    media.close();
  });
});

describe('a connection that is not established', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  const opened = async () => {
    const { told, options } = recorder();
    const audio = await loaded();
    const media = audio.open(options);
    media.begin({});
    await settle();
    return { told, media };
  };

  test('is explained after eight seconds, until the connection is established', async () => {
    const { told, media } = await opened();
    await vi.advanceTimersByTimeAsync(7999);
    expect(told).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(told).toEqual([expect.stringContaining('has not said where to send sound')]);
    page.connectionState('connected');
    expect(told.at(-1)).toBe('complaint null');
    media.close();
  });

  test('is not explained when it is established in time, nor after the end of the call', async () => {
    const { told, media } = await opened();
    page.connectionState('connected');
    await vi.advanceTimersByTimeAsync(60_000);
    const other = await opened();
    other.media.close();
    await vi.advanceTimersByTimeAsync(60_000);
    expect([told, other.told]).toEqual([[], []]);
    media.close();
  });

  test('is explained beside a denied microphone, whose complaint remains after the connection is established', async () => {
    page.refusal = Object.assign(new Error(), { name: 'NotAllowedError' });
    const { told, media } = await opened();
    await vi.advanceTimersByTimeAsync(8000);
    expect(told).toEqual([
      expect.stringContaining('The microphone is not allowed'),
      expect.stringContaining('has not said where to send sound'),
    ]);
    page.connectionState('connected');
    expect(told.at(-1)).toContain('The microphone is not allowed');
    media.close();
  });
});

test('messages of the worker reach only the call that they belong to, and none that has ended', async () => {
  const audio = await loaded();
  const [one, other] = [recorder(), recorder()];
  audio.open(one.options);
  const media = audio.open(other.options);
  page.say({ type: 'send', session: 1, op: 23, d: {} });
  page.say({ type: 'sendBinary', session: 2, op: 26, payload: new Uint8Array() });
  media.close();
  page.say({ type: 'sendBinary', session: 2, op: 26, payload: new Uint8Array() });
  page.say({ type: 'failed', session: 1, reason: 'why' });
  expect([one.told, other.told]).toEqual([['send 23', 'complaint Encryption failed: why'], ['binary 26']]);
});

test('audio callbacks are not for pages', async () => {
  const audio = await loaded();
  const callbacks = { received: () => {}, captured: () => {} };
  expect(() => audio.open({ ...recorder().options, callbacks })).toThrow('Node');
});

test('devices are listed by kind, behind the choice of the system, and watched', async () => {
  const audio = await loaded();
  page.devices = [
    { kind: 'audioinput', deviceId: 'default', label: 'Default' },
    { kind: 'audioinput', deviceId: 'usb', label: 'Headset' },
    { kind: 'audiooutput', deviceId: 'hdmi', label: 'Screen' },
    { kind: 'audioinput', deviceId: '', label: '' },
  ];
  const system = { id: 'default', name: 'System default', isDefault: true };
  expect(await audio.inputDevices()).toEqual([system, { id: 'usb', name: 'Headset', isDefault: false }]);
  expect(await audio.outputDevices()).toEqual([system, { id: 'hdmi', name: 'Screen', isDefault: false }]);
  page.install({ HTMLAudioElement: class {} });
  expect(await audio.outputDevices()).toEqual([]);
  const unwatch = audio.watchDevices(() => {});
  unwatch();
  expect(page.changes.size).toBe(0);
});

test('closed, the worker is ended', async () => {
  const audio = await loaded();
  audio.close();
  await settle();
  expect(page.isTerminated).toBe(true);
});
