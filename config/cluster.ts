import { ANY, boolean, choice, DAY_MS, integer, MINUTE_MS, optional, PORT, string } from './kinds.ts';

/** Settings of a server of several processes. They have no effect for a single process. */
export const CLUSTER = {
  cluster_id: string('guildhall', 'Name of the cluster. Shards of another cluster are refused.'),
  shard_id: optional(
    'a name such as shard-0',
    '^[a-z0-9][a-z0-9-]{0,62}$',
    'Name of this shard, which must be the same after a restart. When null it is derived from the host name and the port of its links.',
  ),
  shard_weight: integer(
    100,
    'shares',
    [1, 10_000],
    'Share of the partitions that this shard owns, relative to the weights of the others.',
  ),
  etcd_urls: optional(
    'URLs such as http://etcd-0:2379, separated by commas',
    '^https?://[^\\s,]+( *, *https?://[^\\s,]+)*$',
    'The etcd cluster that keeps membership and ownership. When null this is a single process, or has a supervisor (`--shards`).',
  ),
  etcd_username: optional('a name', ANY, 'User of etcd, if it requires one.'),
  etcd_password: optional('a password', ANY, 'Password of that user.', true),
  etcd_ca_file: optional('a file', ANY, 'CA certificates (PEM) for etcd with https URLs.'),
  partitions: integer(
    1024,
    'partitions',
    [1, 65_536],
    'Number of partitions of the id space. It must be the same on all shards, and cannot change during the life of a database.',
  ),
  lease_ttl_ms: integer(
    10_000,
    'ms',
    [1000, 10 * MINUTE_MS],
    'How long a shard that does not renew its lease keeps its partitions.',
  ),
  link_host: string('127.0.0.1', 'Address on which this shard accepts links of other shards.'),
  link_port: integer(0, 'port', PORT, 'Port of these links; 0 picks a free port.'),
  link_address: optional(
    'a host and port',
    '^[^\\s/?#]+:\\d{1,5}$',
    'Address by which other shards reach this one. When null, the listening address.',
  ),
  link_ca_file: optional(
    'a file',
    ANY,
    'CA certificates (PEM) for links; when set, links use TLS and both sides must present a certificate.',
  ),
  link_cert_file: optional('a file', ANY, 'Certificate of this shard, PEM.'),
  link_key_file: optional('a file', ANY, 'Private key of that certificate, PEM.'),
  link_bytes_max: integer(
    64 << 20,
    'bytes',
    [1 << 20, 1 << 30],
    'Most bytes queued for another shard; beyond it the queue is dropped and the stream is restarted.',
  ),
  command_deadline_ms: integer(
    10_000,
    'ms',
    [100, 10 * MINUTE_MS],
    'How long a command waits while its aggregate has no owner, as during a handover; then it is answered 503.',
  ),
  handover_timeout_ms: integer(
    5000,
    'ms',
    [100, 10 * MINUTE_MS],
    'Longest time that work in progress may delay a handover.',
  ),
  journal: choice(
    'auto',
    ['auto', 'on', 'off'],
    'Whether dispatches to sessions are journaled on disk, so that sessions survive a crash of their process. With auto, only with more than one process.',
  ),
  journal_dir: optional(
    'a directory',
    ANY,
    'Directory of the journal. When null, `journal` in the data directory.',
  ),
  journal_bytes_max: integer(
    512 << 20,
    'bytes',
    [1 << 20, 2 ** 40],
    'Most disk space for the journal of one shard; the oldest part is deleted first.',
  ),
  stream_dispatches_max: integer(
    4096,
    'dispatches',
    [16, 1_000_000],
    'Dispatches of one guild kept in memory for sessions that move from another shard.',
  ),
  record_age_ms: integer(
    5 * MINUTE_MS,
    'ms',
    [1000, DAY_MS],
    'How long the database keeps the dispatches and the reply of a command for the next owner.',
  ),
  loads_max: integer(
    4,
    'aggregates',
    [1, 500],
    'Most aggregates that a shard loads concurrently after their owner has gone; each takes a connection or two. Further ones are queued.',
  ),
  loads_waiting_max: integer(
    20_000,
    'aggregates',
    [1, 10_000_000],
    'Most aggregates queued for loading; commands for further ones are answered 503, or retried.',
  ),
  identifies_per_sec: integer(
    1000,
    'sessions per second',
    [1, 1_000_000],
    'Most sessions that one shard starts concurrently; further ones are queued.',
  ),
  identifies_waiting_max: integer(
    20_000,
    'sessions',
    [1, 10_000_000],
    'Most queued session starts; further sessions get Invalid Session (op 9) and must retry.',
  ),
};

/** Settings of logs, metrics and memory. */
export const OPERATION = {
  log_format: choice(
    'auto',
    ['auto', 'json', 'pretty'],
    'How the log is written to standard error: JSON lines, or lines for people. `auto` is for people on a terminal, in colour unless `NO_COLOR` is set, and JSON elsewhere.',
  ),
  log_level: choice(
    'info',
    ['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace'],
    'Least severity of log lines, which are written to standard error.',
  ),
  metrics: boolean(true, 'Whether metrics are collected and served at /metrics of the admin port.'),
  compact_heap: boolean(
    true,
    'Whether an idle process compacts its heap when a quarter of it is free, and returns that memory to the system. Nothing else runs meanwhile: about 5 ms for a megabyte in use, at most once a minute.',
  ),
};
