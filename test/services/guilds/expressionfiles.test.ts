// Goal: every expression has its file, and a refused command leaves none behind.
import { expect, test } from 'vitest';
import { refused } from '../../../engine/kernel/aggregate.ts';
import { refusal } from '../../../protocol/refusal.ts';
import { createExpressionFiles } from '../../../services/guilds/expressionfiles.ts';
import { openMemoryBlobs } from '../../../storage/blob/blobs.memory.ts';

const file = { bytes: Uint8Array.of(1, 2), contentType: 'image/png' };

function open() {
  const blobs = openMemoryBlobs();
  const files = createExpressionFiles({ blobs, expressionKey: (kind, id) => `${kind}/${id}` });
  return { files, isStored: async () => (await blobs.head('emojis/7')) !== null };
}

test('a file is stored before the command runs, and deleted with its expression', async () => {
  const { files, isStored } = open();
  await files.using('emojis', '7', file, async () => {
    expect(await isStored()).toBe(true);
    return { ok: true, value: null };
  });
  expect(await isStored()).toBe(true);
  await files.delete('emojis', '7');
  expect(await isStored()).toBe(false);
});

test('a refused command deletes the file, and a fault keeps it', async () => {
  const { files, isStored } = open();
  const no = refused(refusal('MISSING_PERMISSIONS'));
  expect(await files.using('emojis', '7', file, async () => no)).toBe(no);
  expect(await isStored()).toBe(false);
  const fault = files.using('emojis', '7', file, () => Promise.reject(new Error('connection lost')));
  await expect(fault).rejects.toThrow('connection lost');
  expect(await isStored()).toBe(true);
});
