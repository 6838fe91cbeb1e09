import type { LobbyFacts } from '../../engine/lobby/facts.ts';
import type { Listing } from '../../engine/lobby/lobby.ts';
import type { Sql } from '../database/driver.ts';
import { remove, type StatementTable, upsert } from '../database/statement.ts';
import type { LobbyFilter, LobbySearch, LobbyStore } from './port.ts';

const WRITE = upsert(
  'lobby_listings',
  {
    ...{ id: 'bigint', application_id: 'bigint', members: 'integer', is_open: 'boolean' },
    ...{ metadata: 'jsonb', numbers: 'jsonb', data: 'jsonb' },
  },
  'id',
);
const FORGET = remove('lobby_listings', { id: 'bigint' });

export const listingStatements: StatementTable<Pick<LobbyFacts, 'lobbyListed' | 'lobbyUnlisted'>> = {
  lobbyListed: (_, { listing: { id, application_id, members, metadata, numbers, ...data } }) => {
    const is_open = !data.locked && !data.invite_only && members < data.capacity;
    return [{ sql: WRITE, row: { id, application_id, members, is_open, metadata, numbers, data } }];
  },
  lobbyUnlisted: (_, { lobbyId }) => [{ sql: FORGET, row: { id: lobbyId } }],
};

interface ListingRow extends Pick<Listing, 'id' | 'application_id' | 'members' | 'metadata' | 'numbers'> {
  readonly data: Pick<Listing, 'capacity' | 'locked' | 'has_password' | 'invite_only' | 'game'>;
}

/** Most lobbies examined by a search that no equality narrows: the newest. Bounds the cost of a search. */
const CANDIDATES_MAX = 10_000;

/** Adds a query parameter. All values from clients are parameters, never part of the text. */
type Param = (value: unknown) => string;

/** Conditions that the indexes on metadata can answer. */
function narrow(filter: LobbyFilter, param: Param): string[] {
  if (filter.is !== 'equal') return [];
  const { key, value } = filter;
  const column = typeof value === 'number' ? 'numbers' : 'metadata';
  return [`${column} @> ${param(JSON.stringify({ [key]: value }))}::jsonb`];
}

function condition(filter: LobbyFilter, param: Param): string[] {
  const number = () => `(numbers ->> ${param(filter.key)}::text)::numeric`;
  switch (filter.is) {
    case 'equal':
      return [];
    case 'in': {
      const texts = filter.values.filter((value) => typeof value === 'string');
      const numbers = filter.values.filter((value) => typeof value === 'number');
      const text = `metadata ->> ${param(filter.key)}::text = ANY(${param(texts)}::text[])`;
      return [`(${text} OR ${number()} = ANY(${param(numbers)}::numeric[]))`];
    }
    case 'range':
      return [
        ...(filter.min === null ? [] : [`${number()} >= ${param(filter.min)}::numeric`]),
        ...(filter.max === null ? [] : [`${number()} <= ${param(filter.max)}::numeric`]),
      ];
    case 'exists':
      return [`(metadata ->> ${param(filter.key)}::text IS NOT NULL) = ${param(filter.exists)}::boolean`];
  }
}

function statement({ applicationId, filters, game, openOnly, sort, limit }: LobbySearch) {
  const values: unknown[] = [];
  const param: Param = (value) => `$${values.push(value)}`;
  const narrowed = [
    `application_id = ${param(applicationId)}`,
    ...filters.flatMap((filter) => narrow(filter, param)),
    ...(openOnly ? ['is_open'] : []),
  ];
  const rest = [
    ...filters.flatMap((filter) => condition(filter, param)),
    ...(game === null ? [] : [`data ->> 'game' = ${param(game)}::text`]),
  ];
  const direction = sort.descending ? 'DESC' : 'ASC';
  let by = '';
  if (sort.by === 'members') by = `members ${direction}, `;
  // Lobbies without the number sort last.
  if (sort.by === 'metadata')
    by = `(numbers ->> ${param(sort.key)}::text)::numeric ${direction} NULLS LAST, `;
  const text = `SELECT * FROM (SELECT * FROM lobby_listings WHERE ${narrowed.join(' AND ')}
    ORDER BY id DESC LIMIT ${CANDIDATES_MAX}) c
    WHERE ${['true', ...rest].join(' AND ')} ORDER BY ${by}id ${direction} LIMIT ${param(limit)}`;
  return { text, values };
}

export const listingSearch = (sql: Sql): Pick<LobbyStore, 'search'> => ({
  search: async (search) => {
    const { text, values } = statement(search);
    const found = await sql.query<ListingRow>(text, values);
    return found.map(({ id, application_id, members, metadata, numbers, data }) => ({
      ...data,
      ...{ id, application_id, members, metadata, numbers },
    }));
  },
});
