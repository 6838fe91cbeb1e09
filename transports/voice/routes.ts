import type { HttpRequest, HttpResponse, TemplatedApp, us_socket_context_t, WebSocket } from 'uWebSockets.js';
import type { VoicePort } from '../../actors/call/ports.ts';
import type { VoiceAllowance } from '../../engine/ratelimit/flood.ts';
import { VOICE_CLOSE, VOICE_VERSIONS } from '../../protocol/voice.ts';
import type { GatewaySettings, GatewayStats } from '../gateway/routes.ts';
import { addressOf } from '../http/exchange.ts';
import type { Installer } from '../http/server.ts';
import { VOICE_BINARY_BYTES_MAX } from './decode.ts';
import { type VoiceHost, VoiceSocket } from './socket.ts';

export interface VoiceRoutesDeps {
  /** As the gateway's; `heartbeatIntervalMs` is what voice clients are told, and `trustProxy` is for the main port. */
  readonly settings: GatewaySettings;
  /** Whether a proxy stands before the port of its own too. One that speaks TLS itself is reached by anyone. */
  readonly trustProxyOnOwnPort: boolean;
  readonly port: VoicePort;
  /** Makes the count of what one connection may send (`engine/ratelimit/flood.ts`). */
  readonly newAllowance: () => VoiceAllowance;
  /** What op 16 answers, such as `guildhall 1.2.3`. */
  readonly version: string;
  readonly wheel: { add(run: () => void, delayMs: number): { cancel(): void } };
  /** Monotonic milliseconds. */
  readonly nowMs: () => number;
  /** Runs a callback after the current tick's work. */
  readonly defer: (run: () => void) => void;
  readonly onFault: (error: unknown) => void;
}

export type VoiceStats = GatewayStats;

export interface VoiceRoutes {
  /** For the port of its own: sockets on `/`, `/voice` and `/voice/`. */
  readonly onOwnPort: Installer;
  /** For the port that serves everything else too, where `/` is the gateway's. */
  readonly onMainPort: Installer;
  stats(): VoiceStats;
  /**
   * Refuses new sockets and sends every client away (4015), spread over half of the time. Resolves when all are gone,
   * at the latest after `timeoutMs`.
   */
  drain(timeoutMs: number): Promise<void>;
  /** Cuts every connection. */
  close(): void;
}

/** Rides on the native socket. */
interface Attached {
  readonly socket: VoiceSocket;
  /** What to close with instead of HELLO, when the query asks for what is not spoken here. */
  readonly refusal: { readonly code: number; readonly reason: string } | null;
}

/** Above what a frame may have, so that a larger one is answered with a close code and not cut off. */
const NATIVE_FRAME_BYTES_MAX = VOICE_BINARY_BYTES_MAX + (64 << 10);
const IDLE_TIMEOUT_MAX_SEC = 960;
const DRAIN_ROUNDS_MAX = 20;

/**
 * Reads `v` and `encoding`. There is no default version: the one that used to be is no longer spoken. All that is not
 * spoken is 4012, "unknown protocol", which libraries take for final instead of resuming for ever.
 */
function readDialect(query: string): Pick<Attached, 'refusal'> & { version: number } {
  const params = new URLSearchParams(query);
  const given = params.get('v') ?? '';
  const version = /^[1-9]$/.test(given) ? Number(given) : 0;
  const spoken = version >= VOICE_VERSIONS.min && version <= VOICE_VERSIONS.max;
  const readable = (params.get('encoding') ?? 'json') === 'json';
  return { version, refusal: spoken && readable ? null : VOICE_CLOSE.UNKNOWN_PROTOCOL };
}

class Routes implements VoiceRoutes {
  readonly onOwnPort: Installer = (app) =>
    this.#install(app, ['/', '/voice', '/voice/'], this.#deps.trustProxyOnOwnPort);
  readonly onMainPort: Installer = (app) =>
    this.#install(app, ['/voice', '/voice/'], this.#deps.settings.trustProxy);
  readonly #deps: VoiceRoutesDeps;
  readonly #host: VoiceHost;
  readonly #sockets = new Set<VoiceSocket>();
  readonly #perIp = new Map<string, number>();
  readonly #sweepMs: number;
  #sweeping = false;
  #draining = false;
  #onEmpty: (() => void) | null = null;

  constructor(deps: VoiceRoutesDeps) {
    const { settings, port, newAllowance, version, nowMs, defer, onFault } = deps;
    this.#deps = deps;
    this.#host = {
      limits: settings,
      port,
      newAllowance,
      version,
      counters: { framesSent: 0, framesReceived: 0, overflows: 0, closes: new Map() },
      nowMs,
      defer: (run) => defer(() => this.#guard(run)),
      onFault,
      onGone: (socket) => this.#gone(socket),
    };
    const { identifyTimeoutMs, heartbeatIntervalMs, closeGraceMs } = settings;
    const shortestMs = Math.min(identifyTimeoutMs, heartbeatIntervalMs, closeGraceMs);
    this.#sweepMs = Math.min(1000, Math.max(20, shortestMs / 4));
  }

  stats(): VoiceStats {
    return { sockets: this.#sockets.size, ...this.#host.counters };
  }

  async drain(timeoutMs: number): Promise<void> {
    this.#draining = true;
    if (this.#sockets.size === 0) return;
    const { wheel } = this.#deps;
    const left = [...this.#sockets];
    const rounds = Math.min(DRAIN_ROUNDS_MAX, left.length);
    for (let round = 0; round < rounds; round += 1) {
      const slice = left.filter((_, index) => index % rounds === round);
      wheel.add(
        () => {
          for (const socket of slice) this.#guard(() => socket.sendAway());
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
    for (const socket of [...this.#sockets]) this.#guard(() => socket.cut());
  }

  #install(app: TemplatedApp, paths: readonly string[], trustProxy: boolean): void {
    const { heartbeatIntervalMs, heartbeatGraceMs } = this.#deps.settings;
    const idleSec = Math.ceil((heartbeatIntervalMs + heartbeatGraceMs) / 1000) + 30;
    const behavior = {
      maxPayloadLength: NATIVE_FRAME_BYTES_MAX,
      // The heartbeat is looked after here; this one frees sockets whose peer never finishes a closing handshake.
      idleTimeout: Math.min(IDLE_TIMEOUT_MAX_SEC, idleSec),
      sendPingsAutomatically: false,
      // The bound is kept here, where it can be answered with a close code.
      maxBackpressure: 0,
      compression: 0,
      upgrade: (res: HttpResponse, req: HttpRequest, context: us_socket_context_t) =>
        this.#upgrade(res, req, context, trustProxy),
      open: (ws: WebSocket<Attached>) => this.#guard(() => this.#opened(ws)),
      message: (ws: WebSocket<Attached>, message: ArrayBuffer, isBinary: boolean) =>
        this.#guard(() => ws.getUserData().socket.received(new Uint8Array(message), isBinary)),
      drain: (ws: WebSocket<Attached>) => this.#guard(() => ws.getUserData().socket.drained()),
      close: (ws: WebSocket<Attached>, code: number) =>
        this.#guard(() => ws.getUserData().socket.closed(code)),
    };
    for (const path of paths) app.ws<Attached>(path, behavior);
  }

  #upgrade(res: HttpResponse, req: HttpRequest, context: us_socket_context_t, trustProxy: boolean): void {
    try {
      this.#admit(res, req, context, trustProxy);
    } catch (error) {
      this.#deps.onFault(error);
      // Guarded too: the response may have been given away before the exception came.
      this.#guard(() => res.writeStatus('500 Internal Server Error').end(undefined, true));
    }
  }

  #admit(res: HttpResponse, req: HttpRequest, context: us_socket_context_t, trustProxy: boolean): void {
    const { socketsMax, socketsPerIpMax } = this.#deps.settings;
    const address = addressOf(res, trustProxy ? req.getHeader('x-forwarded-for') : undefined);
    const full = this.#sockets.size >= socketsMax || (this.#perIp.get(address) ?? 0) >= socketsPerIpMax;
    if (this.#draining || full) {
      res.writeStatus('503 Service Unavailable').writeHeader('Retry-After', '5').end();
      return;
    }
    const { version, refusal } = readDialect(req.getQuery());
    const attached: Attached = { socket: new VoiceSocket(address, version, this.#host), refusal };
    const key = req.getHeader('sec-websocket-key');
    res.upgrade(attached, key, req.getHeader('sec-websocket-protocol'), '', context);
  }

  #opened(ws: WebSocket<Attached>): void {
    const { socket, refusal } = ws.getUserData();
    this.#sockets.add(socket);
    this.#perIp.set(socket.address, (this.#perIp.get(socket.address) ?? 0) + 1);
    socket.opened(ws, refusal);
    this.#sweepLater();
  }

  #gone(socket: VoiceSocket): void {
    if (!this.#sockets.delete(socket)) return;
    const left = (this.#perIp.get(socket.address) ?? 1) - 1;
    if (left > 0) this.#perIp.set(socket.address, left);
    else this.#perIp.delete(socket.address);
    if (this.#sockets.size === 0) this.#onEmpty?.();
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
 * The voice gateway: WebSockets for calls, on one or more ports. Everything a client sends is bounded and answered with
 * a close code of `protocol/voice.ts`; nothing it sends makes this throw.
 */
export const voiceRoutes = (deps: VoiceRoutesDeps): VoiceRoutes => new Routes(deps);
