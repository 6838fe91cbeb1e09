import type { RpcEvent } from '../../protocol/rpc.ts';
import { rpcUser } from './commands.ts';
import { type Args, isObject } from './link.ts';
import type { Person, Voice } from './person.ts';
import { guildView, messageView, voiceView } from './views.ts';

interface EventContext {
  readonly person: Person;
  /** The voice state of the user before a VOICE_STATE_UPDATE. */
  readonly before: Voice | null;
  readonly cdn: string;
  local(userId: string): { readonly volume: number; readonly mute: boolean };
}

/** An event for the applications that have subscribed to it. */
interface Emitted {
  readonly name: RpcEvent;
  readonly data: object;
  /** The guild or channel that the subscription must name. */
  readonly of?: string;
  /** Only for connections of this application. */
  readonly applicationId?: string;
}

const JOIN_REQUEST = 5;

type Mapping = (d: Args, seen: EventContext) => readonly Emitted[];

const MAPPINGS: Readonly<Record<string, Mapping>> = {
  USER_UPDATE: (_, { person }) => [{ name: 'CURRENT_USER_UPDATE', data: rpcUser(person.user ?? {}) }],
  GUILD_CREATE: (d, seen) => [
    { name: 'GUILD_CREATE', data: { id: d.id, name: d.name } },
    ...guildStatus(d, seen),
  ],
  GUILD_UPDATE: guildStatus,
  CHANNEL_CREATE: ({ id, name, type }) => [{ name: 'CHANNEL_CREATE', data: { id, name, type } }],
  GUILD_MEMBER_UPDATE: ownMember,
  RELATIONSHIP_ADD: relationship,
  RELATIONSHIP_UPDATE: relationship,
  RELATIONSHIP_REMOVE: relationship,
  VOICE_STATE_UPDATE: voiceChanged,
  MESSAGE_CREATE: (d, seen) => [
    ...message('MESSAGE_CREATE', d),
    ...notification(d, seen),
    ...invitation(d, seen),
  ],
  MESSAGE_UPDATE: (d) => message('MESSAGE_UPDATE', d),
  MESSAGE_DELETE: ({ id, channel_id: channelId }) => [
    { name: 'MESSAGE_DELETE', data: { channel_id: channelId, message: { id } }, of: String(channelId) },
  ],
  ACTIVITY_INVITE_CREATE: invitation,
  ENTITLEMENT_CREATE: (d) => entitlement('ENTITLEMENT_CREATE', d),
  ENTITLEMENT_DELETE: (d) => entitlement('ENTITLEMENT_DELETE', d),
};

/** The events that follow from a dispatch of the person's gateway session. */
export function rpcEvents(t: string, d: Args, seen: EventContext): readonly Emitted[] {
  return Object.hasOwn(MAPPINGS, t) ? (MAPPINGS[t]?.(d, seen) ?? []) : [];
}

function guildStatus(d: Args, { person, cdn }: EventContext): Emitted[] {
  const guild = person.guilds.get(String(d.id));
  if (!guild) return [];
  return [{ name: 'GUILD_STATUS', data: { guild: guildView(guild, cdn), online: 0 }, of: guild.id }];
}

function ownMember(
  { user, nick = null, avatar = null, guild_id: guildId }: Args,
  { person }: EventContext,
): Emitted[] {
  if (!isObject(user) || user.id !== person.user?.id) return [];
  const data = { user_id: user.id, nick, avatar, guild_id: guildId, avatar_decoration_data: null };
  return [{ name: 'CURRENT_GUILD_MEMBER_UPDATE', data, of: String(guildId) }];
}

function relationship({ type, user }: Args): Emitted[] {
  return isObject(user) ? [{ name: 'RELATIONSHIP_UPDATE', data: { type, user: rpcUser(user) } }] : [];
}

const entitlement = (name: 'ENTITLEMENT_CREATE' | 'ENTITLEMENT_DELETE', d: Args): Emitted[] => [
  { name, data: { entitlement: d }, applicationId: String(d.application_id) },
];

function voiceChanged(d: Args, { person, before, local }: EventContext): Emitted[] {
  const userId = String(d.user_id);
  const after = person.voices.get(userId) ?? null;
  const event = (name: RpcEvent, voice: Voice): Emitted => ({
    name,
    data: voiceView(voice, local(userId)),
    of: voice.channelId,
  });
  const isSame = before !== null && after !== null && before.channelId === after.channelId;
  const events = isSame
    ? [event('VOICE_STATE_UPDATE', after)]
    : [
        ...(before === null ? [] : [event('VOICE_STATE_DELETE', before)]),
        ...(after === null ? [] : [event('VOICE_STATE_CREATE', after)]),
      ];
  if (isSame || userId !== person.user?.id) return events;
  const data = { channel_id: after?.channelId ?? null, guild_id: after?.guildId ?? null };
  return [...events, { name: 'VOICE_CHANNEL_SELECT', data }];
}

const message = (name: 'MESSAGE_CREATE' | 'MESSAGE_UPDATE', d: Args): Emitted[] => [
  { name, data: { channel_id: d.channel_id, message: messageView(d) }, of: String(d.channel_id) },
];

/** A message that a client would show a notification for: it mentions the person, or is in a private channel. */
function notification(d: Args, { person, cdn }: EventContext): Emitted[] {
  const { author } = d;
  const selfId = person.user?.id;
  if (!isObject(author) || author.id === selfId) return [];
  const mentions: readonly unknown[] = Array.isArray(d.mentions) ? d.mentions : [];
  const isMentioned = mentions.some((one) => isObject(one) && one.id === selfId);
  if (!isMentioned && d.guild_id !== undefined) return [];
  const icon = typeof author.avatar === 'string' ? `${cdn}/avatars/${author.id}/${author.avatar}.png` : null;
  const data = {
    ...{ channel_id: d.channel_id, message: messageView(d), icon_url: icon },
    ...{ title: String(author.global_name ?? author.username), body: String(d.content ?? '') },
  };
  return [{ name: 'NOTIFICATION_CREATE', data }];
}

/** An invite to a party of another person, or a request to join the person's own. */
function invitation(d: Args, { person }: EventContext): Emitted[] {
  const { activity, author, application } = d;
  if (!isObject(activity) || !isObject(author) || !isObject(application) || author.id === person.user?.id)
    return [];
  const { type } = activity;
  const data = {
    ...{ user: rpcUser(author), activity, type },
    ...{ channel_id: d.channel_id, message_id: d.id ?? d.message_id },
  };
  const name = type === JOIN_REQUEST ? 'ACTIVITY_JOIN_REQUEST' : 'ACTIVITY_INVITE';
  return [{ name, data, applicationId: String(application.id) }];
}
