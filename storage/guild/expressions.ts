import type {
  Emoji,
  EmojiFacts,
  ExpressionLists,
  Sound,
  SoundFacts,
  Sticker,
  StickerFacts,
} from '../../engine/guild/expressions.ts';
import type { FreshId } from '../../protocol/ids.ts';
import type { Sql } from '../database/driver.ts';
import { remove, type Statement, type StatementTable, upsert } from '../database/statement.ts';
import type { ExpressionKind, ExpressionStore } from './port.ts';

const KEY = { guild_id: 'bigint', id: 'bigint' };
const WRITE = upsert('guild_expressions', { ...KEY, kind: 'text', data: 'jsonb' }, 'guild_id, id');
const REMOVE = remove('guild_expressions', KEY);
const ENTER = upsert('expression_directory', { id: 'bigint', kind: 'text', owner_id: 'bigint' }, 'id');
const LEAVE = remove('expression_directory', { id: 'bigint' });

/** The statements that enter an expression into the directory. */
export const entered = (ownerId: string, kind: ExpressionKind, id: string): Statement => ({
  sql: ENTER,
  row: { id, kind, owner_id: ownerId },
});

export const left = (id: string): Statement => ({ sql: LEAVE, row: { id } });

const written = (guildId: string, kind: ExpressionKind, id: string, data: object): readonly Statement[] => [
  { sql: WRITE, row: { guild_id: guildId, id, kind, data } },
  entered(guildId, kind, id),
];

const removed = (guildId: string, id: string): readonly Statement[] => [
  { sql: REMOVE, row: { guild_id: guildId, id } },
  left(id),
];

const soundWritten = (guildId: string, { sound }: { readonly sound: Sound }) =>
  written(guildId, 'sound', sound.sound_id, sound);

export const expressionStatements: StatementTable<EmojiFacts & StickerFacts & SoundFacts> = {
  emojiWritten: (guildId, { emoji }) => written(guildId, 'emoji', emoji.id, emoji),
  emojiDeleted: (guildId, { emojiId }) => removed(guildId, emojiId),
  stickerWritten: (guildId, { sticker }) => written(guildId, 'sticker', sticker.id, sticker),
  stickerDeleted: (guildId, { stickerId }) => removed(guildId, stickerId),
  soundCreated: soundWritten,
  soundUpdated: soundWritten,
  soundDeleted: (guildId, { soundId }) => removed(guildId, soundId),
};

/** One row of a guild's expressions, as `loadGuild` reads it. */
export type ExpressionRow =
  | { readonly kind: 'emoji'; readonly data: Emoji }
  | { readonly kind: 'sticker'; readonly data: Sticker }
  | { readonly kind: 'sound'; readonly data: Sound };

export const expressionLists = (rows: readonly ExpressionRow[]): ExpressionLists => ({
  emojis: rows.flatMap((row) => (row.kind === 'emoji' ? [row.data] : [])),
  stickers: rows.flatMap((row) => (row.kind === 'sticker' ? [row.data] : [])),
  sounds: rows.flatMap((row) => (row.kind === 'sound' ? [row.data] : [])),
});

export const expressionStore = (sql: Sql): ExpressionStore => ({
  owner: async (id) => {
    const text = 'SELECT kind, owner_id AS "ownerId" FROM expression_directory WHERE id = $1';
    return (await sql.query<{ kind: ExpressionKind; ownerId: FreshId }>(text, [id]))[0] ?? null;
  },
  ofApplication: async (applicationId) => {
    const text = 'SELECT data FROM application_emojis WHERE application_id = $1 ORDER BY id';
    return (await sql.query<{ data: Emoji }>(text, [applicationId])).map(({ data }) => data);
  },
});
