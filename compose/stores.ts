import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import { makeDirectory } from '../directories.ts';
import type { EngineOptions } from '../embedding.ts';
import { openDiskBlobs } from '../storage/blob/blobs.disk.ts';
import { openMemoryBlobs } from '../storage/blob/blobs.memory.ts';
import { openS3Blobs } from '../storage/blob/blobs.s3.ts';
import type { Blobs, ListedBlobs } from '../storage/blob/blobs.ts';
import { fileRemoval } from '../storage/blob/removal.ts';
import { openStorage } from '../storage/open.ts';
import type { Storage } from '../storage/ports.ts';
import { attachmentKey } from '../transports/rest/image.ts';
import type { Foundation } from './foundation.ts';

export interface Stores {
  readonly storage: Storage;
  readonly blobs: Blobs;
  /** Key of signed links. */
  readonly secret: string;
}

const SECRET_BYTES = 32;

/** The secret that signs links and seals values: the configured one, or one generated once and stored. */
export async function serverSecret(
  { token_secret: given }: Config,
  { settings }: Pick<Storage, 'settings'>,
  randomBytes: (size: number) => Uint8Array,
): Promise<string> {
  return given ?? settings.putIfAbsent('link_secret', Buffer.from(randomBytes(SECRET_BYTES)).toString('hex'));
}

/** Opens the configured stores, except those that the embedding program provides. */
export async function openStores(
  config: Config,
  given: Pick<EngineOptions, 'storage' | 'blobs'>,
  foundation: Pick<Foundation, 'randomBytes' | 'onFault' | 'ids' | 'clock' | 'worker' | 'logger'>,
): Promise<Stores> {
  const { randomBytes, onFault, logger } = foundation;
  // Attachments, e-mails and certificates are written later; a directory that cannot be created is reported now.
  if (config.data_dir !== null) await makeDirectory(config.data_dir, 0o700);
  const storage =
    given.storage ??
    (await openStorage({
      ...(config.database_url !== null && { databaseUrl: config.database_url }),
      ...(config.data_dir !== null && { dataDirectory: config.data_dir }),
      connectionsMax: config.postgres_connections,
      onMigrated: (report) => reportMigration(report, logger),
      onUnprepared: (reason) => logger.info(reason),
      writer: { groupCommitsMax: config.commit_batch_max, depthMax: config.commit_depth_max },
    }));
  try {
    await followIds(storage, foundation);
    const secret = await serverSecret(config, storage, randomBytes);
    const blobs = given.blobs ?? openBlobs(config);
    storage.onFilesGone(fileRemoval(blobs, attachmentKey, (error) => onFault(error, 'blobs')));
    return { storage, blobs, secret };
  } catch (error) {
    await storage.close();
    throw error;
  }
}

/**
 * Least clock lag that is logged. A restart within the second of a crash, or two machines with slightly different
 * clocks, stay below it.
 */
const BEHIND_MS = 5000;

/** Keeps new ids above the highest id in the database, and warns when the clock lags behind it. */
async function followIds(
  storage: Storage,
  { ids, clock, worker, logger }: Pick<Foundation, 'ids' | 'clock' | 'worker' | 'logger'>,
): Promise<void> {
  if (ids === null) return;
  await storage.followIds({
    lastMs: ids.lastMs,
    worker: () => worker.number,
    raise(ms) {
      const behindMs = ms - clock.now();
      if (behindMs > BEHIND_MS && ms > ids.lastMs())
        logger.warn(
          { behindMs },
          `The clock is ${Math.ceil(behindMs / 1000)} s behind the newest ids. New ones go on behind those, so they and ` +
            'the times in them run ahead of the clock for so long. Set the clock right.',
        );
      ids.raise(ms);
    },
  });
}

/** Most log lines for one report; the table holds the rest. */
const REPORTED_MAX = 1000;

function reportMigration(report: readonly string[], logger: Foundation['logger']): void {
  for (const line of report.slice(0, REPORTED_MAX)) logger.warn(line);
  logger.warn(
    { count: report.length },
    'The upgrade renamed people; the table username_renames lists them all.',
  );
}

/** Opens the configured store of files. */
export function openBlobs(config: Config): ListedBlobs {
  const { s3_endpoint, s3_bucket, s3_access_key_id, s3_secret_access_key, s3_region, data_dir } = config;
  if (s3_endpoint && s3_bucket && s3_access_key_id && s3_secret_access_key)
    return openS3Blobs({
      endpoint: s3_endpoint,
      bucket: s3_bucket,
      region: s3_region,
      accessKeyId: s3_access_key_id,
      secretAccessKey: s3_secret_access_key,
    });
  return data_dir === null ? openMemoryBlobs() : openDiskBlobs(join(data_dir, 'blobs'));
}
