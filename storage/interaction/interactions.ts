import type {
  EphemeralMessage,
  Interaction,
  InteractionFacts,
} from '../../engine/interaction/interaction.ts';
import type { GoneFile, LostFiles } from '../blob/files.ts';
import type { Sql } from '../database/driver.ts';
import { lastRows, type StatementTable, upsert } from '../database/statement.ts';
import type { EndedInteractions, InteractionStore } from './port.ts';

const KEY = { owner_id: 'bigint', id: 'bigint' };
const WRITE = upsert('interactions', { ...KEY, data: 'jsonb' }, 'owner_id, id');
const CHANGE = `
UPDATE interactions t SET data = t.data || r.change
FROM ${lastRows({ ...KEY, change: 'jsonb' }, 'owner_id, id')} WHERE t.owner_id = r.owner_id AND t.id = r.id`;
const WRITE_EPHEMERAL = upsert(
  'ephemeral_messages',
  { ...KEY, interaction_id: 'bigint', data: 'jsonb' },
  'owner_id, id',
);

export const interactionStatements: StatementTable<InteractionFacts> = {
  interactionWritten: (ownerId, { interaction }) => [
    { sql: WRITE, row: { owner_id: ownerId, id: interaction.id, data: interaction }, later: 1 },
  ],
  interactionChanged: (ownerId, { id, change }) => [
    { sql: CHANGE, row: { owner_id: ownerId, id, change }, later: 2 },
  ],
  ephemeralWritten: (ownerId, { ephemeral }) => [
    {
      sql: WRITE_EPHEMERAL,
      row: {
        owner_id: ownerId,
        id: ephemeral.message.id,
        interaction_id: ephemeral.interactionId,
        data: ephemeral,
      },
      later: 3,
    },
  ],
};

/** Deletes the oldest rows first, so that concurrent sweeps of several shards each return other rows. */
const endOf = (table: string, age: string): string => `
DELETE FROM ${table} t USING (
  SELECT owner_id, id FROM ${table} WHERE ${age} < $1 ORDER BY ${age} LIMIT $2
) AS r WHERE t.owner_id = r.owner_id AND t.id = r.id RETURNING t.data`;
const END = endOf('interactions', 'id');
const END_EPHEMERAL = endOf('ephemeral_messages', 'interaction_id');

/** Files of ended interactions: files of options, and files of messages. */
const filesOf = ({ interactions, messages }: EndedInteractions): GoneFile[] => [
  ...interactions.flatMap(({ channelId, files }) => files.map((file) => ({ ...file, channelId }))),
  ...messages.flatMap(({ message, files }) =>
    files.map((file) => ({ ...file, channelId: message.channel_id })),
  ),
];

export function interactionStore(sql: Sql, files: Pick<LostFiles, 'notify'>): InteractionStore {
  const select = async <Row>(text: string, values: readonly unknown[]): Promise<Row[]> =>
    (await sql.query<{ data: Row }>(text, values)).map(({ data }) => data);
  return {
    get: async (ownerId, id) => {
      const text = 'SELECT data FROM interactions WHERE owner_id = $1 AND id = $2';
      return (await select<Interaction>(text, [ownerId, id]))[0] ?? null;
    },
    since: (after, limit) =>
      select<Interaction>('SELECT data FROM interactions WHERE id > $1 ORDER BY id LIMIT $2', [after, limit]),
    ephemeral: async (ownerId, messageId) => {
      const text = 'SELECT data FROM ephemeral_messages WHERE owner_id = $1 AND id = $2';
      return (await select<EphemeralMessage>(text, [ownerId, messageId]))[0] ?? null;
    },
    end: async (beforeId, limit) => {
      const ended = {
        interactions: await select<Interaction>(END, [beforeId, limit]),
        messages: await select<EphemeralMessage>(END_EPHEMERAL, [beforeId, limit]),
      };
      void files.notify(filesOf(ended));
      return ended;
    },
  };
}
