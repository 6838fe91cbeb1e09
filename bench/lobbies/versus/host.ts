import { nowNs } from '../../wire/pace.ts';
import type { Contender } from './contender.ts';
import type { HostNews, HostOrder, Life, Manner } from './orders.ts';

const say = (news: HostNews): void => void process.send?.(news);

/** Each is loaded in its own process alone: the other's modules would be weighed too. */
const OPEN: Readonly<Record<Manner, (life: Life) => Promise<Contender>>> = {
  guildhall: async (life) => (await import('./house.ts')).openHouse(life),
  json: async (life) => (await import('./house.ts')).openBots(life),
  'zlib-stream': async (life) => (await import('./house.ts')).openBots(life),
  colyseus: async () => (await import('./colyseus.ts')).openColyseus(),
};

const COLLECTIONS = 4;
const PAUSE_MS = 500;

let contender: Contender;
let cpu = process.cpuUsage();
let sinceNs = nowNs();

const HANDLERS: { readonly [K in HostOrder['kind']]: (order: Extract<HostOrder, { kind: K }>) => unknown } = {
  open: async ({ life }) => {
    contender = await OPEN[process.argv[2] as Manner](life);
    say({ kind: 'opened', url: contender.url });
  },
  prepare: async ({ count }) => say({ kind: 'prepared', tokens: await contender.prepare(count) }),
  begin: () => {
    cpu = process.cpuUsage();
    sinceNs = nowNs();
  },
  end: () => {
    const { user, system } = process.cpuUsage(cpu);
    say({ kind: 'ended', cpuMicros: user + system, wallMicros: (nowNs() - sinceNs) / 1000 });
  },
  update: ({ update, index }) => contender.update(update, index),
  weigh: async () => {
    for (let round = 0; round < COLLECTIONS; round += 1) {
      globalThis.gc?.();
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
    const { rss, heapUsed } = process.memoryUsage();
    say({ kind: 'weighed', rssBytes: rss, heapBytes: heapUsed });
  },
};

process.on(
  'message',
  (order: HostOrder) => void (HANDLERS[order.kind] as (order: HostOrder) => unknown)(order),
);
process.on('disconnect', () => process.exit());
