import { parseArgs } from 'node:util';
import { measureDrops } from './drops.ts';
import { measureLinks } from './links.ts';
import { measureSlow } from './slow.ts';
import { measureStorm } from './storm.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    sessions: { type: 'string', default: '5000' },
    /** Messages per second; every session receives each of them. */
    rate: { type: 'string', default: '4' },
    /** For `storm`: kill the shard that owns the guild. */
    owner: { type: 'boolean', default: false },
    /** For `slow`: duration of each run, and number of pairs of runs. */
    seconds: { type: 'string', default: '20' },
    rounds: { type: 'string', default: '3' },
    disconnects: { type: 'string', default: '10000' },
    seed: { type: 'string', default: '1' },
    /** For `links`: requests of each run. */
    requests: { type: 'string', default: '20000' },
  },
});
const [sessions, perSecond] = [Number(values.sessions), Number(values.rate)];
const parts: Readonly<Record<string, () => Promise<object>>> = {
  storm: () => measureStorm({ sessions, perSecond, killsOwner: values.owner }),
  slow: () =>
    measureSlow({ sessions, perSecond, seconds: Number(values.seconds), rounds: Number(values.rounds) }),
  links: () => measureLinks({ requests: Number(values.requests), rounds: Number(values.rounds) }),
  drops: () => measureDrops(Number(values.disconnects), Number(values.seed)),
};
for (const [name, measure] of Object.entries(parts))
  if (positionals.length === 0 || positionals.includes(name))
    process.stdout.write(`${name} ${JSON.stringify(await measure(), null, 2)}\n`);
process.exit();
