import { AUDIT } from '../../protocol/audit.ts';
import { FORUMS, TEXT_LIKE } from '../../protocol/channeltypes.ts';
import type { ChannelId, UserId } from '../../protocol/ids.ts';
import { invalidField, type Refusal } from '../../protocol/refusal.ts';
import { accepted, type Env, type Outcome, refused } from '../kernel/aggregate.ts';
import type { By } from '../kernel/authority.ts';
import { auditEntry, changesOf, sameValue } from './auditing.ts';
import { chosenEmoji, type EmojiDraft } from './expressions.emoji.ts';
import type { GuildFact } from './facts.ts';
import type { Guild } from './guild.ts';
import type { GuideChannel, NewMemberAction, NewMemberWelcome } from './pages.types.ts';
import type { GuildTopic } from './topic.ts';

interface GuideChannelDraft {
  readonly channel_id: ChannelId;
  readonly title: string;
  readonly description?: string | null;
  readonly emoji?: { readonly id?: string | null; readonly name?: string | null } | null;
}

/** A request for the whole guide. */
export interface NewMemberWelcomeDraft {
  readonly enabled?: boolean | null;
  readonly welcome_message?: { readonly author_ids: readonly UserId[]; readonly message: string } | null;
  readonly new_member_actions?: readonly (GuideChannelDraft & { readonly action_type: 0 | 1 })[] | null;
  readonly resource_channels?: readonly GuideChannelDraft[] | null;
}

type NewMemberWelcomeObject = NewMemberWelcome & { readonly guild_id: string };

type NewMemberCommands = {
  /** Null before there is a guide. */
  getNewMemberWelcome: { input: object; value: NewMemberWelcomeObject | null };
  putNewMemberWelcome: { input: { readonly draft: NewMemberWelcomeDraft }; value: NewMemberWelcomeObject };
};

/** The guild's guide: a greeting, first tasks for a new member, and channels to read. */
export const newMembers: GuildTopic<NewMemberCommands, never> = {
  commands: {
    getNewMemberWelcome: {
      repeatable: true,
      decide: (guild) => {
        const page = guild.pages.new_member_welcome;
        return accepted(page ? shown(guild, page) : null);
      },
    },
    putNewMemberWelcome: { decide: putNewMemberWelcome },
  },
  facts: {},
};

/** Omits channels that were deleted. */
function shown(guild: Guild, page: NewMemberWelcome): NewMemberWelcomeObject {
  const live = <T extends GuideChannel>(entries: readonly T[]) =>
    entries.filter(({ channel_id: id }) => guild.channels.has(id));
  return {
    ...{ guild_id: guild.id, ...page },
    new_member_actions: live(page.new_member_actions),
    resource_channels: live(page.resource_channels),
  };
}

function putNewMemberWelcome(
  guild: Guild,
  { draft }: NewMemberCommands['putNewMemberWelcome']['input'],
  by: By,
  env: Env,
): Outcome<NewMemberWelcomeObject, GuildFact> {
  const before = guild.pages.new_member_welcome ?? null;
  const drafts = draft.new_member_actions ?? [];
  const actions = channelsOf(guild, drafts, before?.new_member_actions ?? [], 'new_member_actions');
  if (!actions.ok) return actions;
  const resources = channelsOf(
    guild,
    draft.resource_channels ?? [],
    before?.resource_channels ?? [],
    'resource_channels',
  );
  if (!resources.ok) return resources;
  const after: NewMemberWelcome = {
    enabled: draft.enabled ?? true,
    ...(draft.welcome_message && { welcome_message: draft.welcome_message }),
    new_member_actions: actions.value.map(
      (entry, at): NewMemberAction => ({
        ...entry,
        action_type: drafts[at]?.action_type ?? 0,
      }),
    ),
    resource_channels: resources.value,
  };
  const value = shown(guild, after);
  if (before && sameValue(before, after)) return accepted(value);
  return accepted(value, [
    { type: 'pageWritten', page: 'new_member_welcome', data: after },
    auditEntry(env, by, {
      actionType: before ? AUDIT.HOME_SETTINGS_UPDATE : AUDIT.HOME_SETTINGS_CREATE,
      targetId: guild.id,
      changes: changesOf(before ?? NONE, after, PARTS),
    }),
  ]);
}

const NONE: NewMemberWelcome = { enabled: false, new_member_actions: [], resource_channels: [] };
const PARTS = ['enabled', 'welcome_message', 'new_member_actions', 'resource_channels'] as const;

function channelsOf(
  guild: Guild,
  drafts: readonly GuideChannelDraft[],
  before: readonly GuideChannel[],
  field: (typeof PARTS)[number],
): Outcome<readonly GuideChannel[], never> {
  const channels: GuideChannel[] = [];
  for (const [at, { channel_id, title, description, emoji: drafted }] of drafts.entries()) {
    const no = channelRefusal(guild, channel_id, [field, at, 'channel_id']);
    if (no) return refused(no);
    const named: EmojiDraft = { emoji_id: drafted?.id ?? null, emoji_name: drafted?.name ?? null };
    const kept = before.find((entry) => entry.channel_id === channel_id)?.emoji?.id;
    const emoji = chosenEmoji(guild, named, kept);
    if (!emoji.ok) return emoji;
    const entry = { channel_id, title, description: description ?? '' };
    channels.push(emoji.value ? { ...entry, emoji: emoji.value } : entry);
  }
  return accepted(channels);
}

function channelRefusal(guild: Guild, id: ChannelId, path: readonly (string | number)[]): Refusal | null {
  const type = guild.channels.get(id)?.type;
  if (type === undefined) return invalidField(path, 'CHANNEL_DOES_NOT_EXIST', 'The channel does not exist.');
  if (TEXT_LIKE.has(type) || FORUMS.has(type)) return null;
  return invalidField(path, 'BASE_TYPE_CHOICES', 'The guide leads to channels with messages.');
}
