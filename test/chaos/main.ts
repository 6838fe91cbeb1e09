import { resolve } from 'node:path';
import { optionsOf, runOrExit } from '../support/commandline.ts';
import {
  ANY,
  ANY_PATRONI,
  ANY_SYSTEM,
  type Fault,
  ONE_OF_EACH,
  ONE_OF_EACH_PATRONI,
  ONE_OF_EACH_SYSTEM,
} from './faults.ts';
import { lacking } from './ground.ts';
import { lineOf } from './judge.ts';
import { runChaos } from './run.ts';

const SHOWN_MAX = 20;

const USAGE = `npm run chaos -- [options]    injects faults into real processes and judges what clients saw

  --minutes N      how long; without it, one fault of each kind
  --seed N         the seed of the faults (drawn)
  --only TEXT      only faults whose name contains it
  --patroni        two servers of PostgreSQL under Patroni, whose primary is lost, stopped and switched
  --system         shards with a network, a clock and a disk of their own, which fail, and three members of etcd;
                   for root, on Linux with libfaketime
  --no-fence       without the fence of commits, which must be detected`;
const values = runOrExit(() =>
  optionsOf(
    process.argv.slice(2),
    USAGE,
    {
      minutes: { type: 'string' },
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      only: { type: 'string', default: '' },
      fence: { type: 'boolean', default: true },
      patroni: { type: 'boolean', default: false },
      system: { type: 'boolean', default: false },
    },
    ['minutes', 'seed'],
  ),
);
const { fence, patroni, system } = values;
const seed = Number(values.seed);
const endMs = values.minutes === undefined ? null : Date.now() + Number(values.minutes) * 60_000;
/** Whether the fault's name contains the `--only` option. */
const isWanted = ({ name }: Fault): boolean => name.includes(values.only);
const left: Fault[] = [
  ...(patroni ? ONE_OF_EACH_PATRONI : []),
  ...(system ? ONE_OF_EACH_SYSTEM : []),
  ...(patroni || system ? [] : ONE_OF_EACH),
].filter(isWanted);
const again = [
  ...(patroni ? ANY_PATRONI : []),
  ...(system ? ANY_SYSTEM : []),
  ...(patroni || system ? [] : ANY),
].filter(isWanted);
const say = (line: string): void => void process.stdout.write(`${line}\n`);

function next(random: () => number): Fault | null {
  const among = endMs === null ? left : again;
  if (among.length === 0 || (endMs !== null && Date.now() > endMs)) return null;
  const at = Math.floor(random() * among.length);
  return (endMs === null ? left.splice(at, 1)[0] : again[at]) ?? null;
}

const missing = lacking({ patroni, system });
if (missing !== null) {
  say(`${missing} (packages of Debian)`);
  process.exit(2);
}
say(`seed ${seed}${fence ? '' : ', without the fence'}`);
const report = await runChaos({ root: resolve(process.cwd()), seed, next, fence, patroni, system, log: say });
const { lost, doubled, reordered, stale, ...counts } = report;
for (const found of [...lost, ...doubled, ...reordered, ...stale].slice(0, SHOWN_MAX)) say(found);
say(
  Object.entries(counts)
    .map(([name, value]) => `${name} ${JSON.stringify(value)}`)
    .join(', '),
);
say(lineOf(report));
process.exitCode = lost.length + doubled.length + reordered.length + stale.length === 0 ? 0 : 1;
