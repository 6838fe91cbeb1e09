import { ANY, HTTP_URL, integer, MINUTE_MS, optional, string } from './kinds.ts';

/** Settings of the database and of the store of files. */
export const STORAGE = {
  database_url: optional(
    'a URL such as postgres://user:password@host/database',
    '^postgres(ql)?://.+$',
    'The PostgreSQL database. When null the embedded database is used. The variable DATABASE_URL is read too. With `?pooler=transaction` for PgBouncer or another pooler of transactions.',
    true,
  ),
  data_dir: optional(
    'a directory',
    ANY,
    'Directory of the embedded database and the attachments. When null everything is in memory and lost at exit.',
  ),
  postgres_connections: integer(8, 'connections', [1, 500], 'Most connections to PostgreSQL.'),
  commit_batch_max: integer(512, 'commits', [1, 10_000], 'Most commits written in one transaction.'),
  commit_depth_max: integer(
    20_000,
    'commits',
    [1, 1_000_000],
    'Most commits that wait for the database; further writes are answered 503.',
  ),
  commit_retry_ms: integer(
    5_000,
    'ms',
    [0, MINUTE_MS],
    'How long commits and reads are repeated after the connection to PostgreSQL was lost. Requests wait meanwhile; then they are answered 503 until the database answers.',
  ),
  s3_endpoint: optional(
    'a URL such as https://s3.example.org',
    HTTP_URL,
    'An S3-compatible store for attachments and images. When null they are kept on disk.',
  ),
  s3_bucket: optional('a bucket name', '^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$', 'Bucket in that store.'),
  s3_region: string('us-east-1', 'Region that requests to the store are signed for.'),
  s3_access_key_id: optional('a text', ANY, 'Access key of the store.'),
  s3_secret_access_key: optional('a text', ANY, 'Secret key of the store.', true),
};
