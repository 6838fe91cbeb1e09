// Goal: search finds the listed lobbies that match, in the requested order, on every database.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { INITIAL_FIELDS, NO_SETTINGS } from '../../engine/lobby/lobby.ts';
import { listingOf } from '../../engine/lobby/settings.ts';
import type { ApplicationId, ChannelId } from '../../protocol/ids.ts';
import type { SettingsChange } from '../../protocol/schemas/lobbyfields.ts';
import type { LobbyFilter, LobbySearch } from '../../storage/lobby/port.ts';
import { commit, id } from './builders.ts';
import { databases, openFresh } from './databases.ts';

const APPLICATION = id<ApplicationId>('1001');

function listing(
  lobbyId: string,
  metadata: Record<string, string>,
  members = 1,
  settings: SettingsChange = {},
  application = APPLICATION,
) {
  const lobby = {
    id: id<ChannelId>(lobbyId),
    application_id: application,
    ...INITIAL_FIELDS,
    metadata,
    by_secret: true,
    idle_since_ms: null,
    linked: null,
    settings: { ...NO_SETTINGS, listed: true, ...settings },
  };
  return { type: 'lobbyListed' as const, listing: listingOf(lobby, members) };
}

const LOBBIES = [
  listing('101', { map: 'dunes', level: '9', "it's": '"odd"' }, 3),
  listing('102', { map: 'dunes', level: '10' }, 1, { max_members: 1 }),
  listing('103', { map: 'harbour', level: '-2.5' }, 2, { game: 'arena' }),
  listing('104', { map: 'harbour', level: 'high' }, 4, { locked: true }),
  listing('105', {}, 9),
  listing('106', { map: 'dunes', level: '9' }, 1, {}, id<ApplicationId>('1002')),
];

describe.each(databases())('listings on $name', (kind) => {
  let fresh: Awaited<ReturnType<typeof openFresh>>;
  const write = (...facts: Parameters<typeof commit>[2][]) => commit(fresh.storage.writer, '100', ...facts);
  const find = async (filters: readonly LobbyFilter[] = [], more: Partial<LobbySearch> = {}) => {
    const sort = { by: 'created', descending: false } as const;
    const blank = { applicationId: APPLICATION, game: null, openOnly: false, sort, limit: 100 };
    return (await fresh.storage.lobbies.search({ ...blank, filters, ...more })).map((found) => found.id);
  };

  beforeAll(async () => {
    fresh = await openFresh(kind);
    await write(...LOBBIES);
  });
  afterAll(() => fresh.close());

  test.each<[string, LobbyFilter, string[]]>([
    ['a text', { key: 'map', is: 'equal', value: 'dunes' }, ['101', '102']],
    ['a number, however it is written', { key: 'level', is: 'equal', value: 9 }, ['101']],
    ['one of several values', { key: 'level', is: 'in', values: [10, 'high'] }, ['102', '104']],
    ['a range, by number and not by text', { key: 'level', is: 'range', min: -3, max: 9 }, ['101', '103']],
    ['a range with one end', { key: 'level', is: 'range', min: 9.5, max: null }, ['102']],
    ['the presence of a key', { key: 'map', is: 'exists', exists: true }, ['101', '102', '103', '104']],
    ['the absence of a key', { key: 'map', is: 'exists', exists: false }, ['105']],
    ['keys and values with quotes', { key: "it's", is: 'equal', value: '"odd"' }, ['101']],
    ['no injected SQL', { key: "x' OR true --", is: 'equal', value: "' OR '1'='1" }, []],
  ])('are matched by %s', async (_, filter, expected) => {
    expect(await find([filter])).toEqual(expected);
  });

  test('are found by all filters together, by game, and by being open', async () => {
    const dunes = { key: 'map', is: 'equal', value: 'dunes' } as const;
    expect(await find([dunes, { key: 'level', is: 'range', min: 10, max: null }])).toEqual(['102']);
    expect(await find([], { game: 'arena' })).toEqual(['103']);
    expect(await find([], { openOnly: true })).toEqual(['101', '103', '105']);
  });

  test('are found in the requested order, up to the limit', async () => {
    const sorted = (sort: LobbySearch['sort'], limit = 100) => find([], { sort, limit });
    expect(await sorted({ by: 'created', descending: true }, 2)).toEqual(['105', '104']);
    expect(await sorted({ by: 'members', descending: true }, 3)).toEqual(['105', '104', '101']);
    expect(await sorted({ by: 'metadata', key: 'level', descending: false }, 3)).toEqual([
      '103',
      '101',
      '102',
    ]);
    expect(await sorted({ by: 'metadata', key: 'level', descending: true }, 2)).toEqual(['102', '101']);
  });

  test('are found in their current state, without unlisted and deleted lobbies', async () => {
    await write(listing('201', { kind: 'late' }, 1), listing('202', { kind: 'late' }, 1));
    const late = [{ key: 'kind', is: 'equal', value: 'late' } as const];
    await write(listing('201', { kind: 'early' }, 2));
    expect(await find(late)).toEqual(['202']);
    await write({ type: 'lobbyUnlisted', lobbyId: id('202') });
    expect(await find(late)).toEqual([]);
    const { settings: _, ...gone } = { ...listing('201', {}).listing, settings: null };
    await write({ type: 'lobbyDeleted', lobby: { ...gone, linked: null } as never, memberIds: [] });
    expect(await find([{ key: 'kind', is: 'exists', exists: true }])).toEqual([]);
  });
});
