import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { packageFolder } from '../fanout/corpus.ts';
import { Child, LOAD_CPU, SERVER_CPU } from './child.ts';
import { growthOf, type Sample } from './growth.ts';
import type { HostNews, HostOrder, LoadNews, LoadOrder } from './orders.ts';

/** Between two samples of the memory, seconds. */
const SAMPLE_SECONDS = 10;
const GROWTH_MIB_MAX = 2;
const LOST_SHARE_MAX = 0.0001;
const MIB = 2 ** 20;
const BAR = 40;

const { values } = parseArgs({
  options: {
    calls: { type: 'string', default: '500' },
    members: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '600' },
    /** Packets of the one speaker of a call: a speaker who talks a fifth of the time sends ten a second. */
    'per-second': { type: 'string', default: '10' },
    json: { type: 'boolean', default: false },
  },
});
const [calls, members, seconds] = [Number(values.calls), Number(values.members), Number(values.seconds)];
const perSecond = calls * Number(values['per-second']);
const size = { calls, members, speakers: 1 };
const progress = (text: string): void => void process.stderr.write(`${text}\n`);

const host = new Child<HostOrder, HostNews>('host', SERVER_CPU);
const load = new Child<LoadOrder, LoadNews>('load', LOAD_CPU);

/** Memory after each ten seconds, until the packets are sent. */
async function sampled(isOver: () => boolean): Promise<Sample[]> {
  const samples: Sample[] = [];
  const beganMs = performance.now();
  while (!isOver()) {
    await new Promise((resolve) => setTimeout(resolve, Math.min(SAMPLE_SECONDS, seconds / 10) * 1000));
    const { rssBytes, heapBytes } = await host.ask({ kind: 'weigh' }, 'weighed');
    const at = Math.round((performance.now() - beganMs) / 1000);
    samples.push({ seconds: at, rssMib: rssBytes / MIB, heapMib: heapBytes / MIB });
    progress(`${at} of ${seconds} s: ${(rssBytes / MIB).toFixed(1)} MiB`);
  }
  return samples;
}

function picture(samples: readonly Sample[]): string {
  const most = Math.max(...samples.map(({ rssMib }) => rssMib));
  const every = Math.max(1, Math.floor(samples.length / 15));
  return samples
    .filter((_, at) => at % every === 0)
    .map(
      ({ seconds: at, rssMib }) =>
        `${String(at).padStart(5)} s ${'█'.repeat(Math.round((rssMib / most) * BAR))} ${rssMib.toFixed(1)}`,
    )
    .join('\n');
}

progress(`${calls} calls of ${members}: ${calls * members} members join …`);
const { port, seal, seats } = await host.ask({ kind: 'open', contender: 'guildhall-aes', size }, 'opened');
await load.ask({ kind: 'gather', room: 0, port, seal, seats, size }, 'gathered');
host.order({ kind: 'churn', size });
host.order({ kind: 'begin' });
let isOver = false;
const sampling = sampled(() => isOver);
const done = await load.ask({ kind: 'pace', room: 0, packets: perSecond * seconds, perSecond }, 'done');
isOver = true;
const samples = await sampling;
const { cpuMicros, wallMicros } = await host.ask({ kind: 'end' }, 'ended');
const lostShare = (done.expected - done.deliveries) / done.expected;
const [growthMib, heapGrowthMib] = [
  growthOf(samples, (each) => each.rssMib),
  growthOf(samples, (each) => each.heapMib),
];
const isMet = growthMib <= GROWTH_MIB_MAX && heapGrowthMib <= GROWTH_MIB_MAX && lostShare <= LOST_SHARE_MAX;
const record = {
  part: 'voice soak',
  at: new Date().toISOString(),
  machine: { node: process.version, cpu: cpus()[0]?.model, cpus: cpus().length, load: loadavg() },
  ...{ calls, members, seconds, perSecond, deliveries: done.deliveries, lostShare, growthMib, heapGrowthMib },
  ...{ cpuShare: cpuMicros / wallMicros, p50Ms: done.p50Ms, p99Ms: done.p99Ms, isMet, samples },
};
const folder = join(packageFolder(), 'bench', 'results');
mkdirSync(folder, { recursive: true });
writeFileSync(join(folder, 'voice-soak.json'), `${JSON.stringify(record, null, 1)}\n`);
if (values.json) console.log(JSON.stringify(record));
else
  console.log(
    [
      `${calls} calls of ${members}, ${perSecond} packets a second for ${seconds} s: ${done.deliveries.toLocaleString('en-US')} received,`,
      `lost ${(lostShare * 100).toFixed(4)} % (at most ${LOST_SHARE_MAX * 100}), p50 ${done.p50Ms.toFixed(1)} ms, p99 ${done.p99Ms.toFixed(1)} ms, ${((100 * cpuMicros) / wallMicros).toFixed(0)} % of a processor.`,
      `Growth after the first fifth: resident ${growthMib.toFixed(2)} MiB, heap ${heapGrowthMib.toFixed(2)} MiB (at most ${GROWTH_MIB_MAX}): ${isMet ? 'met' : 'missed'}`,
      picture(samples),
    ].join('\n'),
  );
process.exit(isMet ? 0 : 1);
