import { present } from '../../protocol/present.ts';
import { openArena, pause, until, write } from './arena.ts';
import { ResumingClient } from './client.ts';

interface DropFigures {
  readonly sessions: number;
  readonly disconnects: number;
  readonly messages: number;
  readonly deliveries: number;
  readonly identified: number;
  readonly lost: number;
  readonly doubled: number;
  readonly reordered: number;
}

const SESSIONS = 40;
const INTENTS = 1 | 512 | 32_768;
const WRITERS = 4;
const LONG_MS = 120_000;

/** Deterministic pseudo-random numbers from 0 to 1. */
function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Breaks connections repeatedly while messages are sent, and checks what each session received (G9). */
export async function measureDrops(disconnects: number, seed: number): Promise<DropFigures> {
  const arena = await openArena(2, 8);
  const random = seeded(seed);
  let ready = 0;
  const received = Array.from({ length: SESSIONS }, (): string[] => []);
  const clients = received.map(
    (seen, index) =>
      new ResumingClient({
        ...{
          url: new URL(arena.addresses.gateway),
          token: present(arena.addresses.tokens[index % arena.addresses.tokens.length]),
          intents: INTENTS,
        },
        message: (content) => void seen.push(content),
        opened: (isNew) => {
          if (isNew) ready += 1;
        },
      }),
  );
  try {
    for (const client of clients) client.connect();
    await until('sessions open', LONG_MS, () => ready === SESSIONS);
    let isOver = false;
    const written: string[] = [];
    const writing = Array.from({ length: WRITERS }, async (_, writer) => {
      for (let no = 0; !isOver; no += 1) {
        const content = `${writer} ${no}`;
        while (!(await write(arena.addresses, content, content))) await pause(50);
        written.push(content);
        await pause(20);
      }
    });
    for (let count = 0; count < disconnects; ) {
      const client = present(clients[Math.floor(random() * SESSIONS)]);
      if (client.isOpen) {
        client.drop();
        count += 1;
      }
      if (random() < 0.3) await pause(random() * 10);
    }
    isOver = true;
    await Promise.all(writing);
    await until('all have everything', LONG_MS, () =>
      received.every((seen) => new Set(seen).size >= written.length),
    ).catch(() => undefined);
    return {
      sessions: SESSIONS,
      disconnects,
      messages: written.length,
      ...judged(received, written),
      identified: ready - SESSIONS,
    };
  } finally {
    for (const client of clients) client.close();
    await arena.stop();
  }
}

/** Checks the order per writer, because each writer waits for its answers. */
function judged(received: readonly (readonly string[])[], written: readonly string[]) {
  let [lost, doubled, reordered, deliveries] = [0, 0, 0, 0];
  for (const seen of received) {
    const own = new Set(seen);
    deliveries += seen.length;
    lost += written.filter((content) => !own.has(content)).length;
    doubled += seen.length - own.size;
    const last = new Map<string, number>();
    for (const content of seen) {
      const [writer, no] = content.split(' ') as [string, string];
      if (Number(no) < (last.get(writer) ?? -1)) reordered += 1;
      last.set(writer, Number(no));
    }
  }
  return { lost, doubled, reordered, deliveries };
}
