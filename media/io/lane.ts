import { Forwarder } from '../sfu/forwarder.ts';
import type { Endpoint, ForwarderEvent, ForwarderOutput, MediaForwarder } from '../sfu/ports.ts';
import { Batcher, type PacketBatch, unpack } from './batch.ts';
import { LATENCY_BOUNDS_US, LatencyBuckets } from './latency.ts';
import { openSocket } from './opensocket.ts';
import type { LaneFinding, LaneListener, LaneMetrics, LaneOrder, LanePlan } from './orders.ts';
import { DATAGRAM_BYTES_MAX, type DatagramListener, type MediaSocket, type UdpSender } from './udp.ts';

const SILENT_MS = 15_000;
const TICK_MS = 50;
const REPORT_MS = 250;
const REPORTS_PER_METRICS = 4;
const FINDINGS_MAX = 4096;
/** The latency of one packet in this many is measured. */
const SAMPLED = 16;

/** Whether a packet is lost, for injected failures. */
export type Loses = (direction: 'in' | 'out') => boolean;

function outputOf(lane: Lane, socket: MediaSocket, loses: Loses | null): ForwarderOutput {
  return {
    setBody: (body) => socket.setBody(body),
    sendUdp: (to, cipher, header, nonce) =>
      loses?.('out') ? header.length : socket.sendUdp(to, cipher, header, nonce),
    sendPeer: (ssrc, bytes, offset, length) => lane.sendPeer(ssrc, bytes, offset, length),
    event: (callId, event) => lane.event(callId, event),
  };
}

/**
 * The UDP socket of some calls and their forwarder: all the I/O of media, in its own thread or in the main one.
 *
 * Each received packet costs one forwarder call. What is sent meanwhile leaves when the packets that arrived together are handled.
 */
export class Lane implements DatagramListener {
  readonly #socket: MediaSocket;
  readonly #forwarder: MediaForwarder;
  readonly #listener: Pick<LaneListener, 'report' | 'packets'>;
  readonly #toPeers = new Batcher();
  readonly #latency = new LatencyBuckets();
  readonly #timers: NodeJS.Timeout[];
  readonly #loses: Loses | null;
  #findings: LaneFinding[] = [];
  #flushing = false;
  /** Whether members' addresses changed since the last report. */
  #isMoved = false;
  #samples = 0;
  /** When the sampled packet of this batch arrived; 0 without one. */
  #sampledMs = 0;
  #refused = 0;
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
    // A socket delivers nothing before the next turn of the event loop.
    const early: DatagramListener = { datagram: () => {}, settled: () => {} };
    const relay = { to: early };
    const socket = await openSocket(plan, {
      datagram: (bytes, length, from) => relay.to.datagram(bytes, length, from),
      settled: () => relay.to.settled(),
    });
    const lane = new Lane(socket, listener, loses);
    relay.to = lane;
    return lane;
  }

  private constructor(
    socket: MediaSocket,
    listener: Pick<LaneListener, 'report' | 'packets'>,
    loses: Loses | null,
  ) {
    this.#socket = socket;
    this.#listener = listener;
    this.#loses = loses;
    this.#forwarder = new Forwarder(outputOf(this, socket, loses), {
      cipher: socket.createCipher,
      silentMs: SILENT_MS,
    });
    this.#timers = [setInterval(() => this.#tick(), TICK_MS), setInterval(() => this.#report(), REPORT_MS)];
  }

  get port(): number {
    return this.#socket.port;
  }

  get sender(): UdpSender {
    return this.#socket.sender;
  }

  /** Carries out orders in sequence. */
  order(orders: readonly LaneOrder[]): void {
    const nowMs = performance.now();
    for (const order of orders) this.#carryOut(order, nowMs);
    this.#flush();
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

  datagram(bytes: Buffer, length: number, from: Endpoint): void {
    if (this.#loses?.('in')) return;
    if (length > DATAGRAM_BYTES_MAX) {
      this.#malformed += 1;
      return;
    }
    if (this.#socket.isOverloaded) {
      this.#refused += 1;
      return;
    }
    const arrivedMs = performance.now();
    if (this.#samples++ % SAMPLED === 0) this.#sampledMs = arrivedMs;
    try {
      this.#forwarder.handleUdp(bytes, length, from, arrivedMs);
    } catch (error) {
      this.#failed(error);
    }
  }

  settled(): void {
    this.#socket.flush();
    if (this.#sampledMs === 0) return;
    this.#latency.record((performance.now() - this.#sampledMs) * 1000);
    this.#sampledMs = 0;
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
    this.#flush();
  }

  /** Counts a bug that a packet triggered. Only that packet is dropped: the other calls of the lane continue. */
  #failed(error: unknown): void {
    this.#bugs += 1;
    this.#bug ??= error instanceof Error ? error : new Error(String(error));
  }

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
      if (this.#findings.length > 0 || this.#isMoved) this.#send(null);
    });
  }

  #flush(): void {
    this.#socket.flush();
    this.#flushPeers();
  }

  #flushPeers(): void {
    if (!this.#toPeers.isEmpty) this.#listener.packets(this.#toPeers.take());
  }

  #tick(): void {
    this.#forwarder.tick(performance.now());
    this.#flush();
  }

  #report(): void {
    this.#reports += 1;
    this.#send(this.#reports % REPORTS_PER_METRICS === 0 ? this.#metrics() : null);
  }

  /** Sends a report with figures now. */
  ask(question: number): void {
    this.#answerTo = question;
    this.#send(this.#metrics());
  }

  #send(metrics: LaneMetrics | null): void {
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
        send_failed: this.#socket.failed + this.#refused + this.#peerDrops,
        send_queue_full: this.#socket.dropped,
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
    return this.#socket.close();
  }
}
