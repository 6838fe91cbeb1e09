import { messageOf } from '../../../protocol/thrown.ts';
import { ErrorType } from '../../enums.ts';
import { ClientError } from '../../result.ts';
import { decibels } from '../gate.ts';
import {
  type AudioDevice,
  type AudioProcessing,
  type CallAudio,
  type CallMedia,
  type CallMediaOptions,
  DEFAULT_DEVICE,
} from '../media.ts';
import { startOnGesture } from './context.ts';
import { BrowserCallMedia } from './media.ts';
import type { FromWorker } from './messages.ts';
import { type Microphone, openMicrophone } from './microphone.ts';
import { type PageAudioContext, type PageDevices, type PageWorker, page } from './page.ts';

export interface BrowserAudioOptions {
  /**
   * Starts the worker that holds the encryption keys; the worker's script calls `serveCallWorker`. In the form
   * bundlers recognize: `() => new Worker(new URL('./call.worker.ts', import.meta.url), { type: 'module' })`
   */
  readonly openWorker?: () => PageWorker;
  /**
   * Used instead of a context of the library. Browsers start audio only during a click: create or resume the
   * context there.
   */
  readonly context?: PageAudioContext;
}

/** Audio of calls in a page: microphone, speakers, and the worker that encrypts end to end. */
export const createBrowserAudio = (options: BrowserAudioOptions = {}): CallAudio => new BrowserAudio(options);

class BrowserAudio implements CallAudio {
  inputDevice = DEFAULT_DEVICE;
  outputDevice = DEFAULT_DEVICE;
  readonly #options: BrowserAudioOptions;
  readonly #medias = new Map<number, BrowserCallMedia>();
  #lastSessionNumber = 0;
  #worker: Promise<PageWorker> | null = null;
  #loaded: PageWorker | null = null;
  #context: PageAudioContext | null;
  /** Removes the gesture listeners and the state listener of the context. */
  #unwatch: (() => void) | null = null;
  #microphone: Microphone | null = null;
  /** Number of the newest request for a microphone; results of earlier requests are discarded. */
  #microphoneRequest = 0;
  #inputVolume = 1;
  #outputVolume = 1;
  #processing: AudioProcessing = {
    echoCancellation: true,
    noiseSuppression: true,
    automaticGainControl: true,
  };

  constructor(options: BrowserAudioOptions) {
    this.#options = options;
    this.#context = options.context ?? null;
  }

  async load(): Promise<void> {
    this.#start();
    this.#worker ??= this.#startWorker();
    try {
      this.#loaded = await this.#worker;
    } catch (error) {
      this.#worker = null;
      throw error;
    }
  }

  open(options: CallMediaOptions): CallMedia {
    const worker = this.#loaded;
    const context = this.#context;
    if (worker === null || context === null) throw unable('Calls are not loaded yet.');
    if (options.callbacks !== null)
      throw unable('Audio callbacks are supported only in Node: a page uses its own devices.');
    this.#lastSessionNumber += 1;
    const session = this.#lastSessionNumber;
    const media = new BrowserCallMedia(options, {
      session,
      worker,
      context,
      track: () => this.#microphone?.track ?? null,
      closed: () => this.#closed(session),
    });
    media.speakers.use(sinkOf(this.outputDevice));
    media.speakers.setVolume(this.#outputVolume);
    this.#medias.set(session, media);
    if (this.#medias.size === 1) this.#reopen();
    return media;
  }

  inputDevices(): Promise<readonly AudioDevice[]> {
    return this.#devices('audioinput');
  }

  /** Empty where the browser does not let pages select devices. */
  async outputDevices(): Promise<readonly AudioDevice[]> {
    return 'setSinkId' in page().HTMLAudioElement.prototype ? this.#devices('audiooutput') : [];
  }

  async useInput(deviceId: string): Promise<void> {
    if (this.#medias.size > 0) await this.#openMicrophone(deviceId, this.#processing);
    this.inputDevice = deviceId;
  }

  useOutput(deviceId: string): Promise<void> {
    this.outputDevice = deviceId;
    for (const { speakers } of this.#medias.values()) speakers.use(sinkOf(deviceId));
    return Promise.resolve();
  }

  setInputVolume(volume: number): void {
    this.#inputVolume = volume;
    this.#microphone?.setVolume(volume);
    this.#updateTracks();
  }

  setOutputVolume(volume: number): void {
    this.#outputVolume = volume;
    for (const { speakers } of this.#medias.values()) speakers.setVolume(volume);
  }

  setProcessing(processing: AudioProcessing): void {
    this.#processing = processing;
    if (this.#medias.size > 0) this.#reopen();
  }

  watchDevices(changed: () => void): () => void {
    const devices = page().navigator.mediaDevices;
    devices?.addEventListener('devicechange', changed);
    return () => devices?.removeEventListener('devicechange', changed);
  }

  close(): void {
    for (const media of this.#medias.values()) media.close();
    this.#worker?.then((worker) => worker.terminate()).catch(() => {});
    this.#worker = null;
    this.#loaded = null;
    this.#unwatch?.();
    this.#unwatch = null;
    if (this.#options.context === undefined) this.#context?.close().catch(() => {});
    this.#context = this.#options.context ?? null;
  }

  /**
   * The page's audio context. It keeps its default sample rate: browsers connect streams and contexts of different
   * rates badly.
   */
  #start(): void {
    const context = this.#context ?? new (page().AudioContext)();
    this.#context = context;
    this.#unwatch?.();
    const stop = startOnGesture(context);
    const changed = (): void => {
      this.#updateTracks();
      for (const { speakers } of this.#medias.values()) speakers.refresh();
    };
    context.addEventListener('statechange', changed);
    this.#unwatch = () => {
      stop();
      context.removeEventListener('statechange', changed);
    };
  }

  /** Sends the current microphone track to all calls. */
  #updateTracks(): void {
    for (const media of this.#medias.values()) media.updateTrack();
  }

  /** Starts the worker and waits until it can encrypt. @throws ClientError with a message for the user. */
  async #startWorker(): Promise<PageWorker> {
    const { isSecureContext, crossOriginIsolated, RTCRtpScriptTransform: Transform } = page();
    const { openWorker } = this.#options;
    if (openWorker === undefined)
      throw unable('Calls in a page need a worker: give createBrowserAudio({ openWorker }) to the client.');
    if (!isSecureContext) throw unable('Voice needs a secure context: https, or a page on localhost.');
    if (!crossOriginIsolated)
      throw unable('This page is not isolated: it must be served with the headers COOP and COEP.');
    if (Transform === undefined)
      throw unable(
        'This browser cannot encrypt calls end to end: it lacks RTCRtpScriptTransform. A newer one may have it.',
      );
    const worker = openWorker();
    const loaded = new Promise<void>((resolve, reject) => {
      worker.addEventListener('error', () => reject(unable('Encryption could not be loaded.')));
      worker.addEventListener('message', (event) => {
        const data = event.data as FromWorker;
        if (data.type === 'loaded') resolve();
        else if (data.type === 'unloaded') reject(unable(`Encryption could not be loaded: ${data.reason}`));
        else this.#received(data);
      });
    });
    await loaded.catch((error: unknown) => {
      worker.terminate();
      throw error;
    });
    return worker;
  }

  #received(message: Exclude<FromWorker, { readonly type: 'loaded' | 'unloaded' }>): void {
    if (message.type === 'tick') this.#listen();
    else this.#medias.get(message.session)?.received(message);
  }

  #listen(): void {
    if (this.#microphone === null) return;
    const level = this.#microphone.level();
    const levelDb = level === null ? null : decibels(level);
    for (const { events } of this.#medias.values()) events.level(levelDb);
  }

  async #devices(kind: 'audioinput' | 'audiooutput'): Promise<readonly AudioDevice[]> {
    const devices: PageDevices | undefined = page().navigator.mediaDevices;
    const all = (await devices?.enumerateDevices()) ?? [];
    const named = all
      .filter(
        (device) => device.kind === kind && device.deviceId !== '' && device.deviceId !== DEFAULT_DEVICE,
      )
      .map(({ deviceId, label }) => ({ id: deviceId, name: label, isDefault: false }));
    return [{ id: DEFAULT_DEVICE, name: 'System default', isDefault: true }, ...named];
  }

  /** Changes the processing of the open microphone; a failure becomes a complaint. */
  #reopen(): void {
    this.#openMicrophone(this.inputDevice, this.#processing).catch((error: unknown) => {
      const message = messageOf(error);
      for (const media of this.#medias.values()) media.complain('microphone', message);
    });
  }

  /** Opens another microphone; the current one is kept on failure. */
  async #openMicrophone(deviceId: string, processing: AudioProcessing): Promise<void> {
    const context = this.#context;
    if (context === null) return;
    this.#microphoneRequest += 1;
    const asked = this.#microphoneRequest;
    const microphone = await openMicrophone(context, { deviceId, processing, volume: this.#inputVolume });
    if (asked !== this.#microphoneRequest) {
      microphone.close();
      return;
    }
    this.#microphone?.close();
    this.#microphone = microphone;
    for (const media of this.#medias.values()) {
      media.complain('microphone', null);
      media.updateTrack();
    }
  }

  /** Closes the microphone when no call uses it. */
  #closed(session: number): void {
    this.#medias.delete(session);
    if (this.#medias.size > 0) return;
    this.#microphoneRequest += 1;
    this.#microphone?.close();
    this.#microphone = null;
  }
}

const sinkOf = (deviceId: string): string => (deviceId === DEFAULT_DEVICE ? '' : deviceId);

const unable = (sentence: string): ClientError => new ClientError(ErrorType.Disabled, sentence);
