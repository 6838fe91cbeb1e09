/** Goal: forums and media channels take their fields within the bounds, and decorations that the guild has. */
import { describe, expect, it } from 'vitest';
import type { ChannelDraft } from '../../../engine/guild/channels.ts';
import { P } from '../../../protocol/permissions.ts';
import { buildGuild, channel, role } from '../../support/guild.ts';
import { fullMember } from '../../support/people.ts';
import { ruled } from '../../support/ruled.ts';

const FORUM = 15;
const MEDIA = 16;
const OWNER = '2';

/** User 2 owns it and made the emoji 700; channels 30 and 31 are for texts. */
function arrange() {
  const guild = buildGuild({
    everyone: P.VIEW_CHANNEL | P.SEND_MESSAGES,
    roles: [role('100', P.CREATE_GUILD_EXPRESSIONS, 1)],
    members: [fullMember('10', ['100'])],
    channels: [channel('30'), channel('31')],
  });
  guild.info = { ...guild.info, features: [], premium_tier: 0 };
  const emoji = { emojiId: '700', name: 'badger', roles: [], animated: true };
  expect(ruled(guild, 'createEmoji', emoji, '10').code).toBeUndefined();
  return guild;
}

type Arranged = ReturnType<typeof arrange>;

const create = (guild: Arranged, draft: ChannelDraft) =>
  ruled(guild, 'createChannel', { draft: { name: 'x', ...draft } }, OWNER);
const tags = (count: number) => Array.from({ length: count }, (_, i) => ({ name: `tag ${i}` }));
const emojiGone = (guild: Arranged) => ruled(guild, 'deleteEmoji', { emojiId: '700' }, OWNER);

describe.each([FORUM, MEDIA])('a channel of type %i', (type) => {
  it.each<[string, ChannelDraft, number | undefined]>([
    ['20 tags', { available_tags: tags(20) }, undefined],
    ['21 tags', { available_tags: tags(21) }, 30_048],
    ['a name of a tag with 20 characters', { available_tags: [{ name: '🦔'.repeat(20) }] }, undefined],
    ['a name of a tag with 21 characters', { available_tags: [{ name: 'x'.repeat(21) }] }, 50_035],
    ['a name twice', { available_tags: [{ name: 'a' }, { name: 'a' }] }, 40_061],
    ['a tag that it does not have', { available_tags: [{ id: '1', name: 'a' }] }, 10_087],
    ['a topic of 4,096 characters', { topic: 'x'.repeat(4_096) }, undefined],
    ['a topic of 4,097 characters', { topic: 'x'.repeat(4_097) }, 50_035],
    ["a tag with the guild's emoji", { available_tags: [{ name: 'a', emoji_id: '700' }] }, undefined],
    ['a tag with an unknown emoji', { available_tags: [{ name: 'a', emoji_id: '701' }] }, 10_014],
    ['a tag with a word as its emoji', { available_tags: [{ name: 'a', emoji_name: 'word' }] }, 10_014],
    ["the guild's emoji as the reaction", { default_reaction_emoji: { emoji_id: '700' } }, undefined],
    ['an unknown emoji as the reaction', { default_reaction_emoji: { emoji_id: '701' } }, 10_014],
    ['a word as the reaction', { default_reaction_emoji: { emoji_name: 'word' } }, 10_014],
  ])('answers %s', (_what, draft, code) => {
    expect(create(arrange(), { type, ...draft }).code).toBe(code);
  });

  it('returns the set values, and after null the defaults', () => {
    const guild = arrange();
    const set = {
      topic: 'tea',
      rate_limit_per_user: 5,
      default_thread_rate_limit_per_user: 6,
      default_auto_archive_duration: 60,
      default_sort_order: 1,
      default_tag_setting: 'match_all',
    };
    const made = create(guild, { type, ...set, default_reaction_emoji: { emoji_name: '🦔' } }).outcome;
    expect(made).toMatchObject({
      value: { type, ...set, default_reaction_emoji: { emoji_id: null, emoji_name: '🦔' } },
    });
    const channelId = made.ok ? Object(made.value).id : '';
    const draft = { topic: null, default_sort_order: null, default_reaction_emoji: null };
    expect(ruled(guild, 'updateChannel', { channelId, draft }, OWNER).outcome).toMatchObject({
      value: { topic: null, default_sort_order: null, default_reaction_emoji: null, rate_limit_per_user: 5 },
    });
  });

  it('has the flags of its type', () => {
    const guild = arrange();
    const made = create(guild, { type }).outcome;
    const channelId = made.ok ? Object(made.value).id : '';
    const update = (flags: number) =>
      ruled(guild, 'updateChannel', { channelId, draft: { flags } }, OWNER).outcome;
    expect(update(-1)).toMatchObject({ value: { flags: type === MEDIA ? 16 | (1 << 15) : 16 } });
    expect(update(0)).toMatchObject({ value: { flags: 0 } });
  });

  it('keeps a deleted emoji in existing tags, and refuses it in new ones', () => {
    const guild = arrange();
    const made = create(guild, {
      ...{ type, default_reaction_emoji: { emoji_id: '700' } },
      available_tags: [{ name: 'a', emoji_id: '700' }, { name: 'b' }],
    }).outcome;
    const { id: channelId, available_tags: both } = Object(made.ok ? made.value : null);
    expect(both).toMatchObject([{ emoji_id: '700', emoji_name: null }, { emoji_id: null }]);
    emojiGone(guild);
    const update = (draft: ChannelDraft) => ruled(guild, 'updateChannel', { channelId, draft }, OWNER).code;
    expect(update({ available_tags: both, default_reaction_emoji: { emoji_id: '700' } })).toBeUndefined();
    expect(update({ available_tags: [both[0], { ...both[1], emoji_id: '700' }] })).toBe(10_014);
  });
});

describe('an emoji of the guild', () => {
  const welcome = (guild: Arranged, emoji: object, channelId = '30') =>
    ruled(
      guild,
      'updateWelcomeScreen',
      { draft: { welcome_channels: [{ channel_id: channelId, description: 'look', ...emoji }] } },
      OWNER,
    );
  const ask = (guild: Arranged, emoji: object) => {
    const option = { id: '8', title: 'A', role_ids: [], channel_ids: ['30'], ...emoji };
    const draft = { prompts: [{ id: '9', title: 'Which?', options: [option] }] };
    return ruled(guild, 'putOnboarding', { draft }, OWNER);
  };

  it('is returned in the welcome screen with its name, also after its deletion', () => {
    const guild = arrange();
    expect(welcome(guild, { emoji_id: '701' }).code).toBe(10_014);
    const named = { emoji_id: '700', emoji_name: 'other' };
    expect(welcome(guild, named).outcome).toMatchObject({
      value: { welcome_channels: [{ emoji_id: '700', emoji_name: 'badger' }] },
    });
    emojiGone(guild);
    expect(welcome(guild, { emoji_id: '700', emoji_name: 'badger' }).code).toBeUndefined();
    expect(welcome(guild, { emoji_id: '700' }, '31').code).toBe(10_014);
  });

  it('is returned in an onboarding option with its name and animated flag', () => {
    const guild = arrange();
    expect(ask(guild, { emoji_id: '701', emoji_name: 'badger' }).code).toBe(10_014);
    expect(ask(guild, { emoji_id: '700', emoji_animated: false }).outcome).toMatchObject({
      value: { prompts: [{ options: [{ emoji: { id: '700', name: 'badger', animated: true } }] }] },
    });
    expect(ask(guild, {}).outcome).toMatchObject({
      value: { prompts: [{ options: [{ emoji: { id: null, name: null, animated: false } }] }] },
    });
  });
});
