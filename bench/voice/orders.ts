import type { Seal } from './client.ts';

/** Ways to forward a packet to a room, each in its own process. */
export const CONTENDERS = [
  'dgram',
  'native',
  'guildhall-aes',
  'guildhall-xchacha',
  'guildhall-aes-dgram',
  'guildhall-xchacha-dgram',
  'mumble',
] as const;
export type ContenderName = (typeof CONTENDERS)[number];

export interface Seat {
  readonly ssrc: number;
  /** 32 bytes in hexadecimal. */
  readonly key: string;
}

/** Calls of equal size, each with as many speakers. */
export interface Size {
  readonly calls: number;
  readonly members: number;
  readonly speakers: number;
}

/** Messages to a contender's process. */
export type HostOrder =
  | { readonly kind: 'open'; readonly contender: ContenderName; readonly size: Size }
  | { readonly kind: 'begin' }
  | { readonly kind: 'end' }
  /** From now on, each second a further call of as many members is opened and the one before is closed. */
  | { readonly kind: 'churn'; readonly size: Size }
  | { readonly kind: 'weigh' };

export type HostNews =
  | {
      readonly kind: 'opened';
      readonly port: number;
      readonly seal: Seal | 'mumble';
      /** One call after the other. */
      readonly seats: readonly Seat[];
    }
  | { readonly kind: 'ended'; readonly cpuMicros: number; readonly wallMicros: number }
  /** Memory after a garbage collection. */
  | { readonly kind: 'weighed'; readonly rssBytes: number; readonly heapBytes: number };

/** Messages to the process with the clients. Each room has a number. */
export type LoadOrder =
  | {
      readonly kind: 'gather';
      readonly room: number;
      readonly port: number;
      readonly seal: Seal | 'mumble';
      readonly seats: readonly Seat[];
      readonly size: Size;
    }
  /** The speakers send in sequence, each packet when all but the last `window` packets have reached everybody. */
  | { readonly kind: 'heat'; readonly room: number; readonly packets: number; readonly window: number }
  /** The speakers send at a fixed rate, whatever happens to the packets. */
  | { readonly kind: 'pace'; readonly room: number; readonly packets: number; readonly perSecond: number };

export type LoadNews =
  | { readonly kind: 'gathered'; readonly room: number }
  | {
      readonly kind: 'done';
      readonly room: number;
      readonly deliveries: number;
      readonly expected: number;
      readonly p50Ms: number;
      readonly p99Ms: number;
      readonly maxMs: number;
    };
