/** The parts of the DOM that calls use, declared so that the library needs no DOM types. */

export interface PageTrack {
  stop(): void;
}

export interface PageStream {
  getAudioTracks(): PageTrack[];
}

export interface PageNode {
  connect(to: PageNode): unknown;
  disconnect(): void;
}

interface PageGain extends PageNode {
  readonly gain: { value: number };
}

interface PageAnalyser extends PageNode {
  fftSize: number;
  getFloatTimeDomainData(samples: Float32Array<ArrayBuffer>): void;
}

export interface PageAudioContext {
  /** `running`, or a state in which the context neither plays nor measures. */
  readonly state: string;
  addEventListener(type: 'statechange', listener: () => void): void;
  removeEventListener(type: 'statechange', listener: () => void): void;
  createGain(): PageGain;
  createAnalyser(): PageAnalyser;
  createMediaStreamSource(stream: PageStream): PageNode;
  createMediaStreamDestination(): PageNode & { readonly stream: PageStream };
  resume(): Promise<void>;
  close(): Promise<void>;
}

/** The part of a Worker used here. */
export interface PageWorker {
  addEventListener(type: 'message' | 'error', listener: (event: { readonly data?: unknown }) => void): void;
  postMessage(message: unknown): void;
  terminate(): void;
}

export interface PageElement {
  autoplay: boolean;
  muted: boolean;
  volume: number;
  srcObject: PageStream | null;
  readonly dataset: Record<string, string | undefined>;
  remove(): void;
  setSinkId?(deviceId: string): Promise<void>;
}

interface PageDevice {
  readonly kind: string;
  readonly deviceId: string;
  readonly label: string;
}

export interface PageDevices {
  enumerateDevices(): Promise<PageDevice[]>;
  getUserMedia(wanted: { readonly audio: object }): Promise<PageStream>;
  addEventListener(type: 'devicechange', listener: () => void): void;
  removeEventListener(type: 'devicechange', listener: () => void): void;
}

export interface PageTransceiver {
  readonly mid: string | null;
  readonly sender: { transform?: unknown; replaceTrack(track: PageTrack | null): Promise<void> };
  readonly receiver: { transform?: unknown; readonly track: PageTrack };
}

interface Description {
  readonly type?: string;
  readonly sdp?: string;
}

interface PageStat {
  readonly type: string;
  readonly packetsReceived?: number;
  readonly packetsLost?: number;
  readonly jitter?: number;
  readonly nominated?: boolean;
  readonly currentRoundTripTime?: number;
}

export interface PagePeer {
  readonly connectionState: string;
  readonly signalingState: string;
  readonly localDescription: Description | null;
  onconnectionstatechange: (() => void) | null;
  addTransceiver(kind: 'audio', options: { readonly direction: 'sendonly' | 'recvonly' }): PageTransceiver;
  createOffer(): Promise<Description>;
  setLocalDescription(description: Description): Promise<void>;
  setRemoteDescription(description: Description): Promise<void>;
  getStats(): Promise<{ values(): Iterable<PageStat> }>;
  close(): void;
}

/** User gestures after which browsers allow audio. */
export const GESTURES = ['click', 'keydown', 'touchend'] as const;
type Gesture = (typeof GESTURES)[number];

interface Page {
  readonly isSecureContext: boolean;
  readonly crossOriginIsolated: boolean;
  readonly AudioContext: new () => PageAudioContext;
  readonly location?: { readonly hostname: string };
  readonly MediaStream: new (tracks: readonly PageTrack[]) => PageStream;
  readonly RTCPeerConnection: new (options: { readonly bundlePolicy: 'max-bundle' }) => PagePeer;
  readonly RTCRtpScriptTransform?: new (worker: PageWorker, options: object) => object;
  readonly HTMLAudioElement: { readonly prototype: object };
  readonly navigator: { readonly mediaDevices?: PageDevices; readonly userAgent?: string };
  readonly document: {
    createElement(name: 'audio'): PageElement;
    addEventListener(type: Gesture, listener: () => void): void;
    removeEventListener(type: Gesture, listener: () => void): void;
    readonly body: { append(element: PageElement): void };
  };
}

/** The global object of the current page. */
export const page = (): Page => globalThis as unknown as Page;
