import type { Lifetime } from '../actors/runtime/clock.ts';
import { clockBehind, raisedByStores } from '../actors/runtime/snowflakes.ts';
import { s3Of } from '../config/choices.ts';
import type { Config } from '../config/config.ts';
import { makeDirectory, PRIVATE_MODE } from '../directories.ts';
import type { EngineOptions } from '../embedding.ts';
import { serverSecret } from '../services/identity/serversecret.ts';
import { reportMigration } from '../services/operator/migrationreport.ts';
import type { Blobs, ListedBlobs } from '../storage/blob/blobs.ts';
import { openBlobs as openBlobStore } from '../storage/blob/open.ts';
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

/** Opens the configured stores, except those that the embedding program provides; `lifetime` closes the database. */
export async function openStores(
  foundation: Pick<Foundation, 'config' | 'randomBytes' | 'onFault' | 'ids' | 'clock' | 'worker' | 'logger'>,
  given: Pick<EngineOptions, 'storage' | 'blobs'>,
  lifetime: Lifetime,
): Promise<Stores> {
  const { config, onFault, logger, ids, clock, worker } = foundation;
  // Attachments, e-mails and certificates are written later; a directory that cannot be created is reported now.
  if (config.data_dir !== null) await makeDirectory(config.data_dir, PRIVATE_MODE);
  const storage =
    given.storage ??
    (await openStorage({
      ...(config.database_url !== null && { databaseUrl: config.database_url }),
      ...(config.data_dir !== null && { dataDirectory: config.data_dir }),
      connectionsMax: config.postgres_connections,
      onMigrated: (report) => reportMigration(report, logger),
      onUnprepared: (reason) => logger.info(reason),
      writer: {
        groupCommitsMax: config.commit_batch_max,
        depthMax: config.commit_depth_max,
        retry: { forMs: config.commit_retry_ms, clock },
      },
    }));
  lifetime.own(() => storage.close());
  // Ids that the embedding program generates are its own affair.
  if (ids !== null)
    await storage.followIds(
      raisedByStores(ids, clock, worker, (behindMs) => logger.warn({ behindMs }, clockBehind(behindMs))),
    );
  const secret = await serverSecret({ ...foundation, storage });
  const blobs = given.blobs ?? openBlobs(config);
  storage.onFilesGone(fileRemoval(blobs, attachmentKey, (error) => onFault(error, 'blobs')));
  return { storage, blobs, secret };
}

/** Opens the configured store of files. */
export const openBlobs = (config: Config): ListedBlobs =>
  openBlobStore({ s3: s3Of(config), folder: config.data_dir });
