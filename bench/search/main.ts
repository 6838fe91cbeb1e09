// Search over many messages: how long a search takes, and what the index costs a message that is written.
// `npm run bench:search -- --database-url postgres://… --messages 1000000`; the database must be empty.
import { parseArgs } from 'node:util';
import { newMessage } from '../../engine/channel/messages.ts';
import type { StoredMessage } from '../../engine/guild/guild.ts';
import { type ChannelId, type GuildId, snowflakeOf, type UserId } from '../../protocol/ids.ts';
import { termOf } from '../../storage/message/messages.ts';
import type { MessageSearch } from '../../storage/message/port.ts';
import { openDriver, openStorage } from '../../storage/open.ts';
import type { Storage } from '../../storage/ports.ts';

const { values } = parseArgs({
  options: {
    'database-url': { type: 'string' },
    messages: { type: 'string', default: '1000000' },
    searches: { type: 'string', default: '200' },
    writes: { type: 'string', default: '20000' },
    json: { type: 'boolean', default: false },
  },
});
const databaseUrl = values['database-url'];
if (databaseUrl === undefined) throw new Error('Give an empty database: --database-url postgres://…');
const [MESSAGES, SEARCHES, WRITES] = [
  Number(values.messages),
  Number(values.searches),
  Number(values.writes),
];

const idOf = (n: number) => snowflakeOf(BigInt(n) + 1_000_000n);
const GUILD: GuildId = idOf(1);
const CHANNELS: readonly ChannelId[] = Array.from({ length: 50 }, (_, n) => idOf(100 + n));
const AUTHORS = 5_000;
const authorOf = (n: number): UserId => idOf(10_000 + (n % AUTHORS));
/** Words are drawn by Zipf's law, as in natural text. */
const WORDS = 50_000;
const STEP = 50_000;
const WORDS_PER_MESSAGE = 12;

const driver = await openDriver({ databaseUrl });
const storage = await openStorage({ databaseUrl });

/** Random but repeatable. */
let seed = 1;
function chance(): number {
  seed = (seed * 1_664_525 + 1_013_904_223) % 2 ** 32;
  return seed / 2 ** 32;
}
const wordAt = (share: number): string => `w${Math.floor(WORDS ** share)}`;

async function fill(): Promise<void> {
  for (let from = 0; from < MESSAGES; from += STEP) {
    await driver.query(
      `INSERT INTO messages (owner_id, channel_id, id, author_id, pinned_ms, data, search)
       SELECT $1, $2 + n % 50, n + 10000000, $3 + n % $4, NULL, jsonb_build_object('id', (n + 10000000)::text, 'content', content,
           'channel_id', ($2 + n % 50)::text, 'author', jsonb_build_object('id', ($3 + n % $4)::text), 'timestamp', '2026-01-01T00:00:00Z'),
         to_tsvector('simple', content) || array_to_tsvector(ARRAY[$5, $6 || ($3 + n % $4)::text, $7])
       FROM (SELECT n, (SELECT string_agg('w' || floor(power($8::float8, random()))::int, ' ') FROM generate_series(1, $9::int) g WHERE g > n - n) AS content
         FROM generate_series($10::int, $11::int) n) s`,
      [
        ...[GUILD, CHANNELS[0], authorOf(0), AUTHORS, termOf('owner', GUILD), termOf('author', '')],
        ...[
          termOf('authorType', 'user'),
          WORDS,
          WORDS_PER_MESSAGE,
          from,
          Math.min(from + STEP, MESSAGES) - 1,
        ],
      ],
    );
    if (!values.json) process.stderr.write(`\r${Math.min(from + STEP, MESSAGES)} of ${MESSAGES} messages`);
  }
  await driver.query('VACUUM ANALYZE messages');
  if (!values.json) process.stderr.write('\n');
}

const EVERYTHING: MessageSearch = {
  ...{ readable: CHANNELS, managed: [], readerId: authorOf(0), channelIds: null, words: '', slop: 2 },
  ...{ authorIds: [], authorTypes: [], mentions: [], mentionedRoles: [], repliedUsers: [] },
  ...{ repliedMessages: [], mentionsEveryone: null, has: [], hosts: [], providers: [], embedTypes: [] },
  ...{ extensions: [], filenames: [], pinned: null, minId: null, maxId: null, sortBy: 'timestamp' },
  ...{ ascends: false, limit: 25, offset: 0 },
};
const KINDS: Readonly<Record<string, () => Partial<MessageSearch>>> = {
  'a rare word': () => ({ words: wordAt(0.8 + 0.2 * chance()) }),
  'two common words': () => ({ words: `${wordAt(0.3 * chance())} ${wordAt(0.3 * chance())}` }),
  'a common word': () => ({ words: wordAt(0.2 * chance()) }),
  'an author': () => ({ authorIds: [authorOf(Math.floor(chance() * AUTHORS))] }),
  'an author and a word': () => ({
    authorIds: [authorOf(Math.floor(chance() * AUTHORS))],
    words: wordAt(0.3),
  }),
  'a common word in a channel': () => ({ words: wordAt(0.2 * chance()), channelIds: [CHANNELS[3] ?? ''] }),
};

const quantile = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;

interface Timing {
  readonly kind: string;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly hits: number;
}

async function searched(
  kind: string,
  wanted: () => Partial<MessageSearch>,
  { search }: Storage,
): Promise<Timing> {
  const times: number[] = [];
  let hits = 0;
  for (let n = 0; n < SEARCHES; n += 1) {
    const asked = { ...EVERYTHING, ...wanted() };
    const from = performance.now();
    hits += (await search.find(GUILD, asked)).total;
    times.push(performance.now() - from);
  }
  times.sort((a, b) => a - b);
  return {
    kind,
    p50Ms: quantile(times, 0.5),
    p95Ms: quantile(times, 0.95),
    hits: Math.round(hits / SEARCHES),
  };
}

function messageAt(n: number): StoredMessage {
  const content = Array.from({ length: WORDS_PER_MESSAGE }, () => wordAt(chance())).join(' ');
  const id = idOf(500_000_000 + n);
  const author = { id: authorOf(n), username: 'a', discriminator: '0', avatar: null, global_name: null };
  const channelId = CHANNELS[n % CHANNELS.length] ?? idOf(100);
  return newMessage(
    { nowMs: 1_767_225_600_000, nextId: () => id },
    { id, channel_id: channelId, author, content, type: 0 },
  );
}

/** Milliseconds per message when commits are submitted back to back. */
async function written(from: number, { writer }: Storage): Promise<number> {
  const startMs = performance.now();
  const all = Array.from({ length: WRITES }, (_, n) => {
    const message = messageAt(from + n);
    const facts = [
      { type: 'messageCreated', message, nonce: null, referenced: null, enforceNonce: false } as const,
    ];
    return new Promise<void>((durable, failed) => {
      writer.commit({ ownerId: GUILD, facts, done: (fault) => (fault ? failed(fault) : durable()) });
    });
  });
  await Promise.all(all);
  return (performance.now() - startMs) / WRITES;
}

await fill();
const timings: Timing[] = [];
for (const [kind, wanted] of Object.entries(KINDS)) timings.push(await searched(kind, wanted, storage));
await written(0, storage);
const withIndexMs = await written(WRITES, storage);
await driver.query('DROP INDEX messages_search');
const withoutIndexMs = await written(WRITES * 2, storage);
const [size] = await driver.query<{ table: string }>("SELECT pg_table_size('messages') AS table");
const result = { messages: MESSAGES, timings, withIndexMs, withoutIndexMs, tableBytes: Number(size?.table) };
if (values.json) console.log(JSON.stringify(result));
else {
  for (const { kind, p50Ms, p95Ms, hits } of timings)
    console.log(`${kind.padEnd(28)} p50 ${p50Ms.toFixed(1)} ms  p95 ${p95Ms.toFixed(1)} ms  ${hits} hits`);
  console.log(
    `a message is written in ${withIndexMs.toFixed(3)} ms with the index, ${withoutIndexMs.toFixed(3)} without`,
  );
}
await storage.close();
await driver.close();
