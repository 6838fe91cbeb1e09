import { isIPv6 } from 'node:net';
import type { Calls } from '../actors/call/calls.ts';
import { callListing } from '../actors/call/listing.ts';
import type { Placement } from '../actors/placement/ports.ts';
import { systemClock } from '../actors/runtime/clock.ts';
import { trustsProxyOfVoice, voiceWorkersOf, webrtcHostOf } from '../config/choices.ts';
import type { Config } from '../config/config.ts';
import { CLOSE_GRACE_MS } from '../config/fixed.ts';
import { mediaHost, voiceGatewayHost, voiceHost } from '../config/voice.ts';
import type { CallControl, VoiceAddresses } from '../embedding.ts';
import { VoiceAllowance } from '../engine/ratelimit/flood.ts';
import { startInline } from '../media/io/inline.ts';
import { createMediaPlane, IS_BUILT, type RunningMediaPlane } from '../media/io/plane.ts';
import type { MediaMetrics } from '../media/plane.ts';
import { outwardAddress } from '../media/webrtc/outwardaddress.ts';
import { createPeers } from '../media/webrtc/peers.ts';
import type { PeerOptions } from '../media/webrtc/ports.ts';
import { reserveUdpPort } from '../media/webrtc/reservation.ts';
import { present } from '../protocol/present.ts';
import { movingMs } from '../services/operator/drain.ts';
import { redirectingCalls } from '../services/voice/elsewhere.ts';
import { createVoiceRelays } from '../services/voice/relays.ts';
import type { AddressWatch } from '../transports/http/addresswatch.ts';
import { type HttpServer, startServer } from '../transports/http/server.ts';
import { type VoiceRoutes, voiceRoutes } from '../transports/voice/routes.ts';
import { voiceTls } from '../transports/voice/tls.ts';
import { type CallPorts, createCalls } from './calls.ts';

interface VoicePorts extends CallPorts {
  readonly cluster: Placement;
  readonly watch: AddressWatch | null;
}

export type Voice = ReturnType<typeof createVoice>;

/** Calls as the engine exposes them. Without voice the list is empty and audibility cannot be set. */
export const callControl = (voice: Voice | null): CallControl => ({
  list: async () => (await voice?.list()) ?? [],
  setAudibility: (callId, userId, listenerIds) =>
    voice?.calls.setAudibility(callId, userId, listenerIds) ?? false,
});

/** Resources that `listen` opened. */
interface Open {
  readonly server: HttpServer;
  readonly addresses: VoiceAddresses;
}

/** Calls with their sockets and media, which open with `listen`. */
export function createVoice(ports: VoicePorts) {
  const { config } = ports;
  let open: Open | null = null;
  /** Opened first; calls use it while it is open. */
  let plane: RunningMediaPlane | null = null;
  const { calls, ...served } = createCalls(
    ports,
    () => plane,
    () => open?.addresses.endpoint ?? null,
  );
  const routes = createRoutes(ports, calls);
  const metrics = async (): Promise<MediaMetrics | null> => (await plane?.metrics()) ?? null;

  return {
    calls,
    ...served,
    routes,
    metrics,
    list: async () => callListing(calls.list(), await metrics()),
    /** Ends a media worker like a crash would; the worker is restarted. */
    killWorker: (index: number) => plane?.killWorker(index),

    /** @throws Error when a port is in use or a certificate is invalid. */
    async listen(): Promise<VoiceAddresses> {
      const { voice_host: host, voice_port: port } = config;
      const { tls, caFile } = await voiceTls(config, namesOf(config));
      const webrtc = await ports.lifetime.opening(webrtcOf(config));
      ports.lifetime.own(() => webrtc.close());
      // The engine may close between two steps; `opening` then closes what was opened last.
      plane = await ports.lifetime.opening(openPlane(ports, webrtc));
      const server = await ports.lifetime.opening(
        startServer({ host, port, installers: [routes.onOwnPort], ...(tls && { tls }) }),
      );
      const addresses = {
        endpoint: config.voice_endpoint ?? `${bracketed(voiceHost(config))}:${server.port}`,
        caFile,
        secure: tls !== null,
        udpPort: present(plane.udpPorts[0]),
        webrtcPort: webrtc.port,
        webrtcAddress: webrtc.externalAddress,
      };
      open = { server, addresses };
      return addresses;
    },

    async drain(timeoutMs: number): Promise<void> {
      open?.server.stopAccepting();
      await routes.drain(timeoutMs, movingMs(calls, timeoutMs));
    },

    async close(): Promise<void> {
      routes.close();
      calls.close();
      open?.server.close();
      await plane?.close();
      plane = null;
      open = null;
    },
  };
}

function createRoutes(
  { config, clock, wheel, routing, cluster, randomBytes, watch, chaos, openFiles, onFault }: VoicePorts,
  calls: Calls,
): VoiceRoutes {
  const relays = createVoiceRelays({
    ...{ ...cluster, randomBytes },
    accept: (client, end) => routes.relayed(client, end),
  });
  const routes = voiceRoutes({
    settings: { ...socketSettings(config), openFiles },
    trustProxyOnOwnPort: trustsProxyOfVoice(config),
    port: redirectingCalls(calls, routing),
    newAllowance: () => new VoiceAllowance(),
    version: 'guildhall',
    wheel,
    realTime: systemClock,
    nowMs: () => clock.monotonic(),
    defer: (run) => clock.defer(run),
    onFault: (error) => onFault(error, 'voice gateway'),
    ...{ watch, chaos, relays },
  });
  return routes;
}

/** The UDP address for browsers; the port stays reserved until `close`. */
interface WebrtcAddress extends PeerOptions {
  close(): void;
}

/** @throws Error when the address does not belong to this machine or the port is in use. */
async function webrtcOf(config: Config): Promise<WebrtcAddress> {
  const bindAddress = webrtcHostOf(config) ?? (await outwardAddress());
  const reservation = await reserveUdpPort(bindAddress, config.voice_webrtc_port);
  const { port, release: close } = reservation;
  return { bindAddress, port, reservation, externalAddress: mediaHost(config, bindAddress), close };
}

async function openPlane(
  { config, chaos, logger, onFault }: VoicePorts,
  webrtc: PeerOptions,
): Promise<RunningMediaPlane> {
  const { voice_host: host } = config;
  const externalAddress = mediaHost(config, host);
  const plane = await createMediaPlane({
    host,
    port: config.voice_udp_port,
    externalAddress,
    isNative: config.voice_native,
    workers: voiceWorkersOf(config, { isBuilt: IS_BUILT, losesPackets: chaos !== null }),
    ...(chaos && { start: (plan, listener) => startInline(plan, listener, (way) => chaos.loses(way)) }),
    peers: (events) => createPeers(webrtc, events),
    onFault,
  });
  logger.debug(plane.sender, 'The sender of voice packets was chosen.');
  return plane;
}

const bracketed = (host: string): string => (isIPv6(host) ? `[${host}]` : host);

/** Host names that the certificate must contain. */
function namesOf(config: Config): string[] {
  const { external_address: external } = config;
  return [voiceGatewayHost(config), config.voice_host, ...(external === null ? [] : [external])];
}

const socketSettings = (config: Config) => ({
  socketsMax: config.sockets_max,
  socketsPerIpMax: config.sockets_per_ip_max,
  trustProxy: config.trust_proxy,
  heartbeatIntervalMs: config.voice_heartbeat_interval_ms,
  heartbeatGraceMs: config.heartbeat_grace_ms,
  identifyTimeoutMs: config.identify_timeout_ms,
  closeGraceMs: CLOSE_GRACE_MS,
  socketBufferBytesMax: config.socket_buffer_bytes_max,
});
