import type { Percentiles } from '../gateway/report.ts';
import type { Chunked, Introduction } from './observer.ts';
import type { Viewed } from './viewers.ts';

/** A stream of messages in one state of the guild. Times in milliseconds. */
export interface Lap {
  readonly name: string;
  /** Sessions that receive the messages. */
  readonly sessions: number;
  /** Sessions in the guild that do not receive them. */
  readonly passive: number;
  readonly sent: number;
  readonly answered: number;
  readonly deliveries: number;
  /** Confirmed messages missing at a session, and duplicates. */
  readonly lost: number;
  readonly duplicated: number;
  /** Time from the intended sending to the receipt, over all sessions. */
  readonly latencyMs: Percentiles;
  readonly cpuMicrosPerDelivery: number;
  /** All CPU time of the server per message. */
  readonly cpuMsPerMessage: number;
  readonly rssBytes: number;
}

/** The result of `bench guild`, in the format of `--json`. */
export interface GuildReport {
  readonly members: number;
  readonly shards: number;
  readonly insertSeconds: number;
  /** Memory of all processes of the server: empty; with the guild in memory; with all sessions online. */
  readonly rssBytes: {
    readonly empty: number;
    readonly loaded: number;
    readonly online: number;
    readonly chunked: number;
  };
  readonly sessions: number;
  readonly connectSeconds: number;
  /** To a session with every intent, before and after the others came. */
  readonly introductions: { readonly empty: Introduction; readonly online: Introduction };
  readonly laps: readonly Lap[];
  /** Null without viewers. */
  readonly viewed: Viewed | null;
  readonly chunked: readonly Chunked[];
  readonly kept: boolean;
}

const MIB = 2 ** 20;
const count = (value: number): string => Math.round(value).toLocaleString('en-US');
const mib = (bytes: number): string => `${(bytes / MIB).toFixed(0)} MiB`;
const tell = ({ bytes, members, large }: Introduction): string =>
  `${count(bytes / 1024)} KiB with ${count(members)} members${large ? ', called large' : ''}`;

/** The run as text for a document. */
export function guildTextOf(report: GuildReport): string {
  const { members, shards, rssBytes, sessions, introductions, viewed, chunked, laps } = report;
  // Memory that was freed meanwhile may outweigh it.
  const perMember = Math.max(0, rssBytes.loaded - rssBytes.empty) / members;
  const perSession = (rssBytes.online - rssBytes.loaded) / 1024 / sessions;
  const slowest = Math.max(0, ...chunked.map(({ ms }) => ms));
  return [
    `${count(members)} members, ${count(sessions)} online, ${shards} shard${shards === 1 ? '' : 's'}.`,
    '',
    '| messages to | passive | p50 ms | p99 ms | max ms | CPU-µs per delivery | CPU-ms per message | lost, doubled |',
    '| --- | --- | --- | --- | --- | --- | --- | --- |',
    ...laps.map(lineOf),
    '',
    `- memory: ${mib(rssBytes.empty)} empty; ${mib(rssBytes.loaded)} with the guild (${perMember.toFixed(0)} bytes for each offline`,
    `  member); ${mib(rssBytes.online)} with all online (${perSession.toFixed(1)} KiB a session and its user); ${mib(rssBytes.chunked)} after all chunks`,
    `- GUILD_CREATE with every intent: ${tell(introductions.empty)}; with all online ${tell(introductions.online)}`,
    ...(viewed ? [viewedLineOf(viewed)] : []),
    `- ${chunked.length} clients at once got all members in ${count(chunked[0]?.chunks ?? 0)} chunks, ${mib(chunked[0]?.bytes ?? 0)} each, within ${(slowest / 1000).toFixed(1)} s`,
    `- connecting took ${report.connectSeconds.toFixed(1)} s (${count(sessions / report.connectSeconds)}/s)`,
    `- ${report.kept ? 'kept: none lost, none doubled' : 'BROKEN'}`,
  ].join('\n');
}

function viewedLineOf({ viewers, firstRowsMs, changes, updates, updateBytes, same }: Viewed): string {
  const { p50, max } = firstRowsMs;
  const mean = updateBytes / Math.max(1, updates);
  return (
    `- ${count(viewers)} viewers were sent the first rows of the member list within ${count(max)} ms (p50 ${count(p50)}); ` +
    `${count(changes)} times one of them went offline or came back, in ${count(updates)} updates of ${count(mean)} bytes; ` +
    `${same ? 'all hold the same rows' : 'their rows DIFFER'}`
  );
}

function lineOf(lap: Lap): string {
  const { p50, p99, max } = lap.latencyMs;
  const cells = [
    `${count(lap.sessions)}${lap.name === '' ? '' : `, ${lap.name}`}`,
    count(lap.passive),
    p50.toFixed(1),
    p99.toFixed(1),
    max.toFixed(1),
    lap.cpuMicrosPerDelivery.toFixed(2),
    lap.cpuMsPerMessage.toFixed(1),
    `${lap.lost}, ${lap.duplicated}`,
  ];
  return `| ${cells.join(' | ')} |`;
}
