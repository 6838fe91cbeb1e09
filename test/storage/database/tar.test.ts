// Goal: an archive is read as it was written, or refused; its names lead nowhere else.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { untar } from '../../../storage/database/tar.ts';

const BLOCK = 512;

function headerOf(name: string, size: number, type: string): Buffer {
  const header = Buffer.alloc(BLOCK);
  header.write(name, 0, 100, 'utf8');
  header.write('0000600\0', 100, 'latin1');
  header.write(`${size.toString(8).padStart(11, '0')}\0`, 124, 'latin1');
  header.write(`${type}ustar\0${'00'}`, 156, 'latin1');
  return header;
}

function archiveOf(files: readonly (readonly [string, Uint8Array])[]): Buffer {
  const blocks = files.flatMap(([name, data]) => [
    headerOf(name, data.length, '0'),
    Buffer.from(data),
    Buffer.alloc((BLOCK - (data.length % BLOCK)) % BLOCK),
  ]);
  return Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]);
}

test('files are extracted with the bytes that were packed', () => {
  const name = fc
    .stringMatching(/^[a-z0-9_.]{1,20}(\/[a-z0-9_]{1,20}){0,3}$/)
    .filter((n) => !n.startsWith('.'));
  const files = fc.array(fc.tuple(name, fc.uint8Array({ maxLength: 2000 })), { maxLength: 8 });
  fc.assert(
    fc.property(files, (given) => {
      const read = untar(archiveOf(given)).map((entry) => [entry.name, Buffer.from(entry.data)]);
      expect(read).toEqual(given.map(([each, data]) => [each, Buffer.from(data)]));
    }),
  );
});

test('archives of the tar of this machine are read, with their folders', () => {
  const root = mkdtempSync(join(tmpdir(), 'guildhall-'));
  for (const [name, text] of [
    ['a', 'one'],
    ['b/c/d', 'two'],
    [`e/${'long'.repeat(20)}/${'f'.repeat(60)}`, 'three'],
  ]) {
    mkdirSync(dirname(join(root, name!)), { recursive: true });
    writeFileSync(join(root, name!), text!);
  }
  const { stdout } = spawnSync('tar', ['--format=ustar', '-C', root, '-cf', '-', '.']);
  rmSync(root, { recursive: true });
  const read = untar(stdout);
  const texts = read.filter(({ isFolder }) => !isFolder).map(({ data }) => Buffer.from(data).toString());
  expect(texts.sort()).toEqual(['one', 'three', 'two']);
  expect(read.filter(({ isFolder }) => isFolder).map(({ name }) => name)).toContain('b/c');
});

test.each(['../up', 'a/../../up', '/../up'])('the name %s leads out and is refused', (name) => {
  expect(() => untar(archiveOf([[name, Buffer.from('x')]]))).toThrow('leads outside the archive');
});

test('any bytes are read or refused, and nothing is read beyond them', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 3 * BLOCK }), (bytes) => {
      try {
        for (const { data } of untar(bytes)) expect(data.length).toBeLessThanOrEqual(bytes.length);
      } catch (error) {
        expect(error).toBeInstanceOf(RangeError);
      }
    }),
  );
  expect(() => untar(archiveOf([['a', Buffer.alloc(600)]]).subarray(0, 700))).toThrow('truncated within a');
  expect(() => untar(Buffer.concat([headerOf('link', 0, '2'), Buffer.alloc(BLOCK)]))).toThrow(
    'neither a file',
  );
});
