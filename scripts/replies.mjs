// Checks the replies that a whole end-to-end run compared: each implemented operation, listed by the platform or not, needs a
// test in which a successful reply passes the relay (test/support/relay.ts), which compares the reply with its schema.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  CONFORMANCE_PAGE,
  claimsIn,
  dispatchClaimsIn,
  dispatchRowsOf,
  pageWith,
  pageWithDispatches,
  readConformancePage,
  recordsOf,
  rowsOf,
  staleClaims,
  unseenDispatches,
} from './conformance.mjs';
import { ROOT } from './prepare.mjs';

/**
 * Names the folder that the workers of end-to-end tests write to (test/support/comparedreplies.ts). Not GUILDHALL_…: those are
 * settings of the server.
 */
export const FOLDER_VARIABLE = 'COMPARED_REPLIES_FOLDER';

/** Every operation of the built server, by operationId: those of the published file, and those beside it. */
async function implemented() {
  const { operations, unlisted } = await import('../dist/transports/rest/resources/index.js');
  return { listed: Object.keys(operations), unlisted: Object.keys(unlisted) };
}

/** The names of all dispatches that the built server may send. */
async function dispatchNames() {
  const { DISPATCH } = await import('../dist/protocol/dispatches.js');
  return Object.keys(DISPATCH);
}

/** Records of the workers: successful replies that fit their schema, and refusals. */
function recordsIn(folder) {
  if (!existsSync(folder)) return [];
  const files = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'));
  return recordsOf(files.flatMap((text) => text.split('\n')).filter((line) => line !== ''));
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
  const successes = recordsIn(folder).filter(({ answer }) => answer < 300);
  const missing = missingReplies(operationIds, new Set(successes.map(({ operationId }) => operationId)));
  const count = `${operationIds.length - missing.length} of ${operationIds.length}`;
  return {
    ...{ passed: missing.length === 0 ? 1 : 0, failed: missing.length, skipped: [] },
    lines: [...missing, `${count} operations had a successful reply compared with its schema`],
  };
}

/**
 * Passes when the whole run that wrote to the folder compared a reply of every operation of the built server, and saw all that
 * docs/conformance.md says of tests.
 */
export async function checkReplies(folder) {
  if (!existsSync(join(ROOT, 'dist'))) return { passed: 0, failed: 1, skipped: [] };
  const { listed, unlisted } = await implemented();
  const { lines, ...counts } = countReplies([...listed, ...unlisted], folder);
  const stale = [
    ...unseenDispatches(await dispatchNames(), recordsIn(folder)),
    ...staleClaims(readConformancePage(), recordsIn(folder)),
  ];
  process.stdout.write(`${[...lines, ...stale].join('\n')}\n`);
  return { ...counts, failed: counts.failed + stale.length };
}

/** Writes docs/conformance.md from what a run recorded in the folder. */
export async function writeConformance(folder) {
  const { OPERATIONS } = await import('../dist/transports/rest/operations.generated.js');
  const { listed } = await implemented();
  const page = readConformancePage();
  const recorded = recordsIn(folder);
  const ran = new Set(recorded.map(({ file }) => file));
  const before = [...claimsIn(page), ...dispatchClaimsIn(page)].filter(({ file }) => !ran.has(file));
  const records = [...recorded, ...before];
  const withOperations = pageWith(page, rowsOf(OPERATIONS, listed, records));
  const dispatches = dispatchRowsOf(await dispatchNames(), records);
  writeFileSync(join(ROOT, CONFORMANCE_PAGE), pageWithDispatches(withOperations, dispatches));
}

// The folder that a run of tests was given in COMPARED_REPLIES_FOLDER.
if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await writeConformance(process.argv[2]);
