// Measures a guild's memory for threads: active ones, which are resident, and archived ones, which are only in the database.
// `npm run bench:threads -- --active 1000 --archived 100000 --members 10`; needs node --expose-gc, which the script has.
import { parseArgs } from 'node:util';
import type { ThreadRecord } from '../../engine/guild/guild.ts';
import { threadsOf } from '../../engine/guild/threads.state.ts';
import { type ChannelId, type GuildId, snowflakeOf } from '../../protocol/ids.ts';
import { openMigrated, storageOver } from '../../storage/open.ts';

const { values } = parseArgs({
  options: {
    active: { type: 'string', default: '1000' },
    archived: { type: 'string', default: '100000' },
    members: { type: 'string', default: '10' },
  },
});
const [ACTIVE, ARCHIVED, MEMBERS] = [Number(values.active), Number(values.archived), Number(values.members)];
const GUILD: GuildId = snowflakeOf(1_000n);
const FIRST = 1_000_000;

const driver = await openMigrated();
const storage = storageOver(driver);

const THREADS = `
INSERT INTO threads (guild_id, id, parent_id, type, archived, archive_us, due_ms, message_count, total_message_sent, data)
SELECT $1::bigint, n, 2000, 11, $4::boolean, 1767225600000000 + n * 1000, NULL, 5, 5, jsonb_build_object(
  'id', n::text, 'guild_id', ($1::bigint)::text, 'parent_id', '2000', 'type', 11, 'name', 'A thread of some length, number ' || n,
  'owner_id', '3000', 'flags', 0, 'rate_limit_per_user', 0, 'thread_metadata', jsonb_build_object(
    'archived', $4::boolean, 'archive_timestamp', '2026-01-01T00:00:00.000000+00:00', 'auto_archive_duration', 4320,
    'locked', false, 'create_timestamp', '2026-01-01T00:00:00.000000+00:00'))
FROM generate_series($2::bigint, $3::bigint) n`;
const JOINED = `
INSERT INTO thread_members (guild_id, thread_id, user_id, join_timestamp, flags)
SELECT $1, t.id, 5000 + m, '2026-01-01T00:00:00.000000+00:00', 1
FROM threads t, generate_series(1, $2::int) m WHERE t.guild_id = $1 AND t.id >= $3::bigint AND t.id <= $4::bigint`;

const STEP = 10_000;

async function add(from: number, count: number, isArchived: boolean): Promise<void> {
  for (let at = from; at < from + count; at += STEP) {
    const last = Math.min(at + STEP, from + count) - 1;
    await driver.query(THREADS, [GUILD, at, last, isArchived]);
    await driver.query(JOINED, [GUILD, MEMBERS, at, last]);
  }
}

/** Memory of the JavaScript heap after a collection, bytes. */
function heapBytes(): number {
  if (!globalThis.gc) throw new Error('Run node with --expose-gc.');
  for (let turn = 0; turn < 3; turn += 1) globalThis.gc();
  return process.memoryUsage().heapUsed;
}

interface Loaded {
  readonly threads: number;
  readonly kib: number;
  readonly ms: number;
}

/** Measures the memory that the guild keeps for its threads after loading. */
async function loaded(): Promise<Loaded> {
  const before = heapBytes();
  const from = performance.now();
  const window = new Map<ChannelId, ThreadRecord | null>();
  threadsOf((await storage.guilds.load(GUILD))?.threads ?? [], window);
  const ms = performance.now() - from;
  const kib = (heapBytes() - before) / 1024;
  return { threads: window.size, kib, ms };
}

await driver.query(`INSERT INTO guilds (id, data) VALUES ($1, '{"features": []}'::jsonb)`, [GUILD]);
const rows: [string, Loaded][] = [];
await loaded();
rows.push(['no threads', await loaded()]);
await add(FIRST, ACTIVE, false);
rows.push([`${ACTIVE} active`, await loaded()]);
await add(FIRST + ACTIVE, ARCHIVED, true);
await driver.query('ANALYZE threads');
await driver.query('ANALYZE thread_members');
rows.push([`${ACTIVE} active, ${ARCHIVED} archived`, await loaded()]);
for (const [name, { threads, kib, ms }] of rows)
  console.info(`${name}: ${threads} resident, ${kib.toFixed(0)} KiB, loaded in ${ms.toFixed(0)} ms`);
await storage.close();
