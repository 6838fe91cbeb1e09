import type { Finding } from '../../fanout/parts.ts';
import { ratiosOf, show, spreadOf, verdictOf } from '../../fanout/spread.ts';
import { Load, Stand } from './arena.ts';
import { type Manner, MEMBERS_EACH, messagesOf, UPDATES, type Update } from './orders.ts';

const CONNECTIONS = 1000;
const WARMUP = 20;
const TIMES = 60;
/** At most so many times the reference's CPU per delivery. */
const TARGET = 0.7;

const TITLES: Readonly<Record<Update, string>> = {
  broadcast: 'said to all, kept nowhere',
  burst: 'the same, five in a tick',
  metadata: "a lobby's metadata",
  member: "a member's metadata",
};

interface UpdateResult {
  readonly manner: Manner;
  readonly cpuMicros: number;
  readonly bytes: number;
}

/** CPU for a delivery of an update to the ten members of every lobby (G8). */
export async function measureUpdates(rounds: number): Promise<Finding> {
  const load = new Load();
  const stands: Stand[] = [];
  for (const [crowd, manner] of (['guildhall', 'colyseus'] as const).entries()) {
    const stand = await Stand.open(manner, 'busy', load, crowd);
    await stand.join(CONNECTIONS);
    await stand.weigh();
    stands.push(stand);
  }
  const rows = new Map<Update, UpdateResult[]>(UPDATES.map((update) => [update, []]));
  for (const update of UPDATES) {
    for (const stand of stands) await stand.heat(update, WARMUP);
    for (let round = 0; round < rounds; round += 1)
      for (const stand of stands) {
        const { cpuMicros, payloadBytes } = await stand.heat(update, TIMES);
        const deliveries = TIMES * messagesOf(update) * stand.connections;
        const { manner } = stand;
        rows
          .get(update)
          ?.push({ manner, cpuMicros: cpuMicros / deliveries, bytes: payloadBytes / deliveries });
      }
  }
  for (const stand of stands) stand.close();
  load.end();
  return judge(rows, rounds);
}

function judge(rows: ReadonlyMap<Update, readonly UpdateResult[]>, rounds: number): Finding {
  const findings = [...rows].map(([update, each]) => {
    const of = (manner: Manner) => each.filter((row) => row.manner === manner);
    const cpuOf = (manner: Manner) => of(manner).map(({ cpuMicros }) => cpuMicros);
    const bytesOf = (manner: Manner) => of(manner)[0]?.bytes ?? 0;
    const ratio = ratiosOf(cpuOf('guildhall'), cpuOf('colyseus'));
    return {
      update,
      guildhall: spreadOf(cpuOf('guildhall')),
      colyseus: spreadOf(cpuOf('colyseus')),
      bytes: { guildhall: bytesOf('guildhall'), colyseus: bytesOf('colyseus') },
      ratio,
      verdict: verdictOf(ratio, TARGET),
      rows: each,
    };
  });
  return {
    lines: [
      `${CONNECTIONS} connections in lobbies of ${MEMBERS_EACH}, an update in each lobby at a time, ${rounds} rounds; CPU-µs per delivery, median (min–max)`,
      ...findings.map(
        ({ update, guildhall, colyseus, bytes, ratio, verdict }) =>
          `${TITLES[update].padEnd(26)} guildhall ${show(guildhall)}, ${Math.round(bytes.guildhall)} B; ` +
          `colyseus ${show(colyseus)}, ${Math.round(bytes.colyseus)} B; ratio ${show(ratio)}, target ≤ ${TARGET}: ${verdict}`,
      ),
    ],
    figures: { connections: CONNECTIONS, membersEach: MEMBERS_EACH, rounds, times: TIMES, findings },
  };
}
