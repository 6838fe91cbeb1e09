import { millis, type Percentiles, type ServerUse } from '../gateway/report.ts';
import type { Metrics } from '../gateway/threshold.ts';
import { type Counts, type Failure, failedLine } from '../gateway/verdict.ts';
import { csvTable, type TableRow } from '../table.ts';

/** Events sent at a fixed rate and followed to every member. */
export interface Part {
  readonly sent: number;
  readonly answered: number;
  /** Answered 429. */
  readonly limited: number;
  /** Answered with 429 and sent again, at a default rate. */
  readonly retried: number;
  readonly failed: number;
  /** Limited and failed requests, by status; 0 means no answer. */
  readonly refused: Counts;
  readonly perSecond: number;
  readonly answerMs: Percentiles;
  /** Time from the intended sending to each receipt. */
  readonly deliveryMs: Percentiles;
  /** Time from the intended sending to the receipt at the last member. */
  readonly lastMs: Percentiles;
  readonly deliveries: number;
  /** Confirmed events that were not delivered to all. */
  readonly lost: number;
  readonly duplicated: number;
  /** Members with another order of events than most of their lobby. */
  readonly reordered: number;
  readonly server: ServerUse | null;
  readonly curve: readonly { readonly percentile: number; readonly ms: number }[];
  readonly timeline: readonly number[];
}

export interface Joins {
  readonly asked: number;
  readonly failed: number;
  /** Failed joins, by status; 0 means no answer. */
  readonly refused: Counts;
  readonly seconds: number;
  readonly perSecond: number;
  readonly answerMs: Percentiles;
}

/** The parts, in the order in which they run. */
const PARTS = ['messages', 'updates', 'members'] as const;
type PartName = (typeof PARTS)[number];

/** The result of a run, in the format of `--json`; times in milliseconds unless the name says otherwise. */
export interface LobbiesReport {
  readonly headline: string;
  readonly url: string;
  readonly lobbies: number;
  readonly membersEach: number;
  readonly connectSeconds: number;
  /** Sessions that ended before the run did. */
  readonly dropped: number;
  /** Why they ended: a close code, `op 7` or `op 9`. */
  readonly closes: Counts;
  readonly joins: Joins;
  readonly messages: Part;
  /** Updates of lobbies' metadata. */
  readonly updates: Part;
  /** Updates of members' metadata. */
  readonly members: Part;
  readonly thresholds: readonly { readonly text: string; readonly kept: boolean }[];
  /** Why the run failed; empty when it did not. */
  readonly failures: readonly Failure[];
  /** Notes about a reduced run, and how to enlarge it. */
  readonly notes: readonly string[];
}

const sum = (report: LobbiesReport, of: (part: Part) => number): number =>
  PARTS.reduce((all, name) => all + of(report[name]), 0);

type PartMetric = `${PartName}.${'p50' | 'p90' | 'p99' | 'p99.9' | 'p99.99' | 'max' | 'cpu'}`;
type Metric = PartMetric | 'joins' | 'joins.p50' | 'joins.p99' | 'joins.max' | Total;
type Total = 'lost' | 'duplicated' | 'reordered' | 'failed' | 'dropped';

const ofPart = (name: PartName): [string, (report: LobbiesReport) => number][] => [
  [`${name}.p50`, (report) => report[name].lastMs.p50],
  [`${name}.p90`, (report) => report[name].lastMs.p90],
  [`${name}.p99`, (report) => report[name].lastMs.p99],
  [`${name}.p99.9`, (report) => report[name].lastMs.p999],
  [`${name}.p99.99`, (report) => report[name].lastMs.p9999],
  [`${name}.max`, (report) => report[name].lastMs.max],
  [`${name}.cpu`, (report) => report[name].server?.cpuMicrosPerDelivery ?? Number.NaN],
];

/** Figures that can be bounded; latencies end at the last member, those of joins at the answer. */
export const LOBBY_METRICS = {
  ...Object.fromEntries(PARTS.flatMap(ofPart)),
  joins: (report) => report.joins.perSecond,
  'joins.p50': (report) => report.joins.answerMs.p50,
  'joins.p99': (report) => report.joins.answerMs.p99,
  'joins.max': (report) => report.joins.answerMs.max,
  lost: (report) => sum(report, ({ lost }) => lost),
  duplicated: (report) => sum(report, ({ duplicated }) => duplicated),
  reordered: (report) => sum(report, ({ reordered }) => reordered),
  failed: (report) => report.joins.failed + sum(report, ({ failed, limited }) => failed + limited),
  dropped: (report) => report.dropped,
} as Metrics<LobbiesReport, Metric>;

const count = (value: number): string => Math.round(value).toLocaleString('en-US');
const pair = ({ p50, p99 }: Percentiles): string => `${millis(p50)}, ${millis(p99)}`;

/** A one-line summary of a run. */
export function lobbiesHeadlineOf(report: Omit<LobbiesReport, 'headline'>): string {
  const { messages, updates, members, joins } = report;
  const lost = messages.lost + updates.lost + members.lost;
  const losses = lost === 0 ? 'none lost' : `${count(lost)} LOST`;
  const outcome = [failedLine(report.failures), report.failures.length > 0 && lost === 0 ? '' : losses];
  return (
    `${count(joins.perSecond)} joins/s; until the last of ${report.membersEach} members has it: ` +
    `message p50, p99 ${pair(messages.lastMs)}, metadata ${pair(updates.lastMs)}, ` +
    outcome.filter((each) => each !== '').join(', ')
  );
}

const TITLES: Readonly<Record<PartName, string>> = {
  messages: 'messages',
  updates: 'lobby metadata',
  members: 'member metadata',
};

/** Every figure with its name, as table and page show them. */
export function lobbiesFiguresOf(report: LobbiesReport): [string, string][] {
  const { joins } = report;
  return [
    ['gateway', report.url],
    ['lobbies, members of each', `${count(report.lobbies)}, ${count(report.membersEach)}`],
    ['connecting took', `${report.connectSeconds.toFixed(1)} s`],
    ['joins', `${count(joins.asked)} in ${joins.seconds.toFixed(2)} s (${count(joins.perSecond)}/s)`],
    ['joins failed', count(joins.failed)],
    ['join to answer p50, p99', pair(joins.answerMs)],
    ...PARTS.flatMap((name) => partFigures(TITLES[name], report[name])),
    ['sessions dropped', count(report.dropped)],
    ...report.thresholds.map(({ text, kept }): [string, string] => [text, kept ? 'kept' : 'MISSED']),
  ];
}

function partFigures(title: string, part: Part): [string, string][] {
  const { server } = part;
  return [
    [`${title}: sent`, `${count(part.sent)} at ${part.perSecond}/s`],
    [
      `${title}: answered, limited, failed`,
      `${count(part.answered)}, ${count(part.limited)}, ${count(part.failed)}`,
    ],
    ...(part.retried > 0
      ? ([[`${title}: sent again after 429`, count(part.retried)]] satisfies [string, string][])
      : []),
    [`${title}: send to answer p50, p99`, pair(part.answerMs)],
    [`${title}: send to receipt p50, p99`, pair(part.deliveryMs)],
    [`${title}: to the last member p50, p99`, pair(part.lastMs)],
    [`${title}: deliveries`, count(part.deliveries)],
    [`${title}: lost, doubled, out of order`, `${part.lost}, ${part.duplicated}, ${part.reordered}`],
    ...(server
      ? ([
          [`${title}: server CPU-µs per delivery`, server.cpuMicrosPerDelivery.toFixed(2)],
          [`${title}: server CPU, memory`, useOf(server)],
        ] satisfies [string, string][])
      : []),
  ];
}

const useOf = ({ cpuShare, rssBytes }: ServerUse): string =>
  `${(cpuShare * 100).toFixed(0)} % of a core, ${(rssBytes / 2 ** 20).toFixed(0)} MiB`;

/** A line for each part. */
export const lobbiesCsvOf = (report: LobbiesReport): string =>
  csvTable(PARTS.map((name) => rowOf(name, report)));

function rowOf(name: PartName, report: LobbiesReport): TableRow {
  const part = report[name];
  return [
    ['part', name],
    ['lobbies', report.lobbies],
    ['members_each', report.membersEach],
    ['joins_per_s', report.joins.perSecond],
    ['joins_failed', report.joins.failed],
    ['per_second', part.perSecond],
    ['sent', part.sent],
    ['answered', part.answered],
    ['limited', part.limited],
    ['retried', part.retried],
    ['failed', part.failed],
    ['deliveries', part.deliveries],
    ['answer_p50_ms', part.answerMs.p50],
    ['answer_p99_ms', part.answerMs.p99],
    ['last_p50_ms', part.lastMs.p50],
    ['last_p90_ms', part.lastMs.p90],
    ['last_p99_ms', part.lastMs.p99],
    ['last_p999_ms', part.lastMs.p999],
    ['last_p9999_ms', part.lastMs.p9999],
    ['last_max_ms', part.lastMs.max],
    ['lost', part.lost],
    ['duplicated', part.duplicated],
    ['reordered', part.reordered],
    ['cpu_us_per_delivery', part.server?.cpuMicrosPerDelivery ?? ''],
    ['cpu_share', part.server?.cpuShare ?? ''],
    ['rss_bytes', part.server?.rssBytes ?? ''],
  ];
}
