import { vi } from 'vitest';
import type {
  PageAudioContext,
  PageElement,
  PageNode,
  PageStream,
  PageTrack,
} from '../../../../sdk/call/browser/page.ts';

class FakeTrack implements PageTrack {
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

class FakeTransceiver {
  readonly mid = null;
  readonly receiver = { track: new FakeTrack('of a member') };
  readonly sender = {
    track: null as FakeTrack | null,
    replaceTrack(track: FakeTrack | null): Promise<void> {
      this.track = track;
      return Promise.resolve();
    },
  };
}

/** A connection that connects when the test says so. */
class FakePeer {
  readonly transceivers: FakeTransceiver[] = [];
  readonly signalingState = 'stable';
  readonly localDescription = { sdp: '' };
  connectionState = 'new';
  onconnectionstatechange: (() => void) | null = null;
  addTransceiver(): FakeTransceiver {
    const made = new FakeTransceiver();
    this.transceivers.push(made);
    return made;
  }
  createOffer = () => Promise.resolve({ sdp: '' });
  setLocalDescription = () => Promise.resolve();
  setRemoteDescription = () => Promise.resolve();
  getStats = () => Promise.resolve(new Map());
  close = () => {};
}

/** A page as far as calls use it: it does what the test says, and remembers what was asked of it. */
export class FakePage {
  readonly elements: (PageElement & { isRemoved: boolean; sink: string })[] = [];
  readonly nodes: FakeNode[] = [];
  readonly asked: object[] = [];
  readonly streams: FakeStream[] = [];
  readonly told: { readonly session: number; readonly type: string }[] = [];
  readonly changes = new Set<() => void>();
  /** Error of the microphone when it does not open. */
  refusal: Error | null = null;
  /** How loud everything is. */
  level = 0;
  isTerminated = false;
  /** State of every audio context. */
  contextState = 'running';
  readonly stateListeners = new Set<() => void>();
  readonly gestures = new Map<string, () => void>();
  /** Error that a context throws instead of taking a stream. */
  sourceRefusal: Error | null = null;
  /** The page's WebRTC connections, newest last. */
  readonly peers: FakePeer[] = [];
  /** How often a context was asked to run. */
  resumes = 0;
  devices: { readonly kind: string; readonly deviceId: string; readonly label: string }[] = [];
  #hear: (event: { readonly data?: unknown }) => void = () => {};

  /** Puts it where the library looks for a page. */
  install(changes: Readonly<Record<string, unknown>> = {}): void {
    const globals = {
      isSecureContext: true,
      crossOriginIsolated: true,
      AudioContext: this.#context(),
      RTCRtpScriptTransform: class {},
      RTCPeerConnection: this.#peer(),
      MediaStream: FakeStream,
      HTMLAudioElement: class {
        setSinkId(): void {}
      },
      navigator: { mediaDevices: this.#mediaDevices() },
      document: {
        createElement: () => this.#element(),
        addEventListener: (type: string, listener: () => void) => void this.gestures.set(type, listener),
        removeEventListener: (type: string) => void this.gestures.delete(type),
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
    postMessage: (message: unknown) => void this.told.push(message as { session: number; type: string }),
    terminate: () => {
      this.isTerminated = true;
    },
  });

  /** Name of the track that is sent now; null: none. */
  sent(): string | null {
    return this.peers.at(-1)!.transceivers[0]!.sender.track?.name ?? null;
  }

  connectionState(state: string): void {
    const peer = this.peers.at(-1)!;
    peer.connectionState = state;
    peer.onconnectionstatechange?.();
  }

  /** Posts a message of the worker. */
  say(data: object): void {
    this.#hear({ data });
  }

  #context() {
    const node = () => {
      const made = new FakeNode(() => this.level);
      this.nodes.push(made);
      return made;
    };
    const world = this;
    return class implements PageAudioContext {
      get state() {
        return world.contextState;
      }
      addEventListener = (_: string, listener: () => void) => void world.stateListeners.add(listener);
      removeEventListener = (_: string, listener: () => void) => void world.stateListeners.delete(listener);
      createGain = node;
      createAnalyser = node;
      createMediaStreamSource = () => {
        if (world.sourceRefusal !== null) throw world.sourceRefusal;
        return node();
      };
      createMediaStreamDestination = node;
      resume = () => {
        world.resumes++;
        return Promise.resolve();
      };
      close = () => Promise.resolve();
    };
  }

  #peer() {
    const { peers } = this;
    return class extends FakePeer {
      constructor() {
        super();
        peers.push(this);
      }
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
