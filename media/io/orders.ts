import type { Gate, MemberMetrics, VideoStream } from '../plane.ts';
import type {
  ForwarderEvent,
  ForwarderMember,
  NonceReport,
  PayloadTypes,
  UdpTransport,
} from '../sfu/ports.ts';
import type { PacketBatch } from './batch.ts';
import type { UdpSender } from './udp.ts';

/** Instructions to a lane. Plain data: they are posted to its thread. */
export type LaneOrder =
  | { readonly type: 'open'; readonly callId: string }
  | { readonly type: 'close'; readonly callId: string }
  | { readonly type: 'encryptedOnly'; readonly callId: string; readonly on: boolean }
  | { readonly type: 'join'; readonly callId: string; readonly member: ForwarderMember }
  | { readonly type: 'leave'; readonly ssrc: number }
  | { readonly type: 'udp'; readonly ssrc: number; readonly transport: UdpTransport }
  /** Marks the member's browser as connected. */
  | { readonly type: 'peer'; readonly ssrc: number }
  | { readonly type: 'disconnect'; readonly ssrc: number }
  | { readonly type: 'payloadTypes'; readonly ssrc: number; readonly codecs: readonly PayloadTypes[] }
  | { readonly type: 'gate'; readonly ssrc: number; readonly gate: Gate }
  | { readonly type: 'audience'; readonly ssrc: number; readonly only: readonly number[] | null }
  | { readonly type: 'streams'; readonly ssrc: number; readonly streams: readonly VideoStream[] }
  | {
      readonly type: 'wants';
      readonly ssrc: number;
      readonly any: number;
      readonly bySsrc: ReadonlyMap<number, number>;
    };

/** An order that concerns one member only. */
export type MemberOrder = Exclude<LaneOrder, { readonly callId: string }>;

export interface LaneMetrics {
  readonly packetsIn: number;
  readonly packetsOut: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly drops: Readonly<Record<string, number>>;
  readonly latency: {
    readonly boundsUs: readonly number[];
    readonly counts: readonly number[];
    readonly sumUs: number;
  };
  readonly members: ReadonlyMap<string, readonly MemberMetrics[]>;
}

/** A forwarder's event about a member, with the member's call. */
export interface LaneFinding extends ForwarderEvent {
  readonly callId: string;
}

/** Report of a lane, sent several times a second; a lane without reports is considered hung. */
export interface LaneReport {
  readonly findings: readonly LaneFinding[];
  readonly nonces: readonly NonceReport[];
  readonly metrics: LaneMetrics | null;
  /** The highest question this report answers; 0 before the first. */
  readonly answerTo: number;
  /** The first bug that a packet triggered since the last report; only that packet was dropped. */
  readonly bug: Error | null;
}

/** Callbacks of a lane to the main thread. None of these may throw. */
export interface LaneListener {
  report(report: LaneReport): void;
  /** Delivers packets for browsers. */
  packets(batch: PacketBatch): void;
  /** Called once, last: no callback follows, and the lane's port is free. */
  died(reason: string): void;
}

/** One run of a lane, in this thread or another. */
export interface RunningLane {
  readonly port: number;
  readonly sender: UdpSender;
  order(orders: readonly LaneOrder[]): void;
  /** Sends packets from browsers. @returns false when too many are in transit and these were dropped. */
  packets(batch: PacketBatch): boolean;
  /** Asks for a report with figures. */
  ask(question: number): void;
  /** Stops it as a crash would: `died` is called when its port is free. */
  kill(): void;
  /** Stops it; `died` is not called. Resolves when its port is free. */
  stop(): Promise<void>;
}

export interface LanePlan {
  /** Address to bind; IPv4 or IPv6. */
  readonly host: string;
  /** 0 picks a free port. */
  readonly port: number;
  /** Whether the addon is used where it can be loaded. */
  readonly isNative: boolean;
}

/** Starts one run of a lane. Rejects when the port cannot be bound. */
export type StartLane = (plan: LanePlan, listener: LaneListener) => Promise<RunningLane>;
