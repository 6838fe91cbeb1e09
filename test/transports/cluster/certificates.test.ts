// Goal: the certificates of links are read whole or not at all.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readLinkTls } from '../../../transports/cluster/certificates.ts';

const NONE = { link_ca_file: null, link_cert_file: null, link_key_file: null };
let folder: string;
let all: Record<keyof typeof NONE, string>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'guildhall-certificates-'));
  const named = Object.keys(NONE).map((name) => [name, join(folder, name)] as const);
  all = Object.fromEntries(named) as typeof all;
  for (const [name, path] of named) await writeFile(path, name);
});
afterAll(() => rm(folder, { recursive: true }));

describe('the certificates of links', () => {
  test('are absent when no setting names a file', () => expect(readLinkTls(NONE)).toBeNull());

  test('are read from the three configured files', () => {
    const { ca, cert, key } = readLinkTls(all) ?? {};
    expect([ca, cert, key].map(String)).toEqual(['link_ca_file', 'link_cert_file', 'link_key_file']);
  });

  test.each(Object.keys(NONE))('are not used without %s', (name) => {
    expect(() => readLinkTls({ ...all, [name]: null })).toThrow(RangeError);
    expect(() => readLinkTls({ ...all, [name]: join(folder, 'absent') })).toThrow('ENOENT');
  });
});
