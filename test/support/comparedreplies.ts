import { appendFileSync, mkdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import { expect } from 'vitest';
import { ROOT } from './root.ts';

/** Names the folder in which every worker process leaves a file; scripts/replies.mjs reads them after a whole run. */
const FOLDER_VARIABLE = 'COMPARED_REPLIES_FOLDER';

/** Lines that this process has written already, by folder. */
const written = new Map<string, Set<string>>();

/** The test file that runs, from the root of the repository. */
const testFile = (): string => relative(ROOT, expect.getState().testPath ?? '').replaceAll('\\', '/');

function record(operationId: string, answer: number, folder = process.env[FOLDER_VARIABLE]): void {
  if (folder === undefined || folder === '') return;
  const line = `${operationId}\t${answer}\t${testFile()}`;
  const known = written.get(folder) ?? new Set();
  if (known.has(line)) return;
  mkdirSync(folder, { recursive: true });
  // A name of its own for each process, so that no two write one file.
  appendFileSync(join(folder, `${process.pid}.txt`), `${line}\n`);
  written.set(folder, known.add(line));
}

/** Remembers for `npm test` that a session was sent a dispatch of this name. */
export const recordDispatch = (name: string, folder?: string): void =>
  record(`dispatch ${name}`, 200, folder);

/**
 * Remembers for `npm test` what an operation answered and that it fits its schema: the status of a success, and of a refusal the
 * platform's code, or its status where it has none. Rate limits and faults are no answers of the operation.
 */
export function recordAnswer(operationId: string, status: number, body: string, folder?: string): void {
  if (status >= 500 || status === 429) return;
  const code = status < 400 ? 0 : Number(/"code": ?(\d+)/.exec(body)?.[1]);
  record(operationId, code > 0 ? code : status, folder);
}
