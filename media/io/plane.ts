import { randomBytes } from 'node:crypto';
import { present } from '../../protocol/present.ts';
import type {
  CodecNumbers,
  Gate,
  MediaEvent,
  MediaMember,
  MediaMetrics,
  MediaPlane,
  MediaRoom,
  MemberMetrics,
  NewMember,
  UdpConnection,
  VideoStream,
} from '../plane.ts';
import type { PeerEvents, PeerPort } from '../webrtc/ports.ts';
import { releaseMemory } from './addon.ts';
import { unpack } from './batch.ts';
import { startInline } from './inline.ts';
import type { LaneFinding, LaneOrder, StartLane } from './orders.ts';
import { SsrcPool } from './ssrcs.ts';
import { SupervisedLane, type Timers } from './supervised.ts';
import { startThread } from './thread.ts';
import type { UdpSender } from './udp.ts';

interface MediaPlaneOptions {
  /** Address to bind; IPv4 or IPv6. */
  readonly host: string;
  /** UDP port of the first worker; each further worker takes the next port. 0 picks free ports. */
  readonly port: number;
  /** The address announced to clients; null announces `host`. */
  readonly externalAddress: string | null;
  /** Threads that forward; 0 forwards in this thread. Runs from source always do: a thread needs the built file. */
  readonly workers: number;
  /** Creates the browsers' side, once; null for none, and then `connectPeer` returns null. */
  readonly peers: ((events: PeerEvents) => PeerPort) | null;
  /** Whether packets are sent and received in batches by the addon, where it can be loaded. The default is true. */
  readonly isNative?: boolean;
  /** Called when a lane died or could not be started. */
  readonly onFault: (error: Error, where: string) => void;
  readonly timers?: Timers;
  readonly start?: StartLane;
}

/** The media plane with what only its owner uses. */
export interface RunningMediaPlane extends MediaPlane {
  /** The UDP ports of all workers. */
  readonly udpPorts: readonly number[];
  /** The sender of the first worker; all have the same. */
  readonly sender: UdpSender;
  /** Stops a worker as a crash would; it is restarted. For tests. */
  killWorker(index: number): void;
}

interface Placed {
  readonly room: Room;
  readonly member: MediaMember;
  /** Whether it has, or is about to have, a browser's transport. */
  isPeer: boolean;
}

/** Worker threads need built files. */
export const IS_BUILT = import.meta.url.endsWith('.js');

const SYSTEM_TIMERS: Timers = {
  after(delayMs, run) {
    const timer = setTimeout(run, delayMs);
    return () => clearTimeout(timer);
  },
  every(intervalMs, run) {
    const timer = setInterval(run, intervalMs);
    return () => clearInterval(timer);
  },
  nowMs: () => performance.now(),
};

/**
 * Creates the media plane: UDP sockets in their own threads, and browsers' peers in this one.
 *
 * @throws when a port cannot be bound.
 */
export async function createMediaPlane(options: MediaPlaneOptions): Promise<RunningMediaPlane> {
  const plane = new Plane(options);
  await plane.begin();
  return plane;
}

/** When what a start needs has been compiled and collected, so that the memory of that is free. */
const SETTLED_MS = 60_000;

class Plane implements RunningMediaPlane {
  readonly #options: MediaPlaneOptions;
  readonly #lanes: SupervisedLane[] = [];
  readonly #rooms = new Map<string, Room>();
  readonly placed = new Map<number, Placed>();
  readonly ssrcs = new SsrcPool(() => randomBytes(4).readUInt32BE());
  readonly peers: PeerPort | null;
  #cancelRelease = (): void => undefined;

  constructor(options: MediaPlaneOptions) {
    this.#options = options;
    this.peers =
      options.peers?.({
        packet: (ssrc, packet) => this.placed.get(ssrc)?.room.lane.packet(ssrc, packet),
        state: (ssrc, state) => this.#peerState(ssrc, state),
      }) ?? null;
  }

  async begin(): Promise<void> {
    const { host, port, workers, timers = SYSTEM_TIMERS, onFault, isNative = true } = this.#options;
    const start = this.#options.start ?? (workers > 0 && IS_BUILT ? startThread : startInline);
    try {
      for (let index = 0; index < Math.max(1, workers); index += 1) {
        const plan = { host, port: port === 0 ? 0 : port + index, isNative };
        const lane = await SupervisedLane.open(plan, start, timers, {
          finding: (finding) => this.#found(finding),
          packets: (batch) => unpack(batch, (ssrc, packet) => this.peers?.send(ssrc, packet)),
          restored: (callIds) => this.#notify(callIds, { type: 'restored' }),
          lost: (callIds) => this.#lose(callIds),
          fault: (error) => onFault(error, `media worker ${index}`),
        });
        this.#lanes.push(lane);
      }
      if (isNative) this.#cancelRelease = timers.after(SETTLED_MS, releaseMemory);
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  get udpPorts(): readonly number[] {
    return this.#lanes.map(({ port }) => port);
  }

  get sender(): UdpSender {
    return present(present(this.#lanes[0]).sender);
  }

  open(callId: string, events: (event: MediaEvent) => void): MediaRoom {
    this.#rooms.get(callId)?.close();
    const lane = this.#leastLoaded();
    const { externalAddress, host } = this.#options;
    const room = new Room(this, callId, lane, { ip: externalAddress ?? host, port: lane.port }, events);
    this.#rooms.set(callId, room);
    lane.order({ type: 'open', callId });
    return room;
  }

  /** The least loaded lane that is up, or of all lanes while none is up. */
  #leastLoaded(): SupervisedLane {
    const up = this.#lanes.filter(({ isUp }) => isUp);
    const load = (lane: SupervisedLane): number => lane.memberCount + lane.callCount;
    return (up.length > 0 ? up : this.#lanes).reduce((best, lane) => (load(lane) < load(best) ? lane : best));
  }

  forget(room: Room): void {
    if (this.#rooms.get(room.callId) === room) this.#rooms.delete(room.callId);
  }

  #found({ callId, type, ssrc }: LaneFinding): void {
    const room = this.#rooms.get(callId);
    if (!room || this.placed.get(ssrc)?.room !== room) return;
    if (type === 'speaking' || type === 'silent')
      room.events({ type: 'speaking', ssrc, speaking: type === 'speaking' });
    else room.events({ type, ssrc });
  }

  #peerState(ssrc: number, state: 'connected' | 'failed'): void {
    const placed = this.placed.get(ssrc);
    if (!placed?.isPeer) return;
    const { room } = placed;
    if (state === 'connected') room.lane.order({ type: 'peer', ssrc });
    else {
      placed.isPeer = false;
      room.lane.order({ type: 'disconnect', ssrc });
      room.events({ type: 'unreachable', ssrc });
    }
  }

  #notify(callIds: readonly string[], event: MediaEvent): void {
    for (const callId of callIds) this.#rooms.get(callId)?.events(event);
  }

  #lose(callIds: readonly string[]): void {
    const rooms = callIds.flatMap((callId) => this.#rooms.get(callId) ?? []);
    for (const room of rooms) {
      room.close();
      room.events({ type: 'lost' });
    }
  }

  async metrics(): Promise<MediaMetrics> {
    const metrics = await Promise.all(this.#lanes.map((lane) => lane.metrics()));
    const calls = new Map<string, readonly MemberMetrics[]>();
    for (const { members } of metrics) for (const [callId, each] of members) calls.set(callId, each);
    const workers = metrics.map(({ members: _, ...counts }, index) => ({
      ...counts,
      restarts: present(this.#lanes[index]).restarts,
      sender: present(this.#lanes[index]).sender?.kind ?? 'dgram',
    }));
    return { workers, calls };
  }

  killWorker(index: number): void {
    this.#lanes[index]?.kill();
  }

  async close(): Promise<void> {
    this.#cancelRelease();
    this.#rooms.clear();
    this.placed.clear();
    this.peers?.closeAll();
    await Promise.all(this.#lanes.map((lane) => lane.close()));
  }
}

/** The room of one call. Methods do nothing after the room is closed, or for a member that has left. */
class Room implements MediaRoom {
  readonly callId: string;
  readonly lane: SupervisedLane;
  readonly address: { readonly ip: string; readonly port: number };
  readonly events: (event: MediaEvent) => void;
  readonly #plane: Plane;
  readonly #ssrcs = new Set<number>();
  #isClosed = false;

  constructor(
    plane: Plane,
    callId: string,
    lane: SupervisedLane,
    address: { readonly ip: string; readonly port: number },
    events: (event: MediaEvent) => void,
  ) {
    this.#plane = plane;
    this.callId = callId;
    this.lane = lane;
    this.address = address;
    this.events = events;
  }

  join({ userId, layers }: NewMember): MediaMember {
    const count = 1 + 2 * layers.length;
    const ssrc = this.#plane.ssrcs.take(count);
    const streams = layers.map((layer, index) => ({
      ...layer,
      ssrc: ssrc + 1 + 2 * index,
      rtxSsrc: ssrc + 2 + 2 * index,
    }));
    const member = { ssrc, streams };
    if (this.#isClosed) {
      this.#plane.ssrcs.release(ssrc, count);
      return member;
    }
    this.#ssrcs.add(ssrc);
    this.#plane.placed.set(ssrc, { room: this, member, isPeer: false });
    const ranked = [...streams].sort((a, b) => b.quality - a.quality);
    this.lane.order({ type: 'join', callId: this.callId, member: { ssrc, userId, layers: ranked } });
    return member;
  }

  leave(ssrc: number): void {
    const placed = this.#placed(ssrc);
    if (!placed) return;
    this.#free(placed);
    this.lane.order({ type: 'leave', ssrc });
  }

  #free({ member, isPeer }: Placed): void {
    if (isPeer) this.#plane.peers?.close(member.ssrc);
    this.#ssrcs.delete(member.ssrc);
    this.#plane.placed.delete(member.ssrc);
    this.#plane.ssrcs.release(member.ssrc, 1 + 2 * member.streams.length);
  }

  #placed(ssrc: number): Placed | undefined {
    return this.#ssrcs.has(ssrc) ? this.#plane.placed.get(ssrc) : undefined;
  }

  #order(order: Extract<LaneOrder, { readonly ssrc: number }>): void {
    if (this.#ssrcs.has(order.ssrc)) this.lane.order(order);
  }

  connectUdp(ssrc: number, transport: UdpConnection): void {
    const placed = this.#placed(ssrc);
    if (!placed) return;
    if (placed.isPeer) this.#plane.peers?.close(ssrc);
    placed.isPeer = false;
    const { mode, key, claimed = null } = transport;
    // A copy with its own memory: transferring a key cut from a pool would transfer the rest of the pool too.
    const own = Uint8Array.from(key);
    this.lane.order({ type: 'udp', ssrc, transport: { mode, key: own, claimed, resume: null } });
  }

  async connectPeer(ssrc: number, fragment: string): Promise<string | null> {
    const placed = this.#placed(ssrc);
    const { peers } = this.#plane;
    if (!placed || !peers) return null;
    placed.isPeer = true;
    this.lane.order({ type: 'disconnect', ssrc });
    const sdp = await peers.open(ssrc, fragment, placed.member.streams);
    const isCurrent = this.#placed(ssrc) === placed && placed.isPeer;
    if (!isCurrent) {
      peers.close(ssrc);
      return null;
    }
    if (sdp === null) placed.isPeer = false;
    return sdp;
  }

  setPayloadTypes(ssrc: number, codecs: readonly CodecNumbers[]): void {
    this.#order({ type: 'payloadTypes', ssrc, codecs });
  }

  setGate(ssrc: number, gate: Gate): void {
    this.#order({ type: 'gate', ssrc, gate });
  }

  setAudience(ssrc: number, only: readonly number[] | null): void {
    this.#order({ type: 'audience', ssrc, only });
  }

  setStreams(ssrc: number, streams: readonly VideoStream[]): void {
    this.#order({ type: 'streams', ssrc, streams });
  }

  setSinkWants(
    ssrc: number,
    { any, bySsrc }: { readonly any: number; readonly bySsrc: ReadonlyMap<number, number> },
  ): void {
    this.#order({ type: 'wants', ssrc, any, bySsrc });
  }

  setEncryptedOnly(on: boolean): void {
    if (!this.#isClosed) this.lane.order({ type: 'encryptedOnly', callId: this.callId, on });
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const ssrc of [...this.#ssrcs]) this.#free(present(this.#plane.placed.get(ssrc)));
    this.#plane.forget(this);
    this.lane.order({ type: 'close', callId: this.callId });
  }
}
