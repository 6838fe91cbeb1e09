import type { RelayEnd, VoicePort, VoiceRelays } from '../../actors/call/ports.ts';
import type { Wheel } from '../../actors/runtime/wheel.ts';
import type { Chaos } from '../../engine/chaos/chaos.ts';
import type { VoiceAllowance } from '../../engine/ratelimit/flood.ts';
import { VOICE_CLOSE, VOICE_VERSIONS } from '../../protocol/voice.ts';
import type { GatewaySettings, GatewayStats } from '../gateway/routes.ts';
import type { AddressWatch } from '../http/addresswatch.ts';
import type { Installer } from '../http/server.ts';
import { type Attached, type RealTime, SocketUpgrades } from '../http/upgrade.ts';
import { ChaoticVoiceSocket } from './chaoticsocket.ts';
import { VOICE_BINARY_BYTES_MAX } from './decode.ts';
import { type VoiceHost, VoiceSocket } from './socket.ts';

interface VoiceRoutesDeps {
  /** As for the gateway, but `heartbeatIntervalMs` is sent to voice clients, and `trustProxy` applies to the main port. */
  readonly settings: GatewaySettings;
  /** Whether a proxy also fronts the separate voice port. A port with its own TLS is reached directly and trusts none. */
  readonly trustProxyOnOwnPort: boolean;
  readonly port: VoicePort;
  /** Creates the rate limit for one connection's frames (`engine/ratelimit/flood.ts`). */
  readonly newAllowance: () => VoiceAllowance;
  /** The version that op 16 answers, such as `guildhall 1.2.3`. */
  readonly version: string;
  readonly wheel: Wheel;
  readonly realTime: RealTime;
  /** Monotonic milliseconds. */
  readonly nowMs: () => number;
  /** Runs a callback after the current tick's work. */
  readonly defer: (run: () => void) => void;
  readonly onFault: (error: unknown) => void;
  /** Counts bad IDENTIFYs and refuses addresses that sent too many. Null or absent when limits are off. */
  readonly watch?: AddressWatch | null;
  /** Relays clients to the shards of their calls; null or absent where this process has all calls. */
  readonly relays?: VoiceRelays | null;
  /** Injects failures; null elsewhere than in development. */
  readonly chaos?: Chaos | null;
}

type VoiceStats = GatewayStats;

export interface VoiceRoutes {
  /** Installer for the separate voice port: sockets on `/`, `/voice` and `/voice/`. */
  readonly onOwnPort: Installer;
  /** Installer for the main port, where `/` belongs to the gateway. */
  readonly onMainPort: Installer;
  /** A client that another shard relays. @returns its socket; null when there is no room for it. */
  relayed(client: Pick<VoiceSocket, 'address' | 'version'>, end: RelayEnd): VoiceSocket | null;
  stats(): VoiceStats;
  /**
   * Refuses new sockets and closes every connection with 4015, spread over half of the time. Resolves when all are closed, at
   * the latest after `timeoutMs`. During the first `patienceMs` of it (default 0) clients may leave by themselves.
   */
  drain(timeoutMs: number, patienceMs?: number): Promise<void>;
  /** Drops every connection without a close frame. */
  close(): void;
}

/** Larger than an allowed frame, so that an oversized one gets a close code instead of a reset. */
const NATIVE_FRAME_BYTES_MAX = VOICE_BINARY_BYTES_MAX + (64 << 10);

/**
 * Reads `v` and `encoding`. There is no default version: the platform's old default is no longer supported. Every
 * unsupported value is 4012, "unknown protocol", which libraries treat as final; after other codes they would resume forever.
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
 * The voice gateway: WebSockets for calls, on one or more ports. All client input is bounded and answered with a close code
 * of `protocol/voice.ts`; no client input makes this throw.
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
    defer: (run) => defer(() => upgrades.guard(run)),
    onFault,
    onGone: (socket) => upgrades.gone(socket),
    onRefused: ({ address }) => deps.watch?.count(address),
  };
  const socketOf = (address: string, spoken: number, relays: VoiceRelays | null): VoiceSocket =>
    deps.chaos
      ? new ChaoticVoiceSocket(address, spoken, host, deps.chaos, relays)
      : new VoiceSocket(address, spoken, host, relays);
  const upgrades = new SocketUpgrades<VoiceSocket>({
    settings,
    frameBytesMax: NATIVE_FRAME_BYTES_MAX,
    wheel,
    realTime,
    nowMs,
    onFault,
    watch: deps.watch ?? null,
    admit(address, query, isShared) {
      const { version: spoken, refusal } = readDialect(query);
      return { socket: socketOf(address, spoken, isShared ? (deps.relays ?? null) : null), refusal };
    },
    opened: (ws, { socket, refusal }) => socket.opened(ws, refusal),
  });
  return {
    onOwnPort: (app) => upgrades.install(app, ['/', '/voice', '/voice/'], deps.trustProxyOnOwnPort),
    onMainPort: (app) => upgrades.install(app, ['/voice', '/voice/'], settings.trustProxy, true),
    relayed({ address, version: spoken }, end) {
      const socket = socketOf(address, spoken, null);
      if (!upgrades.adopt(socket)) return null;
      socket.opened(end, null, true);
      return socket;
    },
    stats: () => ({ sockets: upgrades.size, ...host.counters }),
    drain: (timeoutMs, patienceMs) => upgrades.drain(timeoutMs, [(socket) => socket.sendAway()], patienceMs),
    close: () => upgrades.close(),
  };
}
