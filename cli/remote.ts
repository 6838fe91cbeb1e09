import type { Command } from 'commander';
import { CommandError, say, type World } from './world.ts';

/** Flags that say which server a command talks to. */
export interface RemoteFlags {
  readonly adminUrl?: string;
  readonly adminToken?: string;
}

/** The admin API of a running server. */
export type Remote = (
  method: 'GET' | 'POST',
  path: string,
  body?: object,
) => Promise<Record<string, unknown>>;

/** Options of a command that talks to the admin API; its own are texts, or true. */
export type Flags = RemoteFlags & { readonly json?: true } & Readonly<
    Record<string, string | true | undefined>
  >;

/** What a command got from the server, and the lines that say so. */
export interface Told {
  readonly value: unknown;
  readonly lines: readonly string[];
}

/** Adds a command that talks to the admin API; `run` gets its arguments and options. */
export function remote(
  parent: Command,
  usage: string,
  world: World,
  description: string,
  run: (ask: Remote, names: readonly string[], flags: Flags) => Promise<Told>,
): Command {
  const command = parent.command(usage).description(description);
  command.option('--admin-url <url>', 'admin API of the server (or GUILDHALL_ADMIN_URL)');
  command.option('--admin-token <token>', 'its admin token (or GUILDHALL_ADMIN_TOKEN)');
  command.option('--json', 'as one JSON line');
  return command.action(async () => {
    const flags = command.opts<Flags>();
    const { value, lines } = await run(remoteOf(world, flags), command.args, flags);
    say(world, flags.json === true, value, lines);
  });
}

const DEFAULT_URL = 'http://127.0.0.1:3001';
const TIMEOUT_MS = 15_000;
const TOKEN_ADVICE =
  'Give --admin-token or GUILDHALL_ADMIN_TOKEN; `guildhall dev` prints its token when it starts.';

/**
 * Opens the way to a server's admin API; nothing is sent yet.
 *
 * @throws CommandError when no admin token is given.
 */
export function remoteOf(world: World, flags: RemoteFlags): Remote {
  const base = (flags.adminUrl ?? world.env.GUILDHALL_ADMIN_URL ?? DEFAULT_URL).replace(/\/+$/, '');
  const token = flags.adminToken ?? world.env.GUILDHALL_ADMIN_TOKEN;
  if (!token) throw new CommandError('This command needs the admin token of the server.', TOKEN_ADVICE);
  if (!URL.canParse(base))
    throw new CommandError(`${base} is not a URL.`, `Write --admin-url ${DEFAULT_URL}.`);

  return async (method, path, body) => {
    const response = await fetch(base + path, {
      method,
      headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    }).catch((cause: Error) => {
      throw new CommandError(
        `No server answers at ${base}: ${causeOf(cause)}.`,
        'Start one with `guildhall dev`, or name the running one with --admin-url.',
        { cause },
      );
    });
    const text = await response.text();
    const answer = parsed(text);
    if (answer === null) {
      throw new CommandError(
        `${base} does not answer as an admin API (${response.status}).`,
        'Check --admin-url.',
      );
    }
    if (response.ok) return answer;
    const { message } = (answer.error ?? {}) as { message?: string };
    const advice =
      response.status === 401 ? TOKEN_ADVICE : 'Correct the arguments; --help shows what is expected.';
    throw new CommandError(`The server refused: ${message ?? response.status}`, advice);
  };
}

function causeOf(error: Error): string {
  return error.cause instanceof Error ? error.cause.message || String(error.cause) : error.message;
}

/** The object a reply holds; an empty one when it is empty; null when it is something else. */
function parsed(text: string): Record<string, unknown> | null {
  if (text === '') return {};
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}
