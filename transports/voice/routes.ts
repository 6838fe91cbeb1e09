import type { VoicePort } from '../../actors/call/ports.ts';
import type { Wheel } from '../../actors/runtime/wheel.ts';
import type { VoiceAllowance } from '../../engine/ratelimit/flood.ts';
import { VOICE_CLOSE, VOICE_VERSIONS } from '../../protocol/voice.ts';
import type { GatewaySettings, GatewayStats } from '../gateway/routes.ts';
import type { AddressWatch } from '../http/addresswatch.ts';
import { type Attached, type RealTime, SocketDoor } from '../http/door.ts';
import type { Installer } from '../http/server.ts';
import { VOICE_BINARY_BYTES_MAX } from './decode.ts';
import { type VoiceHost, VoiceSocket } from './socket.ts';

interface VoiceRoutesDeps {
  /** As the gateway's; `heartbeatIntervalMs` is what voice clients are told, and `trustProxy` is for the main port. */
  readonly settings: GatewaySettings;
  /** Whether a proxy stands before the port of its own too. One that speaks TLS itself is reached by anyone. */
  readonly trustProxyOnOwnPort: boolean;
  readonly port: VoicePort;
  /** Makes the count of what one connection may send (`engine/ratelimit/flood.ts`). */
  readonly newAllowance: () => VoiceAllowance;
  /** What op 16 answers, such as `guildhall 1.2.3`. */
  readonly version: string;
  readonly wheel: Wheel;
  readonly realTime: RealTime;
  /** Monotonic milliseconds. */
  readonly nowMs: () => number;
  /** Runs a callback after the current tick's work. */
  readonly defer: (run: () => void) => void;
  readonly onFault: (error: unknown) => void;
  /** Counts bad IDENTIFYs and refuses addresses that sent too many. Null or absent where limits are off. */
  readonly watch?: AddressWatch | null;
}

type VoiceStats = GatewayStats;

export interface VoiceRoutes {
  /** For the port of its own: sockets on `/`, `/voice` and `/voice/`. */
  readonly onOwnPort: Installer;
  /** For the port that serves everything else too, where `/` is the gateway's. */
  readonly onMainPort: Installer;
  stats(): VoiceStats;
  /**
   * Refuses new sockets and sends every client away (4015), spread over half of the time. Resolves when all are gone,
   * at the latest after `timeoutMs`. For `patienceMs` of that, by default none, clients may go by themselves.
   */
  drain(timeoutMs: number, patienceMs?: number): Promise<void>;
  /** Cuts every connection. */
  close(): void;
}

/** Above what a frame may have, so that a larger one is answered with a close code and not cut off. */
const NATIVE_FRAME_BYTES_MAX = VOICE_BINARY_BYTES_MAX + (64 << 10);

/**
 * Reads `v` and `encoding`. There is no default version: the one that used to be is no longer spoken. All that is not
 * spoken is 4012, "unknown protocol", which libraries take for final instead of resuming for ever.
 */
function readDialect(query: string): Pick<Attached<VoiceSocket>, 'refusal'> & { version: number } {
  const params = new URLSearchParams(query);
  const given = params.get('v') ?? '';
  const version = /^[1-9]$/.test(given) ? Number(given) : 0;
  const spoken = version >= VOICE_VERSIONS.min && version <= VOICE_VERSIONS.max;
  const readable = (params.get('encoding') ?? 'json') === 'json';
  return { version, refusal: spoken && readable ? null : VOICE_CLOSE.UNKNOWN_PROTOCOL };
}

/**
 * The voice gateway: WebSockets for calls, on one or more ports. Everything a client sends is bounded and answered with
 * a close code of `protocol/voice.ts`; nothing it sends makes this throw.
 */
export function voiceRoutes(deps: VoiceRoutesDeps): VoiceRoutes {
  const { settings, port, newAllowance, version, wheel, realTime, nowMs, defer, onFault } = deps;
  const host: VoiceHost = {
    limits: settings,
    port,
    newAllowance,
    version,
    counters: { framesSent: 0, framesReceived: 0, overflows: 0, closes: new Map() },
    nowMs,
    defer: (run) => defer(() => door.guard(run)),
    onFault,
    onGone: (socket) => door.gone(socket),
    onRefused: ({ address }) => deps.watch?.count(address),
  };
  const door = new SocketDoor<VoiceSocket>({
    settings,
    frameBytesMax: NATIVE_FRAME_BYTES_MAX,
    wheel,
    realTime,
    nowMs,
    onFault,
    watch: deps.watch ?? null,
    admit(address, query) {
      const { version: spoken, refusal } = readDialect(query);
      return { socket: new VoiceSocket(address, spoken, host), refusal };
    },
    opened: (ws, { socket, refusal }) => socket.opened(ws, refusal),
  });
  return {
    onOwnPort: (app) => door.install(app, ['/', '/voice', '/voice/'], deps.trustProxyOnOwnPort),
    onMainPort: (app) => door.install(app, ['/voice', '/voice/'], settings.trustProxy),
    stats: () => ({ sockets: door.size, ...host.counters }),
    drain: (timeoutMs, patienceMs) => door.drain(timeoutMs, [(socket) => socket.sendAway()], patienceMs),
    close: () => door.close(),
  };
}
