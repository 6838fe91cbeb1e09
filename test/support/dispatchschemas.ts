import { validateAs } from './openapi.ts';

type Json = Readonly<Record<string, unknown>>;

/** A part of a dispatch's payload that the published file has a schema for. */
interface Part {
  readonly schema: string;
  /** The values to check: none when the payload has no such part. */
  of(d: Json): readonly unknown[];
}

const whole = (schema: string): Part => ({ schema, of: (d) => [d] });
const at = (schema: string, key: string): Part => ({ schema, of: (d) => (d[key] == null ? [] : [d[key]]) });
/** As `at`, of a key that the payload must have. */
const needed = (schema: string, key: string): Part => ({ schema, of: (d) => [d[key]] });
const GUILD_ID = needed('SnowflakeType', 'guild_id');
const each = (schema: string, key: string): Part => ({ schema, of: (d) => (d[key] ?? []) as unknown[] });

const PRIVATE_CHANNEL = 1;
const GROUP = 3;
const CHANNEL: readonly Part[] = [
  { schema: 'GuildChannelResponse', of: (d) => (d.type !== PRIVATE_CHANNEL && d.type !== GROUP ? [d] : []) },
  { schema: 'PrivateChannelResponse', of: (d) => (d.type === PRIVATE_CHANNEL ? [d] : []) },
];

/** Each trigger of auto moderation has a schema of its own. */
const RULE: readonly Part[] = Object.entries({
  1: 'KeywordRuleResponse',
  3: 'MLSpamRuleResponse',
  4: 'DefaultKeywordRuleResponse',
  5: 'MentionSpamRuleResponse',
  6: 'UserProfileRuleResponse',
}).map(([trigger, schema]) => ({ schema, of: (d) => (String(d.trigger_type) === trigger ? [d] : []) }));

/** A lobby over the gateway names its members by their users, where HTTP has their ids. */
const LOBBY: Part = {
  schema: 'LobbyResponse',
  of: (d) => {
    const members = ((d.members ?? []) as { user?: { id?: unknown } }[]).map(({ user, ...rest }) => ({
      id: user?.id,
      ...rest,
    }));
    return [{ ...d, members }];
  },
};

/**
 * Payloads of the gateway that have the shape of an answer over HTTP. Channels and voice states of GUILD_CREATE leave out their
 * `guild_id`, and members beside the author of a message leave out `user`, as the platform's gateway documents it. The
 * user of USER_UPDATE is the same for all sessions, applications among them: an address is in READY alone.
 */
const PARTS: Readonly<Record<string, readonly Part[]>> = {
  READY: [needed('UserPIIResponse', 'user')],
  GUILD_CREATE: [
    {
      schema: 'GuildChannelResponse',
      of: (d) => ((d.channels ?? []) as Json[]).map((channel) => ({ guild_id: d.id, ...channel })),
    },
    each('GuildRoleResponse', 'roles'),
    each('GuildMemberResponse', 'members'),
    {
      schema: 'VoiceStateResponse',
      of: (d) => ((d.voice_states ?? []) as Json[]).map((state) => ({ guild_id: d.id, ...state })),
    },
    each('StageInstanceResponse', 'stage_instances'),
    each('ScheduledEventResponse', 'guild_scheduled_events'),
    each('EmojiResponse', 'emojis'),
    each('GuildStickerResponse', 'stickers'),
    each('SoundboardSoundResponse', 'soundboard_sounds'),
  ],
  MESSAGE_CREATE: [whole('MessageResponse')],
  MESSAGE_UPDATE: [whole('MessageResponse')],
  CHANNEL_CREATE: CHANNEL,
  CHANNEL_UPDATE: CHANNEL,
  CHANNEL_DELETE: CHANNEL,
  GUILD_ROLE_CREATE: [needed('GuildRoleResponse', 'role'), GUILD_ID],
  GUILD_ROLE_UPDATE: [needed('GuildRoleResponse', 'role'), GUILD_ID],
  GUILD_EMOJIS_UPDATE: [each('EmojiResponse', 'emojis'), GUILD_ID],
  GUILD_STICKERS_UPDATE: [each('GuildStickerResponse', 'stickers'), GUILD_ID],
  GUILD_SOUNDBOARD_SOUND_CREATE: [whole('SoundboardSoundResponse'), GUILD_ID],
  GUILD_SOUNDBOARD_SOUND_UPDATE: [whole('SoundboardSoundResponse'), GUILD_ID],
  SOUNDBOARD_SOUNDS: [each('SoundboardSoundResponse', 'soundboard_sounds'), GUILD_ID],
  GUILD_MEMBER_ADD: [whole('GuildMemberResponse'), GUILD_ID],
  GUILD_MEMBER_UPDATE: [whole('GuildMemberResponse'), GUILD_ID],
  GUILD_MEMBER_REMOVE: [needed('UserResponse', 'user'), GUILD_ID],
  GUILD_MEMBER_LIST_UPDATE: [GUILD_ID],
  GUILD_MEMBERS_CHUNK: [each('GuildMemberResponse', 'members'), GUILD_ID],
  GUILD_JOIN_REQUEST_CREATE: [needed('GuildJoinRequestResponse', 'request'), GUILD_ID],
  GUILD_JOIN_REQUEST_UPDATE: [needed('GuildJoinRequestResponse', 'request'), GUILD_ID],
  GUILD_JOIN_REQUEST_DELETE: [needed('SnowflakeType', 'user_id'), GUILD_ID],
  GUILD_BAN_ADD: [needed('UserResponse', 'user'), GUILD_ID],
  GUILD_BAN_REMOVE: [needed('UserResponse', 'user'), GUILD_ID],
  VOICE_STATE_UPDATE: [whole('VoiceStateResponse')],
  CALL_CREATE: [each('VoiceStateResponse', 'voice_states')],
  MESSAGE_REACTION_ADD: [at('GuildMemberResponse', 'member')],
  TYPING_START: [at('GuildMemberResponse', 'member')],
  USER_UPDATE: [whole('UserResponse')],
  AUTO_MODERATION_RULE_CREATE: RULE,
  AUTO_MODERATION_RULE_UPDATE: RULE,
  AUTO_MODERATION_RULE_DELETE: RULE,
  STAGE_INSTANCE_CREATE: [whole('StageInstanceResponse')],
  STAGE_INSTANCE_UPDATE: [whole('StageInstanceResponse')],
  STAGE_INSTANCE_DELETE: [whole('StageInstanceResponse')],
  GUILD_SCHEDULED_EVENT_CREATE: [whole('ScheduledEventResponse')],
  GUILD_SCHEDULED_EVENT_UPDATE: [whole('ScheduledEventResponse')],
  GUILD_SCHEDULED_EVENT_DELETE: [whole('ScheduledEventResponse')],
  GUILD_SCHEDULED_EVENT_USER_ADD: [needed('SnowflakeType', 'guild_scheduled_event_id'), GUILD_ID],
  GUILD_SCHEDULED_EVENT_USER_REMOVE: [needed('SnowflakeType', 'guild_scheduled_event_id'), GUILD_ID],
  GUILD_SCHEDULED_EVENT_EXCEPTION_CREATE: [whole('GuildScheduledEventExceptionResponse'), GUILD_ID],
  GUILD_SCHEDULED_EVENT_EXCEPTION_UPDATE: [whole('GuildScheduledEventExceptionResponse'), GUILD_ID],
  GUILD_SCHEDULED_EVENT_EXCEPTION_DELETE: [whole('GuildScheduledEventExceptionResponse'), GUILD_ID],
  LOBBY_CREATE: [LOBBY],
  LOBBY_UPDATE: [LOBBY],
};

/** Faults in a dispatch, in the words of the published file; null when it has no schema for any of it. */
export function objectionsToDispatch(t: string, d: Json): string[] | null {
  const parts = Object.hasOwn(PARTS, t) ? PARTS[t]! : null;
  if (!parts) return null;
  return parts.flatMap(({ schema, of }) => of(d).flatMap((value) => validateAs(schema, value, t)));
}
