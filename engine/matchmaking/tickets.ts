import type { TicketId, UserId } from '../../protocol/ids.ts';
import { invalidField, type Refusal } from '../../protocol/refusal.ts';

export type Properties = Readonly<Record<string, string | number>>;

/** One player, or a party that stays together, in a queue. */
export interface Ticket {
  readonly id: TicketId;
  readonly players: readonly UserId[];
  readonly properties: Properties;
  /** Unix milliseconds; older tickets are served first. */
  readonly createdMs: number;
}

/** The allowed distance between two numbers, and how it grows with the waiting time. */
export interface Widening {
  readonly start: number;
  /** 0 when absent. */
  readonly perSecond?: number;
  /** No bound when absent. */
  readonly most?: number;
}

export interface QueueRules {
  /** Players of a match, 1 to 1000. */
  readonly size: number;
  /** Properties that must be equal for all in a match. */
  readonly same: readonly string[];
  /** Numbers that must be near those of the match's oldest ticket. */
  readonly within: Readonly<Record<string, Widening>>;
}

/** The distance at which a ticket may be matched by now. */
export function reachOf(
  { start, perSecond = 0, most = Number.POSITIVE_INFINITY }: Widening,
  { createdMs }: Ticket,
  nowMs: number,
): number {
  return Math.min(most, start + (perSecond * Math.max(0, nowMs - createdMs)) / 1_000);
}

/** Whether the numbers of two tickets allow one match: each within the reach of both. */
export function compatible(a: Ticket, b: Ticket, { within }: QueueRules, nowMs: number): boolean {
  for (const [key, widening] of Object.entries(within)) {
    const apart = Math.abs(Number(a.properties[key]) - Number(b.properties[key]));
    if (apart > reachOf(widening, a, nowMs) || apart > reachOf(widening, b, nowMs)) return false;
  }
  return true;
}

/** Oldest first; tickets of the same moment by id. */
export const byAge = (a: Ticket, b: Ticket): number =>
  a.createdMs - b.createdMs || a.id.length - b.id.length || (a.id < b.id ? -1 : 1);

/** Why a ticket does not fit a queue's rules; null when it does. */
export function ticketRefusal(
  { size, same, within }: QueueRules,
  players: number,
  properties: Properties,
): Refusal | null {
  if (players > size)
    return invalidField(['lobby_id'], 'BASE_TYPE_MAX_LENGTH', `A match has ${size} players at most.`);
  for (const key of same) if (!Object.hasOwn(properties, key)) return required(key, 'This field is required');
  for (const key of Object.keys(within))
    if (!Object.hasOwn(properties, key) || typeof properties[key] !== 'number')
      return required(key, 'A number is required');
  return null;
}

const required = (key: string, message: string): Refusal =>
  invalidField(['properties', key], 'BASE_TYPE_REQUIRED', message);
