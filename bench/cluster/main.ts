import { parseArgs } from 'node:util';
import { measureDrops } from './drops.ts';
import { measureStorm } from './storm.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    sessions: { type: 'string', default: '5000' },
    disconnects: { type: 'string', default: '10000' },
    seed: { type: 'string', default: '1' },
  },
});
const parts: Readonly<Record<string, () => Promise<object>>> = {
  storm: () => measureStorm(Number(values.sessions)),
  drops: () => measureDrops(Number(values.disconnects), Number(values.seed)),
};
for (const [name, measure] of Object.entries(parts))
  if (positionals.length === 0 || positionals.includes(name))
    process.stdout.write(`${name} ${JSON.stringify(await measure(), null, 2)}\n`);
process.exit();
