import { connect, isIP, type LookupFunction, type OnReadOpts, type Socket } from 'node:net';
import { connect as connectSecurely } from 'node:tls';
import { AnswerReader, type AnswerSink } from './answerreader.ts';

/** A request that a connection carries, and what receives its answer. */
export interface Carried extends AnswerSink {
  readonly isHead: boolean;
  /** Whether the target may receive it twice. */
  readonly isRepeatable: boolean;
  /** Whether all of the request is written to the connection. */
  readonly isSent: boolean;
  /** Writes the request. May be called a second time when it is repeatable. */
  send(connection: Connection): void;
  /** Called when the connection accepts more bytes again. */
  onDrain(): void;
  /** Called when all bytes that have arrived are read, and the answer is not complete. */
  onLull(): void;
  /** Called when the connection broke or the time is over. Has no effect once the answer is complete. */
  onBroken(): void;
}

/** Time bounds are counted in ticks of one timer, so that no request needs a timer of its own. */
export interface Ticks {
  readonly now: number;
  /** Ticks after which a target that neither sends nor accepts bytes is given up. */
  readonly quietMax: number;
  /** Ticks of a whole exchange. */
  readonly exchangeMax: number;
  /** Length of a tick, milliseconds. */
  readonly ms: number;
}

/** Options of the connections to a target. */
export interface ConnectOptions {
  readonly lookup: LookupFunction;
  readonly ca?: string[];
}

/** Counts the connections of all pools. */
export class Total {
  readonly #max: number;
  readonly #closeIdle: () => boolean;
  #open = 0;

  /** @param closeIdle Closes an idle connection of any pool; returns false when there is none. */
  constructor(max: number, closeIdle: () => boolean) {
    this.#max = max;
    this.#closeIdle = closeIdle;
  }

  /** @returns false when there is no room for another connection. */
  take(): boolean {
    if (this.#open >= this.#max && !this.#closeIdle()) return false;
    this.#open += 1;
    return true;
  }

  giveBack(): void {
    this.#open -= 1;
  }
}

const PER_TARGET_MAX = 256;
/** Servers close idle connections after about 5 s; a request on one that is being closed fails. */
const IDLE_MS = 4_000;
/** Margin below the idle timeout that a target announces, for the same reason. */
const IDLE_MARGIN_MS = 1_000;
/** All connections share this read buffer: its bytes are handled before the next read. */
const READ_BUFFER = Buffer.allocUnsafeSlow(64 << 10);

/** The connections to one target, and the requests that wait for one. Waiting requests are bounded by the caller. */
export class Pool {
  readonly ticks: Ticks;
  readonly #url: URL;
  readonly #way: ConnectOptions;
  readonly #total: Total;
  readonly #open = new Set<Connection>();
  /** The most recently used one is last. */
  readonly #idle: Connection[] = [];
  /** Waiting requests, with the tick at which the time of each is over. */
  readonly #waiting = new Map<Carried, number>();
  /** The latest TLS session; a new connection resumes it. */
  #session: Buffer | undefined;
  #isClosed = false;

  constructor(url: URL, way: ConnectOptions, ticks: Ticks, total: Total) {
    this.#url = url;
    this.#way = way;
    this.ticks = ticks;
    this.#total = total;
  }

  /** Sends a request when a connection is free. @returns false when there are too many connections in all. */
  dispatch(carried: Carried): boolean {
    const endsAt = this.ticks.now + this.ticks.exchangeMax;
    const kept = this.#idle.pop();
    if (kept) kept.carry(carried, endsAt);
    else if (this.#open.size >= PER_TARGET_MAX) this.#waiting.set(carried, endsAt);
    else return this.#connect(carried, endsAt);
    return true;
  }

  /** Forgets a request that waits. */
  forget(carried: Carried): void {
    this.#waiting.delete(carried);
  }

  /** Whether it is closed and nothing is under way. */
  get isOver(): boolean {
    return this.#isClosed && this.#open.size === 0;
  }

  /** Ends connections and waiting requests whose time is over. */
  sweep(): void {
    for (const connection of this.#open) connection.sweep();
    for (const [carried, endsAt] of this.#waiting)
      if (this.ticks.now > endsAt) {
        this.#waiting.delete(carried);
        carried.onBroken();
      }
  }

  /** Closes the connection that has been idle longest. @returns false when none is idle. */
  closeIdle(): boolean {
    const oldest = this.#idle[0];
    oldest?.destroy();
    return oldest !== undefined;
  }

  /** Closes idle connections, and the others when their requests have ended. */
  close(): void {
    this.#isClosed = true;
    for (const connection of [...this.#idle]) connection.destroy();
  }

  destroy(): void {
    this.#isClosed = true;
    const waiting = [...this.#waiting.keys()];
    this.#waiting.clear();
    for (const connection of [...this.#open]) connection.destroy();
    for (const carried of waiting) carried.onBroken();
  }

  /** A connection can carry another request. */
  freed(connection: Connection): void {
    const [next] = this.#waiting;
    if (next) {
      this.#waiting.delete(next[0]);
      connection.carry(next[0], next[1]);
    } else if (this.#isClosed) connection.destroy();
    else this.#idle.push(connection);
  }

  /** A connection has ended. @param repeated A request that it has not delivered, with the tick at which its time is over. */
  ended(connection: Connection, repeated: readonly [Carried, number] | null): void {
    if (!this.#open.delete(connection)) return;
    this.#total.giveBack();
    const at = this.#idle.indexOf(connection);
    if (at >= 0) this.#idle.splice(at, 1);
    const [waiting] = this.#waiting;
    const next = repeated ?? waiting;
    if (!next) return;
    this.#waiting.delete(next[0]);
    if (!this.#connect(...next)) next[0].onBroken();
  }

  #connect(carried: Carried, endsAt: number): boolean {
    if (!this.#total.take()) return false;
    const connection = new Connection(this, (onread) => this.#socket(onread));
    this.#open.add(connection);
    connection.carry(carried, endsAt);
    return true;
  }

  #socket(onread: OnReadOpts): Socket {
    const { protocol, port, hostname } = this.#url;
    const host = hostname.replace(/^\[|\]$/g, '');
    const isSecure = protocol === 'https:';
    const to = { ...this.#way, host, port: Number(port || (isSecure ? 443 : 80)), onread };
    if (!isSecure) return connect({ ...to, noDelay: true });
    const named = isIP(host) === 0 ? { servername: host } : {};
    const session = this.#session && { session: this.#session };
    const socket = connectSecurely({ ...to, ...named, ...session, ALPNProtocols: ['http/1.1'] });
    socket.on('session', (fresh) => {
      this.#session = fresh;
    });
    return socket.setNoDelay(true);
  }
}

/** One connection to a target: it carries one request at a time. */
export class Connection {
  readonly #pool: Pool;
  readonly #socket: Socket;
  readonly #reader = new AnswerReader();
  #carried: Carried | null = null;
  #endsAt = 0;
  /** The tick of the last byte that passed. */
  #quietSince = 0;
  #idleMs = IDLE_MS;
  /** The connection has carried a request before this one. */
  #isReused = false;
  /** A byte of the answer has arrived. */
  #isAnswered = false;
  #isPaused = false;

  constructor(pool: Pool, open: (onread: OnReadOpts) => Socket) {
    this.#pool = pool;
    const callback = (size: number): boolean => this.#read(READ_BUFFER.subarray(0, size));
    this.#socket = open({ buffer: READ_BUFFER, callback });
    this.#socket.on('error', () => undefined);
    this.#socket.on('end', () => this.#ended());
    this.#socket.on('close', () => this.#broken(true));
    this.#socket.on('drain', () => {
      this.#quietSince = pool.ticks.now;
      this.#carried?.onDrain();
    });
  }

  carry(carried: Carried, endsAt: number): void {
    this.#carried = carried;
    this.#endsAt = endsAt;
    this.#quietSince = this.#pool.ticks.now;
    this.#isAnswered = false;
    this.#reader.expect(carried, carried.isHead);
    carried.send(this);
  }

  /** @returns false when the caller should wait for `onDrain`. */
  write(bytes: string | Buffer): boolean {
    this.#quietSince = this.#pool.ticks.now;
    return typeof bytes === 'string' ? this.#socket.write(bytes, 'latin1') : this.#socket.write(bytes);
  }

  /** Reads no further bytes until `resume`. */
  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#quietSince = this.#pool.ticks.now;
    this.#socket.resume();
  }

  destroy(): void {
    this.#broken(false);
  }

  /** Ends the connection when it has been idle, or its request quiet or under way, for too long. */
  sweep(): void {
    const { ticks } = this.#pool;
    const carried = this.#carried;
    const quiet = ticks.now - this.#quietSince;
    if (carried === null) {
      if ((quiet + 1) * ticks.ms > this.#idleMs) this.destroy();
      return;
    }
    // Otherwise the browser is waited for: it does not read the answer, or has not sent all of the request.
    const { connecting, writableNeedDrain } = this.#socket;
    const isTargetAwaited = !this.#isPaused && (carried.isSent || connecting || writableNeedDrain);
    if (ticks.now > this.#endsAt || (quiet > ticks.quietMax && isTargetAwaited)) this.destroy();
  }

  /** @returns whether to read on. */
  #read(bytes: Buffer): boolean {
    const carried = this.#carried;
    this.#quietSince = this.#pool.ticks.now;
    this.#isAnswered = true;
    if (!this.#reader.read(bytes)) this.destroy();
    if (carried === null || this.#carried !== carried) return false;
    if (this.#reader.isIdle) this.#finish(carried);
    else carried.onLull();
    return !this.#isPaused;
  }

  #finish(carried: Carried): void {
    const { idleSeconds } = this.#reader;
    this.#carried = null;
    this.#isReused = true;
    this.#idleMs = Math.min(IDLE_MS, (idleSeconds ?? Number.POSITIVE_INFINITY) * 1_000 - IDLE_MARGIN_MS);
    this.resume();
    if (carried.isSent && this.#idleMs > 0) this.#pool.freed(this);
    else this.destroy();
  }

  #ended(): void {
    if (this.#carried !== null && this.#reader.end()) this.#finish(this.#carried);
    else this.#broken(true);
  }

  #broken(mayRepeat: boolean): void {
    const carried = this.#carried;
    this.#carried = null;
    this.#socket.destroy();
    const isRepeated = mayRepeat && this.#isReused && !this.#isAnswered && carried?.isRepeatable === true;
    this.#pool.ended(this, isRepeated ? [carried, this.#endsAt] : null);
    if (!isRepeated) carried?.onBroken();
  }
}
