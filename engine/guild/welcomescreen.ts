import { AUDIT } from '../../protocol/audit.ts';
import { FORUMS, TEXT_LIKE, VOICE_LIKE } from '../../protocol/channeltypes.ts';
import type { ChannelId } from '../../protocol/ids.ts';
import { P } from '../../protocol/permissions.ts';
import { invalidField, type Refusal, refusal } from '../../protocol/refusal.ts';
import { accepted, type Env, type Outcome, refused } from '../kernel/aggregate.ts';
import type { By } from '../kernel/authority.ts';
import { auditEntry, type Change, sameValue } from './auditing.ts';
import { bitsOf } from './authorize.ts';
import { chosenEmoji, type EmojiDraft } from './expressions.emoji.ts';
import type { GuildFact } from './facts.ts';
import type { Guild, GuildInfo } from './guild.ts';
import type { WelcomeChannel, WelcomeScreen } from './pages.types.ts';
import type { GuildTopic } from './topic.ts';

/** A request's changes of the screen. An absent field stays as it is, and so does a null that cannot be stored. */
export interface WelcomeScreenDraft {
  readonly description?: string | null;
  readonly welcome_channels?: readonly WelcomeChannelDraft[] | null;
  readonly enabled?: boolean | null;
}

interface WelcomeChannelDraft extends EmojiDraft {
  readonly channel_id: ChannelId;
  readonly description: string;
}

type WelcomeScreenCommands = {
  getWelcomeScreen: { input: object; value: WelcomeScreen };
  updateWelcomeScreen: { input: { readonly draft: WelcomeScreenDraft }; value: WelcomeScreen };
};

const FEATURE = 'WELCOME_SCREEN_ENABLED';
const NONE: WelcomeScreen = { description: null, welcome_channels: [] };

/** The screen that greets new members; the guild's feature says whether it is shown. */
export const welcomeScreen: GuildTopic<WelcomeScreenCommands, never> = {
  commands: {
    getWelcomeScreen: { decide: getWelcomeScreen },
    updateWelcomeScreen: { decide: updateWelcomeScreen },
  },
  facts: {},
};

/** The screen without deleted channels. */
function shown(guild: Guild, { description, welcome_channels }: WelcomeScreen): WelcomeScreen {
  const live = welcome_channels.filter(({ channel_id: id }) => guild.channels.has(id));
  return { description, welcome_channels: live };
}

/** An enabled screen is visible to everyone; a disabled one only to members who may edit it. */
function getWelcomeScreen(guild: Guild, _input: object, by: By, env: Env): Outcome<WelcomeScreen, GuildFact> {
  const isOn = guild.info.features.includes(FEATURE);
  if (!isOn && (bitsOf(guild, by, env.nowMs) & P.MANAGE_GUILD) === 0n)
    return refused(refusal('MISSING_PERMISSIONS'));
  const { welcome_screen: screen } = guild.pages;
  return screen ? accepted(shown(guild, screen)) : refused(refusal('UNKNOWN_GUILD_WELCOME_SCREEN'));
}

function updateWelcomeScreen(
  guild: Guild,
  { draft }: WelcomeScreenCommands['updateWelcomeScreen']['input'],
  by: By,
  env: Env,
): Outcome<WelcomeScreen, GuildFact> {
  const before = guild.pages.welcome_screen ?? null;
  const channels = draft.welcome_channels
    ? channelsOf(guild, before?.welcome_channels ?? [], draft.welcome_channels)
    : null;
  if (channels && !channels.ok) return channels;
  const kept = shown(guild, before ?? NONE);
  const after: WelcomeScreen = {
    description: draft.description === undefined ? kept.description : draft.description || null,
    welcome_channels: channels?.value ?? kept.welcome_channels,
  };
  const info = switched(guild.info, draft.enabled);
  const facts: GuildFact[] = [];
  const changes: Change[] = [];
  if (!sameValue(before, after)) {
    facts.push({ type: 'pageWritten', page: 'welcome_screen', data: after });
    changes.push({ key: 'welcome_screen', new_value: after, ...(before && { old_value: before }) });
  }
  if (info !== guild.info) {
    facts.push({ type: 'guildUpdated', info });
    changes.push({ key: 'features', new_value: info.features, old_value: guild.info.features });
  }
  if (facts.length === 0) return accepted(after);
  const entry = auditEntry(env, by, { actionType: AUDIT.GUILD_UPDATE, targetId: guild.id, changes });
  return accepted(after, [...facts, entry]);
}

function switched(info: GuildInfo, enabled: boolean | null | undefined): GuildInfo {
  const { features } = info;
  if (enabled == null || enabled === features.includes(FEATURE)) return info;
  return {
    ...info,
    features: enabled ? [...features, FEATURE] : features.filter((each) => each !== FEATURE),
  };
}

function channelsOf(
  guild: Guild,
  before: readonly WelcomeChannel[],
  drafts: readonly WelcomeChannelDraft[],
): Outcome<readonly WelcomeChannel[], never> {
  const seen = new Set<ChannelId>();
  const channels: WelcomeChannel[] = [];
  for (const [at, draft] of drafts.entries()) {
    const no = channelRefusal(guild, draft, at, seen);
    if (no) return refused(no);
    seen.add(draft.channel_id);
    const { channel_id, description } = draft;
    const kept = before.find((channel) => channel.channel_id === channel_id)?.emoji_id;
    const emoji = chosenEmoji(guild, draft, kept);
    if (!emoji.ok) return emoji;
    const { id = null, name = null } = emoji.value ?? {};
    channels.push({ channel_id, description, emoji_id: id, emoji_name: name });
  }
  return accepted(channels);
}

function channelRefusal(
  guild: Guild,
  { channel_id: id }: WelcomeChannelDraft,
  at: number,
  seen: ReadonlySet<ChannelId>,
): Refusal | null {
  const path = ['welcome_channels', at, 'channel_id'];
  const type = guild.channels.get(id)?.type;
  if (type === undefined) return invalidField(path, 'CHANNEL_DOES_NOT_EXIST', 'The channel does not exist.');
  if (seen.has(id)) return invalidField(path, 'BASE_TYPE_CHOICES', 'Each channel may be listed once.');
  if (TEXT_LIKE.has(type) || FORUMS.has(type) || VOICE_LIKE.has(type)) return null;
  return invalidField(path, 'BASE_TYPE_CHOICES', 'Members cannot be sent to a category.');
}
