// What a whole end-to-end run compared: each implemented operation, listed by the platform or not, needs a test in which a
// successful reply passes the relay (test/support/relay.ts), which compares the reply with its schema.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './prepare.mjs';

/**
 * Names the folder that the workers of end-to-end tests write to (test/support/comparedreplies.ts). Not GUILDHALL_…: those are
 * settings of the server.
 */
export const FOLDER_VARIABLE = 'COMPARED_REPLIES_FOLDER';

const FILE = '../shared/spec/openapi.json';

/** Every operation of the built server, by operationId. */
async function implemented() {
  const { operations, unlisted } = await import('../dist/transports/rest/resources/index.js');
  return Object.keys({ ...operations, ...unlisted });
}

/** Operations of which a worker recorded a successful reply that fits its schema. */
function comparedIn(folder) {
  if (!existsSync(folder)) return new Set();
  const files = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'));
  return new Set(files.flatMap((text) => text.split('\n')).filter((line) => line !== ''));
}

/** A sentence for each operation without a compared reply, in the order of their names. */
function missingReplies(operationIds, compared) {
  return operationIds
    .filter((id) => !compared.has(id))
    .sort()
    .map((id) => `no end-to-end test compares a successful reply of ${id}`);
}

/** Counts in the form of a step of `npm test`, with the lines that it prints: each operation without a reply is a failure. */
export function countReplies(operationIds, folder) {
  const missing = missingReplies(operationIds, comparedIn(folder));
  const count = `${operationIds.length - missing.length} of ${operationIds.length}`;
  return {
    ...{ passed: missing.length === 0 ? 1 : 0, failed: missing.length, skipped: [] },
    lines: [...missing, `${count} operations had a successful reply compared with its schema`],
  };
}

/** Passes when the whole run that wrote to the folder compared a reply of every operation of the built server. */
export async function checkReplies(folder) {
  if (!existsSync(join(ROOT, FILE)))
    return { passed: 0, failed: 0, skipped: [`replies are compared with schemas: ${FILE} is not there`] };
  if (!existsSync(join(ROOT, 'dist'))) return { passed: 0, failed: 1, skipped: [] };
  const { lines, ...counts } = countReplies(await implemented(), folder);
  process.stdout.write(`${lines.join('\n')}\n`);
  return counts;
}
