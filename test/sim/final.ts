import { rendezvous } from '../../engine/placement/rendezvous.ts';
import type { SimClient } from './client.ts';
import type { SimCluster } from './cluster.ts';
import type { Database } from './database.ts';
import type { SimRegistry } from './directory.ts';
import { judgeCalls, judgeCallsShown, judgeGroups } from './finalgroups.ts';
import { judgeVoice } from './finalvoice.ts';
import type { Judge } from './judge.ts';
import { judgeLists } from './lists.ts';
import type { LobbyView } from './lobbyview.ts';
import type { Replica } from './replica.ts';
import type { Scenario } from './scenario.ts';
import type { Truth } from './truth.ts';
import type { Workload } from './workload.ts';

interface FinalPorts {
  readonly registry: SimRegistry;
  readonly judge: Judge;
  readonly database: Database;
  readonly truth: Truth;
  readonly cluster: SimCluster;
  readonly clients: readonly SimClient[];
  readonly workload: Workload;
}

/** Longer than it takes until a link that broke is whole again. */
const LINK_MS = 2_000;

/**
 * Judges the final state of a run, after everything has been repaired for a while.
 *
 * @param isUnsteady Owners stay for milliseconds, or processes are stopped within turns.
 */
export function judgeEnd(
  ports: FinalPorts,
  { framesMax, faults, breaks, config }: Scenario,
  { hasFaults, isUnsteady }: { readonly hasFaults: boolean; readonly isUnsteady: boolean },
): void {
  // A first notification that seems older than its session, by a clock that is off by more than a second, is not sent to it.
  const isDirectWhole = !faults.includes('skew');
  const { judge, clients, cluster, workload } = ports;
  for (const client of clients) {
    judge.expect(client.up || client.revoked, 'served again', () => `${client.name} is not connected`);
    if (client.up && client.life.lobbies)
      judgePlayer(client, client.life.lobbies, ports, { isDirectWhole, hasFaults });
    else if (client.up) {
      judgeClient(client, ports, isDirectWhole);
      judgeLists(client, { ...ports, statusOf: (userId) => statusOf(userId, clients) });
      if (isDirectWhole && client.life.groups) {
        judgeGroups(client, client.life.groups, ports, hasFaults);
        judgeCallsShown(client, client.life.groups, ports);
      }
    }
  }
  if (workload.groups) judgeCalls(ports, workload.groups.wishes);
  if (workload.voice) judgeVoice(ports, workload.voice.wishes, { faults, breaks, isUnsteady });
  judge.expect(workload.open === 0, 'answered', () => `${workload.open} commands have no answer`);
  // A link that breaks is whole again after about a second, when the shortest deadlines have passed.
  const isShort = breaks > 0 && config.command_deadline_ms < LINK_MS;
  for (const { what, fate, probe } of workload.commands)
    judge.expect(
      !probe || isShort || fate === 'done' || fate === 'refused',
      'served again',
      () => `${what}: ${fate}`,
    );
  judgeWrites(ports);
  judgeAnswers(ports);
  judgePlacement(ports);
  for (const { instance, links, server } of cluster.running) {
    const { depth } = server.storage.writer;
    judge.expect(links.deepest <= framesMax, 'bounds', () => `${instance}: ${links.deepest} frames`);
    judge.expect(depth === 0, 'bounds', () => `${instance}: ${depth} commits are not settled`);
  }
}

function judgeClient(
  { life }: SimClient,
  { judge, database, truth, clients }: FinalPorts,
  isDirectWhole: boolean,
): void {
  const { name, userId } = life;
  const missing = life.missing().filter(({ ownerId }) => isDirectWhole || !truth.isPrivate(ownerId));
  judge.expect(
    missing.length === 0,
    'complete',
    () => `${name} misses ${missing.map(({ content }) => content)}`,
  );
  const { unended } = life;
  judge.expect(unended.length === 0 || !isDirectWhole, 'ended', () => `${name} has no end of ${unended}`);
  const mine = [...(database.memberships.get(userId) ?? [])].sort();
  const known = [...life.guilds].flatMap(([id, replica]) => (replica ? [id] : [])).sort();
  judge.expect(same(known, mine), 'guilds', () => `${name} has ${known} and is in ${mine}`);
  for (const [guildId, replica] of life.guilds) if (replica) judgeGuild(guildId, replica);
  const related = [...database.relations.values()].filter(
    (each) => each.userId === userId && each.applicationId === null,
  );
  const wanted = related.map(({ peerId, type }) => `${peerId} ${type}`).sort();
  const got = [...life.relations].map(([peerId, type]) => `${peerId} ${type}`).sort();
  const isRelated = !isDirectWhole || same(got, wanted);
  judge.expect(isRelated, 'relations', () => `${name} has the relations ${got}, not ${wanted}`);

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

/** A client of a game knows the lobbies of its user, and has every message of them. */
function judgePlayer(
  { life: { name, userId } }: SimClient,
  view: LobbyView,
  ports: FinalPorts,
  { isDirectWhole, hasFaults }: { readonly isDirectWhole: boolean; readonly hasFaults: boolean },
): void {
  const { judge, database, clients } = ports;
  if (!isDirectWhole) return;
  const missing = view.missing().map(({ content }) => content);
  judge.expect(missing.length === 0, 'complete', () => `${name} misses ${missing}`);
  const mine = [...database.lobbies].filter(([, { members }]) => members.has(userId as never));
  const expectSame = (what: string, got: unknown, wanted: unknown) =>
    judge.expect(same(got, wanted), 'lobby', () => `${name} has ${what} as ${got}, not ${wanted}`);
  expectSame('lobbies', [...view.replicas.keys()].sort(), mine.map(([id]) => id).sort());
  const isPlaying = (id: string) =>
    clients.some(({ userId, life, up }) => userId === id && life.lobbies && up);
  for (const [id, { lobby, members }] of mine) {
    const { host_id: hostId } = lobby;
    const isIn = hostId == null || members.has(hostId);
    judge.expect(isIn, 'host', () => `${hostId} hosts ${id} and is no member`);
    const replica = view.replicas.get(id);
    // The lobby that a reloaded actor announces is not numbered, and may arrive after a later change.
    if (!replica || hasFaults) continue;
    const shown = (
      of: ReadonlyMap<string, { readonly metadata: object | null; readonly connected?: boolean }>,
    ) =>
      // A client does not receive its own connection.
      [...of].map(([id, { metadata, connected = isPlaying(id) }]) =>
        [id, JSON.stringify(metadata), replica.isToldAgain || id === userId || connected].join(' '),
      );
    expectSame(`members of ${id}`, shown(replica.members).sort(), shown(members).sort());
    expectSame(`metadata of ${id}`, JSON.stringify(replica.metadata), JSON.stringify(lobby.metadata));
    expectSame(`host of ${id}`, replica.hostId, lobby.host_id ?? null);
  }
}

/** Later values take precedence over earlier ones. */
const RANKS = ['offline', 'idle', 'online', 'dnd'];

/** The status of a user, by the last status of each of its clients. */
function statusOf(userId: string, clients: readonly SimClient[]): string {
  const said = clients.filter((client) => client.userId === userId && client.up).map(({ status }) => status);
  return said.sort((a, b) => RANKS.indexOf(b) - RANKS.indexOf(a))[0] ?? 'offline';
}

function judgeWrites({ judge, truth, workload }: FinalPorts): void {
  const counts = new Map(truth.named);
  for (const { content, isCopy } of truth.messages.values())
    if (!isCopy) counts.set(content, (counts.get(content) ?? 0) + 1);
  for (const { what, mark, fate } of workload.commands) {
    if (mark === null) continue;
    const times = counts.get(mark) ?? 0;
    judge.expect(times <= 1, 'applied once', () => `${what} was written ${times} times`);
    judge.expect(fate !== 'done' || times > 0, 'acknowledged', () => `${what} was acknowledged and lost`);
  }
}

/** Every partition is served by the shard that all shards compute as its owner. */
function judgePlacement({ judge, registry }: FinalPorts): void {
  const { shards, owners } = registry.view;
  const wanted = rendezvous(registry.partitions)(shards);
  const owning = owners.map((owner) => (owner && owner.epoch > 0 ? owner.shardId : null));
  judge.expect(same(owning, wanted), 'placement', () => `${owning} own the partitions, not ${wanted}`);
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
