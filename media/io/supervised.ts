import { Batcher, type PacketBatch } from './batch.ts';
import { LATENCY_BOUNDS_US } from './latency.ts';
import { Ledger } from './ledger.ts';
import type {
  LaneFinding,
  LaneMetrics,
  LaneOrder,
  LanePlan,
  LaneReport,
  RunningLane,
  StartLane,
} from './orders.ts';
import type { UdpSender } from './udp.ts';

/** Timers that a test can replace. Each returns a function that cancels the timer. */
export interface Timers {
  after(delayMs: number, run: () => void): () => void;
  every(intervalMs: number, run: () => void): () => void;
  /** Monotonic milliseconds. */
  nowMs(): number;
}

interface LaneEvents {
  finding(finding: LaneFinding): void;
  packets(batch: PacketBatch): void;
  /** These calls continue in a restarted lane, with all their members and keys. */
  restored(callIds: readonly string[]): void;
  /** These calls have ended. */
  lost(callIds: readonly string[]): void;
  fault(error: Error): void;
}

const WATCH_MS = 1000;
/** Watch intervals without a report after which a lane counts as hung. Lanes report four times a second. */
const SILENT_WATCHES_MAX = 5;
/** This many deaths within the window end the lane's calls, since one of them may cause the deaths. */
const DEATHS_MAX = 3;
const DEATH_WINDOW_MS = 60_000;
const BACKOFF_MS = 250;
const BACKOFF_MAX_MS = 30_000;
const ANSWER_MS = 1000;

const NOTHING: LaneMetrics = {
  packetsIn: 0,
  packetsOut: 0,
  bytesIn: 0,
  bytesOut: 0,
  drops: {},
  latency: {
    boundsUs: LATENCY_BOUNDS_US,
    counts: [...LATENCY_BOUNDS_US.map(() => 0), 0],
    sumUs: 0,
  },
  members: new Map(),
};

/** Restarts a lane when it dies, with all its state: same port, same calls, same keys. */
export class SupervisedLane {
  readonly #start: StartLane;
  readonly #events: LaneEvents;
  readonly #timers: Timers;
  readonly #ledger = new Ledger();
  readonly #fromPeers = new Batcher();
  #plan: LanePlan;
  #running: RunningLane | null = null;
  #queue: LaneOrder[] = [];
  #flushing = false;
  #deathsMs: number[] = [];
  #failures = 0;
  #restarts = 0;
  #silentWatches = 0;
  readonly #stopWatch: () => void;
  #callOff: () => void = () => {};
  /** Sum of the figures of earlier runs. */
  #earlier = NOTHING;
  #metrics = NOTHING;
  #question = 0;
  readonly #answered = new Set<() => void>();
  /** The sender of the latest run; null before the first. */
  sender: UdpSender | null = null;
  #isClosed = false;

  /** Starts the lane. Rejects when the port cannot be bound; after the first start, failures are retried forever. */
  static async open(
    plan: LanePlan,
    start: StartLane,
    timers: Timers,
    events: LaneEvents,
  ): Promise<SupervisedLane> {
    const lane = new SupervisedLane(plan, start, timers, events);
    try {
      await lane.#begin();
    } catch (error) {
      lane.#stopWatch();
      throw error;
    }
    return lane;
  }

  private constructor(plan: LanePlan, start: StartLane, timers: Timers, events: LaneEvents) {
    this.#plan = plan;
    this.#start = start;
    this.#timers = timers;
    this.#events = events;
    this.#stopWatch = timers.every(WATCH_MS, () => this.#watch());
  }

  get port(): number {
    return this.#plan.port;
  }

  get isUp(): boolean {
    return this.#running !== null;
  }

  get memberCount(): number {
    return this.#ledger.memberCount;
  }

  get callCount(): number {
    return this.#ledger.callIds.length;
  }

  get restarts(): number {
    return this.#restarts;
  }

  /**
   * Queues an order; the orders of one turn of the event loop are sent together. A restarted lane gets them by
   * replay.
   *
   * Orders after which the client may send at once are sent at once, with those before them: the message to the
   * client is written in the same turn, and stock clients send their one IP discovery within microseconds. A lane
   * that does not know the SSRC yet would drop it, and the client would wait forever.
   */
  order(order: LaneOrder): void {
    this.#ledger.note(order);
    if (!this.#running) return;
    this.#queue.push(order);
    const mayAnswer = order.type === 'join' || order.type === 'udp';
    if (mayAnswer) this.#flushOrders();
    if (mayAnswer || this.#flushing) return;
    this.#flushing = true;
    queueMicrotask(() => {
      this.#flushing = false;
      this.#flushOrders();
    });
  }

  #flushOrders(): void {
    const orders = this.#queue;
    if (orders.length === 0) return;
    this.#queue = [];
    this.#running?.order(orders);
  }

  /** Passes on one packet of a browser; it is lost while the lane is down. */
  packet(ssrc: number, packet: Uint8Array): void {
    if (!this.#running) return;
    if (this.#fromPeers.isEmpty) setImmediate(() => this.#flushPackets());
    if (this.#fromPeers.add(ssrc, packet)) return;
    this.#flushPackets();
    this.#fromPeers.add(ssrc, packet);
    setImmediate(() => this.#flushPackets());
  }

  #flushPackets(): void {
    if (this.#fromPeers.isEmpty) return;
    const batch = this.#fromPeers.take();
    this.#flushOrders();
    this.#running?.packets(batch);
  }

  async #begin(): Promise<void> {
    const running = await this.#start(this.#plan, {
      report: (report) => this.#report(report),
      packets: (batch) => this.#events.packets(batch),
      died: (reason) => this.#died(new Error(`A media lane died: ${reason}`)),
    });
    if (this.#isClosed) return running.stop();
    this.#plan = { ...this.#plan, port: running.port };
    this.sender = running.sender;
    this.#silentWatches = 0;
    const orders = [...this.#ledger.replay()];
    if (orders.length > 0) running.order(orders);
    this.#running = running;
    // Calls that began while the lane was down as well: what their clients have sent since was lost.
    const restored = this.#restarts > 0 ? this.#ledger.callIds : [];
    if (restored.length > 0) this.#events.restored(restored);
  }

  #report({ findings, nonces, metrics, answerTo, bug }: LaneReport): void {
    this.#silentWatches = 0;
    if (bug) this.#events.fault(bug);
    for (const report of nonces) this.#ledger.noteNonces(report);
    if (metrics) this.#metrics = metrics;
    for (const finding of findings) this.#events.finding(finding);
    if (answerTo === this.#question) this.#answer();
  }

  #watch(): void {
    if (!this.#running) return;
    this.#silentWatches += 1;
    if (this.#silentWatches <= SILENT_WATCHES_MAX) return;
    this.#silentWatches = 0;
    this.#running.kill();
  }

  #died(error: Error): void {
    if (this.#isClosed) return;
    const nowMs = this.#timers.nowMs();
    this.#events.fault(error);
    this.#running = null;
    this.#queue = [];
    this.#earlier = sum(this.#earlier, this.#metrics);
    this.#metrics = NOTHING;
    this.#answer();
    this.#deathsMs = [...this.#deathsMs.filter((atMs) => nowMs - atMs < DEATH_WINDOW_MS), nowMs].slice(
      -DEATHS_MAX,
    );
    const isFirst = this.#deathsMs.length === 1;
    this.#failures = isFirst ? 0 : this.#failures + 1;
    if (this.#deathsMs.length >= DEATHS_MAX) this.#loseAll();
    const delayMs = isFirst ? 0 : Math.min(BACKOFF_MAX_MS, BACKOFF_MS * 2 ** (this.#failures - 1));
    this.#callOff = this.#timers.after(delayMs, () => {
      this.#restarts += 1;
      this.#begin().catch((fault: unknown) =>
        this.#died(fault instanceof Error ? fault : new Error(String(fault))),
      );
    });
  }

  #loseAll(): void {
    const lost = this.#ledger.callIds;
    for (const callId of lost) this.#ledger.note({ type: 'close', callId });
    if (lost.length > 0) this.#events.lost(lost);
  }

  /** Figures of all runs of the lane, up to date if the lane answers within `ANSWER_MS`. */
  async metrics(): Promise<LaneMetrics> {
    if (this.#running) {
      this.#question += 1;
      const answered = this.#nextAnswer();
      this.#flushOrders();
      this.#running.ask(this.#question);
      await answered;
    }
    return sum(this.#earlier, this.#metrics);
  }

  #nextAnswer(): Promise<void> {
    return new Promise((resolve) => {
      const settle = (): void => {
        callOff();
        this.#answered.delete(settle);
        resolve();
      };
      const callOff = this.#timers.after(ANSWER_MS, settle);
      this.#answered.add(settle);
    });
  }

  #answer(): void {
    for (const settle of [...this.#answered]) settle();
  }

  /** Stops the current run as a crash would. */
  kill(): void {
    this.#running?.kill();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopWatch();
    this.#callOff();
    this.#answer();
    const running = this.#running;
    this.#running = null;
    await running?.stop();
  }
}

/** Adds the counters of two runs; the member count is the present run's alone. */
function sum(earlier: LaneMetrics, present: LaneMetrics): LaneMetrics {
  const reasons = new Set([...Object.keys(earlier.drops), ...Object.keys(present.drops)]);
  return {
    packetsIn: earlier.packetsIn + present.packetsIn,
    packetsOut: earlier.packetsOut + present.packetsOut,
    bytesIn: earlier.bytesIn + present.bytesIn,
    bytesOut: earlier.bytesOut + present.bytesOut,
    drops: Object.fromEntries(
      [...reasons].map((reason) => [reason, (earlier.drops[reason] ?? 0) + (present.drops[reason] ?? 0)]),
    ),
    latency: {
      boundsUs: present.latency.boundsUs,
      counts: present.latency.counts.map((count, index) => count + (earlier.latency.counts[index] ?? 0)),
      sumUs: earlier.latency.sumUs + present.latency.sumUs,
    },
    members: present.members,
  };
}
