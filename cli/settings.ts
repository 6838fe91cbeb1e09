import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { parse as parseYaml, YAMLParseError } from 'yaml';
import { type Config, ConfigError, type ConfigKey, type ConfigLayer, parseConfig } from '../config/config.ts';
import { isRecord } from '../protocol/json.ts';
import { codeOf, messageOf } from '../protocol/thrown.ts';
import { CommandError, type World } from './world.ts';

/** The settings file that is read by default. */
export const CONFIG_FILE = 'guildhall.yaml';
/** The default data directory of a server. */
export const DATA_DIR = './data';

/** Environment variables of the commands themselves; every other `GUILDHALL_…` is a setting. */
const NOT_SETTINGS = new Set(['GUILDHALL_CONFIG', 'GUILDHALL_ADMIN_URL']);
const PREFIX = 'GUILDHALL_';

/** A setting that a command's flag sets. */
export interface FlagSetting {
  readonly key: ConfigKey;
  /** The flag as typed, such as `--port`. */
  readonly flag: string;
  /** Undefined when the flag was not given. */
  readonly value: string | undefined;
}

/** Sources of a command's settings, besides the environment. */
interface SettingSources {
  /** A settings file; null for `GUILDHALL_CONFIG` or `guildhall.yaml` if there is one; false for none. */
  readonly file: string | null | false;
  readonly flags: readonly FlagSetting[];
  /** `key=value` of `--set`. */
  readonly set: readonly string[];
  /** Defaults of the command, with the lowest precedence. */
  readonly base?: Partial<Config>;
}

/**
 * Reads the settings from file, environment and flags; later ones take precedence.
 *
 * @throws CommandError when a file cannot be read or a value is invalid.
 */
export async function readSettings(world: World, sources: SettingSources): Promise<Config> {
  const base = { from: 'the defaults of this command', values: sources.base ?? {} };
  const layers = await layersOf(world, sources);
  try {
    return parseConfig([base, ...layers]);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new CommandError(
      error.problems.join('\n'),
      'See `guildhall config print` for the settings in force and docs/configuration.md for all of them.',
    );
  }
}

async function layersOf(world: World, sources: SettingSources): Promise<readonly ConfigLayer[]> {
  const file = sources.file === false ? null : await readFileLayer(world, sources.file);
  const rest = [environmentLayer(world), flagsLayer(sources.flags), setLayer(sources.set)];
  return file === null ? rest : [file, ...rest];
}

async function readFileLayer(world: World, named: string | null): Promise<ConfigLayer | null> {
  const asked = named ?? world.env.GUILDHALL_CONFIG ?? null;
  const from = asked ?? CONFIG_FILE;
  let text: string;
  try {
    text = await readFile(resolve(world.cwd, from), 'utf8');
  } catch (error) {
    if (asked === null && codeOf(error) === 'ENOENT') return null;
    const by = named === null && asked !== null ? 'GUILDHALL_CONFIG' : '--config';
    throw new CommandError(
      `${from} cannot be read: ${messageOf(error)}.`,
      `Name a readable YAML file with ${by}.`,
    );
  }
  let values: unknown;
  try {
    values = parseYaml(text) ?? {};
  } catch (error) {
    if (!(error instanceof YAMLParseError)) throw error;
    throw new CommandError(`${from} is not valid YAML: ${error.message}`, 'Write one `key: value` a line.');
  }
  if (!isRecord(values)) {
    throw new CommandError(`${from} is not a list of settings.`, 'Write one `key: value` a line.');
  }
  return { from, values };
}

/** Settings from `GUILDHALL_LISTEN_PORT` and similar variables, and from `DATABASE_URL`, which hosting services set. */
function environmentLayer(world: World): ConfigLayer {
  const values: Record<string, unknown> = {};
  /** Names of the variables, by key. */
  const names = new Map<string, string>();
  const take = (key: string, name: string, value: string): void => {
    values[key] = value;
    names.set(key, name);
  };
  if (world.env.DATABASE_URL) take('database_url', 'DATABASE_URL', world.env.DATABASE_URL);
  for (const [name, value] of Object.entries(world.env)) {
    if (!name.startsWith(PREFIX) || NOT_SETTINGS.has(name) || value === undefined) continue;
    take(name.slice(PREFIX.length).toLowerCase(), name, value);
  }
  const spell = (key: string) => names.get(key) ?? PREFIX + key.toUpperCase();
  return { from: 'the environment', values, text: true, spell };
}

function flagsLayer(flags: SettingSources['flags']): ConfigLayer {
  const given = flags.filter(({ value }) => value !== undefined);
  const names = new Map<string, string>(given.map(({ key, flag }) => [key, flag]));
  return {
    from: 'the command line',
    values: Object.fromEntries(given.map(({ key, value }) => [key, value])),
    text: true,
    spell: (key) => names.get(key) ?? key,
  };
}

function setLayer(set: readonly string[]): ConfigLayer {
  const pairs = set.map((pair): [string, string] => {
    const at = pair.indexOf('=');
    if (at < 1) throw new CommandError(`--set ${pair} has no value.`, 'Write --set key=value.');
    return [pair.slice(0, at), pair.slice(at + 1)];
  });
  return { from: '--set', values: Object.fromEntries(pairs), text: true };
}

/** Settings that the operator set in a file, the environment, or flags; defaults of a command are not included. */
export async function namedSettings(world: World, sources: SettingSources): Promise<ReadonlySet<string>> {
  const layers = await layersOf(world, sources);
  return new Set(
    layers.flatMap(({ values }) => Object.keys(values).filter((key) => values[key] !== undefined)),
  );
}
