import { appendFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';

/** Names the folder in which every worker process leaves a file; scripts/replies.mjs reads them after a whole run. */
const FOLDER_VARIABLE = 'COMPARED_REPLIES_FOLDER';

/** Operations that this process has written already, by folder. */
const written = new Map<string, Set<string>>();

/** Remembers for `npm test` that a successful reply of an operation was compared with its schema and fits it. */
export function recordComparedReply(operationId: string, folder = process.env[FOLDER_VARIABLE]): void {
  if (folder === undefined || folder === '') return;
  const known = written.get(folder) ?? new Set();
  if (known.has(operationId)) return;
  mkdirSync(folder, { recursive: true });
  // A name of its own for each process, so that no two write one file.
  appendFileSync(join(folder, `${process.pid}.txt`), `${operationId}\n`);
  written.set(folder, known.add(operationId));
}
