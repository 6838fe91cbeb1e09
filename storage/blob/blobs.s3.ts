import { createHash } from 'node:crypto';
import { AwsClient } from 'aws4fetch';
import { messageOf, StorageFault } from '../database/driver.ts';
import { assertBlobKey, isBlobKey } from './blobkey.ts';
import type { ListedBlobs } from './blobs.ts';

interface S3Options {
  /** Scheme, host and port of the store, such as `https://s3.example.org`. Buckets are addressed by path. */
  readonly endpoint: string;
  readonly bucket: string;
  readonly region?: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

/** Retries after answers of 429 and 5xx, with growing delays. */
const RETRIES = 3;
const TIMEOUT_MS = 60_000;

type Ask = (method: string, key: string, init?: RequestInit) => Promise<Response | null>;

/** Sends signed requests for keys below `root`. Returns null for 404; throws a StorageFault for every other failure. */
const asking =
  (client: AwsClient, root: string): Ask =>
  async (method, key, init = {}) => {
    const where = `${method} of ${key}`;
    // Only the wait for the response is bounded: its body is read at the consumer's pace.
    const abort = new AbortController();
    const timer = setTimeout(() => abort.abort(new Error('no answer in time')), TIMEOUT_MS);
    let response: Response;
    try {
      response = await client.fetch(`${root}${key.startsWith('?') ? '' : '/'}${key}`, {
        ...init,
        method,
        signal: abort.signal,
      });
    } catch (error) {
      throw new StorageFault(`The blob store did not answer the ${where}: ${messageOf(error)}`, {
        cause: error,
      });
    } finally {
      clearTimeout(timer);
    }
    if (response.ok || response.status === 416) return response;
    await response.body?.cancel();
    if (response.status === 404) return null;
    throw new StorageFault(`The blob store answered the ${where} with ${response.status}.`);
  };

/** The text of the elements with this name; keys and tokens contain no other entity than `&amp;`. */
const elements = (name: string, xml: string): string[] =>
  [...xml.matchAll(new RegExp(`<${name}>([^<]*)</${name}>`, 'g'))].map(([, value = '']) =>
    value.replaceAll('&amp;', '&'),
  );

/** Lists a bucket, a page of at most 1,000 keys at a time. @source https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectsV2.html */
async function* keysOf(ask: Ask, bucket: string): AsyncGenerator<string> {
  for (let token: string | null = ''; token !== null; ) {
    const query = new URLSearchParams({ 'list-type': '2', ...(token && { 'continuation-token': token }) });
    const response = await ask('GET', `?${query}`);
    if (!response) throw new StorageFault(`The blob store has no bucket ${bucket}.`);
    const xml = await response.text();
    yield* elements('Key', xml).filter(isBlobKey);
    token = elements('NextContinuationToken', xml)[0] ?? null;
  }
}

/**
 * Stores blobs in a store with the S3 protocol. Requests are signed with Signature Version 4.
 *
 * Every method throws a StorageFault when the store fails or refuses.
 */
export function openS3Blobs(options: S3Options): ListedBlobs {
  const client = new AwsClient({
    accessKeyId: options.accessKeyId,
    secretAccessKey: options.secretAccessKey,
    ...(options.sessionToken !== undefined && { sessionToken: options.sessionToken }),
    service: 's3',
    region: options.region ?? 'us-east-1',
    retries: RETRIES,
  });
  const root = `${options.endpoint.replace(/\/+$/, '')}/${options.bucket}`;

  const ask = asking(client, root);
  return {
    put: async (key, bytes, contentType) => {
      assertBlobKey(key);
      // Copied, because the bytes may be a view of a pool and the client needs a buffer of its own.
      const body = new Uint8Array(bytes);
      const digest = createHash('sha256').update(body).digest('hex');
      const headers = { 'content-type': contentType, 'x-amz-content-sha256': digest };
      const response = await ask('PUT', key, { body, headers });
      if (!response) throw new StorageFault(`The blob store has no bucket ${options.bucket}.`);
      await response.body?.cancel();
    },
    head: async (key) => {
      const response = isBlobKey(key) ? await ask('HEAD', key) : null;
      if (!response) return null;
      const size = response.headers.get('content-length');
      if (size === null) throw new StorageFault(`The blob store sent no content-length for ${key}.`);
      const contentType = response.headers.get('content-type') ?? 'application/octet-stream';
      return { size: Number(size), contentType };
    },
    read: async (key, range) => {
      if (!isBlobKey(key)) return null;
      // HTTP cannot express an empty range, but whether the blob exists must still be checked.
      const empty = range !== undefined && range.end <= range.start;
      const headers = new Headers();
      if (range && !empty) headers.set('range', `bytes=${range.start}-${range.end - 1}`);
      const response = await ask(empty ? 'HEAD' : 'GET', key, { headers });
      if (!response) return null;
      if (!empty && response.status !== 416 && response.body) return response.body;
      // 416: the blob ends before the range begins.
      await response.body?.cancel();
      return (async function* () {})();
    },
    delete: async (key) => {
      if (!isBlobKey(key)) return;
      await (await ask('DELETE', key))?.body?.cancel();
    },
    list: () => keysOf(ask, options.bucket),
  };
}
