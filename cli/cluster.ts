import { type Command, InvalidArgumentError } from 'commander';
import { terminalText } from '../protocol/names.ts';
import { present } from '../protocol/present.ts';
import type { FrontRow, FrontStatus } from '../transports/admin/front.ts';
import { type Remote, type RemoteFlags, remoteOf } from './remote.ts';
import { CommandError, printResult, type World } from './world.ts';

type Flags = RemoteFlags & { readonly json?: true; readonly stop?: true; readonly timeout: number };

/** Without a supervisor some fields are missing. */
type Status = Pick<FrontStatus, 'cluster_id' | 'partitions' | 'partitions_unserved' | 'shards'> &
  Partial<Pick<FrontStatus, 'supervisor_pid'>>;

const LOOK_MS = 500;
const TIMEOUT_SEC = 120;
const COLUMNS = ['shard', 'process', 'state', 'sessions', 'partitions', '', 'lag', 'up'] as const;
const BAR_CELLS = 20;
/** Right-aligned columns. */
const RIGHT = new Set(['process', 'sessions', 'partitions', 'lag', 'up']);

/** Adds `cluster status`, `cluster restart`, `cluster start` and `drain`. */
export function addClusterCommands(program: Command, world: World): void {
  const cluster = program.command('cluster').description('the shards of a running server');
  reaching(
    cluster.command('status').description('which shards there are, and how they share the work'),
  ).action(async (flags: Flags) => {
    const status = await statusOf(remoteOf(world, flags));
    printResult(world, flags.json === true, status, linesOf(status));
  });
  waiting(
    cluster.command('restart').description('drains and starts all shards again, one after the other'),
  ).action((flags: Flags) => restart(world, flags));
  waiting(cluster.command('start <shard>').description('starts a shard that was stopped')).action(
    (id: string, flags: Flags) => start(world, id, flags),
  );
  waiting(program.command('drain <shard>').description('empties a shard: the others take over what it does'))
    .option('--stop', 'leave it down; else its supervisor starts it again')
    .action((id: string, flags: Flags) => drain(world, id, flags));
}

const reaching = (command: Command): Command =>
  command
    .option('--admin-url <url>', 'admin API of the server (or GUILDHALL_ADMIN_URL)')
    .option('--admin-token <token>', 'its admin token (or GUILDHALL_ADMIN_TOKEN)')
    .option('--json', 'as one JSON line');

const waiting = (command: Command): Command =>
  reaching(command).option('--timeout <seconds>', 'how long it may take for a shard', seconds, TIMEOUT_SEC);

function seconds(text: string): number {
  const count = Number(text);
  if (Number.isFinite(count) && count > 0) return count;
  throw new InvalidArgumentError('It must be a number of seconds.');
}

const statusOf = async (ask: Remote): Promise<Status> => (await ask('GET', '/cluster')) as Status;

async function drain(world: World, id: string, flags: Flags): Promise<void> {
  const ask = remoteOf(world, flags);
  const before = await statusOf(ask);
  const isSupervised = before.supervisor_pid !== undefined;
  if (flags.stop && !isSupervised)
    throw new CommandError(
      '--stop needs a supervisor, and this server has none.',
      'Drain it, and stop it with whatever runs it.',
    );
  await empty(world, ask, id, flags, isSupervised);
  const next = flags.stop
    ? `guildhall cluster start ${id}`
    : isSupervised
      ? 'guildhall cluster status'
      : 'start it again with whatever runs it';
  if (isSupervised && !flags.stop) await served(world, ask, id, before, flags);
  // Without a supervisor, the drained shard may be the one that answers.
  const now = await statusOf(ask).catch(() => null);
  printResult(world, flags.json === true, now, [
    `${id} is empty${flags.stop ? ' and down' : ''}. Next: ${next}`,
  ]);
}

async function restart(world: World, flags: Flags): Promise<void> {
  const ask = remoteOf(world, flags);
  const before = await statusOf(ask);
  if (before.supervisor_pid === undefined) {
    throw new CommandError(
      'These shards have no supervisor to restart them.',
      'Restart them one by one with whatever runs them: each drains at SIGTERM.',
    );
  }
  for (const { id, state } of before.shards) {
    if (state === 'stopped') continue;
    await empty(world, ask, id, flags, true);
    await served(world, ask, id, before, flags);
    if (!flags.json) world.out(terminalText(`${id} was restarted.`));
  }
  const now = await statusOf(ask);
  printResult(world, flags.json === true, now, ['All shards were restarted. Next: guildhall cluster status']);
}

async function start(world: World, id: string, flags: Flags): Promise<void> {
  const ask = remoteOf(world, flags);
  const before = await statusOf(ask);
  await ask('POST', `/cluster/shards/${encodeURIComponent(id)}/start`, {});
  await served(world, ask, id, before, flags);
  printResult(world, flags.json === true, await statusOf(ask), [
    `${id} serves. Next: guildhall cluster status`,
  ]);
}

/** Drains a shard, and waits until its process has ended. Without a supervisor it may be the one that answers. */
async function empty(
  world: World,
  ask: Remote,
  id: string,
  flags: Flags,
  isSupervised: boolean,
): Promise<void> {
  const body = { ...(flags.stop && { stop: true }) };
  const { pid } = await ask('POST', `/cluster/shards/${encodeURIComponent(id)}/drain`, body);
  const look = () => statusOf(ask).catch((error) => (isSupervised ? Promise.reject(error) : null));
  await until(world, look, flags, `${id} is not empty`, (status) => {
    const row = status?.shards.find((each) => each.id === id);
    if (row === undefined || row.pid !== pid) return null;
    return `${id} has ${counted(row.partitions, 'partition')} and ${counted(row.sessions ?? 0, 'session')}.`;
  });
}

/** Waits until a shard serves in a new process, and every partition has an owner. */
const served = (world: World, ask: Remote, id: string, before: Status, flags: Flags): Promise<void> =>
  until(
    world,
    () => statusOf(ask),
    flags,
    `${id} does not serve again`,
    ({ shards, partitions_unserved: unserved }) => {
      const row = shards.find((each) => each.id === id);
      const earlier = before.shards.find((each) => each.id === id);
      if (row?.state !== 'serving' || row.pid === earlier?.pid)
        return `${id} is ${row?.state ?? 'not there'}.`;
      const lagging = shards.filter(({ epoch_lag_ms: lagMs }) => lagMs !== null && lagMs > 0);
      return unserved === 0 && lagging.length === 0
        ? null
        : `${counted(unserved, 'partition')} without an owner.`;
    },
  );

/** Polls until nothing is missing; prints what is missing whenever it changes. */
async function until<Seen>(
  world: World,
  look: () => Promise<Seen>,
  { timeout, json }: Flags,
  failure: string,
  missing: (seen: Seen) => string | null,
): Promise<void> {
  const giveUpMs = performance.now() + timeout * 1000;
  for (let last = ''; ; await world.pause(LOOK_MS)) {
    const now = missing(await look());
    if (now === null) return;
    if (now !== last && !json) world.out(terminalText(now));
    last = now;
    if (performance.now() > giveUpMs)
      throw new CommandError(
        `${failure} after ${timeout} s: ${now}`,
        'Look again with guildhall cluster status.',
      );
  }
}

function linesOf(status: Status): string[] {
  const { shards, partitions, partitions_unserved: unserved, cluster_id: cluster } = status;
  const sessions = shards.reduce((sum, row) => sum + (row.sessions ?? 0), 0);
  const most = Math.max(1, ...shards.map((row) => row.partitions));
  const rows = [COLUMNS, ...shards.map((row) => cellsOf(row, most))];
  const widths = COLUMNS.map((_, at) => Math.max(...rows.map((row) => present(row[at]).length)));
  const line = (row: readonly string[]) =>
    row
      .map((cell, at) =>
        RIGHT.has(present(COLUMNS[at])) ? cell.padStart(widths[at]!) : cell.padEnd(widths[at]!),
      )
      .join('  ');
  return [
    `${cluster ?? 'One process'}: ${counted(shards.length, 'shard')}, ${counted(sessions, 'session')}, ` +
      `${counted(partitions, 'partition')}${unserved > 0 ? `, ${unserved} of them without an owner` : ''}`,
    '',
    ...rows.map((row) => `  ${line(row)}`.trimEnd()),
    '',
    'Next: guildhall drain <shard> empties one; guildhall cluster restart restarts all.',
  ];
}

function cellsOf(row: FrontRow, most: number): readonly string[] {
  const cells = Math.round((row.partitions / most) * BAR_CELLS);
  const lag = row.epoch_lag_ms;
  return [
    row.id,
    row.pid === null ? '–' : String(row.pid),
    row.state,
    row.sessions === null ? '–' : String(row.sessions),
    String(row.partitions),
    '█'.repeat(cells).padEnd(BAR_CELLS, '·'),
    lag === null ? '–' : lag === 0 ? '0' : `${lag} ms`,
    age(row.uptime_ms),
  ];
}

function age(ms: number): string {
  const sec = Math.floor(ms / 1000);
  if (sec < 60) return `${sec} s`;
  const min = Math.floor(sec / 60);
  return min < 60 ? `${min} min` : `${Math.floor(min / 60)} h ${min % 60} min`;
}

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;
