import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { parse as parseYaml, YAMLParseError } from 'yaml';
import { type Config, ConfigError, type ConfigLayer, isLoopback, parseConfig } from '../config.ts';
import { CommandError, type World } from './world.ts';

/** The file that is read when none is named. */
export const CONFIG_FILE = 'guildhall.yaml';

/** Variables of the commands themselves; every other `GUILDHALL_…` is a setting. */
const NOT_SETTINGS = new Set(['GUILDHALL_CONFIG', 'GUILDHALL_ADMIN_URL']);
const PREFIX = 'GUILDHALL_';

/** Where the settings of one command come from, besides the environment. */
export interface SettingSources {
  /** A settings file; null for `GUILDHALL_CONFIG` or `guildhall.yaml` if there is one; false for none. */
  readonly file: string | null | false;
  /** Values of flags, by key of the setting. */
  readonly flags: Readonly<Record<string, string | undefined>>;
  /** `key=value` of `--set`. */
  readonly set: readonly string[];
  /** Values under everything else. */
  readonly base?: Partial<Config>;
}

/**
 * Reads file, environment and flags; later ones win.
 *
 * @throws CommandError when a file cannot be read or a value is wrong.
 */
export async function readSettings(world: World, sources: SettingSources): Promise<Config> {
  const layers: ConfigLayer[] = [{ from: 'the defaults of this command', values: sources.base ?? {} }];
  const file = sources.file === false ? null : await readFileLayer(world, sources.file);
  if (file !== null) layers.push(file);
  layers.push(environmentLayer(world), flagsLayer(sources.flags), setLayer(sources.set));
  try {
    return parseConfig(layers);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new CommandError(
      error.problems.join('\n'),
      'See `guildhall config print` for the settings in force and docs/configuration.md for all of them.',
    );
  }
}

async function readFileLayer(world: World, named: string | null): Promise<ConfigLayer | null> {
  const asked = named ?? world.env.GUILDHALL_CONFIG ?? null;
  const from = asked ?? CONFIG_FILE;
  let text: string;
  try {
    text = await readFile(resolve(world.cwd, from), 'utf8');
  } catch (error) {
    if (asked === null && (error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw new CommandError(
      `${from} cannot be read: ${(error as Error).message}.`,
      'Name a readable YAML file.',
    );
  }
  let values: unknown;
  try {
    values = parseYaml(text) ?? {};
  } catch (error) {
    if (!(error instanceof YAMLParseError)) throw error;
    throw new CommandError(`${from} is not valid YAML: ${error.message}`, 'Write one `key: value` a line.');
  }
  if (typeof values !== 'object' || values === null || Array.isArray(values)) {
    throw new CommandError(`${from} is not a list of settings.`, 'Write one `key: value` a line.');
  }
  return { from, values: values as Record<string, unknown> };
}

/** `GUILDHALL_LISTEN_PORT` and its like; `DATABASE_URL` is taken too, because hosting services set it. */
function environmentLayer(world: World): ConfigLayer {
  const values: Record<string, unknown> = {};
  if (world.env.DATABASE_URL) values.database_url = world.env.DATABASE_URL;
  for (const [name, value] of Object.entries(world.env)) {
    if (!name.startsWith(PREFIX) || NOT_SETTINGS.has(name) || value === undefined) continue;
    values[name.slice(PREFIX.length).toLowerCase()] = value;
  }
  const spell = (key: string) => PREFIX + key.toUpperCase();
  return { from: 'the environment', values, text: true, spell };
}

function flagsLayer(flags: SettingSources['flags']): ConfigLayer {
  return { from: 'the command line', values: flags, text: true };
}

function setLayer(set: readonly string[]): ConfigLayer {
  const pairs = set.map((pair): [string, string] => {
    const at = pair.indexOf('=');
    if (at < 1) throw new CommandError(`--set ${pair} has no value.`, 'Write --set key=value.');
    return [pair.slice(0, at), pair.slice(at + 1)];
  });
  return { from: '--set', values: Object.fromEntries(pairs), text: true };
}

/**
 * What keeps a server from being opened to others: each a sentence. A public server without a database loses what
 * people wrote, without secrets of its own its links can be forged, and without a certificate no client joins a call.
 */
export function publicBindProblems(config: Config): string[] {
  const isVoicePublic = config.voice && !isLoopback(config.voice_host);
  if (isLoopback(config.listen_host) && isLoopback(config.admin_host) && !isVoicePublic) return [];
  const problems: string[] = [];
  if (config.database_url === null && config.data_dir === null) {
    problems.push(
      'There is no database of its own: set database_url to a PostgreSQL database, or data_dir to a folder.',
    );
  }
  if (config.token_secret === null) {
    problems.push(
      'There is no secret of its own: set token_secret, for instance to what `openssl rand -hex 32` prints.',
    );
  }
  if (config.admin_token === null && !isLoopback(config.admin_host)) {
    problems.push(
      'The admin port is open to others without an admin token: set admin_token, or admin_host to 127.0.0.1.',
    );
  }
  if (isVoicePublic && config.voice_tls === 'auto' && config.tls_cert_file === null) {
    problems.push(
      'The voice gateway has no certificate that others trust: set tls_cert_file and tls_key_file, or voice_tls to off ' +
        'when a proxy in front adds TLS.',
    );
  }
  if (isVoicePublic && config.external_address === null && /^(0\.0\.0\.0|::)$/.test(config.voice_host)) {
    problems.push(
      `Voice clients cannot send to ${config.voice_host}: set external_address to the address they reach this machine at.`,
    );
  }
  return problems;
}
