import { type ChannelCredentials, credentials } from '@grpc/grpc-js';
import type { Logger } from 'pino';
import type { LinkExtension, LinkHandler, Links, ShardInfo } from '../../actors/cluster/ports.ts';
import type { Clock } from '../../actors/runtime/clock.ts';
import { LinkFault } from '../../protocol/faults.ts';
import { createCodec } from './codec.ts';
import { Door, type LinkTls } from './door.ts';
import { greetingOf, LINK_VERSIONS, type LinkVersions } from './hello.ts';
import { Peer, type PeerDeps, type PeerFigures } from './peer.ts';
import { PACKET_BYTES_MAX } from './service.ts';

export interface LinksOptions {
  readonly self: Pick<ShardInfo, 'id' | 'instance' | 'version'>;
  readonly clusterId: string;
  /** The setting `link_host`. */
  readonly host: string;
  /** The setting `link_port`; 0 picks a free one. */
  readonly port: number;
  /** The setting `link_address`: how others reach this shard. Null: where it listens. */
  readonly address?: string | null;
  /** Null: links are in the clear. */
  readonly tls: LinkTls | null;
  /** The setting `link_bytes_max`. */
  readonly bytesMax: number;
  /** Questions that may be under way to one shard, or from one. */
  readonly asksMax?: number;
  readonly extensions?: readonly LinkExtension[];
  readonly versions?: LinkVersions;
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'info' | 'warn' | 'error'>;
  readonly random?: () => number;
  /** Told of what nobody waits for. */
  readonly onFault: (where: string, fault: unknown) => void;
}

export interface LinkFigures {
  /** One for each other shard that is in the view. */
  readonly peers: readonly PeerFigures[];
  /** Shards that were refused here: of another cluster or version, or with a certificate that is not trusted. */
  readonly refusals: number;
  /** Streams of others of which something is missing. */
  readonly breaks: number;
  /** Questions of others that are being worked on. */
  readonly asksUnderWay: number;
  /** Frames told to shards that are not in the view. */
  readonly strays: number;
}

/** Links over gRPC. */
export interface GrpcLinks extends Links {
  /** `host:port`, how others reach this shard. */
  readonly address: string;
  readonly port: number;
  /** Says who answers. Until then every other shard is told to come again. */
  serve(handler: LinkHandler): void;
  figures(): LinkFigures;
}

const ASKS_MAX = 8192;

/**
 * A peer that vanishes is missed within five seconds. No proxy of the environment is used: shards are neighbours.
 * A window of 4 MiB lets a batch pass without a round trip.
 */
const CHANNEL_OPTIONS = {
  'grpc.keepalive_time_ms': 2000,
  'grpc.keepalive_timeout_ms': 3000,
  'grpc.keepalive_permit_without_calls': 1,
  'grpc.initial_reconnect_backoff_ms': 50,
  'grpc.max_reconnect_backoff_ms': 1000,
  'grpc.use_local_subchannel_pool': 1,
  'grpc.client_idle_timeout_ms': 2 ** 31 - 1,
  'grpc.service_config_disable_resolution': 1,
  'grpc.enable_retries': 0,
  'grpc.enable_channelz': 0,
  'grpc.enable_http_proxy': 0,
  'grpc-node.flow_control_window': 4 << 20,
} as const;

/**
 * Opens this shard's door, and links it to others as `follow` names them.
 *
 * @throws what listening throws, and what reading the certificates throws.
 */
export async function createLinks(options: LinksOptions): Promise<GrpcLinks> {
  const { self, clusterId, clock, logger, tls, onFault, versions = LINK_VERSIONS } = options;
  const codec = createCodec(options.extensions);
  const greeting = greetingOf(self, clusterId, versions);
  const asksMax = options.asksMax ?? ASKS_MAX;
  const channelOptions = {
    ...CHANNEL_OPTIONS,
    'grpc.max_receive_message_length': PACKET_BYTES_MAX + 1024,
    'grpc.max_send_message_length': PACKET_BYTES_MAX + 1024,
    'grpc.max_concurrent_streams': asksMax + 16,
    ...(tls && { 'grpc.ssl_target_name_override': TLS_NAME }),
  };
  const listeners: ((shardId: string) => void)[] = [];
  const peers = new Map<string, Peer>();
  let strays = 0;

  const door = new Door({ greeting, codec, tls, channelOptions, asksMax, clock, logger, onFault });
  const { port } = await door.listen(options.host, options.port);
  const deps: PeerDeps = {
    greeting,
    codec,
    credentials: credentialsOf(tls),
    channelOptions,
    bytesMax: options.bytesMax,
    asksMax,
    clock,
    logger,
    random: options.random ?? Math.random,
    onFault,
    onBroken(shardId) {
      for (const run of listeners) run(shardId);
    },
  };

  return {
    address: options.address ?? hostPort(options.host, port),
    port,
    serve: (handler) => door.serve(handler),
    figures: () => ({
      peers: [...peers.values()].map((peer) => peer.figures),
      ...door.figures,
      strays,
    }),
    async ask(shardId, method, args, context) {
      const peer = peers.get(shardId);
      if (!peer) throw new LinkFault('unreachable', `There is no shard ${shardId}.`);
      return peer.ask(method, args, context);
    },
    tell(shardId, frame) {
      const peer = peers.get(shardId);
      if (peer) peer.tell(frame);
      else strays += 1;
    },
    onBroken: (run) => listeners.push(run),
    follow(shards) {
      const wanted = new Map(shards.map((shard) => [shard.id, shard]));
      wanted.delete(self.id);
      for (const [id, peer] of peers) {
        const shard = wanted.get(id);
        if (shard?.instance === peer.shard.instance && shard.address === peer.shard.address) continue;
        peers.delete(id);
        peer.close();
      }
      for (const [id, shard] of wanted) if (!peers.has(id)) peers.set(id, new Peer(shard, deps));
    },
    async close() {
      listeners.length = 0;
      for (const peer of peers.values()) peer.close();
      peers.clear();
      await door.close();
    },
  };
}

/** The name that a shard asks for in TLS: addresses are none. */
const TLS_NAME = 'guildhall.link';

/** The authority for links signs shards only, so being signed by it is enough: addresses of shards come and go. */
function credentialsOf(tls: LinkTls | null): ChannelCredentials {
  if (tls === null) return credentials.createInsecure();
  return credentials.createSsl(tls.ca, tls.key, tls.cert, { checkServerIdentity: () => undefined });
}

const hostPort = (host: string, port: number): string =>
  host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
