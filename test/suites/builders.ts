import type { APIAuditLogEntry } from 'discord-api-types/v10';
import type { Rule } from '../../engine/automod/rule.ts';
import type { Emoji, Sound, Sticker } from '../../engine/guild/expressions.ts';
import type { GuildFact } from '../../engine/guild/facts.ts';
import type {
  GuildChannel,
  GuildInfo,
  Invite,
  Member,
  StageInstance,
  StoredMessage,
} from '../../engine/guild/guild.ts';
import type { Application } from '../../engine/user/facts.ts';
import type { GuildId, UserId } from '../../protocol/ids.ts';
import type { APIRole, APIUser } from '../../protocol/objects.ts';
import type { Commit, Writer } from '../../storage/ports.ts';

/** `id('1')` gives the brand that is asked for. */
export const id = <Brand extends string>(value: number | bigint | string): Brand => String(value) as Brand;

export const GUILD = '700000000000000001';

export const user = (userId: string, more: Partial<APIUser> = {}): APIUser => ({
  id: id(userId),
  username: `user${userId}`,
  discriminator: '0',
  global_name: null,
  avatar: null,
  ...more,
});

export const member = (of: APIUser, more: Partial<Member> = {}): Member =>
  ({
    user: of,
    nick: null,
    avatar: null,
    roles: [],
    joined_at: '2026-01-01T00:00:00.000000+00:00',
    premium_since: null,
    deaf: false,
    mute: false,
    flags: 0,
    pending: false,
    communication_disabled_until: null,
    ...more,
  }) as Member;

export const role = (roleId: string, more: Partial<APIRole> = {}): APIRole =>
  ({ id: roleId, name: `role ${roleId}`, permissions: '0', position: 1, ...more }) as APIRole;

export const channel = (channelId: string, more: object = {}): GuildChannel =>
  ({
    id: channelId,
    guild_id: GUILD,
    type: 0,
    name: `channel ${channelId}`,
    position: 0,
    permission_overwrites: [],
    ...more,
  }) as unknown as GuildChannel;

export const info = (guildId: string, ownerId: string): GuildInfo =>
  ({ id: guildId, name: `guild ${guildId}`, owner_id: ownerId, features: [] }) as unknown as GuildInfo;

export const message = (
  channelId: string,
  messageId: string,
  more: Partial<StoredMessage> = {},
): StoredMessage =>
  ({
    id: messageId,
    channel_id: channelId,
    author: user('10'),
    content: `message ${messageId}`,
    attachments: [],
    embeds: [],
    mentions: [],
    reactions: [],
    pinned: false,
    pinned_ms: null,
    type: 0,
    ...more,
  }) as unknown as StoredMessage;

export const created = (of: StoredMessage): GuildFact => ({
  type: 'messageCreated',
  message: of,
  nonce: null,
  referenced: null,
  enforceNonce: false,
});

export const invite = (code: string, channelId: string, more: Partial<Invite> = {}): Invite => ({
  code,
  channel_id: id(channelId),
  guild_id: id(GUILD),
  inviter: user('10'),
  created_at: '2026-01-01T00:00:00.000Z',
  expires_at: null,
  max_age: 0,
  max_uses: 0,
  uses: 0,
  temporary: false,
  ...more,
});

export const entry = (entryId: string, more: Partial<APIAuditLogEntry> = {}): APIAuditLogEntry => ({
  id: entryId,
  user_id: '10',
  target_id: '11',
  action_type: 22,
  ...more,
});

export const rule = (ruleId: string, more: Partial<Rule> = {}): Rule => ({
  ...{
    id: id(ruleId),
    guild_id: id<GuildId>(GUILD),
    creator_id: id<UserId>('10'),
    name: 'words',
    enabled: true,
  },
  ...{ event_type: 1, trigger_type: 1, trigger_metadata: { keyword_filter: ['*cat*'] } },
  actions: [{ type: 1, metadata: { custom_message: 'No cats.' } }],
  ...{ exempt_roles: [], exempt_channels: [] },
  ...more,
});

export const stage = (channelId: string, more: Partial<StageInstance> = {}): StageInstance => ({
  id: '950',
  guild_id: id(GUILD),
  channel_id: id(channelId),
  topic: 'Tales',
  privacy_level: 2,
  discoverable_disabled: true,
  guild_scheduled_event_id: null,
  ...more,
});

const creation = { user: user('10'), available: true } as const;

/** An emoji, a sticker and a sound of the guild. */
export const expressions: { emoji: Emoji; sticker: Sticker; sound: Sound } = {
  emoji: {
    ...creation,
    ...{ id: id('961'), name: 'lamp', roles: [], require_colons: true, managed: false, animated: false },
  },
  sticker: {
    ...creation,
    ...{
      id: id('962'),
      name: 'flag',
      tags: 'wind',
      type: 2,
      format_type: 1,
      description: null,
      guild_id: id(GUILD),
    },
  },
  sound: {
    ...creation,
    ...{
      sound_id: id('963'),
      name: 'gong',
      volume: 1,
      emoji_id: null,
      emoji_name: null,
      guild_id: id(GUILD),
    },
  },
};

export const application = (applicationId: string, botId: string): Application =>
  ({ id: applicationId, bot_id: botId, owner_id: '10', name: 'app', flags: 0 }) as unknown as Application;

/** Commits and waits for the answer; a fault is thrown. */
export function commit(writer: Writer, ownerId: string, ...facts: Commit['facts'][number][]): Promise<void> {
  return new Promise((resolve, reject) => {
    writer.commit({ ownerId, facts, done: (fault) => (fault ? reject(fault) : resolve()) });
  });
}

/** Users 10 to 15, and a guild of user 10 with the channels 100 (text) and 101 (category). */
export async function seed(writer: Writer): Promise<void> {
  for (const userId of ['10', '11', '12', '13', '14', '15'])
    await commit(writer, userId, { type: 'userCreated', user: user(userId) });
  await commit(writer, GUILD, {
    type: 'guildCreated',
    info: info(GUILD, '10'),
    roles: [role(GUILD)],
    channels: [channel('100'), channel('101', { type: 4 })],
    owner: member(user('10')),
  });
}
