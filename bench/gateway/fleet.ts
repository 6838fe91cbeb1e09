import { present } from '../../protocol/present.ts';
import { Latencies } from '../wire/histogram.ts';
import { type ConnectionPlan, GatewayConnection, type ScoutedGuild } from './connection.ts';
import type { Seat } from './seats.ts';
import { findStamp, markOf } from './stamp.ts';
import { Tally } from './tally.ts';
import { add, type Counts } from './verdict.ts';

/** The connections of one thread. Plain data: it is posted to the thread. */
export interface FleetPlan {
  readonly url: string;
  /** Connections use the tokens in rotation, unless `seats` defines how each identifies. */
  readonly tokens: readonly string[];
  readonly seats?: readonly Seat[];
  /** Least time between a READY in a lane and the lane's next session start. */
  readonly laneGapMs?: number;
  readonly intents: number;
  readonly compress: boolean;
  readonly connections: number;
  /** Number of connections that decode all frames. */
  readonly measured: number;
  /** Whether the first connection reads the guild's data. */
  readonly scouts: boolean;
  readonly identifyIntervalMs: number;
  readonly identifyDelayMs: number;
  readonly runId: string;
  /** Number of messages of the run; sizes the tallies. */
  readonly total: number;
  readonly localAddress?: string;
}

export interface FleetResult {
  readonly latencies: string;
  readonly deliveries: number;
  readonly payloadBytes: number;
  readonly duplicated: number;
  /** Order checksums of the measured connections that are still open. */
  readonly orders: readonly number[];
  /** For each message, the number of measured connections that have seen it. */
  readonly seen: Uint32Array;
  readonly dropped: number;
  /** Why connections ended: a close code, `op 7` or `op 9`. */
  readonly closes: Counts;
  /** IDENTIFYs that were answered with op 9 and retried. */
  readonly identifiesRefused: number;
  readonly timeline: readonly number[];
}

export interface FleetEvents {
  /** Called when another connection is ready. */
  progress(ready: number): void;
  scouted(guilds: readonly ScoutedGuild[]): void;
}

const RETRY_MS = 5000;
const RETRIES_MAX = 10;
/** Close code for a fault of the server, after which clients reconnect. */
const UNKNOWN_ERROR = 4000;
const INVALID_SESSION = 9;
const PENDING_MAX = 64;
const SECOND_MICROS = 1e6;

interface Slot {
  readonly index: number;
  connection: GatewayConnection | null;
  tally: Tally | null;
  tries: number;
}

/** The connections of one thread. */
export class Fleet {
  readonly #plan: FleetPlan;
  readonly #events: FleetEvents;
  readonly #slots: Slot[];
  readonly #mark: Buffer;
  #latencies = new Latencies();
  #timeline: number[] = [];
  #ready = 0;
  #pending = 0;
  #startMicros = Number.POSITIVE_INFINITY;
  #deliveries = 0;
  #payloadBytes = 0;
  #dropped = 0;
  #closes: Record<string, number> = {};
  #identifiesRefused = 0;
  /** For each lane, when its next session may start; infinite while one is starting. */
  readonly #laneFreeMs = new Map<number, number>();
  #isOver = false;
  #settle: { resolve: () => void; reject: (error: Error) => void } | null = null;

  constructor(plan: FleetPlan, events: FleetEvents) {
    this.#plan = plan;
    this.#events = events;
    this.#mark = Buffer.from(markOf(plan.runId));
    this.#slots = Array.from({ length: plan.connections }, (_, index) => ({
      index,
      connection: null,
      tally: index < plan.measured ? new Tally(plan.total) : null,
      tries: 0,
    }));
  }

  /** Deliveries to its connections since the start, or the last lap. */
  get deliveries(): number {
    return this.#deliveries;
  }

  /** Opens the connections at the planned rate. Resolves when all are ready; rejects when one cannot be. */
  async connect(): Promise<void> {
    const { identifyDelayMs, identifyIntervalMs } = this.#plan;
    const all = new Promise<void>((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
    void this.#openAll(Date.now() + identifyDelayMs, identifyIntervalMs);
    await all;
  }

  /** Starts counting. Connections that are not measured stop decoding. */
  start(startMicros: number): void {
    this.#startMicros = startMicros;
    for (const { connection, tally } of this.#slots) if (!tally) connection?.countOnly();
  }

  /** Closes the connections. @returns what they saw since the start, or the last lap. */
  finish(): FleetResult {
    this.#isOver = true;
    const result = this.#result();
    for (const { connection } of this.#slots) connection?.close();
    return result;
  }

  /** Returns what the connections saw so far, and restarts counting from message 0. */
  lap(): FleetResult {
    const result = this.#result();
    [this.#latencies, this.#timeline] = [new Latencies(), []];
    [this.#deliveries, this.#payloadBytes, this.#dropped] = [0, 0, 0];
    this.#closes = {};
    for (const slot of this.#slots) slot.tally &&= new Tally(this.#plan.total);
    return result;
  }

  #result(): FleetResult {
    const measured = this.#slots.filter(({ connection, tally }) => connection && tally);
    const seen = new Uint32Array(this.#plan.total);
    for (const { tally } of measured)
      for (let index = 0; index < seen.length; index += 1)
        if (tally?.has(index)) seen[index] = present(seen[index]) + 1;
    return {
      latencies: this.#latencies.encode(),
      deliveries: this.#deliveries,
      payloadBytes: this.#payloadBytes,
      duplicated: measured.reduce((sum, { tally }) => sum + (tally?.duplicated ?? 0), 0),
      orders: measured.map(({ tally }) => present(tally).order),
      seen,
      dropped: this.#dropped,
      closes: this.#closes,
      identifiesRefused: this.#identifiesRefused,
      timeline: Array.from(this.#timeline, (value) => value ?? 0),
    };
  }

  async #openAll(startMs: number, intervalMs: number): Promise<void> {
    for (const slot of this.#slots) {
      const waitMs = startMs + slot.index * intervalMs - Date.now();
      if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
      while (!this.#isOver && (this.#pending >= PENDING_MAX || !this.#isLaneFree(slot)))
        await new Promise((resolve) => setTimeout(resolve, 5));
      if (this.#isOver) return;
      this.#open(slot);
    }
  }

  #isLaneFree({ index }: Slot): boolean {
    const lane = this.#plan.seats?.[index]?.lane;
    return lane === undefined || Date.now() >= (this.#laneFreeMs.get(lane) ?? 0);
  }

  /** The server counted the start before it sent READY, so the gap is respected however late READY was read. */
  #holdLane({ index }: Slot, untilMs: number): void {
    const lane = this.#plan.seats?.[index]?.lane;
    if (lane !== undefined) this.#laneFreeMs.set(lane, untilMs);
  }

  #planOf({ index }: Slot): ConnectionPlan {
    const { tokens, seats, url, intents, compress, localAddress } = this.#plan;
    const seat = seats?.[index];
    return {
      url: new URL(url),
      token: seat?.token ?? present(tokens[index % tokens.length]),
      intents,
      compress,
      scouts: this.#plan.scouts && index === 0,
      ...(seat && { shard: seat.shard }),
      ...(localAddress !== undefined && { localAddress }),
    };
  }

  #open(slot: Slot): void {
    let isReady = false;
    this.#pending += 1;
    this.#holdLane(slot, Number.POSITIVE_INFINITY);
    const plan = this.#planOf(slot);
    const { scouts } = plan;
    slot.connection = new GatewayConnection(plan, {
      ready: (guilds) => {
        isReady = true;
        this.#holdLane(slot, Date.now() + (this.#plan.laneGapMs ?? 0));
        this.#pending -= 1;
        this.#ready += 1;
        if (scouts) this.#events.scouted(guilds);
        this.#events.progress(this.#ready);
        if (this.#ready === this.#slots.length) this.#settle?.resolve();
      },
      payload: (payload, bytes, arrivedMicros) => this.#delivered(slot, payload, bytes, arrivedMicros),
      closed: (code, reason, op) => {
        slot.connection = null;
        if (this.#isOver) return;
        if (isReady) {
          this.#dropped += 1;
          add(this.#closes, op === null ? code : `op ${op}`);
          return;
        }
        this.#pending -= 1;
        if (op === INVALID_SESSION) this.#identifiesRefused += 1;
        this.#retry(slot, op === INVALID_SESSION || code === UNKNOWN_ERROR, `${code} ${reason}`);
      },
    });
  }

  /** Retries an IDENTIFY that was answered with "invalid session", which means too many at once. */
  #retry(slot: Slot, mayTry: boolean, reason: string): void {
    slot.tries += 1;
    if (!mayTry || slot.tries > RETRIES_MAX) {
      this.#isOver = true;
      for (const { connection } of this.#slots) connection?.close();
      this.#settle?.reject(new Error(`A connection could not identify: ${reason}`));
      return;
    }
    setTimeout(() => this.#open(slot), RETRY_MS * (1 + Math.random()));
  }

  #delivered(slot: Slot, payload: Buffer | null, bytes: number, arrivedMicros: number): void {
    if (arrivedMicros < this.#startMicros) return;
    if (payload !== null && slot.tally) {
      const stamp = findStamp(payload, this.#mark);
      if (!stamp || !slot.tally.see(stamp.index)) return;
      this.#latencies.record(arrivedMicros - stamp.intendedMicros);
    }
    this.#deliveries += 1;
    this.#payloadBytes += bytes;
    const second = Math.floor((arrivedMicros - this.#startMicros) / SECOND_MICROS);
    this.#timeline[second] = (this.#timeline[second] ?? 0) + 1;
  }
}
