import { invalidField, type Refusal } from '../../protocol/refusal.ts';
import { FREQUENCY, type Frequency } from '../../protocol/scheduledevents.ts';
import { isoTimestamp } from '../../protocol/timestamps.ts';
import { nextOccurrence, type RecurrenceRule } from './recurrence.ts';
import { timeOf } from './times.ts';

/** A rule as clients send it; its schema has the bounds of each number. */
export interface RuleDraft {
  readonly start: string;
  readonly end?: string | null;
  readonly frequency: Frequency;
  readonly interval?: number | null;
  readonly by_weekday?: readonly number[] | null;
  readonly by_n_weekday?: readonly { readonly n: number; readonly day: number }[] | null;
  readonly by_month?: readonly number[] | null;
  readonly by_month_day?: readonly number[] | null;
  readonly by_year_day?: readonly number[] | null;
  readonly count?: number | null;
}

type RuleResult =
  | { readonly ok: true; readonly value: RecurrenceRule }
  | { readonly ok: false; readonly refusal: Refusal };

/** The sets of weekdays that a daily rule may have, each sorted. */
const DAILY_SETS: ReadonlySet<string> = new Set(['01234', '12345', '01236', '45', '56', '06']);
/** Days of each month in a leap year. */
const MONTH_DAYS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

const LISTS = ['by_weekday', 'by_n_weekday', 'by_month', 'by_month_day'] as const;
type List = (typeof LISTS)[number];

/** The lists required by each frequency; optional for daily and weekly rules. */
const LISTS_OF: Readonly<Record<Frequency, readonly List[]>> = {
  [FREQUENCY.YEARLY]: ['by_month', 'by_month_day'],
  [FREQUENCY.MONTHLY]: ['by_n_weekday'],
  [FREQUENCY.WEEKLY]: ['by_weekday'],
  [FREQUENCY.DAILY]: ['by_weekday'],
};

/**
 * Reads a rule of the form that clients may set.
 *
 * @source https://docs.discord.com/developers/resources/guild-scheduled-event#guild-scheduled-event-recurrence-rule-object
 */
export function readRule(draft: RuleDraft): RuleResult {
  const field = wrongField(draft);
  if (field !== null) return wrong(field);
  const { frequency, by_weekday, by_n_weekday, by_month, by_month_day } = draft;
  const startMs = timeOf(draft.start);
  const rule: RecurrenceRule = {
    start: isoTimestamp(startMs),
    end: null,
    frequency,
    interval: draft.interval ?? 1,
    by_weekday: by_weekday?.length ? by_weekday : null,
    by_n_weekday: by_n_weekday?.length ? by_n_weekday.map(({ n, day }) => ({ n, day })) : null,
    by_month: by_month?.length ? by_month : null,
    by_month_day: by_month_day?.length ? by_month_day : null,
    by_year_day: null,
    count: null,
  };
  return nextOccurrence(rule, startMs - 1) === null ? wrong('frequency') : { ok: true, value: rule };
}

const wrong = (field: string): RuleResult => ({
  ok: false,
  refusal: invalidField(['recurrence_rule', field], 'BASE_TYPE_INVALID', 'This recurrence is not supported.'),
});

/** The first field that violates the form; null for a valid rule. */
function wrongField(draft: RuleDraft): keyof RuleDraft | null {
  const { frequency, interval, end, count } = draft;
  if (end != null) return 'end';
  if (count != null) return 'count';
  if (draft.by_year_day?.length) return 'by_year_day';
  const most = frequency === FREQUENCY.WEEKLY ? 2 : 1;
  if (interval != null && (interval < 1 || interval > most)) return 'interval';
  const own = LISTS_OF[frequency];
  for (const list of LISTS) {
    const values = draft[list] ?? [];
    if (own.includes(list) ? !fits(frequency, values) : values.length > 0) return list;
  }
  return hasDate(draft) ? null : 'by_month_day';
}

function fits(frequency: Frequency, values: readonly unknown[]): boolean {
  if (frequency === FREQUENCY.DAILY)
    return values.length === 0 || DAILY_SETS.has([...values].sort().join(''));
  return values.length === 1 || (frequency === FREQUENCY.WEEKLY && values.length === 0);
}

/** Whether the month of a yearly rule has its day, at least in some years. */
function hasDate({ frequency, by_month: months, by_month_day: days }: RuleDraft): boolean {
  if (frequency !== FREQUENCY.YEARLY) return true;
  const [month = 1] = months ?? [];
  const [day = 0] = days ?? [];
  return day >= 1 && day <= (MONTH_DAYS[month - 1] ?? 0);
}
