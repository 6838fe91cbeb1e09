import { present } from '../../protocol/present.ts';
import { type ClusterEstimate, guildsOf, simulate, WORLD } from './model.ts';

const SHARDS = [1, 10, 30, 100, 200, 400, 800];
const PARTITIONS = 1024;
/** Load limit of a shard, which leaves room for the load of a failed one. */
const CORE_SHARE = 0.6;
/** Rows per second that one PostgreSQL writes in small transactions; assumed. */
const ROWS_PER_NODE = 30_000;
const LINK_BYTES_MAX = 1.25e9;
const GIB = 2 ** 30;
const BAR = 48;

const count = (value: number): string => Math.round(value).toLocaleString('en-US');

/** Bounds, in the order in which growth reaches them. */
function breaksOf({
  cores,
  rows,
  linkBytes,
  shards,
  largestGuildCores,
  memoryBytes,
}: ClusterEstimate): string {
  const shares: readonly (readonly [string, number])[] = [
    ['CPU of the hottest shard', cores.hottest / CORE_SHARE],
    ['memory of a shard of 4 GiB', memoryBytes.hottest / (4 * GIB)],
    ['writes of one PostgreSQL', rows / ROWS_PER_NODE],
    ['links of a shard at 10 Gbit/s', linkBytes / shards / LINK_BYTES_MAX],
    ['the largest guild at its owner', largestGuildCores / CORE_SHARE],
    ['partitions, four for each shard', (4 * shards) / PARTITIONS],
  ];
  const [name, share] = present(shares.toSorted((a, b) => b[1] - a[1])[0]);
  return `${name} (${share.toFixed(2)}×)`;
}

function line(outcome: ClusterEstimate): string {
  const { shards, cores, memoryBytes, rows, linkBytes } = outcome;
  const cells = [
    count(shards),
    cores.sum.toFixed(0),
    `${cores.mean.toFixed(2)}, ${cores.hottest.toFixed(2)}`,
    `${(memoryBytes.sum / GIB).toFixed(0)}, ${(memoryBytes.hottest / GIB).toFixed(2)}`,
    (linkBytes / 1e6).toFixed(0),
    count(rows),
    breaksOf(outcome),
  ];
  return `| ${cells.join(' | ')} |`;
}

/** Cores of the hottest shard, and the limit that it should stay below. */
function picture(outcomes: readonly ClusterEstimate[]): string {
  const most = 2;
  const at = (value: number): number => Math.min(BAR, Math.round((value / most) * BAR));
  const limit = at(CORE_SHARE);
  const bar = ({ shards, cores }: ClusterEstimate): string => {
    const [mean, hot] = [at(cores.mean), at(cores.hottest)];
    const cells = Array.from({ length: BAR }, (_, cell) =>
      cell < mean ? '█' : cell < hot ? '▒' : cell === limit ? '│' : ' ',
    );
    const end = cores.hottest > most ? '▶' : ' ';
    return `${String(shards).padStart(5)}  ${cells.join('')}${end} ${cores.hottest.toFixed(2)}`;
  };
  return [
    ...outcomes.map(bar),
    `       █ mean, ▒ hottest, │ ${CORE_SHARE} of a core; shards by cores each`,
  ].join('\n');
}

/** Prints the model's table and chart as in docs/scale.md. */
function main(): void {
  const guilds = guildsOf(WORLD);
  const outcomes = SHARDS.map((shards) => simulate(WORLD, guilds, shards, PARTITIONS));
  const { messages, deliveries, clientBytes } = present(outcomes[0]);
  const largest = guilds.reduce((most, each) => Math.max(most, each), 0);
  const lines = [
    `${count(WORLD.sessions)} sessions, ${count(guilds.length)} guilds (largest: ${count(largest)} online), seed ${WORLD.seed}:`,
    `${count(messages)} messages/s, ${count(deliveries)} deliveries/s, ${(clientBytes / 1e9).toFixed(2)} GB/s to clients.`,
    '',
    '| shards | cores | of one shard: mean, hottest | memory GiB: all, hottest | links MB/s | rows/s | what is nearest to its bound |',
    '| --- | --- | --- | --- | --- | --- | --- |',
    ...outcomes.map(line),
    '',
    picture(outcomes),
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}

main();
