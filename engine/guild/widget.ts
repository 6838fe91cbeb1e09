import { AUDIT } from '../../protocol/audit.ts';
import { INVITABLE, VOICE_LIKE } from '../../protocol/channeltypes.ts';
import type { ChannelId, UserId } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import { P } from '../../protocol/permissions.ts';
import { refusal } from '../../protocol/refusal.ts';
import { isoTimestamp } from '../../protocol/timestamps.ts';
import { accepted, type Env, type Outcome, refused } from '../kernel/aggregate.ts';
import type { By } from '../kernel/authority.ts';
import type { Needs } from '../kernel/needs.ts';
import { everyonePermissions } from '../permissions/permissions.ts';
import { auditEntry, changesOf } from './auditing.ts';
import type { GuildFact } from './facts.ts';
import type { Guild, GuildInfo, Invite } from './guild.ts';
import { incidentOf } from './incidents.ts';
import type { GuildTopic } from './topic.ts';

export interface WidgetSettings {
  readonly enabled: boolean;
  readonly channel_id: ChannelId | null;
}

/** The public widget. The transport adds links, because it knows the server's address. */
export interface Widget {
  readonly id: string;
  readonly name: string;
  readonly icon: string | null;
  /** Code of an invite to the widget's channel. */
  readonly inviteCode: string | null;
  readonly channels: readonly { readonly id: ChannelId; readonly name: string; readonly position: number }[];
  readonly members: readonly WidgetMember[];
  readonly presence_count: number;
}

/** A member under a number of this widget instead of an id. */
interface WidgetMember {
  readonly id: string;
  readonly username: string;
  readonly discriminator: '0000';
  readonly avatar: null;
  readonly status: string;
  readonly activity?: { readonly name: string };
  readonly [voice: string]: unknown;
}

type WidgetCommands = {
  getWidgetSettings: { input: object; value: WidgetSettings };
  /** `code`: of the invite that the widget shows, if it needs a new one. */
  updateWidgetSettings: {
    input: {
      readonly draft: { readonly enabled?: boolean | null; readonly channel_id?: ChannelId | null };
      readonly code: string;
    };
    value: WidgetSettings;
  };
  /** For anyone; the server itself calls it. */
  getWidget: { input: object; value: Widget };
};

const settingsOf = ({
  widget_enabled: enabled,
  widget_channel_id: channel_id,
}: GuildInfo): WidgetSettings => ({
  enabled,
  channel_id,
});

const shownInvite = ({ pages }: Guild): readonly string[] => (pages.widget ? [pages.widget.invite_code] : []);

/** The guild's widget for web pages of others. */
export const widget: GuildTopic<WidgetCommands, never> = {
  commands: {
    getWidgetSettings: { repeatable: true, decide: (guild) => accepted(settingsOf(guild.info)) },
    updateWidgetSettings: {
      needs: ({ code }, guild): Needs => ({ invites: [code, ...shownInvite(guild)] }),
      decide: updateWidgetSettings,
    },
    getWidget: {
      repeatable: true,
      needs: (_input, guild) => ({ invites: shownInvite(guild) }),
      decide: getWidget,
    },
  },
  facts: {},
};

function updateWidgetSettings(
  guild: Guild,
  { draft, code }: WidgetCommands['updateWidgetSettings']['input'],
  by: By,
  env: Env,
): Outcome<WidgetSettings, GuildFact> {
  if (draft.channel_id) {
    const channel = guild.channels.get(draft.channel_id);
    if (!channel) return refused(refusal('UNKNOWN_CHANNEL'));
    if (!INVITABLE.has(channel.type)) return refused(refusal('CANNOT_EXECUTE_ON_CHANNEL_TYPE'));
  }
  const info: GuildInfo = {
    ...guild.info,
    widget_enabled: draft.enabled ?? guild.info.widget_enabled,
    widget_channel_id: draft.channel_id === undefined ? guild.info.widget_channel_id : draft.channel_id,
  };
  const changes = changesOf(guild.info, info, ['widget_enabled', 'widget_channel_id']);
  if (changes.length === 0) return accepted(settingsOf(info));
  return accepted(settingsOf(info), [
    { type: 'guildUpdated', info },
    ...inviteFacts(guild, info, code, env),
    auditEntry(env, by, { actionType: AUDIT.GUILD_UPDATE, targetId: guild.id, changes }),
  ]);
}

/** The invite of the widget, while it is not revoked and its channel exists. */
function liveInvite(guild: Guild): Invite | null {
  const [code] = shownInvite(guild);
  const invite = code === undefined ? null : guild.invites.get(code);
  return invite && guild.channels.has(invite.channel_id) ? invite : null;
}

/** An enabled widget has one invite, which is revoked when the widget is disabled or leads to another channel. */
function inviteFacts(guild: Guild, info: GuildInfo, code: string, env: Env): GuildFact[] {
  const channelId = info.widget_enabled ? info.widget_channel_id : null;
  const old = liveInvite(guild);
  if (channelId !== null && old?.channel_id === channelId) return [];
  const facts: GuildFact[] = old
    ? [{ type: 'inviteDeleted', code: old.code, channelId: old.channel_id }]
    : [];
  if (channelId === null || guild.invites.get(code))
    return guild.pages.widget ? [...facts, { type: 'pageWritten', page: 'widget', data: null }] : facts;
  const invite: Invite = {
    ...{ code, channel_id: channelId, guild_id: guild.id, inviter: null, temporary: false },
    ...{ created_at: isoTimestamp(env.nowMs), expires_at: null, max_age: 0, max_uses: 0, uses: 0 },
  };
  return [
    ...facts,
    { type: 'inviteCreated', invite },
    { type: 'pageWritten', page: 'widget', data: { invite_code: code } },
  ];
}

function getWidget(guild: Guild, _input: object, _by: By, env: Env): Outcome<Widget, GuildFact> {
  const { info } = guild;
  if (!info.widget_enabled) return refused(refusal('GUILD_WIDGET_DISABLED'));
  const channels = [...guild.channels.values()]
    .filter(
      (channel) => VOICE_LIKE.has(channel.type) && (everyonePermissions(guild, channel) & OPEN) === OPEN,
    )
    .map(({ id, name, position }) => ({ id, name: name ?? '', position }))
    .sort((a, b) => a.position - b.position);
  const isClosed =
    info.features.includes('INVITES_DISABLED') || incidentOf(guild, 'invites', env.nowMs) !== null;
  return accepted({
    id: guild.id,
    name: info.name,
    icon: info.icon ?? null,
    inviteCode: isClosed ? null : (liveInvite(guild)?.code ?? null),
    channels,
    members: membersShown(guild, new Set(channels.map(({ id }) => id))),
    presence_count: guild.presences.size,
  });
}

const OPEN = P.VIEW_CHANNEL | P.CONNECT;

/** The first members who are online, and in which of the shown channels they are. */
function membersShown(guild: Guild, channels: ReadonlySet<ChannelId>): WidgetMember[] {
  const shown: WidgetMember[] = [];
  for (const [userId, { status, activities }] of guild.presences) {
    if (shown.length >= LIMITS.widget_members_max) break;
    const member = guild.members.get(userId);
    if (!member) continue;
    const [activity] = activities ?? [];
    shown.push({
      id: String(shown.length),
      username: member.nick ?? member.user.global_name ?? member.user.username,
      discriminator: '0000',
      avatar: null,
      status: status ?? 'online',
      ...(activity && { activity: { name: activity.name } }),
      ...voiceShown(guild, userId, channels),
    });
  }
  return shown;
}

function voiceShown(guild: Guild, userId: UserId, channels: ReadonlySet<ChannelId>): object {
  const state = guild.voiceStates.get(userId);
  const channelId = [...channels].find((id) => id === state?.channel_id);
  if (!state || channelId === undefined) return {};
  const { deaf, mute, self_deaf, self_mute, suppress } = state;
  return { deaf, mute, self_deaf, self_mute, suppress, channel_id: channelId };
}
