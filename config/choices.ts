import { isIPv6 } from 'node:net';
import { type Config, isLoopback, isPublic, parseConfig } from './config.ts';

/** Whether people may make accounts themselves: `auto` opens the registration of a server that is not public. */
export const isRegistrationOpen = (config: Config): boolean =>
  config.registration === 'auto' ? !isPublic(config) : config.registration === 'open';

/** The configured day whose dated rules apply, Unix milliseconds; null for today. */
export const contractMsOf = ({ contract_date: date }: Config): number | null =>
  date === null ? null : Date.parse(date);

/** The day whose dated rules apply: the configured one, or today. Unix milliseconds. */
export const rulesMsOf = (config: Config, nowMs: number): number => contractMsOf(config) ?? nowMs;

const FREE_PORTS = { voice_port: 0, voice_udp_port: 0, voice_webrtc_port: 0 };

/** When the engine listens on any free port, so do its calls: many engines fit in one process. */
export const withFreePorts = (given: Partial<Config>): Partial<Config> =>
  given.listen_port === 0 ? { ...FREE_PORTS, ...given } : given;

/** The directory of a process: the embedding program's, etcd, one for the journal alone, or none. */
type DirectoryKind = 'given' | 'etcd' | 'solo' | 'none';

/**
 * @param given What the embedding program provides.
 * @throws RangeError when each shard would have a database of its own.
 */
export function directoryKind(
  config: Config,
  given: { readonly directory?: unknown; readonly storage?: unknown },
): DirectoryKind {
  if (!given.directory && config.etcd_urls === null) return config.journal === 'on' ? 'solo' : 'none';
  if (!given.storage && config.database_url === null)
    throw new RangeError('Shards share a database: many of them need PostgreSQL. Set database_url.');
  return given.directory ? 'given' : 'etcd';
}

/** The name of a shard: the configured one, or one made of host and port, which survives a restart. */
export const shardNameOf = (config: Config, host: string, pid: number): string =>
  config.shard_id ??
  `${host}-${config.link_port || pid}`
    .toLowerCase()
    .replace(/[^a-z0-9-]/g, '-')
    .slice(-63)
    .replace(/^-+/, '');

/** Whether other machines reach links that are not encrypted. */
export const hasExposedLinks = (config: Config, isEncrypted: boolean): boolean =>
  !isEncrypted && !isLoopback(config.link_host);

/** The URL of a WebSocket on the same host and port. */
export const socketUrlOf = (url: string): string => url.replace(/^http/, 'ws');

/** Base URLs of a server as clients should use them, without a slash. */
export function baseUrlsOf({ public_url: publicUrl, listen_host: host }: Config, port: number) {
  const origin = publicUrl ?? `http://${isIPv6(host) ? `[${host}]` : host}:${port}`;
  return { origin, gateway: socketUrlOf(origin) };
}

/** Pages of this machine, which may show activities of a development server. */
const LOCAL_PAGES = ['http://localhost:*', 'http://127.0.0.1:*'];

/** Where activities are served; null when they are not. */
export function activitiesOf(config: Config) {
  const { activities_url: baseUrl, activities_port: port } = config;
  if (baseUrl === null) return null;
  const allowsLoopback = !isPublic(config);
  return {
    baseUrl,
    port: port === 0 ? Number(new URL(baseUrl).port || 0) : port,
    allowsLoopback,
    localPages: allowsLoopback ? LOCAL_PAGES : [],
  };
}

/** The account at the payment provider; null when no payments are configured. */
export function stripeOf({ stripe_key: key, stripe_webhook_secret: secret, stripe_url: url }: Config) {
  return key === null || secret === null ? null : { key, secret, url };
}

/** The object store for files; null when it is not configured. */
export function s3Of(config: Config) {
  const { s3_endpoint: endpoint, s3_bucket: bucket, s3_region: region } = config;
  const { s3_access_key_id: accessKeyId, s3_secret_access_key: secretAccessKey } = config;
  return endpoint && bucket && accessKeyId && secretAccessKey
    ? { endpoint, bucket, region, accessKeyId, secretAccessKey }
    : null;
}

/** Whether a proxy stands before the voice port of its own, and may say who the client is. */
export const trustsProxyOfVoice = (config: Config): boolean =>
  config.trust_proxy && config.voice_tls === 'off';

/** Upper bound on gateway sessions: a detached one may still be resumable while another socket has taken its place. */
export const sessionsMaxOf = (config: Config): number => config.sockets_max * 2;

/** Whether calls refuse clients without end-to-end encryption. The dated rule may be that of a day before it. */
export const isE2eeRequired = (config: Config, isRuleInForce: boolean): boolean =>
  config.e2ee_required && isRuleInForce;

/**
 * Worker threads that forward media; 0 forwards them in the main thread. Threads need built files; injected loss is
 * decided in the main thread.
 */
export const voiceWorkersOf = (
  config: Config,
  { isBuilt, losesPackets }: { readonly isBuilt: boolean; readonly losesPackets: boolean },
): number => (isBuilt && !losesPackets ? config.voice_workers : 0);

/** Whether the built pages are served: the voice room and the playground. */
export const servesWeb = (config: Config): boolean => config.voice || config.playground;

/** The address for browsers in calls; null when it is to be found out. */
export const webrtcHostOf = ({ voice_webrtc_address: given, voice_host: host }: Config): string | null =>
  given === 'auto' ? null : (given ?? host);

/**
 * Checks the settings that a program passes to `of`. @throws TypeError when they are no object. @throws ConfigError for
 * invalid settings, all of them at once.
 */
export function checkSettings(values: unknown = {}, of: string): void {
  if (!isSettings(values)) throw new TypeError(`The option config of ${of} must be an object of settings.`);
  parseConfig([{ from: `the config of ${of}`, values }]);
}

const isSettings = (values: unknown): values is Record<string, unknown> =>
  typeof values === 'object' && values !== null && !Array.isArray(values);
