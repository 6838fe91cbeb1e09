import type { SimClient } from './client.ts';
import type { SimCluster } from './cluster.ts';
import type { Database } from './database.ts';
import type { Judge } from './judge.ts';
import type { Replica } from './replica.ts';
import type { Scenario } from './scenario.ts';
import type { Truth } from './truth.ts';
import type { Workload } from './workload.ts';

interface FinalPorts {
  readonly judge: Judge;
  readonly database: Database;
  readonly truth: Truth;
  readonly cluster: SimCluster;
  readonly clients: readonly SimClient[];
  readonly workload: Workload;
}

/** Judges a run when everything has been whole again for a while: what must be so in the end. */
export function judgeEnd(ports: FinalPorts, { framesMax }: Scenario): void {
  const { judge, clients, cluster, workload } = ports;
  for (const client of clients) {
    judge.expect(client.up, 'served again', () => `${client.name} is not connected`);
    if (client.up) judgeClient(client, ports);
  }
  judge.expect(workload.open === 0, 'answered', () => `${workload.open} commands have no answer`);
  for (const { what, fate, probe } of workload.commands)
    judge.expect(!probe || fate === 'done' || fate === 'refused', 'served again', () => `${what}: ${fate}`);
  judgeWrites(ports);
  judgeAnswers(ports);
  for (const { instance, links, house } of cluster.running) {
    const { depth } = house.storage.writer;
    judge.expect(links.deepest <= framesMax, 'bounds', () => `${instance}: ${links.deepest} frames`);
    judge.expect(depth === 0, 'bounds', () => `${instance}: ${depth} commits are not settled`);
  }
}

function judgeClient({ life }: SimClient, { judge, database, truth, clients }: FinalPorts): void {
  const { name, userId } = life;
  const missing = life.missing();
  judge.expect(
    missing.length === 0,
    'complete',
    () => `${name} misses ${missing.map(({ content }) => content)}`,
  );
  const mine = [...(database.memberships.get(userId) ?? [])].sort();
  const known = [...life.guilds].flatMap(([id, replica]) => (replica ? [id] : [])).sort();
  judge.expect(same(known, mine), 'guilds', () => `${name} has ${known} and is in ${mine}`);
  for (const [guildId, replica] of life.guilds) if (replica) judgeGuild(guildId, replica);

  function judgeGuild(guildId: string, replica: Replica): void {
    const guild = database.guilds.get(guildId);
    if (!guild) return;
    const expectSame = (what: string, got: unknown, wanted: unknown) =>
      judge.expect(
        same(got, wanted),
        'replica',
        () => `${name} has ${what} of ${guildId} as ${got}, not ${wanted}`,
      );
    const visible = truth.visible(guildId, userId).sort();
    expectSame('channels', [...replica.channels.keys()].sort(), visible);
    const names = visible.map((id) => guild.channels.get(id as never)?.name);
    expectSame(
      'names',
      visible.map((id) => replica.channels.get(id)),
      names,
    );
    expectSame('name', replica.name, guild.info.name);
    expectSame('roles', [...replica.roles.keys()].sort(), [...guild.roles.keys()].sort());
    const roles = guild.members.get(userId as never)?.roles ?? [];
    expectSame('own roles', [...(replica.ownRoles ?? [])].sort(), [...roles].sort());
    for (const other of guild.members.keys()) {
      if (!guild.members.get(other)) continue;
      expectSame(`presence of ${other}`, replica.presences.get(other) ?? 'offline', statusOf(other, clients));
    }
  }
}

/** The later outweighs the earlier. */
const RANKS = ['offline', 'idle', 'online', 'dnd'];

/** How a user appears, by what its clients have said last. */
function statusOf(userId: string, clients: readonly SimClient[]): string {
  const said = clients.filter((client) => client.userId === userId && client.up).map(({ status }) => status);
  return said.sort((a, b) => RANKS.indexOf(b) - RANKS.indexOf(a))[0] ?? 'offline';
}

function judgeWrites({ judge, truth, workload }: FinalPorts): void {
  const counts = new Map(truth.named);
  for (const { content } of truth.messages.values()) counts.set(content, (counts.get(content) ?? 0) + 1);
  for (const { what, mark, fate } of workload.commands) {
    if (mark === null) continue;
    const times = counts.get(mark) ?? 0;
    judge.expect(times <= 1, 'applied once', () => `${what} was written ${times} times`);
    judge.expect(fate !== 'done' || times > 0, 'acknowledged', () => `${what} was acknowledged and lost`);
  }
}

/** Each interaction takes one first answer, whichever session of the bot sends it. */
function judgeAnswers({ judge, workload }: FinalPorts): void {
  const taken = new Map<string, number>();
  for (const { what, fate } of workload.commands)
    if (fate === 'done' && what.startsWith('callback')) taken.set(what, (taken.get(what) ?? 0) + 1);
  for (const [what, times] of taken)
    judge.expect(times === 1, 'answered once', () => `${what} was taken ${times} times`);
}

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);
