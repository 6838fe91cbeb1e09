import { isRecord } from '../protocol/json.ts';
import {
  type RecordedCall,
  type RecordedDispatch,
  type RecordedFrame,
  type RecordedLine,
  TOO_LARGE,
} from '../protocol/recording.ts';
import { operations, unlisted } from '../transports/rest/resources/index.ts';
import { ReplayConnection } from './replayconnection.ts';
import type { Difference, ReplayMapping } from './replaymapping.ts';

/** Where a recording is played. */
export interface ReplayTarget {
  /** The URL ends in `/api`. */
  readonly api: string;
  readonly gateway: string;
}

/** One line of a recording whose answer differs in the replay. */
interface Departure {
  /** The line of the file, from 1. */
  readonly line: number;
  readonly what: string;
  readonly differences: readonly Difference[];
}

export interface ReplayReport {
  readonly calls: number;
  readonly frames: number;
  readonly dispatches: number;
  readonly departures: readonly Departure[];
}

/** The part of a recording that a bot under test plays itself. */
export interface LivePart {
  /** Whether a call is the bot's own. */
  owns(call: RecordedCall): boolean;
  /** Whether the connection of this IDENTIFY is the bot's own. */
  identifies(frame: RecordedFrame): boolean;
  /** Compares a recorded call of the bot with what the bot calls now. */
  compare(call: RecordedCall): Promise<readonly Difference[]>;
}

interface ReplayInput {
  readonly lines: readonly RecordedLine[];
  readonly target: ReplayTarget;
  readonly mapping: ReplayMapping;
  readonly live: LivePart | null;
  /** How long an expected dispatch may take, milliseconds. */
  readonly timeoutMs: number;
  stopped?(): boolean;
}

const OPERATIONS: Readonly<
  Record<string, { readonly method: string; readonly path: string; readonly oauth2?: true }>
> = { ...operations, ...unlisted };
/** After so many dispatches that did not come, the rest is waited for only briefly. */
const LATE_MAX = 5;
const BRIEFLY_MS = 100;
const CALL_TIMEOUT_MS = 30_000;
const IDENTIFY = 2;
const DEPARTURES_MAX = 1_000;
/** Calls that a rate limit refused are not played. */
const RATE_LIMITED = 429;

/** Plays a recording in its order: what was answered before an input is awaited before it. */
export async function playRecording(wanted: ReplayInput): Promise<ReplayReport> {
  const player = new Player(wanted);
  const inOrder = wanted.lines
    .map((line, index) => ({ line, number: index + 1 }))
    .filter(({ line }) => 'at' in line)
    .toSorted((one, other) => atOf(one.line) - atOf(other.line));
  for (const { line, number } of inOrder) {
    if (wanted.stopped?.()) break;
    await player.play(line, number);
  }
  return player.end();
}

const atOf = (line: RecordedLine): number => ('at' in line ? line.at : 0);

class Player {
  readonly #wanted: ReplayInput;
  readonly #connections = new Map<number, ReplayConnection | 'live'>();
  readonly #pending = new Map<Promise<void>, number>();
  readonly #departures: Departure[] = [];
  #counts = { calls: 0, frames: 0, dispatches: 0 };
  #late = 0;

  constructor(wanted: ReplayInput) {
    this.#wanted = wanted;
  }

  async play(line: RecordedLine, number: number): Promise<void> {
    await this.#answered(atOf(line));
    if (line.kind === 'call') await this.#call(line, number);
    else if (line.kind === 'frame') await this.#frame(line);
    else if (line.kind === 'dispatch') await this.#dispatch(line, number);
    else if (line.kind === 'shut') {
      const connection = this.#connections.get(line.connection);
      if (connection !== 'live') connection?.close();
    }
  }

  async end(): Promise<ReplayReport> {
    await this.#answered(Number.POSITIVE_INFINITY);
    for (const [connection, each] of this.#connections) {
      if (each === 'live') continue;
      each.close();
      for (const [t, count] of countsOf(each.rest().map((one) => one.t)))
        this.#depart(0, `connection ${connection}`, [
          { path: t, recorded: 0, replayed: `${count} more than recorded` },
        ]);
    }
    return { ...this.#counts, departures: this.#departures };
  }

  /** Waits for the calls whose answers the recording had before this moment. */
  async #answered(at: number): Promise<void> {
    for (const [call, endAt] of this.#pending) if (endAt <= at) await call;
  }

  async #call(line: RecordedCall, number: number): Promise<void> {
    const { live, mapping } = this.#wanted;
    if (line.status === RATE_LIMITED) return;
    this.#counts.calls += 1;
    const what = `${line.operation} (${line.status})`;
    if (live?.owns(line)) return this.#depart(number, what, await live.compare(line));
    if (line.body === TOO_LARGE) return this.#depart(number, what, [unplayable('its body is too large')]);
    if (line.authorization !== null && !mapping.knows(line.authorization))
      return this.#depart(number, what, [unplayable('its token comes from outside the recording')]);
    const calling = callAgain(line, this.#wanted)
      .then(({ status, answer }) => {
        const statuses =
          status === line.status ? [] : [{ path: 'status', recorded: line.status, replayed: status }];
        this.#depart(number, what, [...statuses, ...mapping.compare(line.answer, answer)]);
      })
      .catch((error: unknown) => this.#depart(number, what, [unplayable(String(error))]))
      .finally(() => this.#pending.delete(calling));
    this.#pending.set(calling, line.at + line.ms);
  }

  async #frame(line: RecordedFrame): Promise<void> {
    const { live, mapping, target } = this.#wanted;
    let connection = this.#connections.get(line.connection);
    if (connection === undefined) {
      connection =
        line.op === IDENTIFY && live?.identifies(line) ? 'live' : new ReplayConnection(target.gateway);
      this.#connections.set(line.connection, connection);
    }
    if (connection === 'live') return;
    this.#counts.frames += 1;
    await connection.send(line.op, mapping.value(line.d));
  }

  async #dispatch(line: RecordedDispatch, number: number): Promise<void> {
    const connection = this.#connections.get(line.connection);
    if (connection === undefined || connection === 'live') return;
    this.#counts.dispatches += 1;
    const timeoutMs = this.#late < LATE_MAX ? this.#wanted.timeoutMs : BRIEFLY_MS;
    const arrived = await connection.take(line.t, timeoutMs);
    const what = `${line.t} on connection ${line.connection}`;
    if (arrived !== null) return this.#depart(number, what, this.#wanted.mapping.compare(line.d, arrived.d));
    this.#late += 1;
    this.#depart(number, what, [{ path: '', recorded: 'arrived', replayed: 'did not arrive' }]);
  }

  #depart(line: number, what: string, differences: readonly Difference[]): void {
    if (differences.length > 0 && this.#departures.length < DEPARTURES_MAX)
      this.#departures.push({ line, what, differences });
  }
}

const unplayable = (why: string): Difference => ({
  path: '',
  recorded: 'played',
  replayed: `not played: ${why}`,
});

function countsOf(names: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}

interface Answered {
  readonly status: number;
  readonly answer: unknown;
}

/** Makes a recorded call again, with the ids and secrets of the replay. */
async function callAgain(line: RecordedCall, { target, mapping }: ReplayInput): Promise<Answered> {
  const operation = OPERATIONS[line.operation];
  if (operation === undefined) throw new Error('This version has no such operation.');
  const params = mapping.value(line.params);
  const path = operation.path.replaceAll(/:(\w+)/g, (_, name: string) =>
    encodeURIComponent(String(isRecord(params) ? params[name] : '')),
  );
  const url = new URL(target.api + path);
  for (const [name, value] of Object.entries(isRecord(line.query) ? line.query : {}))
    for (const each of [value].flat()) url.searchParams.append(name, mapping.text(String(each)));
  const { headers, body } = contentOf(line, mapping, operation.oauth2 === true);
  const response = await fetch(url, {
    method: operation.method,
    headers: { ...headersOf(line, mapping), ...headers },
    ...(body !== undefined && { body }),
    signal: AbortSignal.timeout(CALL_TIMEOUT_MS),
  });
  const isJson = /json/.test(response.headers.get('content-type') ?? '');
  const text = await response.text();
  return { status: response.status, answer: text === '' ? null : isJson ? JSON.parse(text) : text };
}

function headersOf({ authorization, reason }: RecordedCall, mapping: ReplayMapping): Record<string, string> {
  const [, credentials] = /^Basic (.+)$/i.exec(authorization ?? '') ?? [];
  const known = mapping.text(credentials ?? authorization ?? '');
  return {
    ...(authorization !== null && {
      authorization: credentials === undefined ? known : `Basic ${Buffer.from(known).toString('base64')}`,
    }),
    ...(reason !== null && { 'x-audit-log-reason': encodeURIComponent(mapping.text(reason)) }),
  };
}

interface Content {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | FormData | URLSearchParams;
}

function contentOf(line: RecordedCall, mapping: ReplayMapping, isForm: boolean): Content {
  const body = mapping.value(line.body);
  if (line.files.length > 0) return { body: filesOf(line, body) };
  if (body === null || body === undefined) return {};
  if (!isForm || !isRecord(body))
    return { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  const fields = Object.entries(body).map(([name, value]): [string, string] => [name, String(value)]);
  return { body: new URLSearchParams(fields) };
}

function filesOf({ files }: RecordedCall, body: unknown): FormData {
  const form = new FormData();
  form.append('payload_json', JSON.stringify(body ?? {}));
  for (const { field, filename, content_type: type, data, size } of files) {
    // A file that was too large to record has its size.
    const bytes = data === null ? Buffer.alloc(size) : Buffer.from(data, 'base64');
    form.append(field, new Blob([bytes], { type }), filename);
  }
  return form;
}
