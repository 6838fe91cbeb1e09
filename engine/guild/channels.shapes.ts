import { type APIGuildForumTag, ChannelFlags } from 'discord-api-types/v10';
import { CHANNEL, FORUMS, VOICE_LIKE } from '../../protocol/channeltypes.ts';
import type { ChannelId } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import { invalidField, type Refusal, refusal } from '../../protocol/refusal.ts';
import { accepted, type Env, type Outcome, refused } from '../kernel/aggregate.ts';
import type { OverwriteDraft } from './channels.overwrites.ts';
import { chosenEmoji, type EmojiDraft } from './expressions.emoji.ts';
import type { Guild, GuildChannel } from './guild.ts';

/** A forum's tag as a request states it. */
interface TagDraft extends EmojiDraft {
  readonly id?: string | null;
  readonly name: string;
  readonly moderated?: boolean | null;
}

/** A request's changes of a channel, by the wire's names. Absent keeps a field; null restores the default. */
export interface ChannelDraft {
  readonly type?: number | null;
  readonly name?: string;
  readonly position?: number | null;
  readonly parent_id?: ChannelId | null;
  readonly permission_overwrites?: readonly OverwriteDraft[] | null;
  readonly topic?: string | null;
  readonly nsfw?: boolean | null;
  readonly rate_limit_per_user?: number | null;
  readonly bitrate?: number | null;
  readonly user_limit?: number | null;
  readonly rtc_region?: string | null;
  readonly video_quality_mode?: number | null;
  readonly default_auto_archive_duration?: number | null;
  readonly default_thread_rate_limit_per_user?: number | null;
  readonly default_reaction_emoji?: EmojiDraft | null;
  readonly default_sort_order?: number | null;
  readonly default_forum_layout?: number | null;
  readonly default_tag_setting?: string | null;
  readonly flags?: number | null;
  readonly available_tags?: readonly (TagDraft | null)[] | null;
}

type Field = Exclude<
  keyof ChannelDraft,
  'type' | 'name' | 'position' | 'parent_id' | 'permission_overwrites' | 'flags'
>;

/** Fields that a channel always shows, with their defaults, and fields that it shows only when set. */
interface Shape {
  readonly always: Readonly<Partial<Record<Field | 'last_message_id' | 'last_pin_timestamp', unknown>>>;
  readonly maybe: readonly Field[];
}

/** Fields of all channels with a topic. */
const TOPIC = { last_message_id: null, topic: null, nsfw: false, rate_limit_per_user: 0 } as const;
const TEXT: Shape = {
  always: { ...TOPIC, last_pin_timestamp: null },
  maybe: ['default_auto_archive_duration', 'default_thread_rate_limit_per_user'],
};
const VOICE: Shape = {
  always: {
    last_message_id: null,
    last_pin_timestamp: null,
    nsfw: false,
    rate_limit_per_user: 0,
    bitrate: LIMITS.bitrate_bps_default,
    user_limit: 0,
    rtc_region: null,
  },
  maybe: ['video_quality_mode'],
};
const FORUM: Shape = {
  always: {
    ...TOPIC,
    available_tags: [],
    default_reaction_emoji: null,
    default_sort_order: null,
    default_forum_layout: 0,
  },
  maybe: [...TEXT.maybe, 'default_tag_setting'],
};
const MEDIA: Shape = {
  always: {
    ...TOPIC,
    available_tags: [],
    default_reaction_emoji: null,
    default_sort_order: null,
  },
  maybe: FORUM.maybe,
};
const CATEGORY: Shape = { always: {}, maybe: [] };

const SHAPES: Readonly<Record<number, Shape>> = {
  [CHANNEL.GUILD_TEXT]: TEXT,
  [CHANNEL.GUILD_ANNOUNCEMENT]: TEXT,
  [CHANNEL.GUILD_VOICE]: VOICE,
  [CHANNEL.GUILD_STAGE_VOICE]: VOICE,
  [CHANNEL.GUILD_FORUM]: FORUM,
  [CHANNEL.GUILD_MEDIA]: MEDIA,
  [CHANNEL.GUILD_CATEGORY]: CATEGORY,
};

/** Clients show text, voice and categories in three lists; positions are compared within one list only. */
export function sectionOf(type: number): 'text' | 'voice' | 'category' {
  if (type === CHANNEL.GUILD_CATEGORY) return 'category';
  return VOICE_LIKE.has(type) ? 'voice' : 'text';
}

/** Whether a request may create this type: one with a shape here; announcements only with their feature. */
export function mayHaveType(guild: Guild, type: number): boolean {
  if (type === CHANNEL.GUILD_ANNOUNCEMENT) return guild.info.features.includes('NEWS');
  return Object.hasOwn(SHAPES, type);
}

/**
 * Names of text channels are stored in link form: lower case, dashes for spaces. Other names keep their words. Empty
 * when nothing is left.
 */
function channelName(type: number, name: string): string {
  const trimmed = name.trim();
  return sectionOf(type) === 'text' ? trimmed.toLowerCase().replace(/\s+/g, '-') : trimmed;
}

/** Flags a request may set, by type of channel. */
const FLAGS: Readonly<Record<number, number>> = {
  [CHANNEL.GUILD_FORUM]: ChannelFlags.RequireTag,
  [CHANNEL.GUILD_MEDIA]: ChannelFlags.RequireTag | ChannelFlags.HideMediaDownloadOptions,
};

type Fields = Readonly<Record<string, unknown>>;

/** The fields of a channel of this type after a draft, `name` and `flags` among them. */
export function shapedFields(
  guild: Guild,
  type: number,
  before: GuildChannel | null,
  draft: ChannelDraft,
  env: Env,
): Outcome<Fields, never> {
  const no = boundsRefusal(guild, type, draft);
  if (no) return refused(no);
  const tags = draft.available_tags ? readTags(guild, before, draft.available_tags, env) : null;
  if (tags && !tags.ok) return tags;
  const offered = draft.default_reaction_emoji;
  const reaction = offered ? readReaction(guild, offered, reactionIdOf(before)) : null;
  if (reaction && !reaction.ok) return reaction;
  const stated: Fields = {
    ...draft,
    ...(tags ? { available_tags: tags.value } : {}),
    ...(reaction ? { default_reaction_emoji: reaction.value } : {}),
  };
  return accepted(fieldsOf(type, (before ?? {}) as Fields, stated));
}

/** The fields of a new channel of which only the name is given, or also fields of a template. */
export const newFields = (type: number, name: string, stated: Fields = {}): Fields =>
  fieldsOf(type, {}, { ...stated, name });

function fieldsOf(type: number, was: Fields, stated: Fields): Fields {
  const shape = SHAPES[type]!;
  const fields: Record<string, unknown> = {};
  for (const [field, fallback] of Object.entries(shape.always)) {
    const kept = was[field] ?? fallback;
    fields[field] = stated[field] === undefined ? kept : (stated[field] ?? fallback);
  }
  for (const field of shape.maybe) {
    const value = stated[field] === undefined ? was[field] : stated[field];
    if (value !== undefined && value !== null) fields[field] = value;
  }
  if (typeof stated.name === 'string') fields.name = channelName(type, stated.name);
  const settable = FLAGS[type] ?? 0;
  const flags = Number(was.flags ?? 0);
  fields.flags = stated.flags == null ? flags : (flags & ~settable) | (Number(stated.flags) & settable);
  return fields;
}

function boundsRefusal(guild: Guild, type: number, draft: ChannelDraft): Refusal | null {
  if (draft.name !== undefined && channelName(type, draft.name) === '') {
    return invalidField(['name'], 'BASE_TYPE_REQUIRED', 'This field is required');
  }
  const topicMax = FORUMS.has(type) ? LIMITS.forum_topic_chars_max : LIMITS.channel_topic_chars_max;
  if (draft.topic && [...draft.topic].length > topicMax) {
    return invalidField(['topic'], 'BASE_TYPE_MAX_LENGTH', `Must be ${topicMax} or fewer in length.`);
  }
  if (!VOICE_LIKE.has(type)) return null;
  if ((draft.bitrate ?? 0) > bitrateMaxBps(guild, type)) return refusal('BITRATE_TOO_HIGH');
  const usersMax = type === CHANNEL.GUILD_STAGE_VOICE ? LIMITS.stage_user_limit_max : LIMITS.user_limit_max;
  if ((draft.user_limit ?? 0) > usersMax) {
    return invalidField(
      ['user_limit'],
      'NUMBER_TYPE_MAX',
      `int value should be less than or equal to ${usersMax}.`,
    );
  }
  return null;
}

function bitrateMaxBps(guild: Guild, type: number): number {
  if (type === CHANNEL.GUILD_STAGE_VOICE) return LIMITS.bitrate_stage_bps_max;
  const { features, premium_tier: tier } = guild.info;
  if (tier >= 3 || features.includes('VIP_REGIONS')) return LIMITS.bitrate_tier_3_bps_max;
  if (tier === 2) return LIMITS.bitrate_tier_2_bps_max;
  return tier === 1 ? LIMITS.bitrate_tier_1_bps_max : LIMITS.bitrate_bps_max;
}

function readTags(
  guild: Guild,
  before: GuildChannel | null,
  drafts: readonly (TagDraft | null)[],
  env: Env,
): Outcome<APIGuildForumTag[], never> {
  const old =
    before && 'available_tags' in before ? (before.available_tags as readonly APIGuildForumTag[]) : [];
  const known = new Map(old.map((tag) => [tag.id, tag]));
  const tags: APIGuildForumTag[] = [];
  for (const [i, draft] of drafts.entries()) {
    if (!draft) continue;
    if (draft.id != null && !known.has(draft.id)) return refused(refusal('UNKNOWN_TAG'));
    if ([...draft.name].length > LIMITS.forum_tag_name_chars_max) {
      const message = `Must be ${LIMITS.forum_tag_name_chars_max} or fewer in length.`;
      return refused(invalidField(['available_tags', i, 'name'], 'BASE_TYPE_MAX_LENGTH', message));
    }
    const keptId = known.get(draft.id ?? '')?.emoji_id ?? null;
    const emoji = readReaction(guild, draft, keptId);
    if (!emoji.ok) return emoji;
    const shown = emoji.value ?? { emoji_id: null, emoji_name: null };
    const id = draft.id ?? env.nextId();
    tags.push({ id, name: draft.name, moderated: draft.moderated ?? false, ...shown });
  }
  if (tags.length > LIMITS.forum_tags_max) return refused(refusal('MAXIMUM_FORUM_TAGS'));
  if (new Set(tags.map((tag) => tag.name)).size !== tags.length) {
    return refused(refusal('TAG_NAMES_MUST_BE_UNIQUE'));
  }
  if (new Set(tags.map((tag) => tag.id)).size !== tags.length) return refused(refusal('UNKNOWN_TAG'));
  return accepted(tags);
}

/** One emoji by id or by name. Null when neither is given. */
function readReaction(
  guild: Guild,
  draft: EmojiDraft,
  keptId: string | null,
): Outcome<{ readonly emoji_id: string | null; readonly emoji_name: string | null } | null, never> {
  const chosen = chosenEmoji(guild, draft, keptId);
  if (!chosen.ok) return chosen;
  const emoji = chosen.value;
  return accepted(emoji && { emoji_id: emoji.id, emoji_name: emoji.id === null ? emoji.name : null });
}

/** The custom emoji of a forum's default reaction. */
function reactionIdOf(channel: GuildChannel | null): string | null {
  const { default_reaction_emoji: emoji }: Pick<ChannelDraft, 'default_reaction_emoji'> = Object(channel);
  return emoji?.emoji_id ?? null;
}
