import { type ChildProcess, fork } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { present } from '../../protocol/present.ts';
import { canPin } from '../fanout/arena.ts';
import { packageFolder } from '../fanout/corpus.ts';
import { ratiosOf, type Spread, show, spreadOf, verdictOf } from '../fanout/spread.ts';
import { measureInside } from './inside.ts';
import {
  CONTENDERS,
  type ContenderName,
  type HostNews,
  type HostOrder,
  type LoadNews,
  type LoadOrder,
} from './orders.ts';

const SERVER_CPU = '0';
const LOAD_CPU = '1';

/** A process of the benchmark, pinned to a processor, that handles one request at a time. */
class Child<Order, News extends { readonly kind: string }> {
  readonly #child: ChildProcess;
  #hear: ((news: News) => void) | null = null;

  constructor(script: string, cpu: string) {
    const pinned = canPin ? { execPath: 'taskset', execArgv: ['-c', cpu, process.execPath] } : {};
    const path = fileURLToPath(new URL(`./${script}.js`, import.meta.url));
    this.#child = fork(path, [], { ...pinned, stdio: 'inherit' });
    this.#child.on('message', (news) => this.#hear?.(news as News));
    this.#child.on('exit', (code) => {
      if (code) throw new Error(`${script} ended with code ${code}.`);
    });
  }

  order(order: Order): void {
    this.#child.send(order as object);
  }

  ask<K extends News['kind']>(order: Order, _: K): Promise<Extract<News, { kind: K }>> {
    return new Promise((resolve) => {
      this.#hear = resolve as (news: News) => void;
      this.order(order);
    });
  }

  end(): void {
    this.#child.disconnect();
  }
}

type Load = Child<LoadOrder, LoadNews>;

interface Stand {
  readonly name: ContenderName;
  readonly room: number;
  readonly host: Child<HostOrder, HostNews>;
}

async function openStand(name: ContenderName, room: number, load: Load, size: Size): Promise<Stand> {
  const host = new Child<HostOrder, HostNews>('host', SERVER_CPU);
  const { members, speakers } = size;
  const { port, seal, seats } = await host.ask({ kind: 'open', contender: name, members }, 'opened');
  await load.ask({ kind: 'gather', room, port, seal, seats, speakers }, 'gathered');
  return { name, room, host };
}

interface Size {
  readonly members: number;
  readonly speakers: number;
}

interface Heat {
  readonly cpuMicrosPerPacket: number;
  readonly packetsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly lost: number;
}

async function measured({ host }: Stand, load: Load, order: LoadOrder): Promise<Heat> {
  host.order({ kind: 'begin' });
  const { deliveries, expected, p50Ms, p99Ms } = await load.ask(order, 'done');
  const { cpuMicros, wallMicros } = await host.ask({ kind: 'end' }, 'ended');
  return {
    cpuMicrosPerPacket: cpuMicros / deliveries,
    packetsPerSecond: (deliveries * 1e6) / wallMicros,
    p50Ms,
    p99Ms,
    lost: expected - deliveries,
  };
}

const HEAT_PACKETS = 600;
const WARM_PACKETS = 400;
const WINDOW = 2;
/** Each packet has fifty receivers. All clients speak in rotation, because the server limits the packets of one sender. */
const FIFTY: Size = { members: 51, speakers: 51 };
/** More than half a processor in every case; G7 needs a busy server without queues. */
const PACED_PER_SECOND = 100;
const PACED_PACKETS = 200;

async function heatsOf(rounds: number): Promise<Map<ContenderName, { full: Heat[]; paced: Heat[] }>> {
  const load: Load = new Child('load', LOAD_CPU);
  const stands: Stand[] = [];
  for (const name of CONTENDERS) stands.push(await openStand(name, stands.length, load, FIFTY));
  for (const stand of stands)
    await measured(stand, load, { kind: 'heat', room: stand.room, packets: WARM_PACKETS, window: WINDOW });
  const heats = new Map<(typeof CONTENDERS)[number], { full: Heat[]; paced: Heat[] }>(
    CONTENDERS.map((name) => [name, { full: [], paced: [] }]),
  );
  for (let round = 0; round < rounds; round += 1)
    for (const stand of stands) {
      const { room } = stand;
      const { full, paced } = present(heats.get(stand.name));
      full.push(await measured(stand, load, { kind: 'heat', room, packets: HEAT_PACKETS, window: WINDOW }));
      paced.push(
        await measured(stand, load, {
          kind: 'pace',
          room,
          packets: PACED_PACKETS,
          perSecond: PACED_PER_SECOND,
        }),
      );
    }
  for (const { host } of stands) host.end();
  load.end();
  return heats;
}

interface Target {
  readonly ours: ContenderName;
  readonly reference: ContenderName;
  readonly atMost: number;
}

const TARGETS: readonly Target[] = [
  { ours: 'guildhall-aes', reference: 'dgram', atMost: 1.4 },
  { ours: 'guildhall-xchacha', reference: 'dgram', atMost: 1.4 },
  { ours: 'guildhall-aes', reference: 'guildhall-xchacha', atMost: 1.2 },
];
const FORWARD_P99_MS_MAX = 2;

const rounds = Number(process.env.BENCH_ROUNDS ?? 7);
if (!canPin) console.log('Processes are not pinned to processors here: expect a wide spread.');
const heats = await heatsOf(rounds);
const inside = measureInside(rounds);
const costs = (name: ContenderName): number[] =>
  (heats.get(name)?.full ?? []).map(({ cpuMicrosPerPacket }) => cpuMicrosPerPacket);
const contenders = CONTENDERS.map((name) => {
  const { full, paced } = present(heats.get(name));
  const spread = (of: readonly Heat[], pick: (heat: Heat) => number): Spread => spreadOf(of.map(pick));
  return {
    name,
    cpuMicrosPerPacket: spreadOf(costs(name)),
    packetsPerSecond: spread(full, (heat) => heat.packetsPerSecond),
    lost: full.concat(paced).reduce((sum, { lost }) => sum + lost, 0),
    p50Ms: spread(paced, (heat) => heat.p50Ms),
    p99Ms: spread(paced, (heat) => heat.p99Ms),
  };
});
const ratios = TARGETS.map((target) => ({
  ...target,
  ratio: ratiosOf(costs(target.ours), costs(target.reference)),
}));
const lines = [
  `G5: each packet to ${FIFTY.members - 1} receivers, 160 bytes, ${rounds} rounds; CPU-µs per packet sent, median (min–max)`,
  ...contenders.map(
    ({ name, cpuMicrosPerPacket, packetsPerSecond, lost, p50Ms, p99Ms }) =>
      `${name.padEnd(18)} ${show(cpuMicrosPerPacket)}  ${Math.round(packetsPerSecond.median)}/s  ` +
      `paced p50 ${show(p50Ms)} ms, p99 ${show(p99Ms)} ms  lost ${lost}`,
  ),
  ...inside.map(({ mode, cpu }) => `of that, forwarding and encryption alone (${mode}): ${show(cpu)}`),
  ...ratios.map(
    ({ ours, reference, atMost, ratio }) =>
      `${ours} / ${reference}: ${show(ratio)}, target ≤ ${atMost}: ${verdictOf(ratio, atMost)}`,
  ),
  ...contenders
    .slice(1)
    .map(
      ({ name, p99Ms }) =>
        `G7: ${name} p99 ${show(p99Ms)} ms, target ≤ ${FORWARD_P99_MS_MAX}: ${verdictOf(p99Ms, FORWARD_P99_MS_MAX)}`,
    ),
];
console.log(lines.join('\n  '));
const folder = join(packageFolder(), 'bench', 'results');
mkdirSync(folder, { recursive: true });
const machine = { node: process.version, cpu: cpus()[0]?.model, cpus: cpus().length, pinned: canPin };
const record = { part: 'g5', at: new Date().toISOString(), machine, rounds, contenders, inside, ratios };
writeFileSync(join(folder, 'g5.json'), `${JSON.stringify(record, null, 1)}\n`);
process.exit();
