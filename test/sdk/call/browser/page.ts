import { vi } from 'vitest';
import type {
  PageAudioContext,
  PageElement,
  PageNode,
  PageStream,
  PageTrack,
} from '../../../../sdk/call/browser/page.ts';

export class FakeTrack implements PageTrack {
  readonly name: string;
  isStopped = false;
  constructor(name: string) {
    this.name = name;
  }
  stop(): void {
    this.isStopped = true;
  }
}

export class FakeStream implements PageStream {
  readonly tracks: FakeTrack[];
  constructor(name: string) {
    this.tracks = [new FakeTrack(name)];
  }
  getAudioTracks(): FakeTrack[] {
    return this.tracks;
  }
}

class FakeNode implements PageNode {
  readonly gain = { value: 1 };
  readonly stream = new FakeStream('made here');
  fftSize = 0;
  readonly to: FakeNode[] = [];
  readonly #level: () => number;
  constructor(level: () => number) {
    this.#level = level;
  }
  connect(to: PageNode): void {
    this.to.push(to as FakeNode);
  }
  disconnect(): void {
    this.to.length = 0;
  }
  getFloatTimeDomainData(samples: Float32Array): void {
    samples.fill(this.#level());
  }
}

/** A page as far as calls use it: it does what the test says, and remembers what was asked of it. */
export class FakePage {
  readonly elements: (PageElement & { isRemoved: boolean; sink: string })[] = [];
  readonly nodes: FakeNode[] = [];
  readonly asked: object[] = [];
  readonly streams: FakeStream[] = [];
  readonly told: { readonly stay: number; readonly type: string }[] = [];
  readonly changes = new Set<() => void>();
  /** What the microphone does instead of opening. */
  refusal: Error | null = null;
  /** How loud everything is. */
  level = 0;
  isTerminated = false;
  devices: { readonly kind: string; readonly deviceId: string; readonly label: string }[] = [];
  #hear: (event: { readonly data?: unknown }) => void = () => {};

  /** Puts it where the library looks for a page. */
  install(changes: Readonly<Record<string, unknown>> = {}): void {
    const globals = {
      isSecureContext: true,
      crossOriginIsolated: true,
      AudioContext: this.#context(),
      RTCRtpScriptTransform: class {},
      HTMLAudioElement: class {
        setSinkId(): void {}
      },
      navigator: { mediaDevices: this.#mediaDevices() },
      document: {
        createElement: () => this.#element(),
        body: { append: () => {} },
      },
      ...changes,
    };
    for (const [name, value] of Object.entries(globals)) vi.stubGlobal(name, value);
  }

  context(): PageAudioContext {
    return new (this.#context())();
  }

  readonly openWorker = () => ({
    addEventListener: (type: string, listener: (event: { readonly data?: unknown }) => void) => {
      if (type === 'message') this.#hear = listener;
    },
    postMessage: (message: unknown) => void this.told.push(message as { stay: number; type: string }),
    terminate: () => {
      this.isTerminated = true;
    },
  });

  /** What the worker says. */
  say(data: object): void {
    this.#hear({ data });
  }

  #context() {
    const node = () => {
      const made = new FakeNode(() => this.level);
      this.nodes.push(made);
      return made;
    };
    return class implements PageAudioContext {
      createGain = node;
      createAnalyser = node;
      createMediaStreamSource = node;
      createMediaStreamDestination = node;
      resume = () => Promise.resolve();
      close = () => Promise.resolve();
    };
  }

  #mediaDevices() {
    return {
      enumerateDevices: () => Promise.resolve(this.devices),
      getUserMedia: ({ audio }: { readonly audio: object }) => {
        this.asked.push(audio);
        if (this.refusal !== null) return Promise.reject(this.refusal);
        const stream = new FakeStream('microphone');
        this.streams.push(stream);
        return Promise.resolve(stream);
      },
      addEventListener: (_: string, listener: () => void) => void this.changes.add(listener),
      removeEventListener: (_: string, listener: () => void) => void this.changes.delete(listener),
    };
  }

  #element(): PageElement {
    const element = {
      autoplay: false,
      muted: false,
      volume: 1,
      srcObject: null,
      dataset: {},
      isRemoved: false,
      sink: '',
      remove() {
        element.isRemoved = true;
      },
      setSinkId(deviceId: string) {
        element.sink = deviceId;
        return Promise.resolve();
      },
    };
    this.elements.push(element);
    return element;
  }
}
