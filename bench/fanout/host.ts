import { nowNs, Pacer, runPaced } from '../wire/pace.ts';
import { ENTRANTS, JOURNALLED } from './contenders.ts';
import { openCorpus } from './corpus.ts';
import type { Contender } from './entrant.ts';
import type { HostNews, HostOrder } from './orders.ts';

const say = (news: HostNews): void => void process.send?.(news);
const messageOf = openCorpus();
const entrant = [...ENTRANTS, JOURNALLED].find(({ name }) => name === process.argv[2]);
if (!entrant) throw new RangeError(`No contender is called ${process.argv[2]}.`);
let contender: Contender;
let cpu = process.cpuUsage();
let sinceNs = nowNs();

const HANDLERS: { readonly [K in HostOrder['kind']]: (order: Extract<HostOrder, { kind: K }>) => unknown } = {
  open: async () => {
    contender = await entrant.open();
    say({ kind: 'opened', port: contender.port });
  },
  begin: () => {
    cpu = process.cpuUsage();
    sinceNs = nowNs();
  },
  broadcast: ({ first, count }) =>
    contender.broadcast(Array.from({ length: count }, (_, index) => messageOf(first + index))),
  pace: async ({ perSecond, total, startNs }) => {
    await runPaced(new Pacer({ perSecond, total, startNs }), (index) =>
      contender.broadcast([messageOf(index)]),
    );
    say({ kind: 'paced' });
  },
  end: () => {
    const { user, system } = process.cpuUsage(cpu);
    say({
      kind: 'ended',
      cpuMicros: user + system,
      wallMicros: (nowNs() - sinceNs) / 1000,
      rssBytes: process.memoryUsage.rss(),
    });
  },
};

process.on(
  'message',
  (order: HostOrder) => void (HANDLERS[order.kind] as (order: HostOrder) => unknown)(order),
);
process.on('disconnect', () => process.exit());
