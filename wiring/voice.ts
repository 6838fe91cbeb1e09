import { isIPv6 } from 'node:net';
import { Calls, type CallView } from '../actors/call/calls.ts';
import type { Seat, VoiceOutcome, VoicePort } from '../actors/call/ports.ts';
import { inOwnTurn } from '../actors/call/seats.ts';
import type { Streams } from '../actors/call/streams.ts';
import type { Guilds } from '../actors/guild/guilds.ts';
import type { Routing } from '../actors/placement/routing.ts';
import { systemClock } from '../actors/runtime/clock.ts';
import type { Supervisor } from '../actors/runtime/supervisor.ts';
import type { Config } from '../config/config.ts';
import { mediaHost, voiceGatewayHost, voiceHost } from '../config/voice.ts';
import type { CallControl, CallListing, VoiceAddresses } from '../embedding.ts';
import { DispatchBody } from '../engine/fanout/body.ts';
import { SYSTEM } from '../engine/kernel/authority.ts';
import { VoiceAllowance } from '../engine/ratelimit/flood.ts';
import { openDaveDelivery } from '../media/dave/group.ts';
import { createMediaPlane, type RunningMediaPlane } from '../media/io/plane.ts';
import type { MediaFigures } from '../media/plane.ts';
import { machineAddress } from '../media/webrtc/address.ts';
import { createPeers } from '../media/webrtc/peers.ts';
import type { PeerOptions } from '../media/webrtc/ports.ts';
import { reserveUdpPort } from '../media/webrtc/reservation.ts';
import type { ChannelId } from '../protocol/ids.ts';
import type { PlacePorts, VoicePlaces } from '../services/voice/places.ts';
import type { AddressWatch } from '../transports/http/addresswatch.ts';
import { type HttpServer, startServer } from '../transports/http/server.ts';
import { voiceRoutes } from '../transports/voice/routes.ts';
import { voiceTls } from '../transports/voice/tls.ts';
import type { Foundation } from './foundation.ts';
import { CLOSE_GRACE_MS } from './foundation.ts';
import type { Parts } from './site.ts';
import { askInOwnTurn, createStreams, streamsThenCalls } from './streams.ts';

interface VoicePorts extends Foundation {
  readonly supervisor: Supervisor;
  readonly guilds: Guilds;
  readonly privateChannels: PlacePorts['privateChannels'];
  readonly inPrivate: PlacePorts['inPrivate'];
  readonly telling: PlacePorts['telling'];
  readonly routing: PlacePorts['routing'];
  readonly places: VoicePlaces;
  readonly parts: Pick<Parts, 'lobbies'>;
  readonly watch: AddressWatch | null;
}

export type Voice = ReturnType<typeof createVoice>;

/** The voice of an engine by its `calls`: for tests of faults that no interface causes. */
const voices = new WeakMap<CallControl, Voice>();
export const voiceBehind = (control: CallControl): Voice | null => voices.get(control) ?? null;

/** Calls as an engine shows them. Where none are served, there is nothing to list and nobody to be heard. */
export function callControl(voice: Voice | null): CallControl {
  const control: CallControl = {
    list: async () => (await voice?.list()) ?? [],
    setAudibility: (callId, userId, listenerIds) =>
      voice?.calls.setAudibility(callId, userId, listenerIds) ?? false,
  };
  if (voice) voices.set(control, voice);
  return control;
}

/** Threads need built files; what runs from its sources forwards on the main thread. */
const RUNS_FROM_SOURCES = import.meta.url.endsWith('.ts');

/** Part of the time to drain in which clients may go by themselves to where their calls are. */
const MOVING_SHARE = 0.5;

/** What `listen` opened. */
interface Open {
  readonly server: HttpServer;
  readonly addresses: VoiceAddresses;
}

/** Calls, with the sockets and media they run over; nothing of those is there before `listen`. */
export function createVoice(ports: VoicePorts) {
  const { config } = ports;
  let open: Open | null = null;
  /** Opened first; calls may have it for as long as it is. */
  let plane: RunningMediaPlane | null = null;
  const streams: Streams = createStreams(ports, () => calls);
  const calls: Calls = createCalls(
    ports,
    streams,
    () => plane,
    () => open?.addresses.endpoint ?? null,
  );
  const routes = createRoutes(ports, calls);
  const figures = async (): Promise<MediaFigures | null> => (await plane?.figures()) ?? null;

  return {
    calls,
    streams,
    /** Stream opcodes of a session. */
    ask: askInOwnTurn(streams, ports),
    seats: inOwnTurn(
      streamsThenCalls(streams, calls),
      (run) => ports.clock.defer(run),
      (error) => ports.onFault(error, 'call'),
    ),
    routes,
    figures,
    list: async () => listing(calls.list(), await figures()),
    /** Ends a media worker as a crash would; it is begun anew. */
    killWorker: (index: number) => plane?.killWorker(index),

    /** @throws Error when a port is taken, or a certificate cannot be used. */
    async listen(): Promise<VoiceAddresses> {
      const { voice_host: host, voice_port: port } = config;
      const { tls, caFile } = await voiceTls(config, namesOf(config));
      const webrtc = await ports.lifetime.opening(webrtcOf(config));
      ports.lifetime.own(() => webrtc.close());
      // The engine may be closed between two steps: what it could not know of ends here.
      plane = await ports.lifetime.opening(openPlane(ports, webrtc));
      const server = await ports.lifetime.opening(
        startServer({ host, port, installers: [routes.onOwnPort], ...(tls && { tls }) }),
      );
      const addresses = {
        endpoint: config.voice_endpoint ?? `${bracketed(voiceHost(config))}:${server.port}`,
        caFile,
        secure: tls !== null,
        udpPort: plane.udpPorts[0] as number,
        webrtcPort: webrtc.port,
        webrtcAddress: webrtc.externalAddress,
      };
      open = { server, addresses };
      return addresses;
    },

    async drain(timeoutMs: number): Promise<void> {
      open?.server.stopAccepting();
      // Who is in a call that goes on elsewhere is about to hear where, and would only come back if sent away.
      await routes.drain(timeoutMs, calls.leaving > 0 ? timeoutMs * MOVING_SHARE : 0);
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

function createCalls(
  ports: VoicePorts,
  streams: Streams,
  plane: () => RunningMediaPlane | null,
  endpoint: () => string | null,
): Calls {
  const { config, clock, wheel, randomBytes, onFault } = ports;
  const { lobbies } = ports.parts;
  const owners = ports.routing.tells('calls', {
    /** Has the next owner of a private channel go on with its call. */
    wake(channelId: string): void {
      const id = channelId as ChannelId;
      ports.inPrivate(id, 'getChannel', { channelId: id }, SYSTEM).catch((fault) => onFault(fault, 'voice'));
    },
  });
  return new Calls({
    settings: {
      callsMax: config.calls_max,
      membersMax: config.call_members_max,
      e2eeRequired: config.e2ee_required,
      resumeWindowMs: config.voice_resume_window_ms,
    },
    plane: {
      open(callId, events) {
        const opened = plane();
        if (!opened) throw new Error('The engine does not listen, so there are no media.');
        return opened.open(callId, events);
      },
    },
    openDave: openDaveDelivery,
    supervisor: ports.supervisor,
    wheel,
    nowMs: () => clock.monotonic(),
    randomBytes,
    owner: {
      invite(seat, token) {
        const stream = streams.of(seat.callId);
        if (stream) streams.invite(stream, seat, token, endpoint());
        else if (lobbies.owns(seat.callId)) lobbies.invited(seat, token, endpoint());
        else invite(ports, seat, token, endpoint());
      },
      moved(callId, of) {
        // Guilds and lobbies are asked for by the sessions that hear them.
        if (of === 'private') owners.wake(callId);
      },
      dropped(seat) {
        const stream = streams.of(seat.callId);
        if (stream) streams.dropped(stream, seat);
        else if (lobbies.owns(seat.callId)) lobbies.drop(seat);
        // Of a stream that has ended nobody has a seat to give up.
        else if (seat.callId === seat.groupId) ports.places.drop(seat);
      },
      silent: (seat) => moveToAfk(ports, seat),
    },
    onFault: (error) => onFault(error, 'call'),
    onUnencrypted: ({ userId, serverId }) => ports.logger.warn({ userId, serverId }, UNENCRYPTED),
  });
}

/** For the operator: the client's own library says nothing and rejoins for ever. */
const UNENCRYPTED =
  'A voice client was refused because it has no end-to-end encryption (close code 4017). Update its voice library: ' +
  '@discordjs/voice 0.19 or newer has DAVE. Or set e2ee_required to false to let it in unencrypted; see docs/clients.md.';

/** What a client reads that has come to a shard which holds no such call: through a port that several share. */
const ELSEWHERE = 'The call is at another shard; VOICE_SERVER_UPDATE says where.';

/** The calls for clients that may have come to the wrong shard: they are refused as ever, and told why. */
export function sayingWhere(calls: VoicePort, routing: Pick<Routing, 'alone' | 'owns'>): VoicePort {
  if (routing.alone) return calls;
  const said = (serverId: string, outcome: VoiceOutcome): VoiceOutcome =>
    outcome.kind === 'open' || routing.owns(serverId) ? outcome : { ...outcome, reason: ELSEWHERE };
  return {
    identify: (identify, sink) => said(identify.serverId, calls.identify(identify, sink)),
    resume: (resume, sink) => said(resume.serverId, calls.resume(resume, sink)),
  };
}

const createRoutes = ({ config, clock, wheel, routing, watch, onFault }: VoicePorts, calls: Calls) =>
  voiceRoutes({
    settings: socketSettings(config),
    trustProxyOnOwnPort: config.trust_proxy && config.voice_tls === 'off',
    port: sayingWhere(calls, routing),
    newAllowance: () => new VoiceAllowance(),
    version: 'guildhall',
    wheel,
    realTime: systemClock,
    nowMs: () => clock.monotonic(),
    defer: (run) => clock.defer(run),
    onFault: (error) => onFault(error, 'voice gateway'),
    watch,
  });

/** Where browsers send to; the port is held until `close`. */
interface WebrtcPlace extends PeerOptions {
  close(): void;
}

/** @throws Error when the address is none of this machine's, or the port is taken. */
async function webrtcOf(config: Config): Promise<WebrtcPlace> {
  const { voice_webrtc_address: given, voice_host: host } = config;
  const bindAddress = given === 'auto' ? await machineAddress() : (given ?? host);
  if (bindAddress === null)
    throw new Error(
      'voice_webrtc_address is auto, and this machine has no address beside loopback: connect it to a network, or leave ' +
        'the setting out and use a browser that sends calls to 127.0.0.1, such as Chromium.',
    );
  const reservation = await reserveUdpPort(bindAddress, config.voice_webrtc_port);
  const { port, release: close } = reservation;
  return { bindAddress, port, reservation, externalAddress: mediaHost(config, bindAddress), close };
}

function openPlane({ config, onFault }: VoicePorts, webrtc: PeerOptions): Promise<RunningMediaPlane> {
  const { voice_host: host } = config;
  const externalAddress = mediaHost(config, host);
  return createMediaPlane({
    host,
    port: config.voice_udp_port,
    externalAddress,
    workers: RUNS_FROM_SOURCES ? 0 : config.voice_workers,
    peers: (events) => createPeers(webrtc, events),
    onFault,
  });
}

/** Calls with what media know of their members. */
const listing = (views: readonly CallView[], figures: MediaFigures | null): CallListing[] =>
  views.map((view) => {
    const bySsrc = new Map(figures?.calls.get(view.callId)?.map((each) => [each.ssrc, each]));
    const members = view.members.map((member) => {
      const known = member.ssrc === null ? undefined : bySsrc.get(member.ssrc);
      if (!known) return { ...member, media: null };
      const { packetsIn, packetsOut, bytesIn, bytesOut, loss, jitterMs } = known;
      return { ...member, media: { packetsIn, packetsOut, bytesIn, bytesOut, loss, jitterMs } };
    });
    return { ...view, members };
  });

/**
 * VOICE_SERVER_UPDATE, to the very session that is in voice. Without an endpoint clients wait for another. A session
 * that hears the guild here is told on the way of the guild's dispatches: among shards that is shorter, and when it
 * breaks the session comes back and is told again.
 */
function invite(ports: VoicePorts, seat: Seat, token: string, endpoint: string | null): void {
  const { guilds, telling, clock } = ports;
  const { userId, sessionId, guildId, callId } = seat;
  const t = 'VOICE_SERVER_UPDATE';
  const where = guildId === null ? { channel_id: callId } : { guild_id: guildId };
  const d = { token, ...where, endpoint };
  const session = guildId && guilds.subscriber(guildId, sessionId);
  if (session) session.deliver(new DispatchBody(t, d, clock.monotonic()));
  else telling.tellSession(userId, sessionId, t, d);
}

function moveToAfk({ guilds, onFault }: VoicePorts, { guildId, userId, callId }: Seat): void {
  if (guildId === null) return;
  guilds
    .call(guildId, 'moveToAfk', { userId, channelId: callId }, SYSTEM)
    .catch((fault) => onFault(fault, 'voice'));
}

const bracketed = (host: string): string => (isIPv6(host) ? `[${host}]` : host);

/** What a certificate must name. */
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
