import { hostname } from 'node:os';
import { type ChannelCredentials, credentials } from '@grpc/grpc-js';
import type { Logger } from 'pino';
import type { LinkHandler, Links } from '../../actors/cluster/ports.ts';
import type { AskContext, LinkFrame, ShardInfo } from '../../actors/placement/ports.ts';
import type { Clock } from '../../actors/runtime/clock.ts';
import { LinkFault } from '../../protocol/faults.ts';
import { createCodec } from './codec.ts';
import { greetingOf, LINK_VERSIONS, type LinkVersions } from './handshake.ts';
import { PACKET_BYTES_MAX } from './packets.ts';
import { Peer, type PeerDeps, type PeerMetrics } from './peer.ts';
import { LinkServer, type LinkTls } from './server.ts';

export interface LinksOptions {
  readonly self: Pick<ShardInfo, 'id' | 'instance' | 'version'>;
  readonly clusterId: string;
  /** The setting `link_host`. */
  readonly host: string;
  /** The setting `link_port`; 0 picks a free port. */
  readonly port: number;
  /** The setting `link_address`: how others reach this shard. Null: where it listens, or the machine's name if it listens on all addresses. */
  readonly address?: string | null;
  /** Null for links without TLS. */
  readonly tls: LinkTls | null;
  /** The setting `link_bytes_max`. */
  readonly bytesMax: number;
  /** Most requests in progress to one shard, and from one shard. */
  readonly asksMax?: number;
  readonly versions?: LinkVersions;
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'info' | 'warn' | 'error'>;
  readonly random?: () => number;
  /** Called with faults that no caller waits for; `details` are for the log. */
  readonly onFault: (where: string, fault: unknown, details?: object) => void;
}

/** Totals of all links since this shard started; `peers` lists only current ones. */
interface LinkMetrics {
  /** One entry for each other shard in the view. */
  readonly peers: readonly PeerMetrics[];
  readonly asks: number;
  readonly tells: number;
  /** Streams in either direction that were broken, so that frames were lost. */
  readonly breaks: number;
  /** Handshakes refused by either side: another cluster or version, or an untrusted certificate. */
  readonly refusals: number;
  /** Requests of other shards in progress. */
  readonly asksUnderWay: number;
  /** Frames to shards that are not in the view. */
  readonly strays: number;
}

/** Links to other shards over gRPC. */
export interface GrpcLinks extends Links {
  /** `host:port` at which others reach this shard. */
  readonly address: string;
  readonly port: number;
  /** Sets the handler of requests. Until then, handshakes of other shards are refused as `notReady`. */
  serve(handler: LinkHandler): void;
  metrics(): LinkMetrics;
}

const ASKS_MAX = 8192;

/**
 * Detects a vanished peer within five seconds. Proxies of the environment are not used: shards are in one network. A window
 * of 4 MiB lets a batch pass without waiting for a round trip.
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
 * Listens for links of other shards, and connects to the shards that `follow` names.
 *
 * @throws the error of listening, or of reading the certificates.
 */
export async function createLinks(options: LinksOptions): Promise<GrpcLinks> {
  const { self, clusterId, clock, logger, tls, onFault, versions = LINK_VERSIONS } = options;
  const asksMax = options.asksMax ?? ASKS_MAX;
  const shared = {
    greeting: greetingOf(self, clusterId, versions),
    codec: createCodec(),
    channelOptions: {
      ...CHANNEL_OPTIONS,
      'grpc.max_receive_message_length': PACKET_BYTES_MAX + 1024,
      'grpc.max_send_message_length': PACKET_BYTES_MAX + 1024,
      'grpc.max_concurrent_streams': asksMax + 16,
      ...(tls && { 'grpc.ssl_target_name_override': TLS_NAME }),
    },
    ...{ asksMax, clock, logger, onFault },
  };
  const server = new LinkServer({ ...shared, tls, bytesMax: options.bytesMax });
  const { port } = await server.listen(options.host, options.port);
  return new ShardLinks(server, port, options.address ?? hostPort(options.host, port), self.id, {
    ...shared,
    credentials: credentialsOf(tls),
    bytesMax: options.bytesMax,
    random: options.random ?? Math.random,
  });
}

/** This shard's link server, and its connections to other shards. */
class ShardLinks implements GrpcLinks {
  readonly address: string;
  readonly port: number;
  readonly #server: LinkServer;
  readonly #selfId: string;
  readonly #deps: PeerDeps;
  readonly #listeners: ((shardId: string) => void)[] = [];
  readonly #peers = new Map<string, Peer>();
  /** Totals of peers that no longer exist. */
  readonly #past = { asks: 0, tells: 0, breaks: 0, refusals: 0 };
  #strays = 0;

  constructor(
    server: LinkServer,
    port: number,
    address: string,
    selfId: string,
    deps: Omit<PeerDeps, 'onBroken'>,
  ) {
    this.#server = server;
    this.port = port;
    this.address = address;
    this.#selfId = selfId;
    this.#deps = {
      ...deps,
      onBroken: (shardId) => {
        for (const run of this.#listeners) run(shardId);
      },
    };
  }

  serve(handler: LinkHandler): void {
    this.#server.serve(handler);
  }

  metrics(): LinkMetrics {
    const peers = [...this.#peers.values()].map((peer) => peer.metrics);
    const sums = { ...this.#past };
    for (const peer of [...peers, { ...this.#server.metrics, asks: 0, tells: 0 }]) addTo(sums, peer);
    return { ...sums, peers, asksUnderWay: this.#server.metrics.asksUnderWay, strays: this.#strays };
  }

  async ask(
    shardId: string,
    method: string,
    args: readonly unknown[],
    context: AskContext,
  ): Promise<unknown> {
    const peer = this.#peers.get(shardId);
    if (!peer) throw new LinkFault('unreachable', `Unknown shard: ${shardId}.`);
    return peer.ask(method, args, context);
  }

  tell(shardId: string, frame: LinkFrame): void {
    const peer = this.#peers.get(shardId);
    if (peer) peer.tell(frame);
    else this.#strays += 1;
  }

  onBroken(run: (shardId: string) => void): void {
    this.#listeners.push(run);
  }

  follow(shards: readonly ShardInfo[]): void {
    this.#server.follow(shards);
    const wanted = new Map(shards.map((shard) => [shard.id, shard]));
    wanted.delete(this.#selfId);
    for (const peer of [...this.#peers.values()]) {
      const shard = wanted.get(peer.shard.id);
      const isSame = shard?.instance === peer.shard.instance && shard.address === peer.shard.address;
      if (!isSame) this.#letGo(peer);
    }
    for (const [id, shard] of wanted)
      if (!this.#peers.has(id)) this.#peers.set(id, new Peer(shard, this.#deps));
  }

  async close(): Promise<void> {
    this.#listeners.length = 0;
    for (const peer of [...this.#peers.values()]) this.#letGo(peer);
    await this.#server.close();
  }

  #letGo(peer: Peer): void {
    this.#peers.delete(peer.shard.id);
    addTo(this.#past, peer.metrics);
    peer.close();
  }
}

type Sums = Record<'asks' | 'tells' | 'breaks' | 'refusals', number>;

function addTo(sums: Sums, more: Readonly<Sums>): void {
  sums.asks += more.asks;
  sums.tells += more.tells;
  sums.breaks += more.breaks;
  sums.refusals += more.refusals;
}

/** Server name for TLS, which does not accept addresses as names. */
const TLS_NAME = 'guildhall.link';

/** Trusts every certificate of the links' own CA, without checking names, since addresses of shards change. */
function credentialsOf(tls: LinkTls | null): ChannelCredentials {
  if (tls === null) return credentials.createInsecure();
  return credentials.createSsl(tls.ca, tls.key, tls.cert, { checkServerIdentity: () => undefined });
}

/** Wildcard addresses: a server listens on them, but no shard can connect to them. */
const WILDCARDS = new Set(['0.0.0.0', '::']);

function hostPort(host: string, port: number): string {
  if (WILDCARDS.has(host)) return `${hostname()}:${port}`;
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
