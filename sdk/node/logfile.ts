import { closeSync, fstatSync, mkdirSync, openSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { LoggingSeverity } from '../enums.ts';
import { type LogCallback, logLine } from '../log.ts';

/** Size at which the file is rotated, bytes; one rotated file is kept. */
const FILE_BYTES_MAX = 10 * 1_048_576;

/**
 * Opens a log in a folder, which is created if needed; only the owner can read it. Lines are written
 * synchronously, so that they survive a crash.
 *
 * @throws when it cannot be opened.
 */
export function openLog(folder: string, name: string): LogCallback & { readonly close: () => void } {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, `${name}.log`);
  const open = () => openSync(path, 'a', 0o600);
  let file: number | null = open();
  let fileBytes = fstatSync(file).size;
  const write = (message: string, severity: LoggingSeverity) => {
    if (file === null) return;
    if (fileBytes > FILE_BYTES_MAX) {
      closeSync(file);
      renameSync(path, `${path}.1`);
      file = open();
      fileBytes = 0;
    }
    fileBytes += writeSync(file, logLine(message, severity, new Date()));
  };
  const close = () => {
    if (file !== null) closeSync(file);
    file = null;
  };
  return Object.assign(write, { close });
}
