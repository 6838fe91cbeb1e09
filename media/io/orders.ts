import type { Gate, MemberFigures, VideoStream } from '../plane.ts';
import type {
  ForwarderEvent,
  ForwarderMember,
  NonceReport,
  PayloadTypes,
  UdpTransport,
} from '../sfu/ports.ts';
import type { PacketBatch } from './batch.ts';

/** What a lane is told. Plain data: it crosses a thread boundary. */
export type Order =
  | { readonly type: 'open'; readonly callId: string }
  | { readonly type: 'close'; readonly callId: string }
  | { readonly type: 'encryptedOnly'; readonly callId: string; readonly on: boolean }
  | { readonly type: 'join'; readonly callId: string; readonly member: ForwarderMember }
  | { readonly type: 'leave'; readonly ssrc: number }
  | { readonly type: 'udp'; readonly ssrc: number; readonly transport: UdpTransport }
  /** The member's browser is connected. */
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

/** An order about one member, and nothing else. */
export type MemberOrder = Exclude<Order, { readonly callId: string }>;

export interface LaneFigures {
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
  readonly members: ReadonlyMap<string, readonly MemberFigures[]>;
}

/** What was found out about a member, and the call it is in. */
export interface Finding extends ForwarderEvent {
  readonly callId: string;
}

/** What a lane says. It says something several times a second, so that silence means it hangs. */
export interface Report {
  readonly findings: readonly Finding[];
  readonly nonces: readonly NonceReport[];
  readonly figures: LaneFigures | null;
  /** The highest question this answers; 0 before the first. */
  readonly answerTo: number;
  /** The first bug that a packet ran into since the last report: only that packet was dropped. */
  readonly bug: Error | null;
}

/** The main side of a lane. None of these may throw. */
export interface Outlet {
  report(report: Report): void;
  /** Packets for browsers. */
  packets(batch: PacketBatch): void;
  /** Once: nothing else comes from this lane, and its port is free. */
  died(reason: string): void;
}

/** One life of a lane, in this thread or another. */
export interface RunningLane {
  readonly port: number;
  order(orders: readonly Order[]): void;
  /** Packets from browsers; `false` when too many are on their way, and these were dropped. */
  packets(batch: PacketBatch): boolean;
  /** Asks for a report with figures. */
  ask(question: number): void;
  /** Ends it as a crash would: `died` is called when its port is free. */
  kill(): void;
  /** Ends it; `died` is not called. Resolves when its port is free. */
  stop(): Promise<void>;
}

export interface LanePlan {
  /** Address to bind; IPv4 or IPv6. */
  readonly host: string;
  /** 0 picks a free one. */
  readonly port: number;
}

/** Begins a life of a lane. Rejects when the port cannot be bound. */
export type StartLane = (plan: LanePlan, outlet: Outlet) => Promise<RunningLane>;
