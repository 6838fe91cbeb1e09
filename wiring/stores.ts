import { join } from 'node:path';
import type { Config } from '../config.ts';
import type { EngineOptions } from '../embedding.ts';
import { openDiskBlobs } from '../storage/blobs.disk.ts';
import { openMemoryBlobs } from '../storage/blobs.memory.ts';
import { openS3Blobs } from '../storage/blobs.s3.ts';
import type { Blobs } from '../storage/blobs.ts';
import { openStorage } from '../storage/open.ts';
import type { Storage } from '../storage/ports.ts';
import { fileRemoval } from './files.ts';
import type { Foundation } from './foundation.ts';

export interface Stores {
  readonly storage: Storage;
  readonly blobs: Blobs;
  /** Key of signed links. */
  readonly secret: string;
}

const SECRET_BYTES = 32;

/** Opens what the settings name, unless the embedding program has brought its own. */
export async function openStores(
  config: Config,
  given: Pick<EngineOptions, 'storage' | 'blobs'>,
  { randomBytes, onFault }: Pick<Foundation, 'randomBytes' | 'onFault'>,
): Promise<Stores> {
  const storage =
    given.storage ??
    (await openStorage({
      ...(config.database_url !== null && { databaseUrl: config.database_url }),
      ...(config.data_dir !== null && { directory: join(config.data_dir, 'database') }),
      connectionsMax: config.postgres_connections,
      writer: { groupCommitsMax: config.commit_batch_max, depthMax: config.commit_depth_max },
    }));
  const fresh = Buffer.from(randomBytes(SECRET_BYTES)).toString('hex');
  const secret = config.token_secret ?? (await storage.settings.putIfAbsent('link_secret', fresh));
  const blobs = given.blobs ?? openBlobs(config);
  storage.onFilesGone(fileRemoval(blobs, (error) => onFault(error, 'blobs')));
  return { storage, blobs, secret };
}

function openBlobs(config: Config): Blobs {
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
