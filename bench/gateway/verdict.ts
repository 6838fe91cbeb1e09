/** Why a run failed: part of the requested load did not take place, so the figures belong to another load. */
export interface Failure {
  readonly message: string;
  /** A remedy for the problem. */
  readonly advice: string;
}

/** Number of answers or ends by kind: a status, a close code, `op 9`. */
export type Counts = Readonly<Record<string, number>>;

/** How to start the README's server, and one with a settings file, without limits. */
export const MORE =
  'For more, start the server with `npm start -- --no-rate-limits` (one with settings of its own: `npm start -- start --set rate_limits=false`).';

const NO_ANSWER = '0';
const LIMITED = '429';
const FORBIDDEN = ['401', '403', '404'];

export const add = (counts: Record<string, number>, key: string | number, more = 1): void => {
  counts[key] = (counts[key] ?? 0) + more;
};

export const sumOf = (counts: Counts): number => Object.values(counts).reduce((sum, each) => sum + each, 0);

/** Adds the counts of several threads or parts. */
export function mergeCounts(all: readonly Counts[]): Counts {
  const merged: Record<string, number> = {};
  for (const counts of all) for (const [key, value] of Object.entries(counts)) add(merged, key, value);
  return merged;
}

const listed = (counts: Counts): string =>
  Object.entries(counts)
    .map(([key, value]) => `${value} × ${key === NO_ANSWER ? 'no answer' : key}`)
    .join(', ');

/** @param refused By status; 0 means no answer. */
export function refusedSends(what: string, sent: number, refused: Counts): Failure[] {
  const count = sumOf(refused);
  if (count === 0) return [];
  const advice = refused[LIMITED]
    ? `The server limits how often a bot may ask: lower the rate, or leave it out. ${MORE}`
    : FORBIDDEN.some((status) => refused[status])
      ? 'Give the token of a bot that may do this there, or name another place with --channel.'
      : "Look at the server's log, or send fewer a second with --rate.";
  return [{ message: `${count} of ${sent} ${what} were refused (${listed(refused)})`, advice }];
}

/** @param closes By close code; `op 9` and `op 7` when the server ended the session. */
export function endedSessions(what: string, closes: Counts): Failure[] {
  const count = sumOf(closes);
  if (count === 0) return [];
  const message = `the server ended ${count} ${what} during the run (${listed(closes)})`;
  return [{ message, advice: "Look at the server's log, or run with fewer sessions or a lower rate." }];
}

export const failedLine = (failures: readonly Failure[]): string =>
  failures.length === 0 ? '' : `FAILED: ${failures.map(({ message }) => message).join('; ')}`;
