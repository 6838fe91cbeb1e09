import type { SentComponents } from '../../support/components.ts';
import type { Random } from '../random.ts';
import { oddText } from './values.ts';

/** Names between `@` stand for ids of the world that the body is sent to; `world.ts` puts these in. */
const WORDS = [
  'tide',
  'Harbour',
  '**bold**',
  '`code`',
  '```ts\nx\n```',
  '||spoiler||',
  '[a](https://example.com)',
  'https://example.com/a?b=c#d',
  '<@@person@>',
  '<@!@bot@>',
  '<@&@role@>',
  '<#@text@>',
  '<#1>',
  '<:wave:1>',
  '<a:wave:2>',
  '</cmd:3>',
  '<t:0:R>',
  '<t:99999999999999:F>',
  '<id:customize>',
  '@everyone',
  '@here',
  '# h',
  '-# small',
  '🔥',
  '界',
  '\n',
];

const chance = (random: Random, share: number): boolean => random.next() < share;

export function text(random: Random, max: number): string {
  if (chance(random, 0.05)) return 'x'.repeat(max);
  if (chance(random, 0.1)) return oddText(random).slice(0, max) || 'x';
  const words = Array.from({ length: 1 + random.below(8) }, () => random.pick(WORDS));
  return [...words.join(' ')].slice(0, max).join('').trim() || 'x';
}

export const some = <T>(random: Random, max: number, make: () => T): T[] =>
  Array.from({ length: 1 + random.below(max) }, make);

/** The given keys, each there or not by chance. */
export function optional(
  random: Random,
  makers: Readonly<Record<string, () => unknown>>,
): Record<string, unknown> {
  const share = random.pick([0.2, 0.5, 0.9]);
  return Object.fromEntries(
    Object.entries(makers).flatMap(([key, make]) => (chance(random, share) ? [[key, make()]] : [])),
  );
}

const URLS = [
  'https://example.com',
  'http://example.com/a.png',
  'https://例え.jp/ü?q=1',
  'attachment://map.png',
];
const TIMES = [
  '2026-03-01T12:00:00Z',
  '2026-03-01T12:00:00.123456+02:00',
  '1970-01-01',
  '2038-01-19T03:14:08Z',
];

function embed(random: Random): object {
  const url = () => random.pick(URLS);
  const web = () => random.pick(URLS.slice(0, 3));
  return {
    ...(chance(random, 0.8) ? { description: text(random, 500) } : { title: text(random, 256) }),
    ...optional(random, {
      title: () => text(random, 256),
      url: web,
      timestamp: () => random.pick(TIMES),
      color: () => random.below(0x1000000),
      footer: () => ({ text: text(random, 200), ...optional(random, { icon_url: url }) }),
      image: () => ({ url: url() }),
      thumbnail: () => ({ url: url() }),
      author: () => ({ name: text(random, 100), ...optional(random, { url: web, icon_url: url }) }),
      fields: () =>
        some(random, 4, () => ({
          name: text(random, 100),
          value: text(random, 200),
          ...optional(random, { inline: () => chance(random, 0.5) }),
        })),
      type: () => random.pick(['rich', 'image', 'video', 'poll_result']),
      provider: () => ({ name: 'x', url: 'https://example.com' }),
      video: () => ({ url: 'https://example.com/v.mp4' }),
    }),
  };
}

const EMOJI = [{ name: '🔥' }, { id: null, name: '👍🏽' }, { id: '5', name: 'wave' }, { name: '🏳️‍🌈' }];

function poll(random: Random): object {
  return {
    question: { text: text(random, 300) },
    answers: some(random, 5, () => ({
      poll_media: { text: text(random, 55), ...optional(random, { emoji: () => random.pick(EMOJI) }) },
    })),
    ...optional(random, {
      duration: () => 1 + random.below(768),
      allow_multiselect: () => chance(random, 0.5),
      layout_type: () => 1,
    }),
  };
}

const ALLOWED_MENTIONS = [
  { parse: [] },
  { parse: ['users', 'roles', 'everyone'] },
  { parse: ['users'], replied_user: true },
  { users: ['@person@', '@bot@'], roles: ['@role@'] },
  { parse: [], users: ['1'], replied_user: false },
];
const FLAGS = [0, 4, 64, 4_096, 8_192, 32_768, 4 | 4_096, 1 << 14, 2, 16];
const REFERENCES = [
  { message_id: '@message@' },
  { message_id: '@rich@', channel_id: '@text@', guild_id: '@guild@', fail_if_not_exists: false },
  { message_id: '1', fail_if_not_exists: false },
  { type: 1, message_id: '@rich@', channel_id: '@text@' },
  { type: 1, message_id: '@polled@', channel_id: '@text@' },
  { type: 1, message_id: '@filed@', channel_id: '@text@' },
];

function attachments(random: Random): object[] {
  return [0, 1].slice(0, 1 + random.below(2)).map((id) => ({
    id: String(id),
    ...optional(random, {
      filename: () => random.pick(['map.png', 'notes.txt', 'SPOILER_map.png', 'ü 界.png', '..', 'a/b.png']),
      description: () => text(random, 200),
      title: () => text(random, 60),
      is_spoiler: () => chance(random, 0.5),
      duration_secs: () => random.below(100) / 7,
      waveform: () => 'AAAA',
    }),
  }));
}

const contentOf = (random: Random) => ({
  content: () => text(random, 2_000),
  embeds: () => some(random, random.pick([1, 1, 3, 10]), () => embed(random)),
  allowed_mentions: () => random.pick(ALLOWED_MENTIONS),
  flags: () => random.pick(FLAGS),
});

/** A body for create_message. Most are valid; that some contradict themselves is for the server to say. */
export function newMessage(random: Random, trees: readonly SentComponents[]): Record<string, unknown> {
  if (chance(random, 0.4))
    return { ...withComponents(random, trees), ...optional(random, { nonce: () => 'n' }) };
  return {
    ...(chance(random, 0.7) && { content: text(random, 2_000) }),
    ...optional(random, {
      ...contentOf(random),
      nonce: () => random.pick<unknown>([1, 'a', '9007199254740993', -5]),
      enforce_nonce: () => chance(random, 0.5),
      tts: () => chance(random, 0.5),
    }),
    ...(chance(random, 0.1) && { poll: poll(random) }),
    ...(chance(random, 0.2) && { message_reference: random.pick(REFERENCES) }),
    ...(chance(random, 0.05) && { sticker_ids: some(random, 3, () => '749054660769218631') }),
    ...(chance(random, 0.1) && { attachments: attachments(random) }),
  };
}

function withComponents(random: Random, trees: readonly SentComponents[]): Record<string, unknown> {
  const { flags, components } = structuredClone(random.pick(trees));
  return { components, flags, ...(flags === 0 && { content: text(random, 2_000) }) };
}

/** A body for update_message. */
export function messageEdit(random: Random, trees: readonly SentComponents[]): Record<string, unknown> {
  if (chance(random, 0.4)) return withComponents(random, trees);
  return optional(random, {
    ...contentOf(random),
    attachments: () =>
      random.pick<unknown>([[], [{ id: '@attachment@', description: 'kept' }], attachments(random), null]),
  });
}

const TIMESTAMPS = [{ start: 1 }, { end: 2 ** 45 }, { start: 1_700_000_000_000, end: 1_700_000_100_000 }];

/** `d` of op 3, as a person's client sends it. */
export function presence(random: Random): Record<string, unknown> {
  return {
    since: random.pick([null, 0, 1_700_000_000_000]),
    afk: chance(random, 0.2),
    status: random.pick(['online', 'dnd', 'idle', 'invisible']),
    activities: some(random, 3, () => activity(random)),
  };
}

function activity(random: Random): object {
  return {
    name: text(random, 128),
    type: random.below(7),
    ...optional(random, {
      url: () => random.pick(['https://twitch.tv/x', 'https://youtube.com/watch?v=x', 'https://example.com']),
      state: () => text(random, 128),
      details: () => text(random, 128),
      details_url: () => 'https://example.com/d',
      state_url: () => 'https://example.com/s',
      status_display_type: () => random.below(3),
      timestamps: () => random.pick(TIMESTAMPS),
      assets: () => ({
        large_image: random.pick(['key', 'mp:external/x', 'spotify:abc', 'https://example.com/a.png', '123']),
        large_text: text(random, 128),
        ...optional(random, {
          small_image: () => 'small',
          small_text: () => 'st',
          invite_cover_image: () => 'c',
        }),
      }),
      party: () => ({
        id: text(random, 50),
        size: random.pick([
          [1, 4],
          [4, 1],
          [0, 0],
        ]),
        privacy: random.below(2),
      }),
      emoji: () => random.pick(EMOJI),
      buttons: () => random.pick<unknown>([['One', 'Two'], [{ label: 'a', url: 'https://example.com' }]]),
      supported_platforms: () => ['desktop', 'ios', 'x'],
      instance: () => chance(random, 0.5),
      sync_id: () => 'sync',
      flags: () => random.below(1_024),
      secrets: () => ({ join: 'j'.repeat(10), spectate: 's', match: 'm' }),
      application_id: () => '@application@',
      session_id: () => 's',
      id: () => 'i',
      created_at: () => 1,
      metadata: () => ({ button_urls: ['https://example.com'] }),
    }),
  };
}
