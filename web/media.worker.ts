/** The worker that has the keys: encrypts every frame before it is sent, and opens every frame before it is played. */
import { DaveFlow } from '../sdk/voice/daveflow.ts';
import { type Davey, loadDavey } from './davey.ts';
import type { FromMedia, ToMedia, TransformOptions } from './media.messages.ts';

/** The part of the encoded-transform interface that the DOM's types keep to workers. */
interface EncodedFrame {
  data: ArrayBuffer;
  getMetadata(): { readonly synchronizationSource?: number };
}
interface Transformer {
  readonly options: TransformOptions;
  readonly readable: ReadableStream<EncodedFrame>;
  readonly writable: WritableStream<EncodedFrame>;
}

const scope = globalThis as unknown as {
  onmessage: ((event: MessageEvent<ToMedia>) => void) | null;
  onrtctransform: ((event: { readonly transformer: Transformer }) => void) | null;
  postMessage(message: FromMedia): void;
};
const tell = (message: FromMedia): void => scope.postMessage(message);

let davey: Davey | null = null;
let flow: DaveFlow | null = null;
const speakers = new Map<number, string>();

/** The library's bytes lie in its own shared memory: a copy may be sent, and stays what it is. */
const owned = (bytes: Uint8Array): Uint8Array<ArrayBuffer> => Uint8Array.from(bytes);

function start(userId: string, channelId: string): void {
  const library = davey;
  if (library === null) return;
  speakers.clear();
  flow = new DaveFlow({
    userId,
    channelId,
    newGroup: (...group) => new library.DAVESession(...group),
    send: (op, d) => tell({ type: 'send', op, d }),
    sendBinary: (op, payload) => tell({ type: 'sendBinary', op, payload: owned(payload) }),
    changed: (status) => tell({ type: 'status', status }),
  });
}

function told(message: ToMedia): void {
  if (message.type === 'start') start(message.userId, message.channelId);
  else if (message.type === 'begin') flow?.begin(message.version);
  else if (message.type === 'json') flow?.json(message.op, message.d);
  else if (message.type === 'binary') flow?.binary(message.op, message.payload);
  else if (message.type === 'joined') flow?.joined(message.userIds);
  else if (message.type === 'left') flow?.left(message.userId);
  else if (message.type === 'speaker') speakers.set(message.ssrc, message.userId);
  else flow = null;
}

scope.onmessage = ({ data }) => {
  try {
    told(data);
  } catch (error) {
    tell({ type: 'failed', reason: String(error) });
  }
};

scope.onrtctransform = ({ transformer }) => {
  const turn = transformer.options.direction === 'send' ? sent : received;
  const transform = new TransformStream<EncodedFrame, EncodedFrame>({
    transform(frame, controller) {
      const data = turn(frame);
      if (data === null) return;
      frame.data = owned(data).buffer;
      controller.enqueue(frame);
    },
  });
  // A pipe ends with its sender or receiver, which is nothing to report.
  transformer.readable
    .pipeThrough(transform)
    .pipeTo(transformer.writable)
    .catch(() => {});
};

const sent = (frame: EncodedFrame): Uint8Array | null => flow?.encrypt(new Uint8Array(frame.data)) ?? null;

/** Frames of nobody known are dropped: only the voice gateway says whose they are. */
function received(frame: EncodedFrame): Uint8Array | null {
  const userId = speakers.get(frame.getMetadata().synchronizationSource ?? 0);
  if (userId === undefined) return null;
  return flow?.decrypt(userId, new Uint8Array(frame.data)) ?? null;
}

try {
  davey = await loadDavey();
  tell({ type: 'loaded' });
} catch (error) {
  tell({ type: 'failed', reason: String(error) });
}
