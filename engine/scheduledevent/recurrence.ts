import { FREQUENCY, type Frequency } from '../../protocol/scheduledevents.ts';

/** A recurrence rule in the wire's shape. Weekdays: 0 is Monday. All of its calendar is UTC. */
export interface RecurrenceRule {
  readonly start: string;
  /** No rule has an end or a count: clients cannot set them. */
  readonly end: null;
  readonly frequency: Frequency;
  /** In units of the frequency. */
  readonly interval: number;
  readonly by_weekday: readonly number[] | null;
  /** `n`: the first to the fifth such weekday of a month. A month without a fifth one is left out. */
  readonly by_n_weekday: readonly { readonly n: number; readonly day: number }[] | null;
  /** 1 is January. */
  readonly by_month: readonly number[] | null;
  readonly by_month_day: readonly number[] | null;
  readonly by_year_day: null;
  readonly count: null;
}

const DAY_MS = 86_400_000;
const WEEK_DAYS = 7;
/** Any twelve months in a row include one with five of a given weekday. */
const MONTHS_MAX = 12;
/** 29 February can be eight years away, because 1900 and 2100 are not leap years. */
const YEARS_MAX = 9;

/** Days are counted from 1970-01-01, a Thursday. */
const weekday = (day: number): number => (((day + 3) % WEEK_DAYS) + WEEK_DAYS) % WEEK_DAYS;
/** Weeks begin on Monday. */
const weekOf = (day: number): number => Math.floor((day + 3) / WEEK_DAYS);
const dayOf = (year: number, month: number, monthDay: number): number =>
  Date.UTC(year, month, monthDay) / DAY_MS;

/**
 * The first occurrence of a rule strictly after `afterMs` (Unix milliseconds) and not before the rule's start; null for a
 * rule without any. Cost: O(1); at most nine years are looked at.
 *
 * @source RFC 5545, section 3.3.10; of which the platform allows a part
 */
export function nextOccurrence(rule: RecurrenceRule, afterMs: number): number | null {
  const startMs = Date.parse(rule.start);
  const startDay = Math.floor(startMs / DAY_MS);
  const timeMs = startMs - startDay * DAY_MS;
  const from = Math.max(startDay, Math.floor((afterMs - timeMs) / DAY_MS) + 1);
  const day = dayFrom(rule, startDay, from);
  return day === null ? null : day * DAY_MS + timeMs;
}

/** Whether an occurrence begins at this time, Unix milliseconds. */
export const isOccurrence = (rule: RecurrenceRule, atMs: number): boolean =>
  nextOccurrence(rule, atMs - 1) === atMs;

/** The first day of the rule that is `from` or later. */
function dayFrom(rule: RecurrenceRule, startDay: number, from: number): number | null {
  switch (rule.frequency) {
    case FREQUENCY.DAILY:
      return daily(rule, from);
    case FREQUENCY.WEEKLY:
      return weekly(rule, startDay, from);
    case FREQUENCY.MONTHLY:
      return monthly(rule, from);
    default:
      return yearly(rule, from);
  }
}

function daily({ by_weekday: days }: RecurrenceRule, from: number): number | null {
  for (let day = from; day < from + WEEK_DAYS; day += 1)
    if (days === null || days.includes(weekday(day))) return day;
  return null;
}

function weekly({ by_weekday: days, interval }: RecurrenceRule, startDay: number, from: number): number {
  const of = days?.[0] ?? weekday(startDay);
  const first = weekOf(startDay);
  const passed = Math.ceil((weekOf(from) - first) / interval) * interval;
  const day = (first + passed) * WEEK_DAYS - 3 + of;
  return day >= from ? day : day + interval * WEEK_DAYS;
}

function monthly({ by_n_weekday: nth }: RecurrenceRule, from: number): number | null {
  const [one] = nth ?? [];
  if (!one) return null;
  const date = new Date(from * DAY_MS);
  for (let month = date.getUTCMonth(); month <= date.getUTCMonth() + MONTHS_MAX; month += 1) {
    const day = nthWeekday(date.getUTCFullYear(), month, one.n, one.day);
    if (day >= from && day < dayOf(date.getUTCFullYear(), month + 1, 1)) return day;
  }
  return null;
}

function nthWeekday(year: number, month: number, n: number, of: number): number {
  const first = dayOf(year, month, 1);
  return first + ((of - weekday(first) + WEEK_DAYS) % WEEK_DAYS) + (n - 1) * WEEK_DAYS;
}

function yearly({ by_month: months, by_month_day: days }: RecurrenceRule, from: number): number | null {
  const [[month], [monthDay]] = [months ?? [], days ?? []];
  if (month === undefined || monthDay === undefined) return null;
  const year = new Date(from * DAY_MS).getUTCFullYear();
  for (let at = year; at < year + YEARS_MAX; at += 1) {
    const day = dayOf(at, month - 1, monthDay);
    if (day >= from && new Date(day * DAY_MS).getUTCDate() === monthDay) return day;
  }
  return null;
}
