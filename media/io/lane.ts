import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { isIPv6 } from 'node:net';
import { Forwarder } from '../sfu/forwarder.ts';
import type { Endpoint, ForwarderEvent, ForwarderOutput, MediaForwarder } from '../sfu/ports.ts';
import { Batcher, type PacketBatch, unpack } from './batch.ts';
import { LATENCY_BOUNDS_US, LatencyBuckets } from './latency.ts';
import type { LaneFinding, LaneListener, LaneMetrics, LaneOrder, LanePlan } from './orders.ts';

/** Slots of the forwarder's ring: enough that sends deferred by the system end before their slot is used again. */
const SLOTS = 4096;
/** Sends deferred by the system; while more are pending, outgoing packets are dropped. */
const WAITING_MAX = 1024;
/** Requested size of the socket's buffers; the system may allow less. */
const SOCKET_BUFFER_BYTES = 4 << 20;
/** Longer than any packet that fits a link's MTU; also the size of the ring's slots. */
const PACKET_BYTES_MAX = 2000;
const SILENT_MS = 15_000;
const TICK_MS = 50;
const REPORT_MS = 250;
const REPORTS_PER_METRICS = 4;
const FINDINGS_MAX = 4096;
/** The latency of one packet in this many is measured. */
const SAMPLED = 16;

/** Whether a packet is lost, for injected failures. */
export type Loses = (direction: 'in' | 'out') => boolean;

/** Loses packets on their way out. */
const lossy = (output: Lane, loses: Loses): ForwarderOutput => ({
  send: (to, bytes, offset, length) => {
    if (!loses('out')) output.send(to, bytes, offset, length);
  },
  sendPeer: (ssrc, bytes, offset, length) => output.sendPeer(ssrc, bytes, offset, length),
  isTaken: () => output.isTaken(),
  event: (callId, event) => output.event(callId, event),
});

type Resolve = (
  address: string,
  _: unknown,
  done: (error: null, address: string, family: number) => void,
) => void;

/** Resolves a numeric address to itself; the system's resolver would defer every single send. */
const numeric =
  (family: number): Resolve =>
  (address, _, done) =>
    done(null, address, family);

/**
 * The UDP socket of some calls and their forwarder: all the I/O of media, in its own thread or in the main one.
 *
 * Each received packet costs one forwarder call; each sent packet one `send`, which the system nearly always does at once.
 */
export class Lane implements ForwarderOutput {
  readonly #socket: Socket;
  readonly #forwarder: MediaForwarder;
  readonly #listener: Pick<LaneListener, 'report' | 'packets'>;
  readonly #toPeers = new Batcher();
  readonly #latency = new LatencyBuckets();
  readonly #timers: NodeJS.Timeout[];
  /** Cached view of the packet being sent, in the forwarder's ring. */
  #leaving: Buffer = Buffer.alloc(0);
  #leavingAt = -1;
  #findings: LaneFinding[] = [];
  #flushing = false;
  /** Whether members' addresses changed since the last report. */
  #isMoved = false;
  #samples = 0;
  #sendFailed = 0;
  #malformed = 0;
  #peerDrops = 0;
  #bugs = 0;
  #bug: Error | null = null;
  #reports = 0;
  #answerTo = 0;
  #isClosed = false;

  /** Binds the socket. Rejects when it cannot be bound. */
  static async open(
    plan: LanePlan,
    listener: Pick<LaneListener, 'report' | 'packets'>,
    loses: Loses | null = null,
  ): Promise<Lane> {
    const family = isIPv6(plan.host) ? 6 : 4;
    const socket = createSocket({ type: `udp${family}`, lookup: numeric(family) });
    // `once` rejects with what the socket emits as an error.
    const listening = once(socket, 'listening');
    socket.bind({ port: plan.port, address: plan.host, exclusive: true });
    await listening;
    return new Lane(socket, listener, loses);
  }

  private constructor(
    socket: Socket,
    listener: Pick<LaneListener, 'report' | 'packets'>,
    loses: Loses | null,
  ) {
    this.#socket = socket;
    this.#listener = listener;
    this.#forwarder = new Forwarder(loses ? lossy(this, loses) : this, { slots: SLOTS, silentMs: SILENT_MS });
    growBuffers(socket);
    socket.on('message', (bytes, from) => {
      if (!loses?.('in')) this.#received(bytes, from);
    });
    // A failed send reports to its own callback. An error here belongs to no packet, and the lane continues.
    socket.on('error', () => {
      this.#sendFailed += 1;
    });
    this.#timers = [setInterval(() => this.#tick(), TICK_MS), setInterval(() => this.#report(), REPORT_MS)];
  }

  get port(): number {
    return this.#socket.address().port;
  }

  /** Carries out orders in sequence. */
  order(orders: readonly LaneOrder[]): void {
    const nowMs = performance.now();
    for (const order of orders) this.#carryOut(order, nowMs);
    this.#flushPeers();
  }

  #carryOut(order: LaneOrder, nowMs: number): void {
    const forwarder = this.#forwarder;
    switch (order.type) {
      case 'open':
        forwarder.open(order.callId);
        break;
      case 'close':
        forwarder.close(order.callId);
        break;
      case 'encryptedOnly':
        forwarder.setEncryptedOnly(order.callId, order.on);
        break;
      case 'join':
        forwarder.join(order.callId, order.member, nowMs);
        break;
      case 'leave':
        forwarder.leave(order.ssrc);
        break;
      case 'udp':
        forwarder.connectUdp(order.ssrc, order.transport, nowMs);
        // From here on the address of a client that only listens is known; report it, as a successor of this lane could not learn it.
        this.#isMoved = true;
        this.#flushSoon();
        break;
      case 'peer':
        forwarder.connectPeer(order.ssrc, nowMs);
        break;
      case 'disconnect':
        forwarder.disconnect(order.ssrc);
        break;
      case 'payloadTypes':
        forwarder.setPayloadTypes(order.ssrc, order.codecs);
        break;
      case 'gate':
        forwarder.setGate(order.ssrc, order.gate);
        break;
      case 'audience':
        forwarder.setAudience(order.ssrc, order.only);
        break;
      case 'streams':
        forwarder.setStreams(order.ssrc, order.streams);
        break;
      case 'wants':
        forwarder.setSinkWants(order.ssrc, order.any, order.bySsrc, nowMs);
    }
  }

  #received(bytes: Buffer, from: Endpoint): void {
    if (bytes.length > PACKET_BYTES_MAX) {
      this.#malformed += 1;
      return;
    }
    if (this.#socket.getSendQueueCount() > WAITING_MAX) {
      this.#sendFailed += 1;
      return;
    }
    const arrivedMs = performance.now();
    try {
      this.#forwarder.handleUdp(bytes, bytes.length, from, arrivedMs);
    } catch (error) {
      this.#failed(error);
    }
    if (this.#samples++ % SAMPLED === 0) this.#latency.record((performance.now() - arrivedMs) * 1000);
  }

  /** Forwards packets from browsers. */
  packets(batch: PacketBatch): void {
    const nowMs = performance.now();
    unpack(batch, (ssrc, packet) => {
      const bytes = Buffer.from(packet.buffer, packet.byteOffset, packet.length);
      try {
        this.#forwarder.handlePeer(ssrc, bytes, bytes.length, nowMs);
      } catch (error) {
        this.#failed(error);
      }
    });
    this.#flushPeers();
  }

  /** Counts a bug that a packet triggered. Only that packet is dropped: the other calls of the lane continue. */
  #failed(error: unknown): void {
    this.#bugs += 1;
    this.#bug ??= error instanceof Error ? error : new Error(String(error));
  }

  send(to: Endpoint, bytes: Buffer, offset: number, length: number): void {
    // The packets to further receivers of one frame have the same place and length: reuse the view.
    if (offset !== this.#leavingAt || length !== this.#leaving.length) {
      this.#leaving = bytes.subarray(offset, offset + length);
      this.#leavingAt = offset;
    }
    this.#socket.send(this.#leaving, to.port, to.address, this.#sent);
  }

  isTaken(): boolean {
    return this.#socket.getSendQueueCount() === 0;
  }

  readonly #sent = (error: Error | null): void => {
    if (error) this.#sendFailed += 1;
  };

  sendPeer(ssrc: number, bytes: Buffer, offset: number, length: number): void {
    const packet = bytes.subarray(offset, offset + length);
    if (this.#toPeers.add(ssrc, packet)) this.#flushSoon();
    else {
      this.#flushPeers();
      if (!this.#toPeers.add(ssrc, packet)) this.#peerDrops += 1;
      this.#flushSoon();
    }
  }

  event(callId: string, { type, ssrc }: ForwarderEvent): void {
    const isPassing = type === 'speaking' || type === 'silent';
    if (isPassing && this.#findings.length >= FINDINGS_MAX) return;
    this.#findings.push({ callId, type, ssrc });
    this.#flushSoon();
  }

  /** Reports at the end of this turn of the event loop, so that other findings of the turn are included. */
  #flushSoon(): void {
    if (this.#flushing) return;
    this.#flushing = true;
    setImmediate(() => {
      this.#flushing = false;
      if (this.#isClosed) return;
      this.#flushPeers();
      if (this.#findings.length > 0 || this.#isMoved) this.#say(null);
    });
  }

  #flushPeers(): void {
    if (!this.#toPeers.isEmpty) this.#listener.packets(this.#toPeers.take());
  }

  #tick(): void {
    this.#forwarder.tick(performance.now());
    this.#flushPeers();
  }

  #report(): void {
    this.#reports += 1;
    this.#say(this.#reports % REPORTS_PER_METRICS === 0 ? this.#metrics() : null);
  }

  /** Sends a report with figures now. */
  ask(question: number): void {
    this.#answerTo = question;
    this.#say(this.#metrics());
  }

  #say(metrics: LaneMetrics | null): void {
    const findings = this.#findings;
    this.#findings = [];
    this.#isMoved = false;
    this.#listener.report({
      findings,
      nonces: this.#forwarder.nonces(),
      metrics,
      answerTo: this.#answerTo,
      bug: this.#bug,
    });
    this.#bug = null;
  }

  #metrics(): LaneMetrics {
    const metrics = this.#forwarder.metrics();
    return {
      ...metrics,
      drops: {
        ...metrics.drops,
        malformed: metrics.drops.malformed + this.#malformed,
        send_failed: this.#sendFailed + this.#peerDrops,
        bug: this.#bugs,
      },
      latency: {
        boundsUs: LATENCY_BOUNDS_US,
        counts: [...this.#latency.counts],
        sumUs: this.#latency.sumUs,
      },
      members: this.#forwarder.members(),
    };
  }

  /** Closes the socket. Resolves when the port is free. */
  close(): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    this.#isClosed = true;
    for (const timer of this.#timers) clearInterval(timer);
    return new Promise((resolve) => this.#socket.close(() => resolve()));
  }
}

function growBuffers(socket: Socket): void {
  try {
    socket.setRecvBufferSize(SOCKET_BUFFER_BYTES);
    socket.setSendBufferSize(SOCKET_BUFFER_BYTES);
  } catch {
    // Keep the system's own sizes; they hold shorter bursts.
  }
}
