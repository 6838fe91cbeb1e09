import { present } from '../../protocol/present.ts';
import { byAge, compatible, type QueueRules, type Ticket } from './tickets.ts';

/** Tickets that one search examines around the oldest one, and how many of them it tries to combine. */
const LOOKED_AT_MAX = 128;
const CANDIDATES_MAX = 32;

/**
 * Forms the matches that are possible now. The oldest ticket is served first: later tickets never get players that it
 * could have had in this pass. In a match all `same` properties are equal, every number is within the reach of both its
 * own ticket and the oldest one, and parties are whole.
 *
 * Cost: O(n log n) to sort, then a bounded search for each ticket.
 */
export function formMatches(tickets: readonly Ticket[], rules: QueueRules, nowMs: number): Ticket[][] {
  const groups = new Map<string, Ticket[]>();
  for (const ticket of tickets) {
    const key = JSON.stringify(rules.same.map((name) => ticket.properties[name]));
    const group = groups.get(key);
    if (group) group.push(ticket);
    else groups.set(key, [ticket]);
  }
  return [...groups.values()].flatMap((group) => matchesOf(group, rules, nowMs));
}

/** Tickets in order of the first number; removing one is O(1). */
interface TicketList {
  readonly tickets: readonly Ticket[];
  readonly next: Int32Array;
  readonly previous: Int32Array;
  readonly taken: Uint8Array;
}

function rowOf(group: readonly Ticket[], key: string | undefined): TicketList {
  const value = ({ properties }: Ticket): number => (key === undefined ? 0 : (properties[key] as number));
  const tickets = [...group].sort((a, b) => value(a) - value(b) || byAge(a, b));
  const { length } = tickets;
  return {
    tickets,
    next: Int32Array.from({ length }, (_, index) => (index + 1 < length ? index + 1 : -1)),
    previous: Int32Array.from({ length }, (_, index) => index - 1),
    taken: new Uint8Array(length),
  };
}

function take({ next, previous, taken }: TicketList, index: number): void {
  const [before, after] = [present(previous[index]), present(next[index])];
  if (before >= 0) next[before] = after;
  if (after >= 0) previous[after] = before;
  taken[index] = 1;
}

function matchesOf(group: readonly Ticket[], rules: QueueRules, nowMs: number): Ticket[][] {
  const [key] = Object.keys(rules.within);
  const row = rowOf(group, key);
  const indexes = row.tickets.map((_, index) => index);
  indexes.sort((a, b) => byAge(present(row.tickets[a]), present(row.tickets[b])));
  const matches: Ticket[][] = [];
  for (const seed of indexes) {
    if (row.taken[seed]) continue;
    const first = present(row.tickets[seed]);
    const chosen = fill(row, candidates(row, seed, rules, nowMs, key), rules.size - first.players.length);
    // A seed without a match is removed too: later tickets are matched around themselves, so none is combined with
    // tickets beyond the reach of its match's oldest.
    for (const index of [seed, ...(chosen ?? [])]) take(row, index);
    if (chosen) matches.push([first, ...chosen.map((index) => present(row.tickets[index]))]);
  }
  return matches;
}

/** The nearest tickets that may be matched with the seed, oldest first; all of them are younger than the seed. */
function candidates(
  { tickets, next, previous }: TicketList,
  seed: number,
  rules: QueueRules,
  nowMs: number,
  key: string | undefined,
): number[] {
  const first = present(tickets[seed]);
  const apart = (index: number): number => {
    if (index < 0) return Number.POSITIVE_INFINITY;
    if (key === undefined) return 0;
    return Math.abs((tickets[index]?.properties[key] as number) - (first.properties[key] as number));
  };
  const found: number[] = [];
  let [before, after] = [present(previous[seed]), present(next[seed])];
  for (let looked = 0; looked < LOOKED_AT_MAX && found.length < CANDIDATES_MAX; looked += 1) {
    if (before < 0 && after < 0) break;
    const isBefore = apart(before) <= apart(after);
    const index = isBefore ? before : after;
    if (isBefore) before = present(previous[index]);
    else after = present(next[index]);
    if (compatible(first, present(tickets[index]), rules, nowMs)) found.push(index);
  }
  return found.sort((a, b) => byAge(present(tickets[a]), present(tickets[b])));
}

interface Chain {
  readonly index: number;
  readonly before: Chain | null;
}

/** Tickets with exactly this number of players in total, the oldest possible; null without a combination. */
function fill({ tickets }: TicketList, indexes: readonly number[], players: number): number[] | null {
  if (players <= 0) return players === 0 ? [] : null;
  const reached = new Array<Chain | null | undefined>(players + 1);
  reached[0] = null;
  for (const index of indexes) {
    const size = present(tickets[index]?.players.length);
    for (let sum = players; sum >= size; sum -= 1) {
      const before = reached[sum - size];
      if (before !== undefined && reached[sum] === undefined) reached[sum] = { index, before };
    }
    if (reached[players]) break;
  }
  const chosen: number[] = [];
  for (let chain = reached[players]; chain; chain = chain.before) chosen.push(chain.index);
  return chosen.length > 0 ? chosen.reverse() : null;
}

/**
 * The valid matches among an override's choices: each consists of waiting tickets, none repeated or used in an earlier
 * match, with at most `playersMax` players in total.
 */
export function soundMatches(
  tickets: readonly Ticket[],
  chosen: readonly (readonly string[])[],
  playersMax: number,
): Ticket[][] {
  const waiting = new Map<string, Ticket>(tickets.map((ticket) => [ticket.id, ticket]));
  const matches: Ticket[][] = [];
  for (const ids of chosen) {
    const match = ids.flatMap((id) => waiting.get(id) ?? []);
    const players = match.flatMap((ticket) => ticket.players);
    const sound =
      match.length > 0 &&
      new Set(ids).size === ids.length &&
      match.length === ids.length &&
      players.length <= playersMax;
    if (!sound) continue;
    for (const id of ids) waiting.delete(id);
    matches.push(match);
  }
  return matches;
}
