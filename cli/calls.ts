import type { Command } from 'commander';
import { terminalJson, terminalText } from '../protocol/names.ts';
import { present } from '../protocol/present.ts';
import type { CallPage, ListedCall, ListedMember } from '../transports/admin/calls.ts';
import { type RemoteFlags, remoteOf } from './remote.ts';
import { CommandError, type World } from './world.ts';

type Flags = RemoteFlags & {
  readonly json?: true;
  readonly watch?: true;
  readonly once?: true;
  readonly after?: string;
  readonly limit: string;
};

const REDRAW_MS = 1000;
/** Moves the cursor home and clears below it, so that redrawing does not flicker. */
const HOME = '\u001b[H\u001b[J';
const COLUMNS = ['user', 'transport', 'state', 'packets in', 'out', 'loss', 'jitter'] as const;

/** Adds `calls`, which lists the members of calls and the quality of their media. */
export function addCallsCommand(program: Command, world: World): void {
  program
    .command('calls')
    .description('calls of a running server; on a terminal redrawn every second until Ctrl-C')
    .option('--watch', 'every second, also where the output is no terminal')
    .option('--once', 'once, also on a terminal')
    .option('--after <id>', 'start behind this call')
    .option('--limit <n>', 'how many calls at most', '100')
    .option('--admin-url <url>', 'admin API of the server (or GUILDHALL_ADMIN_URL)')
    .option('--admin-token <token>', 'its admin token (or GUILDHALL_ADMIN_TOKEN)')
    .option('--json', 'as one JSON line')
    .action((flags: Flags) => show(world, flags));
}

async function show(world: World, flags: Flags): Promise<void> {
  const ask = remoteOf(world, flags);
  const query = new URLSearchParams({ limit: flags.limit });
  if (flags.after !== undefined) query.set('after', flags.after);
  const read = async () => (await ask('GET', `/calls?${query}`)) as unknown as CallPage;
  const isDrawn = world.terminal !== null && !flags.json;
  if (flags.once || !(flags.watch || isDrawn)) {
    const page = await read();
    world.out(flags.json ? terminalJson(page) : linesOf(page).join('\n'));
    return;
  }
  let isOver = false;
  const stopped = world.untilToldToStop().then(() => {
    isOver = true;
  });
  while (!isOver) {
    const page = await read();
    if (flags.json) world.out(terminalJson(page));
    else
      world.out(
        isDrawn ? HOME + fitted(linesOf(page), world.terminal?.() ?? null) : linesOf(page).join('\n'),
      );
    await Promise.race([stopped, world.pause(REDRAW_MS)]);
  }
}

/** The lines that fit on the terminal, and the number of omitted lines. */
function fitted(lines: readonly string[], size: { readonly rows: number } | null): string {
  // The cursor occupies a row below the last line.
  const rows = Math.max(2, (size?.rows ?? Number.POSITIVE_INFINITY) - 1);
  if (lines.length <= rows) return lines.join('\n');
  const kept = lines.slice(0, rows - 1);
  return [...kept, `… ${lines.length - kept.length} lines more: a larger window, or --json`].join('\n');
}

function linesOf({ voice, total, calls }: CallPage): string[] {
  if (!voice)
    throw new CommandError(
      'This server serves no calls.',
      'Set voice to true and start it again; docs/voice.md names the ports.',
    );
  if (total === 0)
    return ['No user is in a call.', 'Next: guildhall connect @discordjs/voice shows how a bot joins one.'];
  const members = calls.reduce((sum, call) => sum + call.members.length, 0);
  const last = calls.at(-1);
  const isAll = calls.length === total || last === undefined;
  const lines = [
    `${counted(total, 'call')}${isAll ? '' : `, ${calls.length} of them here`}, ${counted(members, 'member')}`,
    ...calls.flatMap((call) => ['', headOf(call), ...tableOf(call.members)]),
    ...(isAll ? [] : ['', `There may be more. Next: guildhall calls --after ${last.call_id}`]),
  ];
  return lines.map(terminalText);
}

function headOf({ call_id, guild_id, age_ms, dave, members }: ListedCall): string {
  const where = guild_id === null ? 'private' : `guild ${guild_id}`;
  const epoch = dave.epoch === null ? '' : ` epoch ${dave.epoch}`;
  const encryption = dave.version === 0 ? 'no DAVE' : `DAVE${epoch} ${dave.phase}`;
  return `call ${call_id}   ${where}   ${age(age_ms)}   ${encryption}   ${counted(members.length, 'member')}`;
}

function tableOf(members: readonly ListedMember[]): string[] {
  const rows = [COLUMNS, ...members.map(cellsOf)];
  const widths = COLUMNS.map((_, at) => Math.max(...rows.map((row) => present(row[at]).length)));
  const isText = (at: number) => at < 3;
  return rows.map((row) => {
    const cells = row.map((cell, at) =>
      isText(at) ? cell.padEnd(present(widths[at])) : cell.padStart(present(widths[at])),
    );
    return `  ${cells.join('  ')}`.trimEnd();
  });
}

function cellsOf(member: ListedMember): readonly string[] {
  const { user_id, transport, media } = member;
  const names = [user_id, transport === 'none' ? '–' : transport, stateOf(member)];
  if (media === null) return [...names, '–', '–', '–', '–'];
  const { packets_in, packets_out, loss, jitter_ms } = media;
  return [
    ...names,
    String(packets_in),
    String(packets_out),
    `${(loss * 100).toFixed(1)} %`,
    `${jitter_ms.toFixed(1)} ms`,
  ];
}

/** The most relevant state first: a member that is away cannot speak. */
function stateOf({ ssrc, attached, connected, speaking, silenced, deafened }: ListedMember): string {
  if (ssrc === null) return 'invited';
  if (!attached) return 'away';
  if (!connected) return 'connecting';
  const words = [silenced && 'muted', deafened && 'deaf'].filter((word) => word !== false);
  return speaking && !silenced ? ['speaking', ...words].join(', ') : words.join(', ') || 'quiet';
}

function age(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  if (hours > 0) return `${hours} h ${minutes} min`;
  return minutes > 0 ? `${minutes} min ${seconds % 60} s` : `${seconds} s`;
}

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;
