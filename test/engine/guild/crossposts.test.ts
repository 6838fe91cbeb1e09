/** Goal: a follower's copy is written once, follows the original, and survives neither its end nor its own. */
import { describe, expect, it } from 'vitest';
import { audit } from '../../../engine/guild/audit.ts';
import { copyKey, crosspostNews, crossposts } from '../../../engine/guild/crossposts.ts';
import type { GuildFact } from '../../../engine/guild/facts.ts';
import type { Guild, StoredMessage } from '../../../engine/guild/guild.ts';
import { messages } from '../../../engine/guild/messages.ts';
import { webhooks } from '../../../engine/guild/webhooks.ts';
import { SYSTEM } from '../../../engine/kernel/authority.ts';
import type { Webhook } from '../../../engine/webhook/webhook.ts';
import type { ChannelId, GuildId, MessageId, WebhookId } from '../../../protocol/ids.ts';
import { P } from '../../../protocol/permissions.ts';
import { buildGuild, channel, id } from '../../support/guild.ts';
import { storedMessage } from '../../support/messages.ts';
import { caller, envAt, fullMember, runner } from '../../support/people.ts';

const run = runner(crossposts, webhooks, messages, audit);
const HOOK = id<WebhookId>('500');
const FOLLOWED = {
  source_guild: { id: id<GuildId>('7'), name: 'Harbour', icon: null },
  source_channel: { id: id<ChannelId>('70'), name: 'news' },
};
const SOURCE = storedMessage('70', '10', { id: id<MessageId>('800'), content: 'first', flags: 1 });

/** User 10 manages webhooks. Channel 50 is for text, 51 for news, 52 for voice. */
function arrange(): Guild {
  return buildGuild({
    everyone: P.VIEW_CHANNEL | P.MANAGE_WEBHOOKS,
    members: [fullMember('10')],
    channels: [channel('50'), channel('51', [], { type: 5 }), channel('52', [], { type: 2 })],
  });
}

const follow = (guild: Guild, channelId = '50', hook = HOOK) =>
  run<Webhook>(guild, 'followChannel', { channelId, id: hook, followed: FOLLOWED }, caller('10'));
const sync = (guild: Guild, message: StoredMessage | null = SOURCE, creates = true) => {
  const source = message && { message, guildId: id<GuildId>('7') };
  return run(guild, 'syncCrosspost', { webhookId: HOOK, sourceId: '800', source, creates }, SYSTEM.by);
};
const copyIn = (guild: Guild): StoredMessage => {
  const at = guild.copies.get(copyKey(id('800'), HOOK));
  return guild.messages.get(at?.messageId ?? id('0')) as StoredMessage;
};

describe('following a channel', () => {
  it('creates a webhook without a token, logs it, and posts a message in the channel', () => {
    const { types, outcome, facts } = follow(arrange());
    expect(types).toEqual(['webhookCreated', 'auditLogged', 'messageCreated']);
    expect(outcome).toMatchObject({ value: { type: 2, name: 'Harbour #news', ...FOLLOWED } });
    expect(facts[2]).toMatchObject({ message: { type: 12, content: 'Harbour #news' } });
  });

  it('a second time changes nothing', () => {
    const guild = arrange();
    follow(guild);
    const again = follow(guild, '50', id('501'));
    expect([again.facts, again.outcome]).toEqual([[], expect.objectContaining({ ok: true })]);
  });

  it.each([
    ['a text channel', '50', undefined],
    ['a channel for news', '51', undefined],
    ['a voice channel', '52', 50024],
    ['an unknown channel', '99', 10003],
  ])('is answered with the right code from %s', (_, channelId, code) => {
    expect(follow(arrange(), channelId).code).toBe(code);
  });

  it('counts as a webhook of the channel', () => {
    const guild = arrange();
    for (let index = 0; index < 15; index += 1)
      guild.webhooks?.set(id(`${index}`), { id: `${index}`, channel_id: '50' } as Webhook);
    expect(follow(guild).code).toBe(30007);
  });

  it.each([
    ['for news can be followed', '51', undefined],
    ['for text cannot', '50', 50024],
  ])('a channel %s', (_, channelId, code) => {
    expect(run(arrange(), 'describeFollowed', { channelId }, caller('10')).code).toBe(code);
  });
});

describe('a copy of a published message', () => {
  it('is written once, refers to the original, and mentions no users', () => {
    const guild = arrange();
    follow(guild);
    const { types, dispatches } = sync(guild, {
      ...SOURCE,
      content: '@everyone <@10>',
      mention_everyone: true,
    });
    expect(types).toEqual(['messageCreated', 'crosspostCopied']);
    expect(dispatches[0]?.d).toMatchObject({
      content: '@everyone <@10>',
      flags: 2,
      mentions: [],
      mention_everyone: false,
      webhook_id: HOOK,
      author: { id: HOOK, username: 'Harbour #news', bot: true },
      message_reference: { channel_id: '70', message_id: '800', guild_id: '7' },
    });
    expect(sync(guild).facts).toEqual([]);
  });

  it('is not written for an edit alone, for a deletion, or without the webhook', () => {
    const guild = arrange();
    expect(sync(guild).facts).toEqual([]);
    follow(guild);
    expect(sync(guild, SOURCE, false).facts).toEqual([]);
    expect(sync(guild, null).facts).toEqual([]);
  });

  it('follows the changes of the original, each once', () => {
    const guild = arrange();
    follow(guild);
    sync(guild);
    const edited = { ...SOURCE, content: 'second', edited_timestamp: '2026-03-01T12:00:01.000000+00:00' };
    expect(sync(guild, edited, false).types).toEqual(['messageUpdated']);
    expect(copyIn(guild)).toMatchObject({ content: 'second', flags: 2 });
    expect(sync(guild, edited, false).facts).toEqual([]);
  });

  it('stays blank once the original is deleted, also after later updates', () => {
    const guild = arrange();
    follow(guild);
    sync(guild, { ...SOURCE, embeds: [{ title: 'secret' }] });
    expect(sync(guild, null, false).types).toEqual(['messageUpdated']);
    expect(copyIn(guild)).toMatchObject({ content: '[Original Message Deleted]', embeds: [], flags: 10 });
    expect(sync(guild, null, false).facts).toEqual([]);
    expect(sync(guild).facts).toEqual([]);
  });

  it('is not written again after its deletion', () => {
    const guild = arrange();
    follow(guild);
    sync(guild);
    guild.messages.set(copyIn(guild).id, null);
    expect(sync(guild).facts).toEqual([]);
  });
});

describe('the work queued for following channels', () => {
  const news = (flags: number) => {
    const guild = arrange();
    const message = storedMessage('51', '10', { flags });
    guild.messages.set(message.id, message);
    return { guild, message };
  };
  const queued = (guild: Guild, fact: GuildFact) =>
    crosspostNews.add(guild, [fact], SYSTEM, envAt()).slice(1);

  it('contains a publication once, and every later edit and the deletion', () => {
    const { guild, message } = news(0);
    const published = { ...message, flags: 1 };
    const update = { type: 'messageUpdated', message: published } as const;
    const about = { type: 'crosspostQueued', channelId: '51', messageId: message.id };
    expect(queued(guild, update)).toEqual([{ ...about, id: '900001', creates: true }]);
    guild.messages.set(message.id, published);
    expect(queued(guild, update)).toEqual([{ ...about, id: '900001', creates: false }]);
    const where = { channelId: id<ChannelId>('51') };
    expect(queued(guild, { type: 'messageDeleted', ...where, messageId: message.id })).toHaveLength(1);
    expect(queued(guild, { type: 'messagesBulkDeleted', ...where, messageIds: [message.id] })).toHaveLength(
      1,
    );
  });

  it('is empty for a message that was never published', () => {
    const { guild, message } = news(0);
    const facts = [{ type: 'messageUpdated', message } as const];
    expect(crosspostNews.add(guild, facts, SYSTEM, envAt())).toBe(facts);
  });
});
