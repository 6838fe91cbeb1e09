// Goal: recurring events occur exactly when a well-kept package for RFC 5545 says, and only rules of the published form are read.
import fc from 'fast-check';
import rrule from 'rrule';
import { describe, expect, it } from 'vitest';
import {
  isOccurrence,
  nextOccurrence,
  type RecurrenceRule,
} from '../../../engine/scheduledevent/recurrence.ts';
import { type RuleDraft, readRule } from '../../../engine/scheduledevent/rule.ts';
import { FREQUENCY } from '../../../protocol/scheduledevents.ts';

const { RRule } = rrule;
const DAY_MS = 86_400_000;
const [FROM_MS, TO_MS] = [Date.UTC(1999, 0, 1), Date.UTC(2101, 0, 1)];
const DAILY = [
  [0, 1, 2, 3, 4],
  [1, 2, 3, 4, 5],
  [6, 0, 1, 2, 3],
  [4, 5],
  [5, 6],
  [6, 0],
];
const MONTH_DAYS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** Whole seconds: the package cuts milliseconds off. */
const second = fc.integer({ min: FROM_MS / 1000, max: TO_MS / 1000 }).map((at) => at * 1000);
const start = second.map((ms) => new Date(ms).toISOString());
const weekday = fc.integer({ min: 0, max: 6 });

const draft: fc.Arbitrary<RuleDraft> = fc.oneof(
  fc.record({
    start,
    frequency: fc.constant(FREQUENCY.DAILY),
    by_weekday: fc.option(fc.constantFrom(...DAILY)),
  }),
  fc.record({
    start,
    frequency: fc.constant(FREQUENCY.WEEKLY),
    interval: fc.constantFrom(1, 2, null),
    by_weekday: fc.option(weekday.map((day) => [day])),
  }),
  fc.record({
    start,
    frequency: fc.constant(FREQUENCY.MONTHLY),
    by_n_weekday: fc.record({ n: fc.integer({ min: 1, max: 5 }), day: weekday }).map((one) => [one]),
  }),
  fc
    .integer({ min: 1, max: 12 })
    .chain((month) =>
      fc.tuple(fc.constant(month), fc.integer({ min: 1, max: MONTH_DAYS[month - 1]! }), start),
    )
    .map(([month, day, at]) => ({
      start: at,
      frequency: FREQUENCY.YEARLY,
      by_month: [month],
      by_month_day: [day],
    })),
);

function read(of: RuleDraft): RecurrenceRule {
  const rule = readRule(of);
  if (!rule.ok) throw new Error(JSON.stringify(rule.refusal));
  return rule.value;
}

/** The rule as the package knows it. */
function modelOf(rule: RecurrenceRule) {
  const days = [RRule.MO, RRule.TU, RRule.WE, RRule.TH, RRule.FR, RRule.SA, RRule.SU];
  const nth = rule.by_n_weekday?.map(({ n, day }) => days[day]!.nth(n));
  return new RRule({
    freq: [RRule.YEARLY, RRule.MONTHLY, RRule.WEEKLY, RRule.DAILY][rule.frequency]!,
    interval: rule.interval,
    dtstart: new Date(rule.start),
    byweekday: nth ?? rule.by_weekday?.map((day) => days[day]!) ?? null,
    bymonth: rule.by_month ? [...rule.by_month] : null,
    bymonthday: rule.by_month_day ? [...rule.by_month_day] : null,
  });
}

describe('the occurrences of a rule', () => {
  it('are those of the package, after any time', () => {
    fc.assert(
      fc.property(draft, fc.integer({ min: -40 * DAY_MS, max: 4_000 * DAY_MS }), (of, away) => {
        const rule = read(of);
        const afterMs = Math.trunc((Date.parse(rule.start) + away) / 1000) * 1000;
        const expected = modelOf(rule).after(new Date(afterMs), false)?.getTime() ?? null;
        expect(nextOccurrence(rule, afterMs)).toBe(expected);
      }),
      { numRuns: 500 },
    );
  });

  it('follow each other as in the package, from the start on', () => {
    fc.assert(
      fc.property(draft, (of) => {
        const rule = read(of);
        const own: number[] = [];
        for (let at = Date.parse(rule.start) - 1; own.length < 8; ) {
          at = nextOccurrence(rule, at) ?? Number.NaN;
          own.push(at);
        }
        const theirs = modelOf(rule).all((_, index) => index < 8);
        expect(own).toEqual(theirs.slice(0, 8).map((date) => date.getTime()));
        for (const at of own) expect(isOccurrence(rule, at)).toBe(true);
        expect(isOccurrence(rule, own[0]! + 1)).toBe(false);
      }),
      { numRuns: 300 },
    );
  });

  it('are in months with a fifth such weekday alone where the rule asks for the fifth', () => {
    const rule = read({
      start: '2026-01-30T10:00:00Z',
      frequency: FREQUENCY.MONTHLY,
      by_n_weekday: [{ n: 5, day: 4 }],
    });
    const at = nextOccurrence(rule, Date.parse('2026-01-30T10:00:00Z'));
    expect(new Date(at ?? 0).toISOString()).toBe('2026-05-29T10:00:00.000Z');
  });

  it('are on leap days only in leap years, also over 2100', () => {
    const rule = read({
      start: '2096-02-29T10:00:00Z',
      frequency: FREQUENCY.YEARLY,
      by_month: [2],
      by_month_day: [29],
    });
    const at = nextOccurrence(rule, Date.parse('2096-03-01T00:00:00Z'));
    expect(new Date(at ?? 0).toISOString()).toBe('2104-02-29T10:00:00.000Z');
  });
});

describe('a rule', () => {
  const base = { start: '2026-03-02T18:00:00' };
  const fieldsOf = (of: object) => {
    const rule = readRule({ ...base, ...of } as RuleDraft);
    return rule.ok ? 'read' : Object.keys(rule.refusal.errors?.recurrence_rule ?? {});
  };

  const cases: (readonly [of: object, expected: string | string[]])[] = [
    [{ frequency: 3 }, 'read'],
    [{ frequency: 3, by_weekday: [] }, 'read'],
    ...DAILY.map((days) => [{ frequency: 3, by_weekday: days.toReversed() }, 'read'] as const),
    [{ frequency: 3, by_weekday: [0] }, ['by_weekday']],
    [{ frequency: 3, by_weekday: [0, 1, 2, 3, 4, 5, 6] }, ['by_weekday']],
    [{ frequency: 3, interval: 2 }, ['interval']],
    [{ frequency: 2 }, 'read'],
    [{ frequency: 2, by_weekday: [6], interval: 2 }, 'read'],
    [{ frequency: 2, by_weekday: [6], interval: 3 }, ['interval']],
    [{ frequency: 2, by_weekday: [6], interval: 0 }, ['interval']],
    [{ frequency: 2, by_weekday: [5, 6] }, ['by_weekday']],
    [{ frequency: 2, by_weekday: [5], by_n_weekday: [{ n: 1, day: 1 }] }, ['by_n_weekday']],
    [{ frequency: 1, by_n_weekday: [{ n: 5, day: 6 }] }, 'read'],
    [{ frequency: 1 }, ['by_n_weekday']],
    [
      {
        frequency: 1,
        by_n_weekday: [
          { n: 1, day: 1 },
          { n: 2, day: 1 },
        ],
      },
      ['by_n_weekday'],
    ],
    [{ frequency: 1, by_n_weekday: [{ n: 1, day: 1 }], by_month: [1] }, ['by_month']],
    [{ frequency: 0, by_month: [2], by_month_day: [29] }, 'read'],
    [{ frequency: 0, by_month: [2], by_month_day: [30] }, ['by_month_day']],
    [{ frequency: 0, by_month: [2], by_month_day: [0] }, ['by_month_day']],
    [{ frequency: 0, by_month: [2], by_month_day: [-1] }, ['by_month_day']],
    [{ frequency: 0, by_month: [2, 3], by_month_day: [1] }, ['by_month']],
    [{ frequency: 0, by_month: [2] }, ['by_month_day']],
    [{ frequency: 0, by_month_day: [2] }, ['by_month']],
    [{ frequency: 3, end: '2027-01-01T00:00:00Z' }, ['end']],
    [{ frequency: 3, count: 3 }, ['count']],
    [{ frequency: 3, by_year_day: [3] }, ['by_year_day']],
    [{ frequency: 3, end: null, count: null, by_year_day: null, by_month: null }, 'read'],
  ];
  it.each(cases)('is read, or its wrong field named: %j is %j', (of, expected) => {
    expect(fieldsOf(of)).toEqual(expected);
  });

  it('is shown with every key, and starts in UTC without an offset', () => {
    expect(read({ ...base, frequency: FREQUENCY.DAILY })).toEqual({
      start: '2026-03-02T18:00:00.000000+00:00',
      end: null,
      frequency: 3,
      interval: 1,
      by_weekday: null,
      by_n_weekday: null,
      by_month: null,
      by_month_day: null,
      by_year_day: null,
      count: null,
    });
  });
});
