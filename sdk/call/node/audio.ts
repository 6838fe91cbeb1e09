import { ErrorType } from '../../enums.ts';
import { ClientError } from '../../result.ts';
import {
  type AudioDevice,
  type CallAudio,
  type CallMedia,
  type CallMediaOptions,
  type CapturedAudio,
  DEFAULT_DEVICE,
} from '../media.ts';
import { NodeCallMedia } from './media.ts';
import { type CallPackages, CHANNELS, FRAME_MS, FRAME_SAMPLES, loadPackages, RATE_HZ } from './packages.ts';
import { amplify, Mixer } from './sound.ts';

export interface NodeAudioOptions {
  /** Fills 20 ms of microphone input for all calls; without it, calls send silence unless they have callbacks. */
  readonly capture?: (audio: CapturedAudio) => void;
  /** Receives 20 ms of mixed output, interleaved, 48 kHz, two channels. */
  readonly play?: (samples: Int16Array) => void;
  /** `capture` or `play` threw. */
  readonly complain?: (error: unknown) => void;
  /** Replaces the packages `opusscript` and `@snazzah/davey`. */
  readonly packages?: CallPackages;
}

const FRAME_LENGTH = FRAME_SAMPLES * CHANNELS;
/** Frames to catch up after a delay of the process; the rest are skipped. */
const CATCH_UP_FRAMES = 5;
/** Node has no audio devices; input and output are the application's. */
const DEVICES: readonly AudioDevice[] = [{ id: DEFAULT_DEVICE, name: 'The application', isDefault: true }];

/** Audio of calls in Node: the application supplies and receives frames every 20 ms while a call is on. */
export const createNodeAudio = (options: NodeAudioOptions = {}): CallAudio => new NodeAudio(options);

class NodeAudio implements CallAudio {
  readonly inputDevice = DEFAULT_DEVICE;
  readonly outputDevice = DEFAULT_DEVICE;
  readonly #options: NodeAudioOptions;
  readonly #medias = new Set<NodeCallMedia>();
  readonly #mixer = new Mixer(FRAME_LENGTH);
  #packages: CallPackages | null;
  #inputVolume = 1;
  #outputVolume = 1;
  #ticking: NodeJS.Timeout | null = null;
  #nextMs = 0;

  constructor(options: NodeAudioOptions) {
    this.#options = options;
    this.#packages = options.packages ?? null;
  }

  async load(): Promise<void> {
    this.#packages ??= await loadPackages();
  }

  open(options: CallMediaOptions): CallMedia {
    if (this.#packages === null) throw new ClientError(ErrorType.Disabled, 'Calls are not loaded yet.');
    const media: NodeCallMedia = new NodeCallMedia(options, this.#packages, () => {
      this.#medias.delete(media);
      if (this.#medias.size === 0) this.#rest();
    });
    this.#medias.add(media);
    if (this.#ticking === null) {
      this.#nextMs = performance.now();
      this.#tick();
    }
    return media;
  }

  inputDevices(): Promise<readonly AudioDevice[]> {
    return Promise.resolve(DEVICES);
  }

  outputDevices(): Promise<readonly AudioDevice[]> {
    return Promise.resolve(DEVICES);
  }

  useInput(deviceId: string): Promise<void> {
    return deviceId === DEFAULT_DEVICE ? Promise.resolve() : Promise.reject(noDevice());
  }

  useOutput(deviceId: string): Promise<void> {
    return this.useInput(deviceId);
  }

  setInputVolume(volume: number): void {
    this.#inputVolume = volume;
  }

  setOutputVolume(volume: number): void {
    this.#outputVolume = volume;
  }

  /** Processing is left to the application. */
  setProcessing(): void {}

  watchDevices(): () => void {
    return () => {};
  }

  close(): void {
    for (const media of this.#medias) media.close();
  }

  #tick(): void {
    const nowMs = performance.now();
    if (nowMs - this.#nextMs > CATCH_UP_FRAMES * FRAME_MS) this.#nextMs = nowMs;
    for (; this.#nextMs <= nowMs; this.#nextMs += FRAME_MS) this.#frame();
    this.#ticking = setTimeout(() => this.#tick(), this.#nextMs - nowMs);
  }

  #rest(): void {
    if (this.#ticking !== null) clearTimeout(this.#ticking);
    this.#ticking = null;
  }

  #frame(): void {
    const { capture, play, complain } = this.#options;
    const medias = [...this.#medias].filter(({ isUp }) => isUp);
    if (medias.length === 0) return;
    try {
      const shared = captured();
      capture?.(shared);
      for (const media of medias) {
        const own = { ...shared, samples: shared.samples.slice() };
        media.fill(own);
        amplify(own.samples, this.#inputVolume);
        if (capture !== undefined || media.hasCallbacks) media.capture(own.samples);
      }
      if (play === undefined) return;
      for (const media of medias) for (const frame of media.take()) this.#mixer.add(frame);
      play(this.#mixer.take(this.#outputVolume));
    } catch (error) {
      complain?.(error);
    }
  }
}

const captured = (): CapturedAudio => ({
  samples: new Int16Array(FRAME_LENGTH),
  sampleRate: RATE_HZ,
  channels: CHANNELS,
});

const noDevice = (): ClientError =>
  new ClientError(ErrorType.ValidationError, 'In Node the application is the only audio device.');
