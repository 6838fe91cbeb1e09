import fc from 'fast-check';
import { messageComponents, type SentComponents } from '../../support/components.ts';
import { Random } from '../random.ts';
import { messageEdit, newMessage, optional, presence, some, text } from './messages.ts';
import { nearlyValid, oddText } from './values.ts';

/** One request, or one gateway message of a person. Ids are names between `@`; `world.ts` puts real ones in. */
export interface Sent {
  /** An operationId, or `op 3`. */
  readonly to: string;
  readonly as: 'bot' | 'person';
  readonly params: Readonly<Record<string, string>>;
  readonly body: unknown;
}

const TREES = 400;
const SHARE_NEARLY_VALID = 0.35;
/** A PNG of one pixel. */
const PIXEL =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** Makes the body of each number of a run: the same for the same seed, whatever was made before. */
export function bodiesOf(seed: number): (index: number) => Sent {
  const trees = fc.sample(messageComponents(), { seed, numRuns: TREES });
  const kinds = Object.entries(KINDS).flatMap(([name, { weight }]) => Array<string>(weight).fill(name));
  return (index) => {
    const random = new Random(Math.imul(seed + 1, 0x9e3779b1) ^ Math.imul(index + 1, 0x85ebca6b));
    const kind = KINDS[random.pick(kinds)]!;
    const made = kind.make(random, trees);
    const body = random.next() < SHARE_NEARLY_VALID ? nearlyValid(random, made.body) : made.body;
    const as = made.as ?? (random.next() < 0.7 ? 'bot' : 'person');
    return { params: {}, ...made, as, body };
  };
}

interface Kind {
  /** How often, among the others. */
  readonly weight: number;
  make(random: Random, trees: readonly SentComponents[]): Omit<Sent, 'as' | 'params'> & Partial<Sent>;
}

const flip = (random: Random): boolean => random.next() < 0.5;
const name = (random: Random, max: number): string =>
  random.next() < 0.3 ? oddText(random) : [...text(random, max)].slice(0, max).join('');

const metadata = (random: Random) => () =>
  Object.fromEntries(some(random, 5, () => [name(random, 50) || 'k', text(random, 200)]));

const bits = (random: Random): string => String(BigInt(random.below(2 ** 30)) << BigInt(random.below(22)));

const overwrite = (random: Random) => ({
  id: random.pick(['@guild@', '@role@', '@other@', '1']),
  ...optional(random, {
    type: () => random.below(2),
    allow: () => '0',
    deny: () => String(random.below(64)),
  }),
});

const emojiFields = (random: Random) =>
  random.pick<object>([{ emoji_name: '🔥' }, { emoji_id: '5' }, { emoji_id: null, emoji_name: null }, {}]);

const channelFields = (random: Random) => ({
  topic: () => text(random, 1_024),
  position: () => random.below(200),
  bitrate: () => random.pick([8_000, 64_000, 96_000]),
  user_limit: () => random.below(100),
  nsfw: () => flip(random),
  rate_limit_per_user: () => random.pick([0, 1, 21_600]),
  permission_overwrites: () => some(random, 3, () => overwrite(random)),
  rtc_region: () => random.pick([null, 'rotterdam', 'x']),
  video_quality_mode: () => 1 + random.below(2),
  default_auto_archive_duration: () => random.pick([60, 1_440, 10_080]),
  default_reaction_emoji: () => emojiFields(random),
  default_thread_rate_limit_per_user: () => random.below(100),
  default_sort_order: () => random.pick([null, 0, 1]),
  default_forum_layout: () => random.below(3),
  default_tag_setting: () => random.pick(['match_all', 'match_some']),
  available_tags: () =>
    some(random, 4, () => ({
      name: name(random, 20),
      ...optional(random, { moderated: () => flip(random), id: () => '1' }),
      ...emojiFields(random),
    })),
  flags: () => random.pick([0, 16, 1 << 15]),
  parent_id: () => random.pick([null, '@category@', '1']),
});

const role = (random: Random) =>
  optional(random, {
    name: () => name(random, 100),
    permissions: () => bits(random),
    color: () => random.below(0x1000000),
    colors: () => ({
      primary_color: random.below(0x1000000),
      ...optional(random, { secondary_color: () => random.below(0x1000000), tertiary_color: () => null }),
    }),
    hoist: () => flip(random),
    mentionable: () => flip(random),
    unicode_emoji: () => random.pick(['🔥', '🏳️‍🌈', null]),
    icon: () => random.pick([PIXEL, null]),
  });

const lobby = (random: Random) =>
  optional(random, {
    metadata: metadata(random),
    idle_timeout_seconds: () => 5 + random.below(604_800),
    flags: () => random.below(2),
    members: () => [
      { id: '@other@', ...optional(random, { metadata: metadata(random), flags: () => random.below(2) }) },
    ],
    override_event_webhooks_url: () => null,
  });

const CHANNELS = ['@spare@', '@voice@', '@stage@', '@forum@', '@category@', '@news@'];
const REACTIONS = ['🔥', '👍🏽', '🏳️‍🌈', 'wave:5', '%F0%9F%94%A5', '1️⃣', 'x', ':a:', '\u0000', '❤', '❤️'];

const KINDS: Readonly<Record<string, Kind>> = {
  newMessage: {
    weight: 40,
    make: (random, trees) => ({
      to: 'create_message',
      params: { channel_id: random.pick(['@text@', '@text@', '@text@', '@voice@', '@news@']) },
      body: newMessage(random, trees),
    }),
  },
  messageEdit: {
    weight: 15,
    make: (random, trees) => ({
      to: 'update_message',
      as: 'bot',
      params: {
        channel_id: '@text@',
        message_id: random.pick(['@message@', '@rich@', '@polled@', '@filed@']),
      },
      body: messageEdit(random, trees),
    }),
  },
  presence: {
    weight: 12,
    make: (random) => ({ to: 'op 3', as: 'person', body: presence(random) }),
  },
  newChannel: {
    weight: 5,
    make: (random) => ({
      to: 'create_guild_channel',
      as: 'bot',
      params: { guild_id: '@guild@' },
      body: {
        name: name(random, 100),
        ...optional(random, { type: () => random.pick([0, 2, 4, 5, 13, 14, 15]), ...channelFields(random) }),
      },
    }),
  },
  channelEdit: {
    weight: 6,
    make: (random) => ({
      to: 'update_channel',
      as: 'bot',
      params: { channel_id: random.pick(CHANNELS) },
      body: optional(random, {
        name: () => name(random, 100),
        type: () => random.pick([0, 5]),
        ...channelFields(random),
      }),
    }),
  },
  newRole: {
    weight: 3,
    make: (random) => ({
      to: 'create_guild_role',
      as: 'bot',
      params: { guild_id: '@guild@' },
      body: role(random),
    }),
  },
  roleEdit: {
    weight: 3,
    make: (random) => ({
      to: 'update_guild_role',
      as: 'bot',
      params: { guild_id: '@guild@', role_id: '@role@' },
      body: role(random),
    }),
  },
  guildEdit: {
    weight: 4,
    make: (random) => ({
      to: 'update_guild',
      as: 'bot',
      params: { guild_id: '@guild@' },
      body: optional(random, {
        name: () => name(random, 100),
        description: () => text(random, 300),
        icon: () => random.pick([PIXEL, null]),
        banner: () => random.pick([PIXEL, null]),
        verification_level: () => random.below(2),
        default_message_notifications: () => random.below(2),
        explicit_content_filter: () => random.below(3),
        preferred_locale: () => random.pick(['en-US', 'de', 'xx']),
        afk_timeout: () => random.pick([60, 300]),
        afk_channel_id: () => random.pick([null, '@voice@', '@text@']),
        system_channel_id: () => random.pick([null, '@text@', '@voice@']),
        rules_channel_id: () => random.pick([null, '@text@']),
        public_updates_channel_id: () => random.pick([null, '@text@']),
        safety_alerts_channel_id: () => random.pick([null, '@text@']),
        system_channel_flags: () => random.below(64),
        premium_progress_bar_enabled: () => flip(random),
        features: () => random.pick([['COMMUNITY'], ['INVITES_DISABLED'], [], ['X', null]]),
      }),
    }),
  },
  memberEdit: {
    weight: 4,
    make: (random) => ({
      to: 'update_guild_member',
      as: 'bot',
      params: { guild_id: '@guild@', user_id: '@other@' },
      body: optional(random, {
        nick: () => random.pick([name(random, 32), null]),
        roles: () => random.pick([[], ['@role@'], ['1'], [null]]),
        communication_disabled_until: () => random.pick([null, '2026-03-01T12:00:00Z']),
        flags: () => random.pick([0, 4]),
      }),
    }),
  },
  ownNick: {
    weight: 2,
    make: (random) => ({
      to: 'update_my_guild_member',
      params: { guild_id: '@guild@' },
      body: optional(random, {
        nick: () => random.pick([name(random, 32), null]),
        bio: () => text(random, 190),
        avatar: () => random.pick([PIXEL, null]),
      }),
    }),
  },
  ownName: {
    weight: 2,
    make: (random) => ({
      to: 'update_my_user',
      as: 'bot',
      body: optional(random, { username: () => name(random, 32), avatar: () => random.pick([PIXEL, null]) }),
    }),
  },
  newLobby: {
    weight: 4,
    make: (random) => ({ to: 'create_lobby', as: 'bot', body: lobby(random) }),
  },
  lobbyEdit: {
    weight: 4,
    make: (random) => ({ to: 'edit_lobby', as: 'bot', params: { lobby_id: '@lobby@' }, body: lobby(random) }),
  },
  lobbyMember: {
    weight: 3,
    make: (random) => ({
      to: 'add_lobby_member',
      as: 'bot',
      params: { lobby_id: '@lobby@', user_id: '@person@' },
      body: optional(random, {
        metadata: metadata(random),
        flags: () => random.below(2),
        additional_name: () => name(random, 32),
      }),
    }),
  },
  reaction: {
    weight: 4,
    make: (random) => ({
      to: 'add_my_message_reaction',
      params: {
        channel_id: '@text@',
        message_id: random.pick(['@message@', '@rich@', '@polled@']),
        emoji_name: random.pick(REACTIONS),
      },
      body: undefined,
    }),
  },
  voiceStatus: {
    weight: 2,
    make: (random) => ({
      to: 'update_voice_channel_status',
      as: 'bot',
      params: { channel_id: '@voice@' },
      body: { status: random.pick([text(random, 500), null, '']) },
    }),
  },
  invite: {
    weight: 3,
    make: (random) => ({
      to: 'create_channel_invite',
      as: 'bot',
      params: { channel_id: random.pick(['@text@', '@voice@', '@stage@']) },
      body: optional(random, {
        max_age: () => random.below(5_184_001),
        max_uses: () => random.below(101),
        temporary: () => flip(random),
        unique: () => flip(random),
        role_ids: () => ['@role@'],
        target_type: () => 1,
      }),
    }),
  },
  stage: {
    weight: 2,
    make: (random) => ({
      to: 'create_stage_instance',
      as: 'bot',
      body: {
        channel_id: '@stage@',
        topic: name(random, 120),
        ...optional(random, { privacy_level: () => 2 }),
      },
    }),
  },
};
