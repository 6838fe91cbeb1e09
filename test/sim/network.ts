import type { LinkHandler, Links } from '../../actors/cluster/ports.ts';
import type { AskContext, LinkFrame, ShardInfo } from '../../actors/placement/ports.ts';
import { LinkFault } from '../../protocol/faults.ts';
import type { Codec, EncodedFrame } from '../../transports/cluster/codec.ts';
import { payloadOf } from '../../transports/cluster/packets.ts';
import { hits } from './bounds.ts';
import type { Host, World } from './world.ts';

const WAY_MS = { from: 0.2, to: 4 };
/** Now and then a request takes longer, and a later request overtakes it. */
const SLOW = { chance: 0.02, fromMs: 20, toMs: 400 };
/** How soon each end detects that the link is cut, or that the peer has died. */
const NOTICE_MS = { cut: [1_000, 4_000], died: [1, 60] } as const;
const RECONNECT_MS = { from: 20, to: 800 };
const CUT_LOOK_MS = 40;

/** Faults of links, as shares of batches and of requests. */
interface NetworkWeather {
  /** A batch is lost, and the stream with it. */
  readonly breaks: number;
  /** A request with a key arrives twice. */
  readonly doubles: number;
  /** Frames that wait for a peer at most. */
  readonly framesMax: number;
}

/** The network between shards: the reachable pairs, and the ends of all links. */
export class SimNetwork {
  readonly world: World;
  readonly weather: NetworkWeather;
  readonly #ends = new Map<string, SimLinks>();
  readonly #cuts = new Set<string>();

  constructor(world: World, weather: NetworkWeather) {
    this.world = world;
    this.weather = weather;
  }

  end(shardId: string): SimLinks | undefined {
    return this.#ends.get(shardId);
  }

  open(links: SimLinks): void {
    this.#ends.set(links.shardId, links);
  }

  isCut(a: string, b: string): boolean {
    return this.#cuts.has([a, b].sort().join());
  }

  /** From now on nothing passes between the two. */
  cut(a: string, b: string): void {
    this.#cuts.add([a, b].sort().join());
    for (const [from, to] of [
      [a, b],
      [b, a],
    ] as const)
      this.world.after(this.world.between(...NOTICE_MS.cut), () => {
        if (this.isCut(a, b)) this.end(from)?.breakTo(to);
      });
  }

  heal(a: string, b: string): void {
    if (!this.#cuts.delete([a, b].sort().join())) return;
    this.end(a)?.healed();
    this.end(b)?.healed();
  }

  healAll(): void {
    this.#cuts.clear();
    for (const end of this.#ends.values()) end.healed();
  }

  /** The stream between two is broken off. */
  break(from: string, to: string): void {
    this.end(from)?.breakTo(to);
  }

  died(links: SimLinks): void {
    for (const end of this.#ends.values())
      this.world.after(
        this.world.between(...NOTICE_MS.died),
        () => end.peerDied(links.shardId, links.instance),
        end.host,
      );
  }

  wayMs(): number {
    const { world } = this;
    return world.chance(SLOW.chance)
      ? world.between(SLOW.fromMs, SLOW.toMs)
      : world.between(WAY_MS.from, WAY_MS.to);
  }
}

interface Batch {
  readonly atMs: number;
  readonly bytes: Buffer;
}

interface Peer {
  readonly id: string;
  readonly instance: string;
  queue: EncodedFrame[];
  /** Batches in flight, in order. */
  flying: Batch[];
  scheduled: boolean;
  /** The stream is broken and will reconnect. */
  down: boolean;
  /** Nothing of the stream arrives before this time. */
  arrivesMs: number;
  sequence: number;
  readonly open: Set<(fault: LinkFault) => void>;
}

/** One shard's ends of its links. Notifications arrive in order or not at all; requests arrive in any order. */
export class SimLinks implements Links {
  readonly shardId: string;
  readonly instance: string;
  readonly host: Host;
  /** Set once the router is running. */
  handler: LinkHandler | null = null;
  /** The most frames that waited for one peer at one time. */
  deepest = 0;
  readonly #network: SimNetwork;
  readonly #codec: Codec;
  readonly #peers = new Map<string, Peer>();
  /** Runs of shards that this shard had a stream to. */
  readonly #met = new Set<string>();
  readonly #onBroken: ((shardId: string) => void)[] = [];

  constructor(self: Pick<ShardInfo, 'id' | 'instance'>, host: Host, codec: Codec, network: SimNetwork) {
    this.shardId = self.id;
    this.instance = self.instance;
    this.host = host;
    this.#codec = codec;
    this.#network = network;
    network.open(this);
  }

  ask(shardId: string, method: string, args: readonly unknown[], context: AskContext): Promise<unknown> {
    const { world, weather } = this.#network;
    const peer = this.#peers.get(shardId);
    const question = { token: Buffer.alloc(0), method, args, ...context };
    const packed = this.#codec.packRequest(question);
    return new Promise((resolve, reject) => {
      const settle = (run: () => void) => {
        if (!peer?.open.delete(fail)) return;
        timer.cancel();
        run();
      };
      const fail = (fault: LinkFault) => settle(() => reject(fault));
      const timer = world.after(
        context.deadlineMs,
        () => fail(new LinkFault('timeout', `${shardId} has not answered.`)),
        this.host,
      );
      if (!peer || peer.down) {
        timer.cancel();
        world.after(1, () => reject(new LinkFault('unreachable', `No way to ${shardId}.`)), this.host);
        return;
      }
      peer.open.add(fail);
      let isFault = false;
      const answer = (bytes: Buffer) =>
        settle(() => {
          try {
            resolve(this.#codec.unpackAnswer(payloadOf(bytes)));
          } catch (fault) {
            isFault = true;
            reject(fault);
          }
        });
      this.#carry(peer, packed, answer);
      if (context.commandKey !== null && world.chance(weather.doubles))
        world.after(world.between(0, 500), () => {
          // A caller sends a command again under its key only while it has no answer.
          if (!isFault) this.#carry(peer, packed, () => undefined);
        });
    });
  }

  tell(shardId: string, frame: LinkFrame): void {
    const peer = this.#peers.get(shardId);
    if (!peer) return;
    peer.queue.push(this.#codec.encodeFrame(frame));
    if (peer.queue.length > this.#network.weather.framesMax) {
      hits.add('frames of a link');
      this.breakTo(shardId);
      return;
    }
    this.deepest = Math.max(this.deepest, peer.queue.length);
    this.#schedule(peer);
  }

  onBroken(run: (shardId: string) => void): void {
    this.#onBroken.push(run);
  }

  follow(shards: readonly ShardInfo[]): void {
    const living = new Map(shards.map(({ id, instance }) => [id, instance]));
    for (const peer of [...this.#peers.values()])
      if (living.get(peer.id) !== peer.instance) {
        this.#peers.delete(peer.id);
        this.#failAll(peer);
      }
    for (const [id, instance] of living) {
      if (id === this.shardId || this.#peers.has(id)) continue;
      const peer: Peer = {
        ...{ id, instance, queue: [], flying: [], scheduled: false, down: false, sequence: 0 },
        ...{ arrivesMs: 0, open: new Set() },
      };
      this.#peers.set(id, peer);
      // The earlier stream is not continued.
      if (this.#met.has(instance)) this.#tellBroken(peer);
      this.#met.add(instance);
    }
  }

  async close(): Promise<void> {
    this.#peers.clear();
  }

  /** Breaks the stream to this shard, notifies both ends, and reconnects when the peer is reachable. */
  breakTo(shardId: string): void {
    const { world } = this.#network;
    const peer = this.#peers.get(shardId);
    if (!peer || peer.down || !this.host.alive) return;
    world.note(`the stream ${this.shardId} > ${shardId} breaks`);
    peer.down = true;
    peer.queue = [];
    peer.flying = [];
    this.#failAll(peer);
    const tell = () => {
      for (const run of this.#onBroken) run(shardId);
    };
    world.after(0, tell, this.host);
    this.#tellBroken(peer);
    this.#reconnect(peer);
  }

  /** Notifies the other end, before anything of the next stream arrives. */
  #tellBroken(peer: Peer): void {
    const { world } = this.#network;
    const other = this.#network.end(peer.id);
    const noticeMs = this.#network.isCut(this.shardId, peer.id)
      ? world.between(...NOTICE_MS.cut)
      : this.#network.wayMs();
    if (other?.instance === peer.instance)
      world.after(noticeMs, () => other.handler?.broken(this.shardId), other.host);
    peer.arrivesMs = world.nowMs + noticeMs + 0.001;
  }

  /** Rejects further requests; replies in flight still arrive. */
  refuse(): void {
    const unreachable = () => Promise.reject(new LinkFault('unreachable', `${this.shardId} ends.`));
    if (this.handler) this.handler = { ...this.handler, ask: unreachable };
  }

  peerDied(shardId: string, instance: string): void {
    const peer = this.#peers.get(shardId);
    if (peer?.instance !== instance) return;
    this.handler?.broken(shardId);
    this.breakTo(shardId);
  }

  healed(): void {
    for (const peer of this.#peers.values()) this.#land(peer);
  }

  #failAll(peer: Peer): void {
    for (const fail of [...peer.open]) fail(new LinkFault('lost', `The way to ${peer.id} was lost.`));
  }

  #reconnect(peer: Peer): void {
    const { world } = this.#network;
    world.after(
      world.between(RECONNECT_MS.from, RECONNECT_MS.to),
      () => {
        if (this.#peers.get(peer.id) !== peer) return;
        if (!this.#standing(peer)) return this.#reconnect(peer);
        peer.down = false;
        this.#schedule(peer);
      },
      this.host,
    );
  }

  /** The other end when the peer's process is alive and reachable. */
  #standing(peer: Peer): SimLinks | null {
    const other = this.#network.end(peer.id);
    if (!other || other.instance !== peer.instance || !other.host.alive) return null;
    return this.#network.isCut(this.shardId, peer.id) ? null : other;
  }

  #schedule(peer: Peer): void {
    if (peer.scheduled || peer.down || peer.queue.length === 0) return;
    peer.scheduled = true;
    this.#network.world.after(0, () => this.#send(peer), this.host);
  }

  #send(peer: Peer): void {
    const { world, weather } = this.#network;
    peer.scheduled = false;
    if (peer.down || peer.queue.length === 0) return;
    if (world.chance(weather.breaks)) {
      this.breakTo(peer.id);
      return;
    }
    peer.sequence += 1;
    const bytes = this.#codec.packBatch(peer.sequence, peer.queue);
    peer.queue = [];
    peer.arrivesMs = Math.max(peer.arrivesMs, world.nowMs + this.#network.wayMs());
    peer.flying.push({ atMs: peer.arrivesMs, bytes });
    world.after(peer.arrivesMs - world.nowMs, () => this.#land(peer));
  }

  /** Delivers arrived batches to the other end. */
  #land(peer: Peer): void {
    const { world } = this.#network;
    for (let first = peer.flying[0]; first && first.atMs <= world.nowMs; first = peer.flying[0]) {
      const other = this.#standing(peer);
      if (!other) return;
      peer.flying.shift();
      const { frames } = this.#codec.unpackBatch(payloadOf(first.bytes));
      // Questions travel on their own here, with any delay, and so also before what was sent earlier.
      const notices = frames.filter((frame) => frame.kind !== 'question');
      world.after(0, () => other.handler?.notified(this.shardId, notices), other.host);
    }
  }

  /** Delivers a request to the other end, and its reply back. */
  #carry(peer: Peer, packed: Buffer, answer: (bytes: Buffer) => void): void {
    this.#pass(peer, (other) => {
      const { method, args, ...context } = this.#codec.unpackRequest(payloadOf(packed));
      const bring = (bytes: Buffer) => this.#return(peer, other, () => answer(bytes));
      const asked = other.handler?.ask(this.shardId, method, args, context);
      asked?.then(
        (value) => bring(this.#codec.packAnswer(value)),
        (fault) => bring(this.#codec.packFault(fault)),
      );
    });
  }

  #pass(peer: Peer, run: (other: SimLinks) => void): void {
    const { world } = this.#network;
    world.after(this.#network.wayMs(), () => {
      const other = this.#network.end(peer.id);
      if (other?.instance !== peer.instance || peer.down) return;
      if (!this.#network.isCut(this.shardId, peer.id)) world.after(0, () => run(other), other.host);
      else world.after(CUT_LOOK_MS, () => this.#pass(peer, run));
    });
  }

  #return(peer: Peer, other: SimLinks, run: () => void): void {
    const { world } = this.#network;
    if (!other.host.alive) return;
    world.after(this.#network.wayMs(), () => {
      if (!this.#network.isCut(this.shardId, peer.id)) world.after(0, run, this.host);
      else if (!peer.down) world.after(CUT_LOOK_MS, () => this.#return(peer, other, run));
    });
  }
}
