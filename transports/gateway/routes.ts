import type { HttpRequest, HttpResponse, TemplatedApp, us_socket_context_t, WebSocket } from 'uWebSockets.js';
import type { GatewayPort } from '../../actors/session/ports.ts';
import type { Allowance } from '../../engine/session/allowance.ts';
import { CLOSE } from '../../protocol/closecodes.ts';
import { LIMITS } from '../../protocol/limits.ts';
import { OP } from '../../protocol/opcodes.ts';
import { addressOf } from '../http/exchange.ts';
import { type Lane, laneFor } from './codec/lane.ts';
import { concat } from './codec/splice.ts';
import { Outbox } from './outbox.ts';
import { type Dialect, GatewaySocket, type SocketHost, type SocketLimits } from './socket.ts';

export interface GatewaySettings extends SocketLimits {
  readonly socketsMax: number;
  readonly socketsPerIpMax: number;
  /** Whether a client's address is taken from X-Forwarded-For. */
  readonly trustProxy: boolean;
}

export interface GatewayDeps {
  readonly settings: GatewaySettings;
  readonly port: GatewayPort;
  /** Makes the count of what one connection may send (`engine/session/allowance.ts`). */
  readonly newAllowance: () => Allowance;
  readonly wheel: { add(run: () => void, delayMs: number): { cancel(): void } };
  /** Monotonic milliseconds. */
  readonly nowMs: () => number;
  /** Runs a callback after the current tick's work. */
  readonly defer: (run: () => void) => void;
  readonly onFault: (error: unknown) => void;
}

export interface GatewayStats {
  readonly sockets: number;
  readonly framesSent: number;
  readonly framesReceived: number;
  /** Sockets closed because they read too slowly. */
  readonly overflows: number;
  /** Close code to how often the server has sent it. */
  readonly closes: ReadonlyMap<number, number>;
}

export interface Gateway {
  stats(): GatewayStats;
  /**
   * Refuses new sockets and asks every client to reconnect (op 7), spread over a part of the time; closes those that
   * have not left by themselves. Resolves when all are gone, at the latest after `timeoutMs`.
   */
  drain(timeoutMs: number): Promise<void>;
  /** Cuts every connection. */
  close(): void;
}

/** Rides on the native socket. */
interface Attached {
  readonly socket: GatewaySocket;
  /** What to close with right after HELLO, when the query asks for what is not spoken here. */
  readonly refusal: { readonly code: number; readonly reason: string } | null;
}

const VERSIONS: ReadonlySet<string> = new Set(['9', '10']);
const VERSION_DEFAULT = '10';
/** Above the 4096 bytes that a payload may have, so that a larger one is answered with 4002 and not cut off. */
const FRAME_BYTES_MAX = LIMITS.gateway_payload_bytes_max * 16;
const IDLE_TIMEOUT_MAX_SEC = 960;

/**
 * Reads `v`, `encoding` and `compress`, in any order. Absent ones are 10, json and none.
 *
 * @returns The dialect, or why the connection is to be closed. An unknown version is 4012; the platform has no code for
 * an unknown encoding or compression, and 4002 is nearest.
 */
function readDialect(query: string): { dialect: Dialect; refusal: Attached['refusal'] } {
  const params = new URLSearchParams(query);
  const version = params.get('v') ?? VERSION_DEFAULT;
  const encoding = params.get('encoding') ?? 'json';
  const lane = laneFor(encoding, params.get('compress') ?? '');
  const refusal = !VERSIONS.has(version)
    ? CLOSE.INVALID_VERSION
    : lane
      ? null
      : { ...CLOSE.DECODE_ERROR, reason: 'This server does not speak that encoding or compression.' };
  const spoken = lane ?? (laneFor('json', '') as Lane);
  return {
    dialect: {
      version: Number(version),
      encoding: lane && encoding === 'etf' ? 'etf' : 'json',
      lane: spoken,
    },
    refusal,
  };
}

class GatewayRoutes implements Gateway {
  readonly #deps: GatewayDeps;
  readonly #host: SocketHost;
  readonly #sockets = new Set<GatewaySocket>();
  readonly #perIp = new Map<string, number>();
  readonly #hellos = new Map<Lane, Uint8Array>();
  readonly #sweepMs: number;
  #sweeping = false;
  #draining = false;
  #onEmpty: (() => void) | null = null;

  constructor(deps: GatewayDeps) {
    const { settings } = deps;
    this.#deps = deps;
    this.#host = {
      limits: settings,
      port: deps.port,
      newAllowance: deps.newAllowance,
      outbox: new Outbox(deps.defer),
      counters: { framesSent: 0, framesReceived: 0, overflows: 0, closes: new Map() },
      nowMs: deps.nowMs,
      defer: deps.defer,
      onFault: deps.onFault,
      hello: (lane) => this.#hello(lane),
      onGone: (socket) => this.#gone(socket),
    };
    const shortestMs = Math.min(
      settings.identifyTimeoutMs,
      settings.heartbeatIntervalMs,
      settings.closeGraceMs,
    );
    this.#sweepMs = Math.min(1000, Math.max(20, shortestMs / 4));
  }

  install(app: TemplatedApp): void {
    const { heartbeatIntervalMs, heartbeatGraceMs } = this.#deps.settings;
    const idleSec = Math.ceil((heartbeatIntervalMs + heartbeatGraceMs) / 1000) + 30;
    const behavior = {
      maxPayloadLength: FRAME_BYTES_MAX,
      // The heartbeat is looked after here; this one frees sockets whose peer never finishes a closing handshake.
      idleTimeout: Math.min(IDLE_TIMEOUT_MAX_SEC, idleSec),
      sendPingsAutomatically: false,
      // The bound is kept here, where it can be answered with a close code.
      maxBackpressure: 0,
      compression: 0,
      upgrade: (res: HttpResponse, req: HttpRequest, context: us_socket_context_t) =>
        this.#upgrade(res, req, context),
      open: (ws: WebSocket<Attached>) => this.#guard(() => this.#opened(ws)),
      message: (ws: WebSocket<Attached>, message: ArrayBuffer, isBinary: boolean) =>
        this.#guard(() => ws.getUserData().socket.received(new Uint8Array(message), isBinary)),
      drain: (ws: WebSocket<Attached>) => this.#guard(() => ws.getUserData().socket.drained()),
      close: (ws: WebSocket<Attached>, code: number) =>
        this.#guard(() => ws.getUserData().socket.closed(code)),
    };
    for (const path of ['/', '/gateway', '/gateway/']) app.ws<Attached>(path, behavior);
  }

  stats(): GatewayStats {
    return { sockets: this.#sockets.size, ...this.#host.counters };
  }

  async drain(timeoutMs: number): Promise<void> {
    this.#draining = true;
    if (this.#sockets.size === 0) return;
    const { wheel } = this.#deps;
    const left = [...this.#sockets];
    // Half of the time to ask, so that the clients do not come back all at once; a quarter for each to leave.
    const rounds = Math.max(1, Math.min(20, left.length));
    for (let round = 0; round < rounds; round += 1) {
      const slice = left.filter((_, index) => index % rounds === round);
      wheel.add(
        () => {
          for (const socket of slice) socket.send(OP.RECONNECT, null);
          wheel.add(() => {
            for (const socket of slice) socket.close(CLOSE.UNKNOWN_ERROR.code, 'The server goes down.');
          }, timeoutMs / 4);
        },
        ((timeoutMs / 2) * round) / rounds,
      );
    }
    await new Promise<void>((resolve) => {
      this.#onEmpty = resolve;
      wheel.add(resolve, timeoutMs);
    });
  }

  close(): void {
    this.#draining = true;
    for (const socket of [...this.#sockets]) socket.cut();
  }

  #upgrade(res: HttpResponse, req: HttpRequest, context: us_socket_context_t): void {
    try {
      this.#admit(res, req, context);
    } catch (error) {
      this.#deps.onFault(error);
      // Guarded too: the response may have been given away before the exception came.
      this.#guard(() => res.writeStatus('500 Internal Server Error').end(undefined, true));
    }
  }

  #admit(res: HttpResponse, req: HttpRequest, context: us_socket_context_t): void {
    const { socketsMax, socketsPerIpMax, trustProxy } = this.#deps.settings;
    const address = addressOf(res, trustProxy ? req.getHeader('x-forwarded-for') : undefined);
    const full = this.#sockets.size >= socketsMax || (this.#perIp.get(address) ?? 0) >= socketsPerIpMax;
    if (this.#draining || full) {
      res.writeStatus('503 Service Unavailable').writeHeader('Retry-After', '5').end();
      return;
    }
    const { dialect, refusal } = readDialect(req.getQuery());
    const attached: Attached = { socket: new GatewaySocket(address, dialect, this.#host), refusal };
    res.upgrade(
      attached,
      req.getHeader('sec-websocket-key'),
      req.getHeader('sec-websocket-protocol'),
      // Without extensions: payloads are compressed by the protocol above, never twice.
      '',
      context,
    );
  }

  #opened(ws: WebSocket<Attached>): void {
    const { socket, refusal } = ws.getUserData();
    this.#sockets.add(socket);
    this.#perIp.set(socket.address, (this.#perIp.get(socket.address) ?? 0) + 1);
    socket.opened(ws);
    if (refusal) socket.close(refusal.code, refusal.reason);
    this.#sweepLater();
  }

  #gone(socket: GatewaySocket): void {
    if (!this.#sockets.delete(socket)) return;
    const left = (this.#perIp.get(socket.address) ?? 1) - 1;
    if (left > 0) this.#perIp.set(socket.address, left);
    else this.#perIp.delete(socket.address);
    if (this.#sockets.size === 0) this.#onEmpty?.();
  }

  #hello(lane: Lane): Uint8Array {
    let hello = this.#hellos.get(lane);
    if (!hello) {
      const d = { heartbeat_interval: this.#deps.settings.heartbeatIntervalMs };
      hello = concat(lane.header, lane.control(OP.HELLO, d));
      this.#hellos.set(lane, hello);
    }
    return hello;
  }

  /** An exception must not reach the native code, which would end the process for it. */
  #guard(run: () => void): void {
    try {
      run();
    } catch (error) {
      this.#deps.onFault(error);
    }
  }

  /** One wait on the wheel passes over all sockets; none is kept while there are none. */
  #sweepLater(): void {
    if (this.#sweeping) return;
    this.#sweeping = true;
    this.#deps.wheel.add(() => {
      this.#sweeping = false;
      const nowMs = this.#deps.nowMs();
      for (const socket of this.#sockets) this.#guard(() => socket.sweep(nowMs));
      if (this.#sockets.size > 0) this.#sweepLater();
    }, this.#sweepMs);
  }
}

/**
 * Adds the gateway to an app: WebSockets on `/` and `/gateway`, over the dialects of `codec/`. Everything a client
 * sends is bounded and answered as `docs/gateway.md` says; nothing it sends makes this throw.
 */
export function createGatewayRoutes(app: TemplatedApp, deps: GatewayDeps): Gateway {
  const routes = new GatewayRoutes(deps);
  routes.install(app);
  return routes;
}
