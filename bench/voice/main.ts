import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { join } from 'node:path';
import { present } from '../../protocol/present.ts';
import { canPin } from '../fanout/arena.ts';
import { packageFolder } from '../fanout/corpus.ts';
import { ratiosOf, type Spread, show, spreadOf, verdictOf } from '../fanout/spread.ts';
import { Child, LOAD_CPU, SERVER_CPU } from './child.ts';
import { measureInside } from './inside.ts';
import { hasMumble } from './mumble.ts';
import {
  CONTENDERS,
  type ContenderName,
  type HostNews,
  type HostOrder,
  type LoadNews,
  type LoadOrder,
  type Size,
} from './orders.ts';

type Load = Child<LoadOrder, LoadNews>;

interface Stand {
  readonly name: ContenderName;
  readonly room: number;
  readonly host: Child<HostOrder, HostNews>;
}

async function openStand(name: ContenderName, room: number, load: Load, size: Size): Promise<Stand> {
  const host = new Child<HostOrder, HostNews>('host', SERVER_CPU);
  const { port, seal, seats } = await host.ask({ kind: 'open', contender: name, size }, 'opened');
  await load.ask({ kind: 'gather', room, port, seal, seats, size }, 'gathered');
  return { name, room, host };
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

/** Packets of an unmeasured run before the first round, as a share of a measured one. */
const WARM = 2 / 3;
const WINDOW = 2;
/** G7 needs a busy server without queues: about half a processor in the large call. */
const PACED_PER_SECOND = 100;
const PACED_PACKETS = 200;

interface Part {
  readonly title: string;
  readonly size: Size;
  /** Packets of one measured run; the server limits how many of one sender it takes in a second. */
  readonly packets: number;
  readonly contenders: readonly ContenderName[];
}

const OURS = ['guildhall-aes', 'guildhall-xchacha'] as const;
const SMALL = ['dgram', ...OURS, 'guildhall-aes-dgram', 'guildhall-xchacha-dgram'] as const;
const PARTS: Readonly<Record<'large' | 'ten' | 'two', Part>> = {
  large: {
    title: 'one call of 50, 10 speak: each packet to 49 receivers',
    size: { calls: 1, members: 50, speakers: 10 },
    packets: 600,
    contenders: CONTENDERS.filter((name) => name !== 'mumble' || hasMumble),
  },
  ten: {
    title: 'five calls of 10, 4 speak in each',
    size: { calls: 5, members: 10, speakers: 4 },
    packets: 1500,
    contenders: SMALL,
  },
  two: {
    title: 'twenty-five calls of 2',
    size: { calls: 25, members: 2, speakers: 2 },
    packets: 4000,
    contenders: SMALL,
  },
};

type Heats = ReadonlyMap<ContenderName, { readonly full: Heat[]; readonly paced: Heat[] }>;

async function heatsOf({ size, packets, contenders }: Part, rounds: number): Promise<Heats> {
  const load: Load = new Child('load', LOAD_CPU);
  const stands: Stand[] = [];
  for (const name of contenders) stands.push(await openStand(name, stands.length, load, size));
  for (const stand of stands) {
    const warm = Math.round(packets * WARM);
    await measured(stand, load, { kind: 'heat', room: stand.room, packets: warm, window: WINDOW });
  }
  const none = (): { readonly full: Heat[]; readonly paced: Heat[] } => ({ full: [], paced: [] });
  const heats = new Map(contenders.map((name) => [name, none()]));
  for (let round = 0; round < rounds; round += 1)
    for (const stand of stands) {
      const { room } = stand;
      const { full, paced } = present(heats.get(stand.name));
      full.push(await measured(stand, load, { kind: 'heat', room, packets, window: WINDOW }));
      if (size.calls > 1) continue;
      const [packetCount, perSecond] = [PACED_PACKETS, PACED_PER_SECOND];
      paced.push(await measured(stand, load, { kind: 'pace', room, packets: packetCount, perSecond }));
    }
  for (const { host } of stands) host.end();
  load.end();
  return heats;
}

interface Target {
  readonly goal: string;
  readonly part: keyof typeof PARTS;
  readonly ours: ContenderName;
  readonly reference: ContenderName;
  readonly atMost: number;
}

/** G6 is a rate: 1.8 times the packets for the same CPU, which is CPU for each packet of at most 1 / 1.8. */
const BATCHED = Number((1 / 1.8).toFixed(3));
const target = (
  goal: string,
  part: keyof typeof PARTS,
  ours: ContenderName,
  reference: ContenderName,
  atMost: number,
): Target => ({ goal, part, ours, reference, atMost });
const TARGETS: readonly Target[] = [
  ...OURS.map((ours) => target('G5', 'large', ours, 'dgram', 1.4)),
  target('G5', 'large', 'guildhall-aes', 'guildhall-xchacha', 1.2),
  ...OURS.map((ours) => target('G5', 'large', ours, 'mumble', 1)),
  target('G6', 'large', 'native', 'dgram', BATCHED),
  target('G6', 'large', 'guildhall-aes', 'guildhall-aes-dgram', BATCHED),
  target('G6', 'large', 'guildhall-xchacha', 'guildhall-xchacha-dgram', BATCHED),
  ...OURS.map((ours) => target('G22', 'ten', ours, 'dgram', 1.4)),
  ...OURS.map((ours) => target('G22', 'two', ours, 'dgram', 1.4)),
];
const FORWARD_P99_MS_MAX = 2;

const rounds = Number(process.env.BENCH_ROUNDS ?? 7);
const chosen = (process.env.BENCH_PARTS ?? Object.keys(PARTS).join()).split(',');
if (!canPin) console.log('Processes are not pinned to processors here: expect a wide spread.');
if (!hasMumble) console.log('mumble-server is not installed, so it is not measured.');

const costs = (heats: Heats, name: ContenderName): number[] =>
  (heats.get(name)?.full ?? []).map(({ cpuMicrosPerPacket }) => cpuMicrosPerPacket);

function figuresOf(heats: Heats) {
  return [...heats].map(([name, { full, paced }]) => {
    const spread = (of: readonly Heat[], pick: (heat: Heat) => number): Spread => spreadOf(of.map(pick));
    return {
      name,
      cpuMicrosPerPacket: spreadOf(costs(heats, name)),
      packetsPerSecond: spread(full, (heat) => heat.packetsPerSecond),
      lost: full.concat(paced).reduce((sum, { lost }) => sum + lost, 0),
      ...(paced.length > 0 &&
        name !== 'mumble' && {
          p50Ms: spread(paced, (heat) => heat.p50Ms),
          p99Ms: spread(paced, (heat) => heat.p99Ms),
        }),
    };
  });
}

/** Writes a part when it is measured, so that a run that is ended keeps what it has. */
function write(part: string, measurements: object): void {
  const folder = join(packageFolder(), 'bench', 'results');
  mkdirSync(folder, { recursive: true });
  const machine = {
    ...{ node: process.version, cpu: cpus()[0]?.model, cpus: cpus().length, pinned: canPin },
    load: loadavg().map((load) => Number(load.toFixed(1))),
  };
  const record = { part: `voice ${part}`, at: new Date().toISOString(), machine, rounds, ...measurements };
  writeFileSync(join(folder, `voice-${part}.json`), `${JSON.stringify(record, null, 1)}\n`);
}

console.log(`${rounds} rounds, audio of 160 bytes; CPU-µs of the server per packet sent, median (min–max)`);
for (const [part, plan] of Object.entries(PARTS)) {
  if (!chosen.includes(part)) continue;
  const heats = await heatsOf(plan, rounds);
  const contenders = figuresOf(heats);
  const ratios: (Target & { readonly ratio: Spread; readonly verdict: string })[] = [];
  console.log(plan.title);
  for (const { name, cpuMicrosPerPacket, packetsPerSecond, lost, p50Ms, p99Ms } of contenders)
    console.log(
      `  ${name.padEnd(24)} ${show(cpuMicrosPerPacket)}  ${Math.round(packetsPerSecond.median)}/s  lost ${lost}` +
        (p50Ms && p99Ms ? `  paced p50 ${show(p50Ms)} ms, p99 ${show(p99Ms)} ms` : ''),
    );
  for (const each of TARGETS) {
    if (each.part !== part || !heats.has(each.reference)) continue;
    const ratio = ratiosOf(costs(heats, each.ours), costs(heats, each.reference));
    const verdict = verdictOf(ratio, each.atMost);
    ratios.push({ ...each, ratio, verdict });
    const { goal, ours, reference, atMost } = each;
    console.log(`  ${goal}: ${ours} / ${reference}: ${show(ratio)}, target ≤ ${atMost}: ${verdict}`);
  }
  for (const { name, p99Ms } of contenders)
    if (p99Ms && OURS.some((ours) => ours === name))
      console.log(
        `  G7: ${name} p99 ${show(p99Ms)} ms, target ≤ ${FORWARD_P99_MS_MAX}: ${verdictOf(p99Ms, FORWARD_P99_MS_MAX)}`,
      );
  write(part, { contenders, ratios });
}
if (chosen.includes('large')) {
  const inside = measureInside(rounds);
  for (const { mode, cpu } of inside)
    console.log(`forwarding and encryption alone, without the addon (${mode}): ${show(cpu)}`);
  write('inside', { inside });
}
process.exit();
