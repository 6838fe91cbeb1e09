import { AUDIT } from '../../protocol/audit.ts';
import { refusal } from '../../protocol/refusal.ts';
import { accepted, type Env, type Outcome, refused } from '../kernel/aggregate.ts';
import type { By } from '../kernel/authority.ts';
import { auditEntry, changesOf } from './auditing.ts';
import type { GuildFact } from './facts.ts';
import type { Guild } from './guild.ts';
import type { GuildTag } from './pages.types.ts';
import type { GuildTopic } from './topic.ts';

/** A request for the guild's tag. Absent keys stay; a null tag takes the badge with it. */
export interface TagDraft {
  readonly tag?: string | null | undefined;
  readonly badge?: string | null | undefined;
}

/** The guild as its own profile page shows it. */
export interface GuildProfile {
  readonly id: string;
  readonly name: string;
  readonly icon_hash: string | null;
  readonly description: string | null;
  readonly member_count: number;
  readonly online_count: number;
  readonly features: readonly string[];
  readonly tag: string | null;
  readonly badge_hash: string | null;
}

type TagCommands = {
  /** The `primary_guild` of a member who shows the tag; null for a guild without one. */
  getTag: { input: object; value: ReturnType<typeof shownTag> | null };
  getGuildProfile: { input: object; value: GuildProfile };
  setTag: { input: { readonly draft: TagDraft }; value: GuildProfile };
};

/** The `primary_guild` of a user who shows a guild's tag. */
export const shownTag = (guildId: string, { tag, badge }: GuildTag) => ({
  ...{ identity_guild_id: guildId, identity_enabled: true, tag, badge },
});

/** Guilds with a tag have it. */
const FEATURE = 'GUILD_TAGS';

/** The guild's tag: one to four characters and a badge, which members show behind their names in every guild. */
export const guildTag: GuildTopic<TagCommands, never> = {
  commands: {
    getTag: {
      repeatable: true,
      decide: ({ id, pages: { tag } }) => accepted(tag ? shownTag(id, tag) : null),
    },
    getGuildProfile: {
      repeatable: true,
      decide: (guild) => accepted(profileOf(guild, guild.pages.tag ?? null)),
    },
    setTag: { decide: setTag },
  },
  facts: {},
};

function profileOf({ info, memberCount, presences }: Guild, tag: GuildTag | null): GuildProfile {
  const { id, name, icon, description, features } = info;
  return {
    ...{ id, name, icon_hash: icon, description, features },
    ...{ member_count: memberCount, online_count: presences.size },
    ...{ tag: tag?.tag ?? null, badge_hash: tag?.badge ?? null },
  };
}

const PARTS = ['tag', 'badge'] as const;
const NONE = { tag: null, badge: null };

function setTag(
  guild: Guild,
  { draft }: TagCommands['setTag']['input'],
  by: By,
  env: Env,
): Outcome<GuildProfile, GuildFact> {
  const before = guild.pages.tag ?? null;
  const text = draft.tag === undefined ? (before?.tag ?? null) : draft.tag;
  if (text === null && draft.badge) return refused(refusal('GENERAL_ERROR'));
  const badge = draft.badge === undefined ? (before?.badge ?? null) : draft.badge;
  const after: GuildTag | null = text === null ? null : { tag: text, badge };
  if (before?.tag === after?.tag && before?.badge === after?.badge) return accepted(profileOf(guild, before));
  const others = guild.info.features.filter((feature) => feature !== FEATURE);
  const features = after ? [...others, FEATURE] : others;
  const facts: GuildFact[] = [{ type: 'pageWritten', page: 'tag', data: after }];
  if ((before === null) !== (after === null))
    facts.push({ type: 'guildUpdated', info: { ...guild.info, features } });
  facts.push(
    auditEntry(env, by, {
      ...{ actionType: AUDIT.GUILD_UPDATE, targetId: guild.id },
      changes: changesOf(before ?? NONE, after ?? NONE, PARTS),
    }),
  );
  return accepted({ ...profileOf(guild, after), features }, facts);
}
