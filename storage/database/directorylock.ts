import { readFile, rm, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { codeOf } from '../../protocol/thrown.ts';
import { StorageFault } from './driver.ts';

/** Directories that this process has open; a lock file with its pid may also be of an earlier process. */
const held = new Set<string>();

/**
 * The start time of a process in the kernel's ticks, from /proc (Linux); elsewhere an empty string. Together with the pid
 * it identifies a process: in a container every start of a server may have the same small pid.
 */
async function startOf(pid: number): Promise<string> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  // The command's name is in parentheses and may contain spaces; field 22 of the line is the start time.
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
}

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}

async function owner(path: string): Promise<number | null> {
  const pid = await livingOf(await readFile(path, 'utf8').catch(() => ''));
  return pid === process.pid ? null : pid;
}

/** Identifies this process by pid and start time. */
export const ownMark = async (): Promise<string> => `${process.pid} ${await startOf(process.pid)}`;

/** The pid of the process that a mark identifies, if it is still alive; else null. */
export async function livingOf(mark: string): Promise<number | null> {
  const [pidText = '', start = ''] = mark.split(' ');
  const pid = Number(pidText);
  if (!Number.isSafeInteger(pid) || pid <= 0 || !alive(pid)) return null;
  return start === (await startOf(pid)) ? pid : null;
}

/**
 * Locks `directory` for this process, with a file beside it. A lock left by a killed process is taken over.
 * @returns a function that releases the lock.
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
