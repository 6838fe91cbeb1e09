// Goal: blobs are read back as written, completely or in part, from the disk and from an S3 store, and no key leads outside of it.
import { createHash } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isBlobKey } from '../../storage/blob/blobkey.ts';
import { openDiskBlobs } from '../../storage/blob/blobs.disk.ts';
import { openS3Blobs } from '../../storage/blob/blobs.s3.ts';
import type { Blobs } from '../../storage/blob/blobs.ts';
import { startS3 } from './s3server.ts';

interface Opened {
  readonly blobs: Blobs;
  /** Everything the store holds, by its own names. */
  names(): Promise<string[]>;
  close(): Promise<void>;
}

async function openDisk(): Promise<Opened> {
  const parent = await mkdtemp(join(tmpdir(), 'guildhall-'));
  return {
    blobs: openDiskBlobs(join(parent, 'blobs')),
    names: async () =>
      (await readdir(parent, { recursive: true, withFileTypes: true }))
        .filter((each) => each.isFile())
        .map((each) => each.name),
    close: () => rm(parent, { recursive: true }),
  };
}

async function openS3(): Promise<Opened> {
  const server = await startS3();
  return {
    blobs: openS3Blobs(server.options),
    names: async () => [...server.stored.keys()],
    close: () => server.close(),
  };
}

const bytesOf = async (chunks: AsyncIterable<Uint8Array> | null): Promise<string | null> => {
  if (!chunks) return null;
  const all: Uint8Array[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return Buffer.concat(all).toString('latin1');
};

const HOSTILE = [
  '',
  '/',
  'a/',
  '/a',
  'a//b',
  '.',
  '..',
  '../a',
  'a/../../b',
  'a/./b',
  '.a',
  'A',
  'a b',
  'a%2e',
  'a~bytes',
  'a\0',
  'a\\b',
  'é',
  'x'.repeat(129),
  Array(200).fill('aaa').join('/'),
];

describe.each([
  ['disk', openDisk],
  ['S3', openS3],
] as const)('blobs on %s', (_, open) => {
  let opened: Opened;
  beforeAll(async () => {
    opened = await open();
  });
  afterAll(() => opened.close());

  test('a blob is put, described, read, replaced and deleted', async () => {
    const { blobs } = opened;
    const key = 'attachments/1/2/file-1.tar.gz';
    expect(await blobs.head(key)).toBeNull();
    expect(await blobs.read(key)).toBeNull();
    await blobs.put(key, Buffer.from('first'), 'text/plain; charset=utf-8');
    expect(await blobs.head(key)).toEqual({ size: 5, contentType: 'text/plain; charset=utf-8' });
    await blobs.put(key, Buffer.from('second!'), 'image/png');
    expect(await blobs.head(key)).toEqual({ size: 7, contentType: 'image/png' });
    expect(await bytesOf(await blobs.read(key))).toBe('second!');
    await blobs.delete(key);
    await blobs.delete(key);
    expect(await blobs.head(key)).toBeNull();
    expect(await blobs.read(key, { start: 0, end: 1 })).toBeNull();
    expect(await blobs.read(key, { start: 0, end: 0 })).toBeNull();
  });

  test('a range is read up to the end of the blob', async () => {
    const { blobs } = opened;
    await blobs.put('range', Buffer.from('0123456789'), 'text/plain');
    const read = async (start: number, end: number) => bytesOf(await blobs.read('range', { start, end }));
    expect(await read(0, 10)).toBe('0123456789');
    expect(await read(3, 5)).toBe('34');
    expect(await read(9, 100)).toBe('9');
    expect(await read(10, 20)).toBe('');
    expect(await read(4, 4)).toBe('');
  });

  test('an empty blob and a blob of many chunks are read back completely', async () => {
    const { blobs } = opened;
    await blobs.put('empty', new Uint8Array(0), 'text/plain');
    expect(await blobs.head('empty')).toEqual({ size: 0, contentType: 'text/plain' });
    expect(await bytesOf(await blobs.read('empty'))).toBe('');
    const large = Buffer.concat(
      Array.from({ length: 9_000 }, (__, n) => createHash('sha256').update(String(n)).digest()),
    );
    // A view that begins inside its memory, as a pooled buffer does.
    await blobs.put('large', large.subarray(7), 'application/octet-stream');
    expect(await bytesOf(await blobs.read('large'))).toBe(large.subarray(7).toString('latin1'));
    expect(await bytesOf(await blobs.read('large', { start: 100_000, end: 250_000 }))).toBe(
      large.subarray(100_007, 250_007).toString('latin1'),
    );
  });

  test('a blob and blobs below its name do not collide', async () => {
    const { blobs } = opened;
    await blobs.put('a', Buffer.from('outer'), 'text/plain');
    await blobs.put('a/b', Buffer.from('inner'), 'text/plain');
    expect(await bytesOf(await blobs.read('a'))).toBe('outer');
    expect(await bytesOf(await blobs.read('a/b'))).toBe('inner');
    await blobs.delete('a');
    expect(await bytesOf(await blobs.read('a/b'))).toBe('inner');
  });

  test('a reader may stop early', async () => {
    await opened.blobs.put('stopped', Buffer.alloc(300_000), 'text/plain');
    const chunks = await opened.blobs.read('stopped');
    for await (const chunk of chunks ?? []) {
      expect(chunk.length).toBeGreaterThan(0);
      break;
    }
    await opened.blobs.delete('stopped');
    expect(await opened.blobs.head('stopped')).toBeNull();
  });

  test('simultaneous writers leave one of their blobs, whole', async () => {
    const contents = Array.from({ length: 8 }, (__, n) => String(n).repeat(50_000));
    await Promise.all(contents.map((text) => opened.blobs.put('contended', Buffer.from(text), 'text/plain')));
    expect(contents).toContain(await bytesOf(await opened.blobs.read('contended')));
    expect((await opened.names()).filter((name) => /~[0-9a-f]{16}$/.test(name))).toEqual([]);
  });

  test.each(HOSTILE)('the key %j is rejected and writes nothing', async (key) => {
    const { blobs } = opened;
    const before = await opened.names();
    await expect(blobs.put(key, Buffer.from('x'), 'text/plain')).rejects.toThrow('malformed blob key');
    expect(await blobs.head(key)).toBeNull();
    expect(await blobs.read(key)).toBeNull();
    await blobs.delete(key);
    expect(await opened.names()).toEqual(before);
  });
});

test('a key is safe as a path and as a URL, whatever it is made of', () => {
  const character = fc.constantFrom(...'ab09._-/\\~%?#: A\0é');
  fc.assert(
    fc.property(fc.string({ unit: character, maxLength: 12 }), (key) => {
      if (!isBlobKey(key)) return;
      expect(join('/root', key)).toBe(`/root/${key}`);
      expect(new URL(key, 'http://host/').pathname).toBe(`/${key}`);
    }),
    { numRuns: 5_000 },
  );
});

describe('an S3 store that fails', () => {
  test('rejects a wrong secret with a fault that names the request and its status', async () => {
    const server = await startS3();
    const blobs = openS3Blobs({ ...server.options, secretAccessKey: 'wrong' });
    await expect(blobs.put('a', Buffer.from('x'), 'text/plain')).rejects.toThrow(
      'The blob store answered the PUT of a with 403.',
    );
    expect(server.stored.size).toBe(0);
    await server.close();
  });

  test('is a clear fault when its server or its bucket does not exist', async () => {
    const server = await startS3();
    const elsewhere = openS3Blobs({ ...server.options, bucket: 'none' });
    await expect(elsewhere.put('a', Buffer.from('x'), 'text/plain')).rejects.toThrow('has no bucket none');
    await server.close();
    const gone = openS3Blobs(server.options);
    await expect(gone.head('a')).rejects.toThrow('The blob store did not answer the HEAD of a');
  });
});
