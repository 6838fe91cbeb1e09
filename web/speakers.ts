import { type Meter, openMeter } from './meter.ts';

interface Speaker {
  readonly element: HTMLAudioElement;
  readonly meter: Meter;
}

/** Plays members: one audio element each, because browsers decode a remote track only for an element that plays it. */
export class Speakers {
  readonly #context: AudioContext;
  readonly #speakers = new Map<string, Speaker>();
  #muted = false;
  #deviceId = '';

  constructor(context: AudioContext) {
    this.#context = context;
  }

  set(userId: string, stream: MediaStream | null): void {
    const before = this.#speakers.get(userId);
    before?.element.remove();
    before?.meter.close();
    this.#speakers.delete(userId);
    if (stream === null) return;
    const element = document.createElement('audio');
    element.autoplay = true;
    element.dataset.user = userId;
    element.srcObject = stream;
    element.muted = this.#muted;
    document.body.append(element);
    this.#speakers.set(userId, { element, meter: openMeter(this.#context, stream) });
    this.#route(element);
  }

  mute(muted: boolean): void {
    this.#muted = muted;
    for (const { element } of this.#speakers.values()) element.muted = muted;
  }

  /** Empty: the system's choice. */
  use(deviceId: string): void {
    this.#deviceId = deviceId;
    for (const { element } of this.#speakers.values()) this.#route(element);
  }

  /** How loud each member is now, 0 to 1, as decoded here. */
  levels(): Map<string, number> {
    return new Map([...this.#speakers].map(([userId, { meter }]) => [userId, meter.level()]));
  }

  clear(): void {
    for (const userId of [...this.#speakers.keys()]) this.set(userId, null);
  }

  #route(element: HTMLAudioElement): void {
    // A device that was pulled out: the element stays on the one it has.
    if ('setSinkId' in element) element.setSinkId(this.#deviceId).catch(() => {});
  }
}
