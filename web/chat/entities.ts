import type { Directory, Guild } from '../directory.ts';
import type { Author, EmojiRef } from './shapes.ts';

/** Data about a guild that the page offers as choices. */
export interface GuildEntities {
  readonly guild: Guild;
  readonly people: Directory['people'];
  /** The guild's own emojis and stickers, where the page knows them. */
  readonly emojis?: readonly EmojiRef[];
  readonly stickers?: readonly { readonly id: string; readonly name: string }[];
}

/** How an author is called here: by the guild's nickname where there is one. */
export const shownName = (
  { id, global_name, username }: Author,
  { people }: Pick<GuildEntities, 'people'>,
): string => people.get(id)?.name ?? (global_name || username);

/** A select of users, roles, both, or channels, in a message or a form. */
interface EntitySelect {
  readonly type: number;
  readonly channel_types?: readonly number[];
  readonly default_values?: readonly { readonly id: string }[];
}

interface EntityChoice {
  readonly value: string;
  readonly label: string;
  readonly default: boolean;
}

const USERS = 5;
const ROLES = 6;
const BOTH = 7;
const CHANNELS = 8;
const [TEXT_CHANNEL, VOICE_CHANNEL, STAGE_CHANNEL] = [0, 2, 13];

/** The choices of a select of the server's own objects, in order of their names; null for other components. */
export function entitiesOf(
  { type, channel_types: types = [], default_values: chosen = [] }: EntitySelect,
  { guild, people }: GuildEntities,
): readonly EntityChoice[] | null {
  const users = [...people.values()].map(({ id, name }) => ({ value: id, label: `@${name}` }));
  const roles = [...guild.roles.values()].map(({ id, name }) => ({
    ...{ value: id, label: name.startsWith('@') ? name : `@${name}` },
  }));
  const texts = [...guild.texts.values()].map((one) => ({ ...one, type: TEXT_CHANNEL }));
  const voices = [...guild.channels.values()].map((one) => ({
    ...{ ...one, type: one.isStage ? STAGE_CHANNEL : VOICE_CHANNEL },
  }));
  const channels = [...texts, ...voices]
    .filter((one) => types.length === 0 || types.includes(one.type))
    .map(({ id, name }) => ({ value: id, label: `#${name}` }));
  const all = { [USERS]: users, [ROLES]: roles, [BOTH]: [...users, ...roles], [CHANNELS]: channels }[type];
  if (!all) return null;
  return all
    .map((one) => ({ ...one, default: chosen.some(({ id }) => id === one.value) }))
    .sort((a, b) => a.label.localeCompare(b.label));
}

/** Types of selects by the types of options that name the same objects. */
const SELECT_OF: Readonly<Record<number, number>> = { 6: USERS, 7: CHANNELS, 8: ROLES, 9: BOTH };

/** The objects that an option of a command can name. */
export const optionEntities =
  (known: GuildEntities) =>
  ({ type, channel_types: types = [] }: Omit<EntitySelect, 'default_values'>): readonly EntityChoice[] =>
    entitiesOf({ type: SELECT_OF[type] ?? 0, channel_types: types }, known) ?? [];
