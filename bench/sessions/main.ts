// Very many gateway sessions at once (G27): they connect, stay, receive a message in each guild, and resume after a kill.
// `npm run bench:sessions -- --sessions 38000 --minutes 10`, with an empty PostgreSQL database in DATABASE_URL.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { messageOf } from '../../protocol/thrown.ts';
import { packageFolder } from '../fanout/corpus.ts';
import { mostSessions, type Plan, planOf } from './plan.ts';
import { recordOf, textOf } from './report.ts';
import { measureSessions } from './run.ts';

const { values } = parseArgs({
  options: {
    /** By default as many as the limit of open files allows, at most 100,000. */
    sessions: { type: 'string' },
    /** Members of a guild. */
    members: { type: 'string', default: '1000' },
    /** Processes of the server. */
    shards: { type: 'string', default: '2' },
    minutes: { type: 'string', default: '10' },
    /** Connections opened in a second. */
    rate: { type: 'string', default: '500' },
    json: { type: 'boolean', default: false },
  },
});

function planned(url: string): Plan {
  try {
    return planOf({
      databaseUrl: url,
      sessions: Number(values.sessions ?? mostSessions(Number(values.shards))),
      membersOfGuild: Number(values.members),
      shards: Number(values.shards),
      minutes: Number(values.minutes),
      perSecond: Number(values.rate),
    });
  } catch (error) {
    progress(messageOf(error));
    process.exit(2);
  }
}

const progress = (text: string): void => void process.stderr.write(`${text}\n`);

const databaseUrl = process.env.DATABASE_URL;
if (databaseUrl === undefined) {
  progress('Set DATABASE_URL to an empty PostgreSQL database.');
  process.exit(2);
}
const plan = planned(databaseUrl);
const folder = mkdtempSync(join(tmpdir(), 'guildhall-sessions-'));
try {
  const figures = await measureSessions(plan, folder, progress);
  const record = recordOf(plan, figures);
  const results = join(packageFolder(), 'bench', 'results');
  mkdirSync(results, { recursive: true });
  writeFileSync(join(results, 'sessions.json'), `${JSON.stringify(record, null, 1)}\n`);
  console.log(values.json ? JSON.stringify(record) : textOf(record));
  process.exitCode = record.isWhole ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
process.exit();
