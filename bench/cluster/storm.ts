import { Latencies } from '../wire/histogram.ts';
import { type Arena, openArena, pause, until } from './arena.ts';
import { ResumingClient } from './client.ts';

export interface StormFigures {
  readonly sessions: number;
  /** Of the shard that was killed. */
  readonly lost: number;
  /** From the first connection to the last READY, and the same per session of those that were lost. */
  readonly coldMs: number;
  readonly coldShareMs: number;
  /** From the kill until all of them are back. */
  readonly backMs: number;
  readonly resumed: number;
  readonly identified: number;
  /** Of messages at sessions of the survivor: before the kill, and from it until all are back. */
  readonly survivors: Readonly<
    Record<'before' | 'meanwhile', { readonly p50: number; readonly p99: number }>
  >;
  /** Of the metrics afterwards, those that say that a bound was met. */
  readonly overflows: readonly string[];
}

const INTENTS = 1 | 512 | 32_768;
const PER_SECOND = 10;
const BEFORE_MS = 10_000;
const LONG_MS = 300_000;
/** Connections that are begun at a time. */
const LANES = 200;
const OVERFLOW = /^guildhall_\w*(overflow|dropped|too_slow|refused|lost)\w*(\{[^}]*\})? [1-9]/gm;

/** Two shards with half of the sessions each, of which one is killed: how long its half needs to be back (G10). */
export async function measureStorm(sessions: number): Promise<StormFigures> {
  const arena = await openArena(2, 8);
  const clients: ResumingClient[] = [];
  try {
    return await storm(arena, sessions, clients);
  } finally {
    for (const client of clients) client.close();
    await arena.stop();
  }
}

async function storm(arena: Arena, sessions: number, clients: ResumingClient[]): Promise<StormFigures> {
  const counts = { ready: 0, resumed: 0 };
  const heard: { readonly index: number; readonly sentMs: number; readonly arrivedMs: number }[] = [];
  for (let index = 0; index < sessions; index += 1) {
    clients.push(
      new ResumingClient({
        ...{
          url: arena.gateway,
          token: arena.tokens[index % arena.tokens.length] as string,
          intents: INTENTS,
        },
        message: (content, arrivedMs) => void heard.push({ index, sentMs: Number(content), arrivedMs }),
        opened: (isNew) => {
          if (isNew) counts.ready += 1;
          else counts.resumed += 1;
        },
      }),
    );
  }
  const coldMs = await connectAll(clients, () => counts.ready);
  const { shards } = await arena.status();
  const killed = shards[1];
  if (!killed?.pid) throw new Error('There is no second shard.');
  let isOver = false;
  const writing = (async () => {
    for (let no = 0; !isOver; no += 1) {
      void arena.write(String(performance.now()), `storm ${no}`);
      await pause(1000 / PER_SECOND);
    }
  })();
  await pause(BEFORE_MS);
  const cold = { ...counts };
  const killedMs = performance.now();
  process.kill(killed.pid, 'SIGKILL');
  await until('connections end', LONG_MS, () => clients.some(({ isOpen }) => !isOpen));
  await pause(100);
  const lost = clients.flatMap(({ isOpen }, index) => (isOpen ? [] : [index]));
  await until('all are back', LONG_MS, () => clients.every(({ isOpen }) => isOpen));
  const backMs = performance.now() - killedMs;
  isOver = true;
  await writing;
  await pause(2_000);
  const away = new Set(lost);
  const of = (isOf: (sentMs: number) => boolean) => {
    const latencies = new Latencies();
    for (const { index, sentMs, arrivedMs } of heard)
      if (!away.has(index) && isOf(sentMs)) latencies.record((arrivedMs - sentMs) * 1000);
    return { p50: latencies.millisAt(50), p99: latencies.millisAt(99) };
  };
  return {
    ...{ sessions, lost: lost.length, coldMs, coldShareMs: (coldMs * lost.length) / sessions, backMs },
    resumed: counts.resumed - cold.resumed,
    identified: counts.ready - cold.ready,
    survivors: {
      before: of((sentMs) => sentMs < killedMs),
      meanwhile: of((sentMs) => sentMs >= killedMs && sentMs < killedMs + backMs),
    },
    overflows: (await arena.metrics()).match(OVERFLOW) ?? [],
  };
}

/** So many at a time; answers how long all took. */
async function connectAll(clients: readonly ResumingClient[], ready: () => number): Promise<number> {
  const startMs = performance.now();
  for (const [index, client] of clients.entries()) {
    await until('sessions open', LONG_MS, () => index - ready() < LANES);
    client.connect();
  }
  await until('sessions open', LONG_MS, () => ready() === clients.length);
  return performance.now() - startMs;
}
