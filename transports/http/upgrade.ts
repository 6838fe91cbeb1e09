import type { HttpRequest, HttpResponse, TemplatedApp, us_socket_context_t, WebSocket } from 'uWebSockets.js';
import type { Clock } from '../../actors/runtime/clock.ts';
import type { Wheel } from '../../actors/runtime/wheel.ts';
import { networkOf } from '../../protocol/addresses.ts';
import { refusal } from '../../protocol/refusal.ts';
import { resultOf } from '../rest/pipeline.ts';
import type { AddressWatch } from './addresswatch.ts';
import { addressOf } from './exchange.ts';
import type { OpenFiles } from './openfiles.ts';
import { standstillMs } from './standstill.ts';

/** The protocol handler of one WebSocket, as the server calls it. */
export interface UpgradedSocket {
  /** The client's address as `install` determined it; counted for `socketsPerIpMax`. */
  readonly address: string;
  /** The bytes are valid only during the call. */
  received(bytes: Uint8Array, binary: boolean): void;
  drained(): void;
  closed(code: number): void;
  /** Checks deadlines; called about once a second. */
  sweep(nowMs: number): void;
  /** Extends its deadlines by the time during which this process was stopped and could not read. */
  extendDeadlines(ms: number): void;
  /** Drops the connection without a close frame. */
  terminate(): void;
}

/** User data of the native socket. */
export interface Attached<S extends UpgradedSocket> {
  readonly socket: S;
  /** Close code and reason, if the query asks for an unsupported protocol version or encoding. */
  readonly refusal: { readonly code: number; readonly reason: string } | null;
}

export interface UpgradeSettings {
  readonly socketsMax: number;
  readonly socketsPerIpMax: number;
  /** The files that the process may still open, for all its WebSockets together; null for no bound. */
  readonly openFiles: Pick<OpenFiles, 'take'> | null;
  readonly heartbeatIntervalMs: number;
  readonly heartbeatGraceMs: number;
  readonly identifyTimeoutMs: number;
  /** How long a client may take to read the queued data after the server started to close. */
  readonly closeGraceMs: number;
}

interface UpgradeDeps<S extends UpgradedSocket> {
  readonly settings: UpgradeSettings;
  /** Bound of the native frame size, larger than the protocol's, so that an oversized frame gets a close code, not a reset. */
  readonly frameBytesMax: number;
  readonly wheel: Wheel;
  readonly realTime: RealTime;
  /** Monotonic milliseconds. */
  readonly nowMs: () => number;
  readonly onFault: (error: unknown) => void;
  /** Counts bad IDENTIFYs and refuses addresses that sent too many. Null or absent when limits are off. */
  readonly watch?: AddressWatch | null;
  /**
   * Parses the query and creates the socket.
   *
   * @param isShared Whether the client may have wanted another shard: several listen on the port.
   */
  admit(address: string, query: string, isShared: boolean): Attached<S>;
  /** Sends the server's first frame. Called before any other method of the socket except `closed`. */
  opened(ws: WebSocket<Attached<S>>, attached: Attached<S>): void;
}

/** What the paths of one port have in common. */
interface Port {
  readonly trustProxy: boolean;
  readonly isShared: boolean;
}

/** The machine's clock, also in tests with a virtual clock, because it concerns how the network splits data. */
export type RealTime = Pick<Clock, 'monotonic' | 'setTimer'>;

/**
 * Delay of the first frame after the 101 response. Some client libraries drop bytes that they read together with that
 * response and then never see HELLO, so the delay must outlast the pause that a busy client makes before it reads. With
 * 5 ms, cloudstorm lost every other HELLO on a machine with more work than processors.
 */
const FIRST_FRAME_DELAY_MS = 50;

const IDLE_TIMEOUT_MAX_SEC = 960;
const DRAIN_ROUNDS_MAX = 200;

/**
 * Accepts and counts the WebSockets of one protocol: upgrade, bounds in total and per address, deadlines, and draining at
 * shutdown. Catches everything that a socket throws.
 */
export class SocketUpgrades<S extends UpgradedSocket> {
  readonly #deps: UpgradeDeps<S>;
  readonly #sockets = new Set<S>();
  /** Sockets whose first frame is still delayed, oldest first. */
  readonly #unopened = new Map<S, { readonly ws: WebSocket<Attached<S>>; readonly dueMs: number }>();
  #opening: { cancel(): void } | null = null;
  /** Number of sockets by network; for IPv6 a /64 is one network. */
  readonly #perIp = new Map<string, number>();
  readonly #sweepMs: number;
  #sweeping = false;
  #draining = false;
  #onEmpty: (() => void) | null = null;

  constructor(deps: UpgradeDeps<S>) {
    const { identifyTimeoutMs, heartbeatIntervalMs, closeGraceMs } = deps.settings;
    this.#deps = deps;
    const shortestMs = Math.min(identifyTimeoutMs, heartbeatIntervalMs, closeGraceMs);
    this.#sweepMs = Math.min(1000, Math.max(20, shortestMs / 4));
  }

  get size(): number {
    return this.#sockets.size;
  }

  /**
   * @param trustProxy Whether a client's address is taken from X-Forwarded-For.
   * @param isShared Whether several shards listen on the port.
   */
  install(app: TemplatedApp, paths: readonly string[], trustProxy: boolean, isShared = false): void {
    const { settings, frameBytesMax } = this.#deps;
    const idleSec = Math.ceil((settings.heartbeatIntervalMs + settings.heartbeatGraceMs) / 1000) + 30;
    const behavior = {
      maxPayloadLength: frameBytesMax,
      // `sweep` checks heartbeats; this timeout frees sockets whose peer never finishes a closing handshake.
      idleTimeout: Math.min(IDLE_TIMEOUT_MAX_SEC, idleSec),
      sendPingsAutomatically: false,
      // The socket enforces the bound, because it can answer with a close code.
      maxBackpressure: 0,
      compression: 0,
      upgrade: (res: HttpResponse, req: HttpRequest, context: us_socket_context_t) =>
        this.#upgrade(res, req, context, { trustProxy, isShared }),
      open: (ws: WebSocket<Attached<S>>) => this.guard(() => this.#connected(ws)),
      message: (ws: WebSocket<Attached<S>>, message: ArrayBuffer, isBinary: boolean) =>
        this.guard(() => {
          const { socket } = ws.getUserData();
          this.#open(socket);
          socket.received(new Uint8Array(message), isBinary);
        }),
      drain: (ws: WebSocket<Attached<S>>) => this.guard(() => ws.getUserData().socket.drained()),
      close: (ws: WebSocket<Attached<S>>, code: number) =>
        this.guard(() => {
          const { socket } = ws.getUserData();
          this.#unopened.delete(socket);
          socket.closed(code);
        }),
    };
    for (const path of paths) app.ws<Attached<S>>(path, behavior);
  }

  /**
   * Refuses new sockets and applies the steps to every open one, a quarter of the time apart. The first step of each socket
   * happens at a random time within the first half, so that clients do not all reconnect at once. Resolves when all are
   * closed, at the latest after `timeoutMs`.
   *
   * @param patienceMs Part of the timeout, at its start, in which clients may leave by themselves.
   */
  async drain(timeoutMs: number, steps: readonly ((socket: S) => void)[], patienceMs = 0): Promise<void> {
    this.#draining = true;
    if (this.#sockets.size === 0) return;
    const { wheel } = this.#deps;
    const left = [...this.#sockets];
    const rounds = Math.min(DRAIN_ROUNDS_MAX, left.length);
    const forStepsMs = timeoutMs - patienceMs;
    for (let round = 0; round < rounds; round += 1) {
      const slice = left.filter((_, index) => index % rounds === round);
      const firstMs = patienceMs + ((forStepsMs / 2) * (round + Math.random())) / rounds;
      steps.forEach((step, index) => {
        wheel.after(
          () => {
            for (const socket of slice)
              this.guard(() => {
                this.#open(socket);
                step(socket);
              });
          },
          firstMs + (forStepsMs / 4) * index,
        );
      });
    }
    await new Promise<void>((resolve) => {
      this.#onEmpty = resolve;
      wheel.after(resolve, timeoutMs);
    });
  }

  /** Drops every connection, and refuses new ones. */
  close(): void {
    this.#draining = true;
    this.#opening?.cancel();
    this.#opening = null;
    for (const socket of [...this.#sockets])
      this.guard(() => {
        this.#open(socket);
        socket.terminate();
      });
  }

  /** Call once for each socket whose connection has ended. */
  gone(socket: S): void {
    if (!this.#sockets.delete(socket)) return;
    const network = networkOf(socket.address);
    const left = (this.#perIp.get(network) ?? 1) - 1;
    if (left > 0) this.#perIp.set(network, left);
    else this.#perIp.delete(network);
    if (this.#sockets.size === 0) this.#onEmpty?.();
  }

  /** Catches exceptions: one that reached the native code would end the process. */
  guard(run: () => void): void {
    try {
      run();
    } catch (error) {
      this.#deps.onFault(error);
    }
  }

  #upgrade(res: HttpResponse, req: HttpRequest, context: us_socket_context_t, port: Port): void {
    try {
      this.#admit(res, req, context, port);
    } catch (error) {
      this.#deps.onFault(error);
      // Guarded too: the response may already be used up when the exception occurs.
      this.guard(() => res.writeStatus('500 Internal Server Error').end(undefined, true));
    }
  }

  #admit(res: HttpResponse, req: HttpRequest, context: us_socket_context_t, port: Port): void {
    const { socketsMax, socketsPerIpMax } = this.#deps.settings;
    const address = addressOf(res, port.trustProxy ? lastForwardedFor(req) : undefined);
    const blockedMs = this.#deps.watch?.blockedMs(address) ?? 0;
    if (blockedMs > 0) {
      reject(res, blockedMs);
      return;
    }
    const ofNetwork = this.#perIp.get(networkOf(address)) ?? 0;
    const full = this.#sockets.size >= socketsMax || ofNetwork >= socketsPerIpMax;
    if (this.#draining || full || this.#deps.settings.openFiles?.take() === false) {
      // Closed, because a connection that waits for its client holds a file for seconds.
      res.writeStatus('503 Service Unavailable').writeHeader('Retry-After', '5').end(undefined, true);
      return;
    }
    res.upgrade(
      this.#deps.admit(address, req.getQuery(), port.isShared),
      req.getHeader('sec-websocket-key'),
      req.getHeader('sec-websocket-protocol'),
      // No WebSocket extensions: the gateway protocol compresses by itself, and data is never compressed twice.
      '',
      context,
    );
  }

  /** Counts, sweeps and drains a socket whose connection is at another shard. @returns false when there is no room. */
  adopt(socket: S): boolean {
    if (this.#draining || this.#sockets.size >= this.#deps.settings.socketsMax) return false;
    this.#enter(socket);
    return true;
  }

  #enter(socket: S): void {
    const network = networkOf(socket.address);
    this.#sockets.add(socket);
    this.#perIp.set(network, (this.#perIp.get(network) ?? 0) + 1);
    this.#sweepLater();
  }

  #connected(ws: WebSocket<Attached<S>>): void {
    const { socket } = ws.getUserData();
    this.#enter(socket);
    this.#unopened.set(socket, { ws, dueMs: this.#deps.realTime.monotonic() + FIRST_FRAME_DELAY_MS });
    this.#opening ??= this.#deps.realTime.setTimer(this.#openDue, FIRST_FRAME_DELAY_MS);
  }

  /** Lets the protocol send its first frame, if it has not yet. */
  #open(socket: S): void {
    const waiting = this.#unopened.get(socket);
    if (!waiting) return;
    this.#unopened.delete(socket);
    this.#deps.opened(waiting.ws, waiting.ws.getUserData());
  }

  /** One timer serves all sockets: opens those that are due, and is set again for the next one. */
  readonly #openDue = (): void => {
    this.#opening = null;
    const { realTime } = this.#deps;
    const nowMs = realTime.monotonic();
    for (const [socket, { dueMs }] of this.#unopened) {
      if (dueMs > nowMs) {
        this.#opening = realTime.setTimer(this.#openDue, dueMs - nowMs);
        return;
      }
      this.guard(() => this.#open(socket));
    }
  };

  /** One wait on the timer wheel serves all sockets; none is pending while there are no sockets. */
  #sweepLater(): void {
    if (this.#sweeping) return;
    this.#sweeping = true;
    const dueMs = this.#deps.nowMs() + this.#sweepMs;
    this.#deps.wheel.after(() => {
      this.#sweeping = false;
      const nowMs = this.#deps.nowMs();
      const lostMs = standstillMs(nowMs, dueMs, this.#sweepMs);
      if (lostMs > 0) for (const socket of this.#sockets) this.guard(() => socket.extendDeadlines(lostMs));
      for (const socket of this.#sockets) this.#sweep(socket, nowMs);
      if (this.#sockets.size > 0) this.#sweepLater();
    }, this.#sweepMs);
  }

  /** Like `guard`, without a closure and mostly without a lookup: an idle server does hardly anything else. */
  #sweep(socket: S, nowMs: number): void {
    if (this.#unopened.size > 0 && this.#unopened.has(socket)) return;
    try {
      socket.sweep(nowMs);
    } catch (error) {
      this.#deps.onFault(error);
    }
  }
}

/** Answers a blocked address as the REST interface does, with HTTP: there is no WebSocket yet. */
function reject(res: HttpResponse, blockedMs: number): void {
  const retryAfterSec = Math.max(1, Math.ceil(blockedMs / 1000));
  const { headers, body } = resultOf({ ...refusal('RATE_LIMITED'), retryAfterSec });
  res.cork(() => {
    res.writeStatus('429 Too Many Requests');
    const all = { ...headers, 'X-RateLimit-Scope': 'global', 'Content-Type': 'application/json' };
    for (const [name, value] of Object.entries(all)) res.writeHeader(name, value);
    res.end(JSON.stringify({ ...(body as object), global: true }));
  });
}

/** The last line of the header: a proxy adds its own after those of the client. */
function lastForwardedFor(req: HttpRequest): string | undefined {
  let last: string | undefined;
  req.forEach((name, value) => {
    if (name === 'x-forwarded-for') last = value;
  });
  return last;
}
