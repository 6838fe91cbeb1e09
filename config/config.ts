import type { Static } from 'typebox';
import { Value } from 'typebox/value';
import { CLUSTER, OPERATION } from './cluster.ts';
import {
  ANY,
  boolean,
  choice,
  DAY_MS,
  HOUR_MS,
  HTTP_URL,
  integer,
  MINUTE_MS,
  optional,
  PORT,
  type Setting,
  string,
} from './kinds.ts';
import { nearest } from './nearest.ts';
import { PAYMENTS } from './payments.ts';
import { STORAGE } from './storage.ts';
import { VOICE } from './voice.ts';

export type { Setting };

const LISTENING = {
  listen_host: string('127.0.0.1', 'Address the HTTP API, the gateway and the CDN listen on.'),
  listen_port: integer(3000, 'port', PORT, 'Port of the HTTP API; 0 picks a free port.'),
  public_url: optional(
    'a URL such as https://chat.example.org without a trailing path',
    HTTP_URL,
    'URL by which clients reach this server, used for links in answers. When null it is derived from the listening address. A host that is not loopback makes the server public, whatever address it listens on.',
  ),
  activities_url: optional(
    'a URL such as https://activities.example.org without a path',
    '^https?://[A-Za-z0-9.-]+(:\\d{1,5})?$',
    'URL of the proxy of activities: the id of an application stands before its host, as in https://<id>.activities.example.org. A name of its own, that no other site shares. Browsers resolve every name under localhost, so http://localhost will do for development. When null no activities are served.',
  ),
  activities_port: integer(
    0,
    'port',
    PORT,
    'Port the proxy of activities listens on, without TLS, at the address of the API. 0 takes the port of activities_url, or a free one.',
  ),
  activities_embedders: optional(
    'origins such as https://game.example.org, separated by commas',
    '^https?://[^\\s/?#,;]+( *, *https?://[^\\s/?#,;]+)*$',
    'Origins of further pages that may show activities, besides those of this server.',
  ),
  playground: boolean(false, 'Whether `/` serves the playground, as in `guildhall dev`.'),
  docs: boolean(false, 'Whether `/docs` serves this documentation, as in `guildhall dev`.'),
  admin_host: string('127.0.0.1', 'Address the admin API listens on. Keep it away from the public.'),
  admin_port: integer(
    3001,
    'port',
    PORT,
    'Port of the admin API, of /metrics, /livez and /readyz; 0 picks a free port.',
  ),
  admin_token: optional(
    'a secret of at least 16 characters',
    '^[\\x21-\\x7e]{16,}$',
    'Bearer token of the admin API. When null, `guildhall dev` makes one for its run, and `guildhall start` makes one and keeps it in `admin-token` in the data directory; a public server needs one that is set. An embedded engine opens no admin API.',
    true,
  ),
  admin_tokens: optional(
    'a list such as ci=<secret>,anna=<secret>, each secret of at least 16 characters',
    '^[A-Za-z0-9._-]{1,32}=[\\x21-\\x2b\\x2d-\\x7e]{16,}( *, *[A-Za-z0-9._-]{1,32}=[\\x21-\\x2b\\x2d-\\x7e]{16,})*$',
    'More bearer tokens of the admin API, by name: each has the rights of admin_token, and security events name the token that was used.',
    true,
  ),
  admin_hosts: optional(
    'host names, separated by commas',
    '^[A-Za-z0-9._-]+( *, *[A-Za-z0-9._-]+)*$',
    'Host names by which the admin port may be addressed, for instance by Prometheus, besides admin_host, localhost and the name of the machine. Addresses are always accepted; any other name is refused (421), so that no web page can reach the port by a name of its own.',
  ),
  trust_proxy: boolean(
    false,
    'Whether the address of a client is taken from X-Forwarded-For. Turn it on only behind a proxy that sets this header.',
  ),
};

const IDENTITY = {
  token_secret: optional(
    'a secret of at least 32 characters',
    '^[\\x21-\\x7e]{32,}$',
    'Key of signed links and of the tokens of webhooks: another one ends both. When null one is generated at the first start and stored in the database, which `guildhall start` accepts only while the server is not public.',
    true,
  ),
  contract_date: optional(
    'a date such as 2026-02-23',
    '^\\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])$',
    'The day whose rules of the protocol apply, also one that is past; docs/compatibility.md lists what changed when. When null, the current date.',
  ),
  identity_issuers_private: optional(
    'origins such as https://id.corp.example:8443, separated by commas',
    '^https://[^\\s/?#,]+( *, *https://[^\\s/?#,]+)*$',
    'Identity providers of players that may be contacted at private addresses. All others must be on the public Internet.',
  ),
  identity_ca_file: optional(
    'a file',
    ANY,
    'CA certificates (PEM) trusted for identity providers and endpoints of applications, besides the usual ones.',
  ),
  endpoints_private: optional(
    'origins such as http://10.0.0.5:8080, separated by commas',
    '^https?://[^\\s/?#,]+( *, *https?://[^\\s/?#,]+)*$',
    'Endpoints of applications that may be contacted at private addresses, also without TLS. All others must be on the public Internet, with https. While the server is not public, this machine is allowed too.',
  ),
  webhook_avatar_urls: boolean(
    true,
    'Whether the picture that a message of a webhook names as its avatar is fetched from its host: once, with the bounds of endpoints, and up to 1 MiB. Otherwise the avatar of the webhook is shown.',
  ),
};

const ACCOUNTS = {
  registration: choice(
    'auto',
    ['auto', 'open', 'closed'],
    'Whether users may sign up for accounts. With auto, only while the server is not public, that is, while every address it listens on and the host of public_url are loopback.',
  ),
  smtp_url: optional(
    'a URL such as smtps://user:password@mail.example.org',
    '^smtps?://[^\\s]+$',
    'The mail server for outgoing e-mails. When null they are written to `outbox` in the data directory, one .eml file each.',
    true,
  ),
  direct_messages_from: choice(
    'shared_guild',
    ['everyone', 'shared_guild', 'friends', 'replied'],
    'Default of who may send a first direct message to a user: everyone, members of a common guild and friends, friends only, or only users whom the user has written to.',
  ),
  mail_from: string('Guildhall <guildhall@localhost>', 'Sender of e-mails.'),
};

const GATEWAY = {
  heartbeat_interval_ms: integer(41_250, 'ms', [1000, 10 * MINUTE_MS], 'Heartbeat interval sent to clients.'),
  heartbeat_grace_ms: integer(
    20_000,
    'ms',
    [100, 10 * MINUTE_MS],
    'How late a heartbeat may be before its connection is closed; the session can be resumed.',
  ),
  identify_timeout_ms: integer(
    30_000,
    'ms',
    [100, 10 * MINUTE_MS],
    'How long a connection may stay open without IDENTIFY or RESUME.',
  ),
  resume_window_ms: integer(
    90_000,
    'ms',
    [0, DAY_MS],
    'How long a session without a connection is kept, and the greatest age of a dispatch that is replayed.',
  ),
  replay_frames_max: integer(2048, 'dispatches', [0, 1_000_000], 'Dispatches kept per session for a resume.'),
  socket_buffer_bytes_max: integer(
    4 << 20,
    'bytes',
    [64 << 10, 1 << 30],
    'Most bytes queued for a client that reads slowly; beyond it the connection is closed, and the session can be resumed.',
  ),
  gateway_shared_history: boolean(true, 'Whether zlib-stream connections share a compression history.'),
  sockets_max: integer(100_000, 'sockets', [1, 10_000_000], 'Most gateway connections in total.'),
  guilds_owned_max: integer(
    10,
    'guilds',
    [0, 1_000],
    'Most guilds that one user may create and own over the API. With 0 only the operator creates guilds.',
  ),
  sockets_per_ip_max: integer(
    20_000,
    'sockets',
    [1, 10_000_000],
    'Most gateway connections from one address.',
  ),
  max_concurrency: integer(
    16,
    'sessions',
    [1, 10_000],
    'Sessions of one bot that may identify within five seconds, by shard number modulo this.',
  ),
  session_starts_per_day: integer(
    1000,
    'sessions',
    [1, 100_000_000],
    'Sessions a bot may start in 24 hours.',
  ),
  sharding_required_guilds: integer(
    2500,
    'guilds',
    [1, 100_000_000],
    'Guilds of one shard beyond which a bot must shard.',
  ),
  large_guild_members: integer(
    250,
    'members',
    [1, 1_000_000],
    'Number of members above which a guild is large: its offline members are not sent, whatever a client requests.',
  ),
};

const HTTP = {
  lobby_development_limits: boolean(
    false,
    'Whether every application has the limits of an application in development: per two hours 100 writes of each kind to its lobbies, and 20 links.',
  ),
  rate_limits: boolean(
    true,
    'Whether requests and identifies are limited per bot and per address. The slow mode of a channel, the waits after wrong passwords and codes of one account, and the bounds of memory always hold.',
  ),
  global_requests_per_sec: integer(
    50,
    'requests per second',
    [1, 1_000_000],
    'Most requests of one bot over all buckets.',
  ),
  request_bytes_max: integer(
    25 << 20,
    'bytes',
    [1 << 20, 1 << 30],
    'The largest request body, uploads included.',
  ),
  upload_bytes_max: integer(
    10 << 20,
    'bytes',
    [1 << 10, 1 << 30],
    'The largest single file. Guilds of premium tier 2 take files of 50 MiB and of tier 3 of 100 MiB, and people with a premium type send 50 or 500 MiB, as far as `request_bytes_max` lets them arrive.',
  ),
  attachment_signatures_required: boolean(
    true,
    'Whether a link to an attachment must carry a valid signature that has not expired. Answers always carry one. `guildhall dev` requires none unless this is set.',
  ),
  request_timeout_ms: integer(30_000, 'ms', [100, HOUR_MS], 'Time limit for a client to send one request.'),
};

const ACTORS = {
  guild_backlog_max: integer(
    4096,
    'commands',
    [1, 1_000_000],
    'Most commands that wait for one guild; further ones are answered 503.',
  ),
  guild_member_window_max: integer(
    5000,
    'members',
    [100, 10_000_000],
    'Most members without a session that one guild keeps in memory.',
  ),
  guild_message_window_max: integer(
    500,
    'messages',
    [10, 1_000_000],
    'Most messages that one guild keeps in memory.',
  ),
  guild_idle_ms: integer(
    5 * MINUTE_MS,
    'ms',
    [1000, 30 * DAY_MS],
    'How long a guild without sessions or commands stays in memory.',
  ),
  user_idle_ms: integer(
    5 * MINUTE_MS,
    'ms',
    [1000, 30 * DAY_MS],
    'How long a user or private channel without sessions or commands stays in memory.',
  ),
  drain_timeout_ms: integer(
    10_000,
    'ms',
    [100, HOUR_MS],
    'Time limit of a shutdown, in which sessions are asked to reconnect and commits are flushed.',
  ),
};

/** The settings by the chapters of the settings page. */
export const SECTIONS = {
  Listening: LISTENING,
  Storage: STORAGE,
  'Identity and permissions': IDENTITY,
  'Accounts of people': ACCOUNTS,
  Payments: PAYMENTS,
  Gateway: GATEWAY,
  Voice: VOICE,
  'HTTP API': HTTP,
  'Guilds and users in memory': ACTORS,
  Cluster: CLUSTER,
  Operation: OPERATION,
};

/** Every setting of the server, once. Keys carry their unit last. */
export const SETTINGS = {
  ...LISTENING,
  ...STORAGE,
  ...IDENTITY,
  ...ACCOUNTS,
  ...PAYMENTS,
  ...GATEWAY,
  ...VOICE,
  ...HTTP,
  ...ACTORS,
  ...CLUSTER,
  ...OPERATION,
};

export type ConfigKey = keyof typeof SETTINGS;
export type Config = { readonly [K in ConfigKey]: Static<(typeof SETTINGS)[K]['schema']> };

const KEYS = Object.keys(SETTINGS) as ConfigKey[];
const settingOf = (key: ConfigKey): Setting => SETTINGS[key];

/** The default of every setting. */
export const DEFAULTS = Object.freeze(
  Object.fromEntries(KEYS.map((key) => [key, settingOf(key).default])),
) as Config;

/** Settings from one source. Later layers take precedence. */
export interface ConfigLayer {
  /** Name of the source in errors: `guildhall.yaml`, `the environment`, `the command line`. */
  readonly from: string;
  readonly values: Readonly<Record<string, unknown>>;
  /** Whether values are text (environment, flags) that is converted to the type of their setting. */
  readonly text?: boolean;
  /** How a key is written in the source, for errors: `GUILDHALL_LISTEN_PORT`. */
  readonly spell?: (key: string) => string;
}

/** Invalid settings; lists every problem, a sentence each. */
export class ConfigError extends RangeError {
  override readonly name = 'ConfigError';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.problems = problems;
  }
}

/**
 * Applies the layers over the defaults and validates every value.
 *
 * @throws ConfigError naming, for each invalid setting, its source, its value and what is expected.
 */
export function parseConfig(layers: readonly ConfigLayer[]): Config {
  const problems: string[] = [];
  const config: Record<string, unknown> = { ...DEFAULTS };
  for (const layer of layers) {
    const spell = layer.spell ?? ((key: string) => key);
    for (const [key, given] of Object.entries(layer.values)) {
      if (given === undefined) continue;
      if (!isConfigKey(key)) {
        const near = nearest(key.toLowerCase().replaceAll('-', '_'), KEYS);
        const hint = near === null ? 'See `guildhall config print`.' : `Did you mean ${spell(near)}?`;
        problems.push(`${spell(key)} in ${layer.from} is not a setting. ${hint}`);
        continue;
      }
      const setting = settingOf(key);
      const value = layer.text && typeof given === 'string' ? fromText(setting, given) : given;
      if (Value.Check(setting.schema, value)) config[key] = value;
      else {
        const shown = setting.secret ? '[secret]' : shownValue(given);
        problems.push(`${spell(key)} in ${layer.from} is ${shown}; it must be ${setting.expected}.`);
      }
    }
  }
  const parsed = config as Config;
  problems.push(...contradictions(parsed));
  if (problems.length > 0) throw new ConfigError(problems);
  return parsed;
}

/** Formats a value for an error; values from programs may have no JSON form. */
const shownValue = (value: unknown): string =>
  typeof value === 'string' || (typeof value === 'object' && value !== null)
    ? JSON.stringify(value)
    : String(value);

export function isConfigKey(key: string): key is ConfigKey {
  return Object.hasOwn(SETTINGS, key);
}

/** Checks that involve more than one setting. */
function contradictions(config: Config): string[] {
  const s3 = ['s3_endpoint', 's3_bucket', 's3_access_key_id', 's3_secret_access_key'] as const;
  const missing = s3.filter((key) => config[key] === null);
  const problems: string[] = [];
  if (missing.length > 0 && missing.length < s3.length)
    problems.push(`An S3 store needs ${missing.join(' and ')} too; or none of ${s3.join(', ')}.`);
  if (config.upload_bytes_max > config.request_bytes_max)
    problems.push(
      `upload_bytes_max (${config.upload_bytes_max}) is more than request_bytes_max (${config.request_bytes_max}): no such file could arrive.`,
    );
  const tokens = adminTokens(config);
  for (const [what, values] of [
    ['names', ['admin_token', ...tokens.map(({ name }) => name)]],
    ['secrets', [config.admin_token, ...tokens.map(({ secret }) => secret)]],
  ] as const)
    if (new Set(values).size < values.length)
      problems.push(`The ${what} in admin_tokens must differ from each other and from admin_token.`);
  return problems;
}

/** The named tokens of the admin API. */
export const adminTokens = ({ admin_tokens: list }: Pick<Config, 'admin_tokens'>) =>
  (list ?? '').split(/ *, */).flatMap((pair) => {
    const at = pair.indexOf('=');
    return at < 1 ? [] : [{ name: pair.slice(0, at), secret: pair.slice(at + 1) }];
  });

/** Converts text to the type of the setting; text that does not fit is returned unchanged and fails validation. */
function fromText(setting: Setting, given: string): unknown {
  if (setting.default === null) return given === '' || given === 'null' ? null : given;
  if (typeof setting.default === 'number') return /^-?\d{1,15}$/.test(given) ? Number(given) : given;
  if (typeof setting.default !== 'boolean') return given;
  if (given === 'true' || given === '1') return true;
  return given === 'false' || given === '0' ? false : given;
}

/** Whether only this machine can reach the address or name; IPv6 with or without brackets. */
export function isLoopback(host: string): boolean {
  const name = host.toLowerCase().replace(/^\[|\]$/g, '');
  if (name === 'localhost' || name.endsWith('.localhost') || name === '::1') return true;
  return /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(name);
}

/** The settings that decide whether other machines reach a server. */
type Reach = Pick<Config, 'listen_host' | 'public_url' | 'admin_host' | 'voice' | 'voice_host'>;

/**
 * The settings through which other machines reach the server, the one for clients first; empty for a server on loopback
 * only. All code uses this to decide whether a server is public: behind a proxy on this machine a server is public although
 * it listens on loopback, which only `public_url` shows.
 */
export function publicSettings(config: Reach): readonly (keyof Reach)[] {
  const { listen_host, public_url, admin_host, voice, voice_host } = config;
  const found: (keyof Reach)[] = [];
  if (!isLoopback(listen_host)) found.push('listen_host');
  if (public_url !== null && !isLoopback(new URL(public_url).hostname)) found.push('public_url');
  if (voice && !isLoopback(voice_host)) found.push('voice_host');
  if (!isLoopback(admin_host)) found.push('admin_host');
  return found;
}

export const isPublic = (config: Reach): boolean => publicSettings(config).length > 0;

/** The settings for display: secrets are masked, and so is the password in the database URL. */
export function shownConfig(config: Config): Record<ConfigKey, unknown> {
  const shown = KEYS.map((key) => [key, settingOf(key).secret ? masked(config[key]) : config[key]]);
  return Object.fromEntries(shown);
}

function masked(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  const url = /^(postgres(?:ql)?:\/\/)(?:.*@)?([^?]*)/s.exec(value);
  return url === null ? '[secret]' : `${url[1]}[secret]@${url[2]}`;
}

/** JSON Schema of the settings file. */
export function configSchema(): object {
  const properties = KEYS.map((key) => {
    const { schema, default: initial, doc } = settingOf(key);
    return [key, { ...schema, default: initial, description: doc }];
  });
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Guildhall settings',
    type: 'object',
    additionalProperties: false,
    properties: Object.fromEntries(properties),
  };
}
