import { Latencies } from '../wire/histogram.ts';
import { GatewayConnection, type ScoutedGuild } from './connection.ts';
import { findStamp, markOf } from './stamp.ts';
import { Tally } from './tally.ts';

/** What one thread's connections are to do. Plain data: it crosses a thread boundary. */
export interface FleetPlan {
  readonly url: string;
  readonly tokens: readonly string[];
  readonly intents: number;
  readonly compress: boolean;
  readonly connections: number;
  /** How many of them decode everything. */
  readonly measured: number;
  /** Whether the first one reads what the guild is. */
  readonly scouts: boolean;
  readonly identifyIntervalMs: number;
  readonly identifyDelayMs: number;
  readonly runId: string;
  /** Messages of the run, for what tallies take. */
  readonly total: number;
  readonly localAddress?: string;
}

export interface FleetResult {
  readonly latencies: string;
  readonly deliveries: number;
  readonly payloadBytes: number;
  readonly duplicated: number;
  /** Of each measured connection that is still there. */
  readonly orders: readonly number[];
  /** For each message: how many measured connections have seen it. */
  readonly seen: Uint32Array;
  readonly dropped: number;
  readonly timeline: readonly number[];
}

export interface FleetEvents {
  /** One more connection is ready. */
  progress(ready: number): void;
  scouted(guilds: readonly ScoutedGuild[]): void;
}

const RETRY_MS = 5000;
const RETRIES_MAX = 10;
/** A fault of the server, after which clients are to connect again. */
const UNKNOWN_ERROR = 4000;
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

  /** Messages that came to connections of it since the start, or the last lap. */
  get deliveries(): number {
    return this.#deliveries;
  }

  /** Opens the connections at the pace of the plan. Resolves when all are ready; rejects when one cannot be. */
  async connect(): Promise<void> {
    const { identifyDelayMs, identifyIntervalMs } = this.#plan;
    const all = new Promise<void>((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
    void this.#openAll(Date.now() + identifyDelayMs, identifyIntervalMs);
    await all;
  }

  /** Begins to count. Connections that are not measured stop decoding. */
  start(startMicros: number): void {
    this.#startMicros = startMicros;
    for (const { connection, tally } of this.#slots) if (!tally) connection?.countOnly();
  }

  /** Ends the connections and says what they saw since the start, or the last lap. */
  finish(): FleetResult {
    this.#isOver = true;
    const result = this.#result();
    for (const { connection } of this.#slots) connection?.close();
    return result;
  }

  /** Says what the connections saw so far, and begins anew: messages count from 0 again. */
  lap(): FleetResult {
    const result = this.#result();
    [this.#latencies, this.#timeline] = [new Latencies(), []];
    [this.#deliveries, this.#payloadBytes, this.#dropped] = [0, 0, 0];
    for (const slot of this.#slots) slot.tally &&= new Tally(this.#plan.total);
    return result;
  }

  #result(): FleetResult {
    const measured = this.#slots.filter(({ connection, tally }) => connection && tally);
    const seen = new Uint32Array(this.#plan.total);
    for (const { tally } of measured)
      for (let index = 0; index < seen.length; index += 1)
        if (tally?.has(index)) seen[index] = (seen[index] as number) + 1;
    return {
      latencies: this.#latencies.encode(),
      deliveries: this.#deliveries,
      payloadBytes: this.#payloadBytes,
      duplicated: measured.reduce((sum, { tally }) => sum + (tally?.duplicated ?? 0), 0),
      orders: measured.map(({ tally }) => (tally as Tally).order),
      seen,
      dropped: this.#dropped,
      timeline: Array.from(this.#timeline, (value) => value ?? 0),
    };
  }

  async #openAll(startMs: number, intervalMs: number): Promise<void> {
    for (const slot of this.#slots) {
      const waitMs = startMs + slot.index * intervalMs - Date.now();
      if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
      while (this.#pending >= PENDING_MAX) await new Promise((resolve) => setTimeout(resolve, 5));
      if (this.#isOver) return;
      this.#open(slot);
    }
  }

  #open(slot: Slot): void {
    const { tokens, url, intents, compress, localAddress } = this.#plan;
    const token = tokens[slot.index % tokens.length] as string;
    let isReady = false;
    this.#pending += 1;
    const scouts = this.#plan.scouts && slot.index === 0;
    const plan = { url: new URL(url), token, intents, compress, scouts };
    slot.connection = new GatewayConnection(localAddress === undefined ? plan : { ...plan, localAddress }, {
      ready: (guilds) => {
        isReady = true;
        this.#pending -= 1;
        this.#ready += 1;
        if (scouts) this.#events.scouted(guilds);
        this.#events.progress(this.#ready);
        if (this.#ready === this.#slots.length) this.#settle?.resolve();
      },
      payload: (payload, bytes, arrivedMicros) => this.#delivered(slot, payload, bytes, arrivedMicros),
      closed: (code, reason, invalid) => {
        slot.connection = null;
        if (this.#isOver) return;
        if (isReady) {
          this.#dropped += 1;
          return;
        }
        this.#pending -= 1;
        this.#retry(slot, invalid || code === UNKNOWN_ERROR, `${code} ${reason}`);
      },
    });
  }

  /** A server that says "invalid session" to an IDENTIFY means: too many at once. */
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
