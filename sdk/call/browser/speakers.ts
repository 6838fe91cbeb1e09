import { sourceOf } from './context.ts';
import { type Meter, openMeter } from './meter.ts';
import { type PageAudioContext, type PageElement, type PageNode, type PageStream, page } from './page.ts';

interface Speaker {
  readonly stream: PageStream;
  /** Null where the browser cannot connect the stream to the context; the audio element still plays it. */
  readonly source: PageNode | null;
  readonly element: PageElement;
  readonly meter: Meter | null;
  /** Amplifies volumes above 1. */
  amplifier: Amplifier | null;
}

interface Amplifier {
  setGain(gain: number): void;
  readonly stream: PageStream;
  close(): void;
}

/** Plays members: one audio element each, because browsers decode a remote track only if an element plays it. */
export class Speakers {
  readonly #context: PageAudioContext;
  readonly #speakers = new Map<string, Speaker>();
  readonly #gains = new Map<string, number>();
  #volume = 1;
  #isDeaf = false;
  #deviceId = '';

  constructor(context: PageAudioContext) {
    this.#context = context;
  }

  set(userId: string, stream: PageStream | null): void {
    const before = this.#speakers.get(userId);
    if (before !== undefined) close(before);
    this.#speakers.delete(userId);
    if (stream === null) return;
    const source = sourceOf(this.#context, stream);
    const speaker = {
      stream,
      source,
      element: audioElement(userId),
      meter: source && openMeter(this.#context, source),
      amplifier: null,
    };
    this.#speakers.set(userId, speaker);
    this.#tune(userId, speaker);
    this.#route(speaker.element);
  }

  setGain(userId: string, gain: number): void {
    this.#gains.set(userId, gain);
    this.#tuneAll();
  }

  setVolume(volume: number): void {
    this.#volume = volume;
    this.#tuneAll();
  }

  deafen(isDeaf: boolean): void {
    this.#isDeaf = isDeaf;
    this.#tuneAll();
  }

  /** Empty: the system default. */
  use(deviceId: string): void {
    this.#deviceId = deviceId;
    for (const { element } of this.#speakers.values()) this.#route(element);
  }

  /** Decoded level of each member, 0 to 1. */
  levels(): Map<string, number> {
    return new Map([...this.#speakers].map(([userId, { meter }]) => [userId, meter?.level() ?? 0]));
  }

  clear(): void {
    for (const userId of [...this.#speakers.keys()]) this.set(userId, null);
  }

  /** The state of the audio context changed. */
  refresh(): void {
    this.#tuneAll();
  }

  #tuneAll(): void {
    for (const [userId, speaker] of this.#speakers) this.#tune(userId, speaker);
  }

  /** An element can only attenuate; volumes above 1 use the amplifier while the context runs. */
  #tune(userId: string, speaker: Speaker): void {
    const gain = this.#volume * (this.#gains.get(userId) ?? 1);
    const { element, source, stream } = speaker;
    if (gain > 1 && source !== null && this.#context.state === 'running')
      speaker.amplifier ??= amplifierOf(this.#context, source, stream);
    else {
      speaker.amplifier?.close();
      speaker.amplifier = null;
    }
    speaker.amplifier?.setGain(gain);
    const played = speaker.amplifier?.stream ?? stream;
    if (element.srcObject !== played) element.srcObject = played;
    element.volume = Math.min(1, gain);
    element.muted = this.#isDeaf || gain === 0;
  }

  #route(element: PageElement): void {
    // The device was unplugged: the element keeps its current sink.
    element.setSinkId?.(this.#deviceId).catch(() => {});
  }
}

function audioElement(userId: string): PageElement {
  const element = page().document.createElement('audio');
  element.autoplay = true;
  element.dataset.user = userId;
  page().document.body.append(element);
  return element;
}

function amplifierOf(context: PageAudioContext, source: PageNode, stream: PageStream): Amplifier {
  // This element makes the browser decode the track; it is muted so that the audio is not played twice.
  const puller = page().document.createElement('audio');
  puller.autoplay = true;
  puller.muted = true;
  puller.srcObject = stream;
  const gain = context.createGain();
  const sink = context.createMediaStreamDestination();
  source.connect(gain);
  gain.connect(sink);
  return {
    setGain(value) {
      gain.gain.value = value;
    },
    stream: sink.stream,
    close() {
      gain.disconnect();
      puller.srcObject = null;
    },
  };
}

function close({ element, meter, source, amplifier }: Speaker): void {
  element.remove();
  element.srcObject = null;
  meter?.close();
  amplifier?.close();
  source?.disconnect();
}
