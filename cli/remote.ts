import { resolve } from 'node:path';
import type { Command } from 'commander';
import { type Config, isLoopback } from '../config/config.ts';
import { readAdminToken } from './admintoken.ts';
import { DATA_DIR, readSettings } from './settings.ts';
import { CommandError, printResult, type World } from './world.ts';

/** Flags that select the server of a command. */
export interface RemoteFlags {
  readonly adminUrl?: string;
  readonly adminToken?: string;
}

/** Requests to the admin API of a running server. */
export type Remote = (
  method: 'GET' | 'POST',
  path: string,
  body?: object,
) => Promise<Record<string, unknown>>;

/** Options of a command that calls the admin API; its own options are strings or true. */
export type Flags = RemoteFlags & { readonly json?: true } & Readonly<
    Record<string, string | true | undefined>
  >;

/** The result of a command, and the lines to print. */
export interface CommandOutput {
  readonly value: unknown;
  readonly lines: readonly string[];
}

/** Adds a command that calls the admin API; `run` gets its arguments and options. */
export function remote(
  parent: Command,
  usage: string,
  world: World,
  description: string,
  run: (ask: Remote, names: readonly string[], flags: Flags) => Promise<CommandOutput>,
): Command {
  const command = parent.command(usage).description(description);
  command.option('--admin-url <url>', 'admin API of the server (or GUILDHALL_ADMIN_URL)');
  command.option('--admin-token <token>', 'its admin token (or GUILDHALL_ADMIN_TOKEN)');
  command.option('--json', 'as one JSON line');
  return command.action(async () => {
    const flags = command.opts<Flags>();
    const { value, lines } = await run(remoteOf(world, flags), command.args, flags);
    printResult(world, flags.json === true, value, lines);
  });
}

const DEFAULT_URL = 'http://127.0.0.1:3001';
const TIMEOUT_MS = 15_000;
const TOKEN_ADVICE =
  'Give --admin-token or GUILDHALL_ADMIN_TOKEN. `guildhall dev` prints its token when it starts; `guildhall start` keeps one in ' +
  'the data directory, where commands in the same folder find it, unless admin_token is set.';

/** Advice by the code of the answer, which is more specific than its status. */
const CODE_ADVICE: Readonly<Record<string, string>> = {
  unknown_shard: 'Correct the name: `guildhall cluster status` shows the shards there are.',
};

const ADVICE: Readonly<Record<number, string>> = {
  401: TOKEN_ADVICE,
  404: 'Correct the id: `guildhall user list`, `guildhall guild list` and `guildhall app list` show the valid ones.',
};

interface Reached {
  readonly base: string;
  readonly token: string;
}

/**
 * Determines the admin API and token of a command: from flags and environment, else from the settings here, else the token
 * that `guildhall start` stores in the data directory. A token that was not named for this command is sent only to this
 * machine.
 */
async function reach(world: World, flags: RemoteFlags): Promise<Reached> {
  const namedUrl = flags.adminUrl ?? world.env.GUILDHALL_ADMIN_URL;
  const namedToken = flags.adminToken ?? world.env.GUILDHALL_ADMIN_TOKEN;
  const settings =
    namedUrl !== undefined && namedToken
      ? null
      : await readSettings(world, { file: null, flags: [], set: [] }).catch(() => null);
  const base = (namedUrl ?? urlOf(settings)).replace(/\/+$/, '');
  if (!URL.canParse(base)) {
    const by = flags.adminUrl === undefined ? 'GUILDHALL_ADMIN_URL' : '--admin-url';
    throw new CommandError(
      `${by} is ${JSON.stringify(namedUrl)}; it must be a URL.`,
      `Write for instance ${DEFAULT_URL}.`,
    );
  }
  const isHere = isLoopback(new URL(base).hostname);
  const token = namedToken || (isHere && settings ? await tokenOf(world, settings) : null);
  if (!token) throw new CommandError('This command needs the admin token of the server.', TOKEN_ADVICE);
  return { base, token };
}

function urlOf(settings: Config | null): string {
  if (settings === null || settings.admin_port === 0 || !isLoopback(settings.admin_host)) return DEFAULT_URL;
  const { admin_host: host, admin_port: port } = settings;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

const tokenOf = async (
  world: World,
  { admin_token: set, data_dir: directory }: Config,
): Promise<string | null> => set ?? (await readAdminToken(resolve(world.cwd, directory ?? DATA_DIR)));

/** Creates the client of a server's admin API. It looks up the token and connects with the first request. */
export function remoteOf(world: World, flags: RemoteFlags): Remote {
  let reached: Promise<Reached> | null = null;
  return async (method, path, body) => {
    reached ??= reach(world, flags);
    const { base, token } = await reached;
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
    const { code = '', message } = (answer.error ?? {}) as { code?: string; message?: string };
    const advice =
      CODE_ADVICE[code] ?? ADVICE[response.status] ?? 'Correct the arguments; --help shows what is expected.';
    throw new CommandError(`The server refused: ${message ?? response.status}`, advice);
  };
}

function causeOf(error: Error): string {
  return error.cause instanceof Error ? error.cause.message || String(error.cause) : error.message;
}

/** The object in a reply, {} for an empty reply; null for anything else. */
function parsed(text: string): Record<string, unknown> | null {
  if (text === '') return {};
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}
