import type { ApplicationEmojiFacts } from '../../engine/application/emojis.ts';
import { remove, type StatementTable, upsert } from '../database/statement.ts';
import { entered, left } from '../guild/expressions.ts';

const KEY = { application_id: 'bigint', id: 'bigint' };
const WRITE = upsert('application_emojis', { ...KEY, data: 'jsonb' }, 'application_id, id');
const REMOVE = remove('application_emojis', KEY);

export const applicationEmojiStatements: StatementTable<ApplicationEmojiFacts> = {
  applicationEmojiWritten: (ownerId, { applicationId, emoji }) => [
    { sql: WRITE, row: { application_id: applicationId, id: emoji.id, data: emoji } },
    entered(ownerId, 'application emoji', emoji.id),
  ],
  applicationEmojiDeleted: (_ownerId, { applicationId, emojiId }) => [
    { sql: REMOVE, row: { application_id: applicationId, id: emojiId } },
    left(emojiId),
  ],
};
