// Goal: for any queue, matches are complete, fair and within the rules of every ticket, and no ticket that fits is
// left over.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formMatches, soundMatches } from '../../../engine/matchmaking/matches.ts';
import {
  byAge,
  compatible,
  type QueueRules,
  reachOf,
  type Ticket,
  ticketRefusal,
} from '../../../engine/matchmaking/tickets.ts';
import type { TicketId, UserId } from '../../../protocol/ids.ts';

const NOW_MS = 100_000;

interface Draft {
  readonly players: number;
  readonly rating: number;
  readonly mode: string;
  readonly waitedMs: number;
}

/** Ticket `n` has the players `n.0`, `n.1`, …. */
const tickets = (drafts: readonly Draft[]): Ticket[] =>
  drafts.map(({ players, rating, mode, waitedMs }, index) => ({
    id: `${index}` as TicketId,
    players: Array.from({ length: players }, (_, player) => `${index}.${player}` as UserId),
    properties: { rating, mode },
    createdMs: NOW_MS - waitedMs,
  }));

const drafts = (partyMax: number, most: number) =>
  fc.array(
    fc.record({
      players: fc.integer({ min: 1, max: partyMax }),
      rating: fc.integer({ min: 0, max: 300 }),
      mode: fc.constantFrom('duel', 'team'),
      waitedMs: fc.integer({ min: 0, max: 60_000 }),
    }),
    { maxLength: most },
  );

const rulesOf = (size: number, start: number, perSecond: number): QueueRules => ({
  size,
  same: ['mode'],
  within: { rating: { start, perSecond } },
});
const rules = fc
  .tuple(fc.integer({ min: 1, max: 6 }), fc.integer({ min: 0, max: 100 }), fc.integer({ min: 0, max: 10 }))
  .map((numbers) => rulesOf(...numbers));

const sizeOf = (match: readonly Ticket[]): number => match.flatMap(({ players }) => players).length;

/** Whether some of the tickets have exactly so many players. */
function fits(given: readonly Ticket[], players: number): boolean {
  if (players === 0) return true;
  return given.some(
    ({ players: { length } }, index) => length <= players && fits(given.slice(index + 1), players - length),
  );
}

describe('matches', () => {
  test('contain each player once, whole parties, and exactly the required number of players', () => {
    fc.assert(
      fc.property(drafts(3, 60), rules, (given, rule) => {
        const waiting = tickets(given);
        const matches = formMatches(waiting, rule, NOW_MS);
        const players = matches.flat().flatMap((ticket) => ticket.players);
        expect(new Set(players).size).toBe(players.length);
        for (const match of matches) {
          expect(sizeOf(match)).toBe(rule.size);
          for (const ticket of match) expect(waiting).toContain(ticket);
        }
      }),
    );
  });

  test('agree in required properties, and are within reach of the ticket that has waited longest', () => {
    fc.assert(
      fc.property(drafts(3, 60), rules, (given, rule) => {
        for (const match of formMatches(tickets(given), rule, NOW_MS)) {
          const [first] = [...match].sort(byAge) as [Ticket];
          expect(new Set(match.map(({ properties }) => properties.mode)).size).toBe(1);
          for (const ticket of match) {
            const apart = Math.abs(
              (ticket.properties.rating as number) - (first.properties.rating as number),
            );
            const widening = rule.within.rating!;
            expect(apart).toBeLessThanOrEqual(reachOf(widening, ticket, NOW_MS));
            expect(apart).toBeLessThanOrEqual(reachOf(widening, first, NOW_MS));
          }
        }
      }),
    );
  });

  test('leave no ticket over that other compatible leftover tickets could complete', () => {
    fc.assert(
      fc.property(drafts(3, 24), rules, (given, rule) => {
        const waiting = tickets(given);
        const matched = new Set(formMatches(waiting, rule, NOW_MS).flat());
        const left = waiting.filter((ticket) => !matched.has(ticket)).sort(byAge);
        for (const [index, first] of left.entries()) {
          const company = left
            .slice(index + 1)
            .filter((other) => other.properties.mode === first.properties.mode)
            .filter((other) => compatible(first, other, rule, NOW_MS));
          expect(fits(company, rule.size - first.players.length)).toBe(false);
        }
      }),
    );
  });

  test('include the ticket that has waited longest', () => {
    fc.assert(
      fc.property(drafts(1, 60), fc.integer({ min: 2, max: 6 }), (given, size) => {
        const rule = rulesOf(size, 1_000, 0);
        const waiting = tickets(given.map((draft) => ({ ...draft, mode: 'duel' })));
        const served = formMatches(waiting, rule, NOW_MS).flat();
        expect(served).toHaveLength(Math.floor(waiting.length / size) * size);
        const [oldest] = [...waiting].sort(byAge);
        if (served.length > 0) expect(served).toContain(oldest);
      }),
    );
  });

  test('widen with time until all tickets are compatible, so that none starves', () => {
    fc.assert(
      fc.property(drafts(1, 30), (given) => {
        const waiting = tickets(given.map((draft) => ({ ...draft, mode: 'duel' })));
        const left = formMatches(waiting, rulesOf(2, 0, 10), NOW_MS + 3_600_000).flat();
        expect(waiting.length - left.length).toBeLessThanOrEqual(1);
      }),
    );
  });

  test('are formed of ten thousand tickets within two seconds', () => {
    const waiting = tickets(
      Array.from({ length: 10_000 }, (_, index) => ({
        ...{
          players: 1 + (index % 3),
          rating: (index * 7_919) % 5_000,
          mode: 'duel',
          waitedMs: index % 60_000,
        },
      })),
    );
    const before = performance.now();
    const matches = formMatches(waiting, rulesOf(10, 50, 5), NOW_MS);
    expect(performance.now() - before).toBeLessThan(2_000);
    expect(matches.length).toBeGreaterThan(1_500);
  });
});

describe('reach', () => {
  const [young, old] = tickets([
    { players: 1, rating: 0, mode: 'duel', waitedMs: 0 },
    { players: 1, rating: 90, mode: 'duel', waitedMs: 10_000 },
  ]) as [Ticket, Ticket];

  test('widens with the wait, up to its bound', () => {
    const widening = { start: 10, perSecond: 10, most: 60 };
    expect(reachOf(widening, young, NOW_MS)).toBe(10);
    expect(reachOf(widening, old, NOW_MS - 5_000)).toBe(60);
    expect(reachOf(widening, old, NOW_MS)).toBe(60);
  });

  test('is the smaller one of both tickets, so that a new ticket is not matched far away', () => {
    expect(formMatches([young, old], rulesOf(2, 10, 10), NOW_MS)).toEqual([]);
    expect(formMatches([young, old], rulesOf(2, 10, 10), NOW_MS + 8_000)).toEqual([[old, young]]);
  });
});

describe('an override', () => {
  const waiting = tickets(
    Array.from({ length: 4 }, () => ({ players: 2, rating: 0, mode: 'duel', waitedMs: 0 })),
  );

  test('is followed as far as its matches are sound', () => {
    const chosen = [['0', '1'], ['1', '2'], ['3', '3'], ['9'], [], ['2', '3']];
    expect(soundMatches(waiting, chosen, 4).map((match) => match.map(({ id }) => id))).toEqual([
      ['0', '1'],
      ['2', '3'],
    ]);
    expect(soundMatches(waiting, [['0', '1', '2']], 4)).toEqual([]);
  });
});

test('a ticket names all that its queue compares, and fits into a match', () => {
  const rule = rulesOf(2, 0, 0);
  const wrongAt = (players: number, properties: Record<string, string | number>) =>
    Object.keys(ticketRefusal(rule, players, properties)?.errors ?? {});
  expect(wrongAt(1, { mode: 'duel', rating: 5 })).toEqual([]);
  expect(wrongAt(3, { mode: 'duel', rating: 5 })).toEqual(['lobby_id']);
  expect(wrongAt(1, { rating: 5 })).toEqual(['properties']);
  expect(wrongAt(1, { mode: 'duel', rating: 'high' })).toEqual(['properties']);
});
