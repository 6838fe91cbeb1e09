import type { Seal } from './client.ts';

/** Ways to forward a packet to a room, each in a process of its own. */
export const CONTENDERS = ['dgram', 'guildhall-aes', 'guildhall-xchacha'] as const;
export type ContenderName = (typeof CONTENDERS)[number];

export interface Seat {
  readonly ssrc: number;
  /** 32 bytes in hexadecimal. */
  readonly key: string;
}

/** What a contender's process is told. */
export type HostOrder =
  | { readonly kind: 'open'; readonly contender: ContenderName; readonly members: number }
  | { readonly kind: 'begin' }
  | { readonly kind: 'end' };

export type HostNews =
  | { readonly kind: 'opened'; readonly port: number; readonly seal: Seal; readonly seats: readonly Seat[] }
  | { readonly kind: 'ended'; readonly cpuMicros: number; readonly wallMicros: number };

/** What the process with the clients is told. Rooms have a number each. */
export type LoadOrder =
  | {
      readonly kind: 'gather';
      readonly room: number;
      readonly port: number;
      readonly seal: Seal;
      readonly seats: readonly Seat[];
      readonly speakers: number;
    }
  /** The speakers send one after another, each packet when all but `window` before it have reached everybody. */
  | { readonly kind: 'heat'; readonly room: number; readonly packets: number; readonly window: number }
  /** The speakers send at a pace, whatever becomes of the packets. */
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
