import { readFile, rm, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { StorageFault } from './driver.ts';

/** Directories that this process has open: its own pid in a lock file says nothing about itself. */
const held = new Set<string>();

/**
 * When a process began, in the kernel's ticks, where the kernel says so (Linux); else an empty string. With the pid
 * it names a process for good: a container gives the same small pid to every start of a server.
 */
async function startOf(pid: number): Promise<string> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  // The command's name stands in parentheses and may hold spaces; field 22 of the whole is the start.
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
}

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

async function owner(path: string): Promise<number | null> {
  const pid = await livingOf(await readFile(path, 'utf8').catch(() => ''));
  return pid === process.pid ? null : pid;
}

/** Names this process, for good. */
export const ownMark = async (): Promise<string> => `${process.pid} ${await startOf(process.pid)}`;

/** The process that such a mark names, while it lives; else null. */
export async function livingOf(mark: string): Promise<number | null> {
  const [pidText = '', start = ''] = mark.split(' ');
  const pid = Number(pidText);
  if (!Number.isSafeInteger(pid) || pid <= 0 || !alive(pid)) return null;
  return start === (await startOf(pid)) ? pid : null;
}

/**
 * Takes `directory` for this process, beside the database's own files. A lock left by a process that was killed is
 * taken over. Answers how to let go.
 *
 * @throws StorageFault when a living process, or another engine in this one, holds it.
 */
export async function lockDirectory(directory: string): Promise<() => Promise<void>> {
  const path = `${resolve(directory)}.lock`;
  const refuse = (who: string) =>
    new StorageFault(`The data directory ${directory} is in use by ${who}. Stop it, or choose another.`);
  if (held.has(path)) throw refuse('this very process');
  held.add(path);
  try {
    const self = await ownMark();
    for (let attempt = 0; ; attempt++) {
      const taken = await writeFile(path, self, { flag: 'wx' }).then(
        () => true,
        (error: NodeJS.ErrnoException) => {
          if (error.code === 'EEXIST') return false;
          throw error;
        },
      );
      if (taken) break;
      const pid = await owner(path);
      if (pid !== null || attempt > 2) throw refuse(pid === null ? 'another process' : `process ${pid}`);
      await rm(path, { force: true });
    }
  } catch (error) {
    held.delete(path);
    throw error;
  }
  return async () => {
    if (held.delete(path)) await rm(path, { force: true });
  };
}
