import type { Rule } from '../../engine/automod/rule.ts';
import type { AutoModerationFacts } from '../../engine/guild/facts.ts';
import { none, remove, type Statement, type StatementTable, upsert } from '../database/statement.ts';

const KEY = { guild_id: 'bigint', id: 'bigint' };
const WRITE = upsert('auto_moderation_rules', { ...KEY, data: 'jsonb' }, 'guild_id, id');
const REMOVE = remove('auto_moderation_rules', KEY);

const written = (guildId: string, { rule }: { readonly rule: Rule }): readonly Statement[] => [
  { sql: WRITE, row: { guild_id: guildId, id: rule.id, data: rule } },
];

export const autoModerationStatements: StatementTable<AutoModerationFacts> = {
  autoModerationRuleCreated: written,
  autoModerationRuleUpdated: written,
  autoModerationRuleDeleted: (guildId, { rule }) => [
    { sql: REMOVE, row: { guild_id: guildId, id: rule.id } },
  ],
  autoModerationActionExecuted: none,
  autoModerationWorked: none,
};
