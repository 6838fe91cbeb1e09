// Goal: a journal on disk keeps what was appended, has one writer, and gives each session to one claim.
import { spawnSync } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { StorageFault } from '../../storage/database/driver.ts';
import { openJournalStore } from '../../storage/journal/journal.ts';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'guildhall-journals-'));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

const bytes = (text: string) => Buffer.from(text);
const RUN = { shardId: 'shard-0', instance: 'run1', copy: false };
const SESSION = { sessionId: 'ab12', handle: 7 };
const folder = (change: Partial<typeof RUN> = {}) => ({ ...RUN, writtenMs: 0, ...change });

describe('a journal on disk', () => {
  it('keeps what was appended, in segments that are dropped oldest first', async () => {
    const store = await openJournalStore(directory);
    const writer = await store.open('shard-0', 'run1', false);
    expect(() => writer.append(bytes('x'))).toThrow(StorageFault);
    for (const text of ['one', 'two', 'three']) {
      writer.rotate();
      writer.append(bytes(text));
      writer.append(bytes('!'));
    }
    expect([writer.bytes, writer.segment]).toEqual([14, { number: 3, bytes: 6 }]);
    expect(writer.drop()).toBe(true);
    expect(await store.segments(folder())).toEqual([2, 3]);
    expect(String(await store.read(folder(), 3))).toBe('three!');
    expect((await store.read(folder(), 1)).length).toBe(0);
    expect([writer.drop(), writer.drop()]).toEqual([true, false]);
    writer.clear();
    expect([writer.bytes, await store.segments(folder())]).toEqual([0, []]);
  });

  it('has one writer, and is known as written while the process of that writer lives', async () => {
    const store = await openJournalStore(directory);
    const writer = await store.open('shard-0', 'run1', false);
    await expect(store.open('shard-0', 'run1', false)).rejects.toThrow(StorageFault);
    expect(await store.isWritten(folder())).toBe(true);
    writer.close();
    expect(await store.isWritten(folder())).toBe(false);
    const mark = join(directory, 'shard-0.run1', 'writer');
    const { pid } = spawnSync(process.execPath, ['-e', '']);
    await writeFile(mark, `${pid} 1`);
    expect(await store.isWritten(folder())).toBe(false);
    const stat = await readFile('/proc/1/stat', 'utf8').catch(() => '');
    const start = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
    await writeFile(mark, `1 ${start}`);
    expect(await store.isWritten(folder())).toBe(true);
  });

  it('continues a replica after the segments of an earlier process, for one process at a time', async () => {
    const store = await openJournalStore(directory);
    const left = await store.open('shard-0', 'run1', true);
    left.rotate();
    left.append(bytes('before'));
    await expect(store.open('shard-0', 'run1', true)).rejects.toThrow(StorageFault);
    left.close();
    const writer = await store.open('shard-0', 'run1', true);
    expect([writer.bytes, writer.segments, writer.segment]).toEqual([6, 1, { number: 1, bytes: 6 }]);
    writer.rotate();
    writer.append(bytes('after'));
    expect(await store.segments(folder({ copy: true }))).toEqual([1, 2]);
    expect([writer.drop(), writer.bytes, writer.segments]).toEqual([true, 5, 1]);
  });

  it('is readable only by its own system user', async () => {
    const store = await openJournalStore(directory);
    await store.open('shard-0', 'run1', false);
    await store.open('shard-0', 'run1', true);
    for (const path of ['shard-0.run1', 'buddy/shard-0.run1'])
      expect((await stat(join(directory, path))).mode & 0o077).toBe(0);
  });

  it('is listed beside other journals and replicas, and removed completely', async () => {
    const store = await openJournalStore(directory);
    for (const [shard, run, copy] of [
      ['shard-0', 'run1', false],
      ['shard-1', 'run2', true],
    ] as const)
      (await store.open(shard, run, copy)).rotate();
    await writeFile(join(directory, 'lost+found'), '');
    const found = (await store.folders()).map(({ shardId, instance, copy }) => [shardId, instance, copy]);
    expect(found).toEqual([
      ['shard-0', 'run1', false],
      ['shard-1', 'run2', true],
    ]);
    await store.remove(folder());
    expect((await readdir(directory)).sort()).toEqual(['buddy', 'id', 'lost+found']);
  });

  it('gives each session to one of several claims, and no session of an unknown run', async () => {
    const store = await openJournalStore(directory);
    const other = await openJournalStore(directory);
    expect(other.id).toBe(store.id);
    await store.open('shard-0', 'run1', false);
    const asked = [store, other, store, other].map((each) => each.take(folder(), SESSION));
    expect((await Promise.all(asked)).filter(Boolean)).toHaveLength(1);
    expect(await store.taken(folder())).toEqual([SESSION]);
    // The session came back under another handle, and is claimed again.
    expect(await store.take(folder(), { ...SESSION, handle: 8 })).toBe(true);
    expect(await store.take(folder({ instance: 'run9' }), SESSION)).toBe(false);
    expect(await store.take(folder(), { ...SESSION, sessionId: '../../escape' })).toBe(false);
  });

  it('rejects a shard name that leads to another directory', async () => {
    const store = await openJournalStore(directory);
    await expect(store.open('../shard', 'run', false)).rejects.toThrow(StorageFault);
  });
});
