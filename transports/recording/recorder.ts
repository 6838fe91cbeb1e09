import { HEARTBEAT_OPS } from '../../protocol/opcodes.ts';
import {
  encodeRecordedLine,
  type RecordedCall,
  type RecordedFile,
  type RecordedLine,
} from '../../protocol/recording.ts';
import { StandIns, StandInsFull } from '../../protocol/standins.ts';
import type { Upload } from '../rest/operation.ts';

/** A call as the HTTP interface saw it, with its secrets. */
export interface SeenCall {
  readonly startMs: number;
  readonly operation: string;
  readonly authorization: string | null;
  readonly userId: string | null;
  readonly params: Readonly<Record<string, string>>;
  readonly query: unknown;
  readonly body: unknown;
  readonly files: readonly Upload[];
  readonly reason: string | null;
  readonly status: number;
  readonly answer: unknown;
}

/** Receives every input of a server, and its answer. */
export interface Recorder {
  nowMs(): number;
  call(call: SeenCall): void;
  /** @param connection Any object that stands for the connection. */
  opened(connection: object): void;
  frame(connection: object, op: number, d: unknown): void;
  dispatch(connection: object, t: string, d: unknown): void;
  shut(connection: object): void;
}

interface RecorderPorts {
  /** Monotonic milliseconds. */
  nowMs(): number;
  /** Takes a line with its line feed. @returns false when it can take no more. */
  write(line: string): boolean;
  readonly bytesMax: number;
}

/** Facts about a server at its start. */
type RecordingHead = Omit<Extract<RecordedLine, { kind: 'begin' }>, 'kind'>;

export interface RunningRecorder extends Recorder {
  begin(head: RecordingHead): void;
  /** Records the demo world; written once the server has made it. */
  demo(demo: unknown): void;
  end(): void;
}

/** A file of a request larger than this is written without its bytes. */
const FILE_BYTES_MAX = 65_536;

/** Writes each input and answer as a line without secrets, until `bytesMax` is reached or a line cannot be taken. */
export function createRecorder({ nowMs, write, bytesMax }: RecorderPorts): RunningRecorder {
  const standIns = new StandIns();
  const beganMs = nowMs();
  const at = (ms = nowMs()): number => Math.round((ms - beganMs) * 1000) / 1000;
  const numberOf = (connection: object): number => numbers.get(connection) ?? 0;
  let bytes = 0;
  const numbers = new WeakMap<object, number>();
  let connections = 0;
  let isOver = false;

  function add(make: () => RecordedLine): void {
    if (isOver) return;
    try {
      const line = `${encodeRecordedLine(make())}\n`;
      bytes += Buffer.byteLength(line);
      if (bytes <= bytesMax && write(line)) return;
    } catch (error) {
      if (!(error instanceof StandInsFull)) throw error;
    }
    finish('full');
  }

  function finish(reason: 'stopped' | 'full'): void {
    if (isOver) return;
    isOver = true;
    write(`${encodeRecordedLine({ kind: 'end', at: at(), reason })}\n`);
  }

  return {
    nowMs,
    begin: (head) => add(() => ({ kind: 'begin', ...head })),
    demo: (demo) => add(() => ({ kind: 'demo', demo: standIns.value(demo) })),
    call: (call) => add(() => callLine(call, standIns, at(call.startMs), nowMs() - call.startMs)),
    opened(connection) {
      connections += 1;
      numbers.set(connection, connections);
      add(() => ({ kind: 'open', at: at(), connection: numberOf(connection) }));
    },
    frame(connection, op, d) {
      // Heartbeats depend on the clock of the client.
      if (HEARTBEAT_OPS.has(op)) return;
      add(() => ({ kind: 'frame', at: at(), connection: numberOf(connection), op, d: standIns.value(d) }));
    },
    dispatch: (connection, t, d) =>
      add(() => ({
        ...{ kind: 'dispatch', at: at(), connection: numberOf(connection), t },
        d: standIns.value(d),
      })),
    shut: (connection) => add(() => ({ kind: 'shut', at: at(), connection: numberOf(connection) })),
    end: () => finish('stopped'),
  };
}

function callLine(call: SeenCall, standIns: StandIns, at: number, ms: number): RecordedCall {
  const [scheme, secret] = splitAuthorization(call.authorization);
  const authorization = secret === null ? null : `${scheme}${standIns.of(secret)}`;
  // First, so that what they say is found in the texts of the body.
  const params = Object.fromEntries(
    Object.entries(call.params).map(([name, text]) => [name, standIns.field(name, text)]),
  );
  return {
    ...{ kind: 'call', at, ms: Math.round(ms * 1000) / 1000, operation: call.operation },
    ...{ authorization, user_id: call.userId, params, query: standIns.value(call.query) },
    body: standIns.value(call.body ?? null),
    files: call.files.map((file) => fileOf(file, standIns)),
    reason: call.reason === null ? null : standIns.text(call.reason),
    status: call.status,
    answer: call.answer instanceof Uint8Array ? null : standIns.value(call.answer ?? null),
  };
}

/** Splits a header into what may be shown and what may not; of a client's credentials the id may be. */
function splitAuthorization(header: string | null): readonly [string, string | null] {
  const [, scheme = '', credentials = ''] = /^((?:Bot|Bearer|Basic) +)?(.+)$/is.exec(header ?? '') ?? [];
  if (credentials === '') return ['', null];
  if (!/^Basic/i.test(scheme)) return [scheme, credentials];
  const plain = Buffer.from(credentials, 'base64').toString('utf8');
  const colon = plain.indexOf(':');
  return [`Basic ${plain.slice(0, colon + 1)}`, plain.slice(colon + 1) || '-'];
}

function fileOf({ field, filename, contentType, bytes }: Upload, standIns: StandIns): RecordedFile {
  const about = { field, filename: standIns.text(filename), content_type: contentType, size: bytes.length };
  if (bytes.length > FILE_BYTES_MAX) return { ...about, data: null };
  const content = Buffer.from(bytes);
  // A file that contains a secret is left out; a stand-in would change its bytes.
  const text = content.toString('latin1');
  return { ...about, data: standIns.text(text) === text ? content.toString('base64') : null };
}
