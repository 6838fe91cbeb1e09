import type { StageFacts } from '../../engine/guild/facts.ts';
import type { StageInstance } from '../../engine/guild/guild.ts';
import { remove, type Statement, type StatementTable, upsert } from '../database/statement.ts';

const KEY = { guild_id: 'bigint', channel_id: 'bigint' };
const WRITE = upsert('stage_instances', { ...KEY, data: 'jsonb' }, 'guild_id, channel_id');
const REMOVE = remove('stage_instances', KEY);

const written = (guildId: string, { stage }: { readonly stage: StageInstance }): readonly Statement[] => [
  { sql: WRITE, row: { guild_id: guildId, channel_id: stage.channel_id, data: stage } },
];

export const stageStatements: StatementTable<StageFacts> = {
  stageInstanceCreated: written,
  stageInstanceUpdated: written,
  stageInstanceDeleted: (guildId, { stage }) => [
    { sql: REMOVE, row: { guild_id: guildId, channel_id: stage.channel_id } },
  ],
};
