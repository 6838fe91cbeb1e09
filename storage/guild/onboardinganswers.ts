import type { OnboardingAnswerFacts } from '../../engine/guild/facts.ts';
import type { OnboardingAnswers } from '../../engine/guild/pages.types.ts';
import type { GuildId, UserId } from '../../protocol/ids.ts';
import type { Sql } from '../database/driver.ts';
import { type StatementTable, upsert } from '../database/statement.ts';

const COLUMNS = { guild_id: 'bigint', user_id: 'bigint', data: 'jsonb' };
const WRITE = upsert('onboarding_answers', COLUMNS, 'guild_id, user_id');

export const onboardingAnswerStatements: StatementTable<OnboardingAnswerFacts> = {
  onboardingAnswered: (guildId, { userId, answers }) => [
    { sql: WRITE, row: { guild_id: guildId, user_id: userId, data: answers } },
  ],
};

const SELECT = `SELECT user_id::text AS "userId", data AS answers FROM onboarding_answers
WHERE guild_id = $1 AND user_id = ANY ($2::bigint[])`;

interface AnswersRow {
  readonly userId: UserId;
  readonly answers: OnboardingAnswers;
}

export const onboardingAnswersOf = (
  sql: Sql,
  guildId: GuildId,
  userIds: readonly UserId[],
): Promise<AnswersRow[]> => sql.query<AnswersRow>(SELECT, [guildId, userIds]);
