import { DaveFlow, type DaveGroup } from '../../voice/daveflow.ts';
import { type DaveySource, loadDavey } from './davey.ts';
import type { FromWorker, ToWorker, TransformOptions } from './messages.ts';

/** The part of the encoded-transform interface used here. */
interface EncodedFrame {
  data: ArrayBuffer;
  getMetadata(): { readonly synchronizationSource?: number };
}
interface Transformer {
  readonly options: TransformOptions;
  readonly readable: ReadableStream<EncodedFrame>;
  readonly writable: WritableStream<EncodedFrame>;
}

interface WorkerScope {
  onmessage: ((event: { readonly data: ToWorker }) => void) | null;
  onrtctransform: ((event: { readonly transformer: Transformer }) => void) | null;
  postMessage(message: FromWorker): void;
}

/** A voice session: its keys, and the user of each SSRC. */
interface KeySession {
  readonly flow: DaveFlow;
  readonly speakers: Map<number, string>;
}

const TICK_MS = 20;

/** Copies bytes out of the library's shared memory, so that they can be posted and do not change. */
const owned = (bytes: Uint8Array): Uint8Array<ArrayBuffer> => Uint8Array.from(bytes);

/**
 * Turns the calling worker into the key worker: it encrypts each frame before it is sent and decrypts each frame
 * before it is played. `createBrowserAudio` takes a function that starts it.
 */
export async function serveCallWorker(source: DaveySource): Promise<void> {
  const scope = globalThis as unknown as WorkerScope;
  const sessions = new KeySessions((message) => scope.postMessage(message));
  scope.onmessage = ({ data }) => sessions.receive(data);
  scope.onrtctransform = ({ transformer }) => sessions.transform(transformer);
  try {
    const { DAVESession } = await loadDavey(source);
    sessions.begin((...group) => new DAVESession(...group));
    scope.postMessage({ type: 'loaded' });
  } catch (error) {
    scope.postMessage({ type: 'unloaded', reason: String(error) });
  }
}

type NewGroup = (version: number, userId: string, channelId: string) => DaveGroup;

class KeySessions {
  readonly #post: (message: FromWorker) => void;
  readonly #sessions = new Map<number, KeySession>();
  #newGroup: NewGroup | null = null;
  #tickTimer: ReturnType<typeof setInterval> | null = null;

  constructor(post: (message: FromWorker) => void) {
    this.#post = post;
  }

  begin(newGroup: NewGroup): void {
    this.#newGroup = newGroup;
  }

  receive(message: ToWorker): void {
    const { session } = message;
    try {
      if (message.type === 'start') this.#start(session, message.userId, message.groupId);
      else if (message.type === 'end') this.#end(session);
      else this.#follow(message);
    } catch (error) {
      this.#post({ type: 'failed', session, reason: String(error) });
    }
  }

  transform({ options, readable, writable }: Transformer): void {
    const turn = options.direction === 'send' ? this.#sent : this.#received;
    const transform = new TransformStream<EncodedFrame, EncodedFrame>({
      transform: (frame, controller) => {
        const session = this.#sessions.get(options.session);
        const data = session === undefined ? null : turn(session, frame);
        if (data === null) return;
        frame.data = owned(data).buffer;
        controller.enqueue(frame);
      },
    });
    // The pipe ends with its sender or receiver; that is no error.
    readable
      .pipeThrough(transform)
      .pipeTo(writable)
      .catch(() => {});
  }

  #start(session: number, userId: string, groupId: string): void {
    const newGroup = this.#newGroup;
    if (newGroup === null) return;
    const flow = new DaveFlow({
      userId,
      channelId: groupId,
      newGroup,
      send: (op, d) => this.#post({ type: 'send', session, op, d }),
      sendBinary: (op, payload) => this.#post({ type: 'sendBinary', session, op, payload: owned(payload) }),
      changed: (status) => this.#post({ type: 'status', session, status }),
    });
    this.#sessions.set(session, { flow, speakers: new Map() });
    this.#tickTimer ??= setInterval(() => this.#post({ type: 'tick' }), TICK_MS);
  }

  #end(session: number): void {
    this.#sessions.delete(session);
    if (this.#sessions.size > 0 || this.#tickTimer === null) return;
    clearInterval(this.#tickTimer);
    this.#tickTimer = null;
  }

  #follow(message: ToWorker): void {
    const session = this.#sessions.get(message.session);
    if (session === undefined) return;
    const { flow, speakers } = session;
    if (message.type === 'begin') flow.begin(message.version);
    else if (message.type === 'json') flow.json(message.op, message.d);
    else if (message.type === 'binary') flow.binary(message.op, message.payload);
    else if (message.type === 'joined') flow.joined(message.userIds);
    else if (message.type === 'left') flow.left(message.userId);
    else if (message.type === 'speaker') speakers.set(message.ssrc, message.userId);
  }

  readonly #sent = ({ flow }: KeySession, frame: EncodedFrame): Uint8Array | null =>
    flow.encrypt(new Uint8Array(frame.data));

  /** Drops frames of unknown SSRCs: only the voice gateway maps an SSRC to a user. */
  readonly #received = ({ flow, speakers }: KeySession, frame: EncodedFrame): Uint8Array | null => {
    const userId = speakers.get(frame.getMetadata().synchronizationSource ?? 0);
    return userId === undefined ? null : flow.decrypt(userId, new Uint8Array(frame.data));
  };
}
