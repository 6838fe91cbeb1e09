import type { TemplatedApp } from 'uWebSockets.js';
import type { Clock } from '../../actors/runtime/clock.ts';
import type { Wheel } from '../../actors/runtime/wheel.ts';
import type { GatewayPort } from '../../actors/session/ports.ts';
import type { Chaos } from '../../engine/chaos/chaos.ts';
import type { Allowance } from '../../engine/session/allowance.ts';
import { CLOSE } from '../../protocol/closecodes.ts';
import { LIMITS } from '../../protocol/limits.ts';
import { OP } from '../../protocol/opcodes.ts';
import { present } from '../../protocol/present.ts';
import type { AddressWatch } from '../http/addresswatch.ts';
import { type Attached, type RealTime, SocketUpgrades, type UpgradeSettings } from '../http/upgrade.ts';
import type { Recorder } from '../recording/recorder.ts';
import { ChaoticGatewaySocket } from './chaoticsocket.ts';
import { Histories } from './codec/history.ts';
import { type Lane, laneFor } from './codec/lane.ts';
import { concat } from './codec/splice.ts';
import { Outbox } from './outbox.ts';
import { type Dialect, GatewaySocket, type SocketHost, type SocketLimits } from './socket.ts';

export interface GatewaySettings extends SocketLimits, UpgradeSettings {
  /** Whether a client's address is taken from X-Forwarded-For. */
  readonly trustProxy: boolean;
}

export interface GatewayDeps {
  readonly settings: GatewaySettings;
  readonly port: GatewayPort;
  /** Creates the rate limit for one connection's payloads (`engine/session/allowance.ts`). */
  readonly newAllowance: () => Allowance;
  readonly wheel: Wheel;
  readonly realTime: RealTime;
  readonly clock: Pick<Clock, 'monotonic' | 'defer'>;
  readonly onFault: (error: unknown) => void;
  /** Counts bad IDENTIFYs and refuses addresses that sent too many. Null or absent when limits are off. */
  readonly watch?: AddressWatch | null;
  /** Injects failures; null elsewhere than in development. */
  readonly chaos?: Chaos | null;
  /** Receives the frames of clients and their dispatches; null outside development. */
  readonly recorder?: Recorder | null;
  /** Called before the frames of a tick are written, to store the journal first. */
  readonly beforeFlush?: (() => void) | null;
  /** Whether connections with `zlib-stream` that receive the same dispatches share a compression history. */
  readonly sharesHistory?: boolean;
}

export interface GatewayStats {
  readonly sockets: number;
  readonly framesSent: number;
  readonly framesReceived: number;
  /** Sockets closed because they read too slowly. */
  readonly overflows: number;
  /** How often the server has sent each close code. */
  readonly closes: ReadonlyMap<number, number>;
}

export interface Gateway {
  stats(): GatewayStats;
  /**
   * Refuses new sockets and asks every client to reconnect (op 7), spread over part of the timeout; then closes the
   * remaining sockets. Resolves when all are closed, at the latest after `timeoutMs`.
   */
  drain(timeoutMs: number): Promise<void>;
  /** Drops every connection without a close frame. */
  close(): void;
}

const VERSIONS: ReadonlySet<string> = new Set(['9', '10']);
const VERSION_DEFAULT = '10';
/** Larger than the 4096 bytes allowed for a payload, so that an oversized one gets close code 4002 instead of a reset. */
const FRAME_BYTES_MAX = LIMITS.gateway_payload_bytes_max * 16;

/**
 * Reads `v`, `encoding` and `compress`, in any order. The defaults are 10, json and no compression.
 *
 * @returns The dialect, or the reason to close the connection. An unknown version is 4012; the platform has no code for an
 * unknown encoding or compression, so 4002 is used.
 */
function readDialect(query: string): { dialect: Dialect; refusal: Attached<GatewaySocket>['refusal'] } {
  const params = new URLSearchParams(query);
  const version = params.get('v') ?? VERSION_DEFAULT;
  const encoding = params.get('encoding') ?? 'json';
  const lane = laneFor(encoding, params.get('compress') ?? '');
  const refusal = !VERSIONS.has(version)
    ? CLOSE.INVALID_VERSION
    : lane
      ? null
      : { ...CLOSE.DECODE_ERROR, reason: 'This server does not speak that encoding or compression.' };
  const spoken = lane ?? present(laneFor('json', ''));
  return {
    dialect: {
      version: Number(version),
      encoding: lane && encoding === 'etf' ? 'etf' : 'json',
      lane: spoken,
    },
    refusal,
  };
}

/**
 * Adds the gateway to an app: WebSockets on `/` and `/gateway`, in the dialects of `codec/`. All client input is bounded and
 * answered as `docs/gateway.md` describes; no client input makes this throw.
 */
export function createGatewayRoutes(app: TemplatedApp, deps: GatewayDeps): Gateway {
  const { settings, port, newAllowance, wheel, realTime, clock, onFault } = deps;
  const nowMs = () => clock.monotonic();
  const outbox = new Outbox(clock, deps.beforeFlush);
  const histories = deps.sharesHistory === true ? new Histories((run) => outbox.afterFlush(run)) : null;
  const host: SocketHost = {
    limits: settings,
    port,
    newAllowance,
    outbox,
    counters: { framesSent: 0, framesReceived: 0, overflows: 0, closes: new Map() },
    nowMs,
    defer: (run) => clock.defer(run),
    onFault,
    hello: hellos(settings.heartbeatIntervalMs),
    laneOf: (lane) => histories?.laneOf(lane) ?? lane,
    recorder: deps.recorder ?? null,
    onGone: (socket) => upgrades.gone(socket),
    onRefused: ({ address }) => deps.watch?.count(address),
  };
  const chaosTimers = {
    nowMs,
    setTimer: (run: () => void, delayMs: number) => realTime.setTimer(() => upgrades.guard(run), delayMs),
  };
  const upgrades = new SocketUpgrades<GatewaySocket>({
    settings,
    frameBytesMax: FRAME_BYTES_MAX,
    wheel,
    realTime,
    nowMs,
    onFault,
    watch: deps.watch ?? null,
    admit(address, query) {
      const { dialect, refusal } = readDialect(query);
      const socket = deps.chaos
        ? new ChaoticGatewaySocket(address, dialect, host, { chaos: deps.chaos, timers: chaosTimers })
        : new GatewaySocket(address, dialect, host);
      return { socket, refusal };
    },
    opened(ws, { socket, refusal }) {
      socket.opened(ws);
      if (refusal) socket.close(refusal.code, refusal.reason);
    },
  });
  upgrades.install(app, ['/', '/gateway', '/gateway/'], settings.trustProxy);
  return {
    stats: () => ({ sockets: upgrades.size, ...host.counters }),
    drain: (timeoutMs) =>
      upgrades.drain(timeoutMs, [
        (socket) => socket.send(OP.RECONNECT, null),
        (socket) => socket.close(CLOSE.UNKNOWN_ERROR.code, 'The server is shutting down.'),
      ]),
    close: () => upgrades.close(),
  };
}

/** The encoded HELLO of each lane, cached. */
function hellos(heartbeatIntervalMs: number): SocketHost['hello'] {
  const known = new Map<Lane, Uint8Array>();
  return (lane) => {
    let hello = known.get(lane);
    if (!hello) {
      hello = concat(lane.header, lane.control(OP.HELLO, { heartbeat_interval: heartbeatIntervalMs }));
      known.set(lane, hello);
    }
    return hello;
  };
}
