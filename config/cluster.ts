import { ANY, choice, DAY_MS, MINUTE_MS, optional, PORT, text, whole } from './kinds.ts';

/** Settings of many processes that are one server. Of no effect while there is one. */
export const CLUSTER = {
  cluster_id: text('guildhall', 'Name of the cluster: shards of another are refused.'),
  shard_id: optional(
    'a name such as shard-0',
    '^[a-z0-9][a-z0-9-]{0,62}$',
    'Name of this shard, the same after a restart. When null it is made of the host name and the port of its links.',
  ),
  shard_weight: whole(
    100,
    'shares',
    [1, 10_000],
    'How much of the partitions this shard takes, beside the weights of the others.',
  ),
  etcd_urls: optional(
    'URLs such as http://etcd-0:2379, parted by commas',
    '^https?://[^\\s,]+( *, *https?://[^\\s,]+)*$',
    'The etcd that holds membership and ownership. When null this process is alone, or under a supervisor (`--shards`).',
  ),
  etcd_username: optional('a name', ANY, 'User of etcd, where it asks for one.'),
  etcd_password: optional('a password', ANY, 'Password of that user.', true),
  etcd_ca_file: optional('a file', ANY, 'Certificates (PEM) that etcd is trusted by, for https URLs.'),
  partitions: whole(
    1024,
    'partitions',
    [1, 65_536],
    'Slices of the id space. The same on all shards, and for the life of a database.',
  ),
  lease_ttl_ms: whole(
    10_000,
    'ms',
    [1000, 10 * MINUTE_MS],
    'How long a shard that is not heard of keeps what it owns.',
  ),
  link_host: text('127.0.0.1', 'Address that links of other shards are served on.'),
  link_port: whole(0, 'port', PORT, 'Port of the same; 0 picks a free one.'),
  link_address: optional(
    'a host and port',
    '^[^\\s/?#]+:\\d{1,5}$',
    'How other shards reach this one. When null, where it listens.',
  ),
  link_ca_file: optional(
    'a file',
    ANY,
    'Certificates (PEM) that other shards are trusted by: with it links are TLS both ways.',
  ),
  link_cert_file: optional('a file', ANY, 'Certificate of this shard, PEM.'),
  link_key_file: optional('a file', ANY, 'Private key of that certificate, PEM.'),
  link_bytes_max: whole(
    64 << 20,
    'bytes',
    [1 << 20, 1 << 30],
    'What may wait for another shard; beyond it its stream is broken off and begun anew.',
  ),
  command_deadline_ms: whole(
    10_000,
    'ms',
    [100, 10 * MINUTE_MS],
    'How long a command waits for whoever is to decide it, over a change of hands; then it is answered 503.',
  ),
  handover_timeout_ms: whole(
    5000,
    'ms',
    [100, 10 * MINUTE_MS],
    'The longest that the work under way may hold up a change of hands.',
  ),
  journal: choice(
    'auto',
    ['auto', 'on', 'off'],
    'Whether what sessions are sent is written down, so that they outlive their process. With auto, while there is more than one.',
  ),
  journal_dir: optional(
    'a directory',
    ANY,
    'Where that is kept. When null, `journal` in the data directory.',
  ),
  journal_bytes_max: whole(
    512 << 20,
    'bytes',
    [1 << 20, 2 ** 40],
    'What the journal of one shard takes on disk at most; the oldest goes first.',
  ),
  stream_dispatches_max: whole(
    4096,
    'dispatches',
    [16, 1_000_000],
    'Dispatches of one guild that are at hand for sessions that come over from another shard.',
  ),
  record_age_ms: whole(
    5 * MINUTE_MS,
    'ms',
    [1000, DAY_MS],
    'How long the database keeps what a command told and answered, for the next owner.',
  ),
  loads_max: whole(
    4,
    'aggregates',
    [1, 500],
    'Guilds, users and the like that a shard reads at once when their owner has gone; each takes a connection or two. The others wait in order.',
  ),
  loads_waiting_max: whole(
    20_000,
    'aggregates',
    [1, 10_000_000],
    'How many may wait to be read; beyond it what was asked of them is answered 503, or tried again.',
  ),
  identifies_per_sec: whole(
    1000,
    'sessions per second',
    [1, 1_000_000],
    'Sessions that one shard lets begin; more wait for their turn.',
  ),
  identifies_waiting_max: whole(
    20_000,
    'sessions',
    [1, 10_000_000],
    'Sessions that may wait for their turn; beyond it they are told to try again (op 9).',
  ),
};
