// The tables of docs/conformance.md, from what a run of the end-to-end tests recorded:
//   npm run build && COMPARED_REPLIES_FOLDER=/tmp/answers npx vitest run --project e2e --project realtime
//   node scripts/replies.mjs /tmp/answers
// A run of some test files changes what the tables say of these files, and leaves the rest.
// Each row says what the run saw of an operation: a successful reply that fits its schema, and refusals.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './prepare.mjs';

const BEGIN = '<!-- Made by `node scripts/replies.mjs`, from what the end-to-end tests record. -->';
const END = '<!-- End of what is made. -->';
const HEAD = ['| operation | built | successful reply | refusals |', '| --- | --- | --- | --- |'];

/** Where the page is, from the root. */
export const CONFORMANCE_PAGE = 'docs/conformance.md';

const DISPATCHES_BEGIN = '<!-- Made by `node scripts/replies.mjs`: dispatches. -->';
const DISPATCHES_END = '<!-- End of the dispatches. -->';
const DISPATCHES_HEAD = ['| dispatch | sent to a session in |', '| --- | --- |'];
/** Begins the name of what was recorded when a session was sent a dispatch. */
const DISPATCH = 'dispatch ';
/** Dispatches that no session of an end-to-end test is sent, with the reason. */
export const UNSENT = {
  GUILD_JOIN_REQUEST_CREATE:
    'made as a person joins, before a session of theirs is shown the guild; see test/engine/guild/screening.test.ts',
  GUILD_SOUNDBOARD_SOUNDS_UPDATE: 'sounds change one by one',
  SUBSCRIPTION_DELETE: 'a subscription that has ended stays, and is listed',
};
/** Most test files that are named for a dispatch. */
const FILES_MAX = 3;

const isRefusal = ({ answer }) => answer >= 400;

/** Parses the lines that the workers of a run wrote: `operationId`, a status or the code of a refusal, and the test file. */
export function recordsOf(lines) {
  return lines.map((line) => {
    const [operationId, answer, file] = line.split('\t');
    return { operationId, answer: Number(answer), file };
  });
}

/** Records by a key of theirs, in the order in which each key is first seen. */
function groupBy(records, keyOfRecord) {
  const groups = new Map();
  for (const record of records)
    groups.set(keyOfRecord(record), [...(groups.get(keyOfRecord(record)) ?? []), record]);
  return groups;
}

/** The first test file in which most of the answers were seen, with these; then the same of what is left. */
function grouped(records) {
  const groups = [];
  let left = records;
  while (left.length > 0) {
    const byFile = groupBy(left, ({ file }) => file);
    const ordered = [...byFile].sort(
      ([a, some], [b, others]) => others.length - some.length || (a < b ? -1 : 1),
    );
    const [file, seen] = ordered[0];
    const answers = [...new Set(seen.map(({ answer }) => answer))].sort((a, b) => a - b);
    groups.push({ file, answers });
    left = left.filter(({ answer }) => !answers.includes(answer));
  }
  return groups;
}

const link = ({ file, answers }) => `${answers.join(', ')} in [${file.replace(/^test\//, '')}](../${file})`;

/** Rows of the page, one for each operation of the published file: a row is its cells. */
export function rowsOf(operations, built, records) {
  const byId = groupBy(records, ({ operationId }) => operationId);
  return operations.map((line) => {
    const [id, ...place] = line.split(' ');
    const seen = (byId.get(id) ?? []).toSorted((a, b) => a.answer - b.answer);
    const cellOf = (some) => some.map(link).join('; ') || '–';
    const successes = grouped(seen.filter((each) => !isRefusal(each))).slice(0, 1);
    const refusals = grouped(seen.filter(isRefusal));
    return [
      `\`${id}\` ${place.join(' ')}`,
      built.includes(id) ? 'yes' : 'no',
      cellOf(successes),
      cellOf(refusals),
    ];
  });
}

/** The rows of a page, as `rowsOf` gives them. */
export function rowsIn(page) {
  const made = page
    .slice(page.indexOf(BEGIN) + BEGIN.length, page.indexOf(END))
    .trim()
    .split('\n');
  return made.slice(HEAD.length).map((line) => line.slice(2, -2).split(' | '));
}

/** The page with other rows. */
export const pageWith = (page, rows) => between(page, BEGIN, END, [...HEAD, ...rows.map(lineOf)]);

/** The claims of a page about tests: an answer of an operation in a test file. */
export function claimsIn(page) {
  return rowsIn(page).flatMap(([name, , ...cells]) =>
    cells.flatMap((cell) =>
      [...cell.matchAll(/([\d, ]+) in \[[^\]]*\]\(\.\.\/([^)]+)\)/g)].flatMap(([, answers, file]) =>
        answers
          .split(',')
          .map((answer) => ({ operationId: /`(\w+)`/.exec(name)[1], answer: Number(answer), file })),
      ),
    ),
  );
}

/** Rows of the table of dispatches: the name, and the test files in which one was sent. */
export function dispatchRowsOf(names, records) {
  return names.map((name) => {
    const files = records
      .filter(({ operationId }) => operationId === DISPATCH + name)
      .map(({ file }) => file);
    const links = [...new Set(files)].sort().slice(0, FILES_MAX).map(fileLink);
    return [`\`${name}\``, links.join(', ') || UNSENT[name] || '–'];
  });
}

const fileLink = (file) => `[${file.replace(/^test\//, '')}](../${file})`;

/** The page with other rows of dispatches. */
export const pageWithDispatches = (page, rows) =>
  between(page, DISPATCHES_BEGIN, DISPATCHES_END, [...DISPATCHES_HEAD, ...rows.map(lineOf)]);

/** The claims of a page about dispatches: a dispatch was sent in a test file. */
export function dispatchClaimsIn(page) {
  const [begin, end] = [page.indexOf(DISPATCHES_BEGIN), page.indexOf(DISPATCHES_END)];
  return page
    .slice(begin, end)
    .split('\n')
    .flatMap((line) => {
      const name = /^\| `(\w+)` \|/.exec(line)?.[1];
      const files = name ? [...line.matchAll(/\]\(\.\.\/([^)]+)\)/g)].map(([, file]) => file) : [];
      return files.map((file) => ({ operationId: DISPATCH + name, answer: 200, file }));
    });
}

/** A sentence for each dispatch that no session was sent in a whole run. */
export function unseenDispatches(names, records) {
  const seen = new Set(records.map(({ operationId }) => operationId));
  return names
    .filter((name) => !seen.has(DISPATCH + name) && !(name in UNSENT))
    .map((name) => `no end-to-end test is sent ${name}`);
}

const lineOf = (cells) => `| ${cells.join(' | ')} |`;

function between(page, from, to, lines) {
  const [begin, end] = [page.indexOf(from), page.indexOf(to)];
  if (begin < 0 || end < begin) throw new Error(`${CONFORMANCE_PAGE} lacks the place for a table.`);
  return `${page.slice(0, begin)}${from}\n\n${lines.join('\n')}\n\n${page.slice(end)}`;
}

const keyOf = ({ operationId, answer, file }) => `${operationId} ${answer} ${file}`;

/**
 * A sentence for each claim of the page that a whole run did not see. Of the test files named for a dispatch one is enough: a session
 * may end before what was sent to it arrives.
 */
export function staleClaims(page, records) {
  const seen = new Set(records.map(keyOf));
  const isUnseen = (claim) => !seen.has(keyOf(claim));
  const dispatches = [...groupBy(dispatchClaimsIn(page), ({ operationId }) => operationId).values()];
  const stale = [
    ...claimsIn(page).filter(isUnseen),
    ...dispatches.filter((some) => some.every(isUnseen)).flat(),
  ];
  return stale.map(
    (claim) => `${CONFORMANCE_PAGE} is stale: no ${claim.answer} of ${claim.operationId} in ${claim.file}`,
  );
}

export const readConformancePage = () => readFileSync(join(ROOT, CONFORMANCE_PAGE), 'utf8');
