/** Goal: what a member writes into a channel is what everyone reads, and every way to say too much is refused. */
import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Written } from '../../../engine/channel/draft.ts';
import type { Guild } from '../../../engine/guild/guild.ts';
import { scopeIn } from '../../../engine/guild/messages.scope.ts';
import { type MessageCommands, messages } from '../../../engine/guild/messages.ts';
import type { ChannelId, MessageId, UserId } from '../../../protocol/ids.ts';
import { LIMITS } from '../../../protocol/limits.ts';
import { P } from '../../../protocol/permissions.ts';
import { buildGuild, channel, GUILD_ID, overwrite, role, user } from '../../support/guild.ts';
import { creation, messageEnv, placed, storedMessage } from '../../support/messages.ts';
import { caller, fullMember, NOW_MS, runner } from '../../support/people.ts';

const run = runner(messages);
const TALK =
  P.VIEW_CHANNEL | P.SEND_MESSAGES | P.READ_MESSAGE_HISTORY | P.EMBED_LINKS | P.ATTACH_FILES | P.SEND_POLLS;
const WRITER = '100000000000000010';
const OTHER = '100000000000000012';
const STRANGER = '100000000000000077';
const ROLE = '200000000000000100';
const PINGABLE = '200000000000000101';

/** Channels: 50 text, 51 slow, 52 forum, 53 category, 54 without permissions for extras. */
function arrange(): Guild {
  const guild = buildGuild({
    everyone: TALK,
    roles: [role(ROLE, 0n, 1), { ...role(PINGABLE, 0n, 2), mentionable: true }],
    members: [fullMember(WRITER), fullMember(OTHER)],
    channels: [
      channel('50'),
      channel('51', [], { rate_limit_per_user: 10 }),
      channel('52', [], { type: 15 }),
      channel('53', [], { type: 4 }),
      channel('54', [overwrite('1', 0, { deny: TALK & ~(P.VIEW_CHANNEL | P.SEND_MESSAGES) })]),
    ],
  });
  guild.users.set(STRANGER as UserId, user(STRANGER));
  return guild;
}

let guild: Guild;
type Created = Omit<Parameters<typeof messages.facts.messageCreated.apply>[1], 'type'>;
const written = (fact: Created) =>
  messages.facts.messageCreated.apply(guild, { type: 'messageCreated', ...fact });
const needsOf = (input: MessageCommands['createMessage']['input']) =>
  messages.commands.createMessage.needs?.(input, guild, me);
beforeEach(() => {
  guild = arrange();
});
const me = caller(WRITER);

const send = (draft: Parameters<typeof creation>[0], more = {}, by = me, env = messageEnv()) =>
  run<Written>(guild, 'createMessage', creation(draft, more), by, env);
function sent(draft: Parameters<typeof creation>[0], more = {}, by = me) {
  const { outcome } = send(draft, more, by);
  if (!outcome.ok) throw new Error(JSON.stringify(outcome.refusal));
  return outcome.value.message;
}
const into = (channelId: string) => ({ channelId: channelId as ChannelId });

describe('createMessage', () => {
  it('says whether its dispatch shows files, of its own or of the message it answers', () => {
    const file = { id: '70', filename: 'a.png', url: '/a.png', proxy_url: '/a.png', size: 1 };
    const shown = (draft: Parameters<typeof creation>[0], more = {}) =>
      send(draft, more).dispatches.find(({ t }) => t === 'MESSAGE_CREATE')?.showsFiles;
    expect(shown({ content: 'plain' })).toBe(false);
    expect(shown({ content: 'with a file' }, { attachments: [file] })).toBe(true);
    const { id } = sent({ content: 'with a file' }, { attachments: [file] });
    expect(shown({ content: 'a reply', message_reference: { message_id: id } })).toBe(true);
  });

  it('stores the message, updates last_message_id, and dispatches it with member and channel type', () => {
    const { outcome, dispatches } = send({ content: ' hi \u0000', nonce: 'n1' });
    const id = outcome.ok ? outcome.value.message.id : '';
    expect(guild.channels.get('50' as ChannelId)).toMatchObject({ last_message_id: id });
    expect(guild.messages.get(id as MessageId)?.content).toBe('hi');
    expect(dispatches).toEqual([
      {
        t: 'MESSAGE_CREATE',
        to: { kind: 'channel', channelId: '50' },
        showsFiles: false,
        d: {
          id,
          channel_id: '50',
          guild_id: '1',
          channel_type: 0,
          type: 0,
          content: 'hi',
          author: user(WRITER),
          member: expect.not.objectContaining({ user: expect.anything() }),
          mentions: [],
          mention_roles: [],
          mention_everyone: false,
          attachments: [],
          embeds: [],
          components: [],
          flags: 0,
          tts: false,
          pinned: false,
          nonce: 'n1',
          timestamp: '2026-03-01T12:00:00.000000+00:00',
          edited_timestamp: null,
        },
      },
    ]);
  });

  it.each([
    ['an empty message', {}, 50006],
    ['zero-width text', { content: '\u200b\u3164 ' }, 50006],
    ['an empty embed', { embeds: [{}] }, 50006],
    ['2001 characters', { content: 'a'.repeat(2_001) }, 50035],
    ['a sticker', { content: 'a', sticker_ids: ['1'] }, 50081],
    ['text-to-speech without permission', { content: 'a', tts: true }, 50013],
    ['a nonce of 26', { content: 'a', nonce: 'a'.repeat(26) }, 50035],
    [
      'parse together with a list in allowed_mentions',
      { content: 'a', allowed_mentions: { parse: ['users'], users: ['1'] } },
      50035,
    ],
    ['content with IS_COMPONENTS_V2', { content: 'a', flags: 1 << 15, components: [{ type: 10 }] }, 50035],
    ['a poll without a question', { poll: { question: { text: ' ' }, answers: [] } }, 50035],
    ['a voice message without audio', { flags: 1 << 13 }, 50173],
  ])('refuses %s', (_, draft, code) => {
    expect(send(draft)).toMatchObject({ code, types: [] });
  });

  it('counts 2000 astral characters as 2000', () => {
    expect(sent({ content: '😀'.repeat(2_000) }).content).toHaveLength(4_000);
    expect(send({ content: '😀'.repeat(2_001) }).code).toBe(50035);
  });

  it('never stores text that the database cannot hold', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', minLength: 1, maxLength: 60 }), (content) => {
        const { outcome } = send({ content });
        if (outcome.ok) expect(outcome.value.message.content).not.toMatch(/\p{Surrogate}|\0/u);
        else expect(outcome.refusal.code).toBe(50006);
      }),
    );
  });

  it.each([
    ['52', 40058],
    ['53', 50008],
    ['99', 10003],
  ])('refuses channel %s with %i', (channelId, code) => {
    expect(send({ content: 'a' }, into(channelId)).code).toBe(code);
  });

  it.each([
    ['embeds', { embeds: [{ title: 't' }] }],
    ['polls', { poll: { question: { text: 'q' }, answers: [{ poll_media: { text: 'a' } }] } }],
  ])('requires the permission to send %s', (_, draft) => {
    expect(send(draft).code).toBeUndefined();
    expect(send(draft, into('54')).code).toBe(50013);
  });

  it('creates a poll with numbered answers that ends in a day', () => {
    const answers = [{ poll_media: { text: 'a', emoji: { name: '👍' } } }, { poll_media: { text: 'b' } }];
    expect(sent({ poll: { question: { text: 'q' }, answers } }).poll).toEqual({
      question: { text: 'q' },
      answers: [
        { answer_id: 1, poll_media: { text: 'a', emoji: { id: null, name: '👍' } } },
        { answer_id: 2, poll_media: { text: 'b' } },
      ],
      expiry: '2026-03-02T12:00:00.000000+00:00',
      allow_multiselect: false,
      layout_type: 1,
      results: { is_finalized: false, answer_counts: [] },
    });
  });

  it('keeps only the flags a client may set', () => {
    expect(sent({ content: 'a', flags: (1 << 12) | (1 << 6) | 1 }).flags).toBe(1 << 12);
  });

  it('omits embeds with SUPPRESS_EMBEDS, and stores them', () => {
    const { outcome, dispatches } = send({ embeds: [{ title: 't' }], flags: 1 << 2 });
    expect(outcome.ok && outcome.value.message.embeds).toHaveLength(1);
    expect(dispatches[0]?.d).toMatchObject({ embeds: [] });
  });
});

describe('mentions', () => {
  it('contain members and known users, with the member of the user', () => {
    const { dispatches } = send({ content: `<@${OTHER}> <@${STRANGER}> <@100000000000000078>` });
    expect(dispatches[0]?.d).toMatchObject({
      mentions: [{ id: OTHER, member: { roles: [] } }, { id: STRANGER }],
    });
  });

  it('contain mentionable roles; others and @everyone only with permission', () => {
    const content = `<@&${ROLE}> <@&${PINGABLE}> <@&1> @everyone`;
    expect(sent({ content })).toMatchObject({ mention_roles: [PINGABLE], mention_everyone: false });
    guild.roles.set('1' as never, role('1', TALK | P.MENTION_EVERYONE));
    expect(sent({ content })).toMatchObject({ mention_roles: [ROLE, PINGABLE], mention_everyone: true });
  });

  it('do not treat the id of the guild as a role, whatever the permissions of the caller', () => {
    const scope = scopeIn(guild, '50' as ChannelId, caller('2'), messageEnv());
    expect(scope.ok && [GUILD_ID, ROLE, '9'].map(scope.value.mayNotifyRole)).toEqual([false, true, false]);
  });

  it('require the mentioned users to be loaded before the decision', () => {
    const needs = needsOf(creation({ content: `<@${OTHER}> <@${STRANGER}>` }));
    expect(needs).toEqual({ members: [OTHER, STRANGER], users: [STRANGER], messages: [] });
  });
});

describe('replies', () => {
  const reply = (messageId: string, more = {}) => ({ message_id: messageId, ...more });

  it('refer to a message, mention its author, and contain it', () => {
    const id = placed(guild, storedMessage('50', OTHER));
    const needs = needsOf(creation({ message_reference: reply(id) }));
    expect(needs?.messages).toEqual([{ channelId: '50', id }]);
    const { outcome, dispatches } = send({ content: 'yes', message_reference: reply(id) });
    expect(outcome.ok && outcome.value.message).toMatchObject({
      type: 19,
      message_reference: { type: 0, channel_id: '50', message_id: id, guild_id: '1' },
      mentions: [{ id: OTHER }],
    });
    expect(dispatches[0]?.d).toMatchObject({ referenced_message: { id, content: 'hello' } });
    expect(dispatches[0]?.d).not.toHaveProperty('referenced_message.reactions');
  });

  it.each([
    [{ parse: [] }, []],
    [{ parse: [], replied_user: true }, [OTHER]],
  ])('mentions the author of the referenced message according to %j', (allowed_mentions, expected) => {
    const id = placed(guild, storedMessage('50', OTHER));
    const { mentions } = sent({ content: 'a', message_reference: reply(id), allowed_mentions });
    expect(mentions.map((each) => each.id)).toEqual(expected);
  });

  it('are rejected for an unknown message, unless the caller allows a plain message', () => {
    const gone = send({ content: 'a', message_reference: reply('300000000000000001') });
    expect(gone.outcome).toMatchObject({
      refusal: {
        code: 50035,
        errors: { message_reference: { _errors: [{ code: 'REPLIES_UNKNOWN_MESSAGE' }] } },
      },
    });
    const draft = { content: 'a', message_reference: reply('3', { fail_if_not_exists: false }) };
    expect(sent(draft)).toMatchObject({ type: 0 });
    expect(sent(draft)).not.toHaveProperty('message_reference');
  });

  it('are rejected for a message of another channel, also when it is in the window', () => {
    const id = placed(guild, storedMessage('51', OTHER));
    expect(send({ content: 'a', message_reference: reply(id) }).code).toBe(50035);
    expect(send({ content: 'a', message_reference: reply(id, { channel_id: '51' }) }).code).toBe(50035);
  });

  it('require READ_MESSAGE_HISTORY', () => {
    const id = placed(guild, storedMessage('54', OTHER));
    expect(send({ content: 'a', message_reference: reply(id) }, into('54')).code).toBe(160002);
  });
});

describe('forwards', () => {
  const draft = { message_reference: { type: 1, message_id: '3', channel_id: '8' } };
  const source = (more = {}) =>
    storedMessage('8', OTHER, { content: 'secret', id: '3' as MessageId, ...more });
  const forward = (more = {}) => ({ message: source(more), guildId: '9' as never });
  const bot = caller(WRITER, { bot: true });

  it('contain a copy and refer to the source', () => {
    expect(sent(draft, { forward: forward() })).toMatchObject({
      type: 0,
      content: '',
      flags: 1 << 14,
      message_reference: { type: 1, channel_id: '8', message_id: '3', guild_id: '9' },
      message_snapshots: [{ message: { content: 'secret', type: 0 } }],
    });
  });

  it('contain the first copy when a forward is forwarded', () => {
    const first = sent(draft, { forward: forward() });
    const second = sent(draft, { forward: { message: first, guildId: '1' } });
    expect(second.message_snapshots).toEqual(first.message_snapshots);
  });

  it('are rejected for messages that a bot cannot read', () => {
    expect(send(draft, { forward: forward() }, bot).code).toBe(160014);
    expect(send(draft, { forward: forward({ mentions: [user(WRITER)] }) }, bot).code).toBeUndefined();
    expect(send(draft, { forward: { message: source(), guildId: null } }, bot).code).toBeUndefined();
    const granted = caller(WRITER, { bot: true, applicationFlags: 1 << 19 });
    expect(send(draft, { forward: forward() }, granted).code).toBeUndefined();
    const on = (day: string) => ({ ...messageEnv(), rulesMs: Date.parse(day) });
    expect(send(draft, { forward: forward() }, bot, on('2025-12-31')).code).toBeUndefined();
    expect(send(draft, { forward: forward() }, bot, on('2026-01-01')).code).toBe(160014);
  });

  it('are accepted from age-restricted channels only in other age-restricted channels', () => {
    const restricted = { forward: { ...forward(), isAgeRestricted: true } };
    expect(send(draft, restricted).code).toBe(160010);
    guild.channels.set('50' as ChannelId, channel('50', [], { nsfw: true }));
    expect(send(draft, restricted).code).toBeUndefined();
  });

  it('are rejected for system messages, unknown messages, and own content', () => {
    expect(send(draft, { forward: forward({ type: 7 }) }).code).toBe(50068);
    expect(send(draft).code).toBe(10008);
    expect(send({ ...draft, content: 'look' }, { forward: forward() }).code).toBe(50035);
  });
});

describe('nonces', () => {
  const draft = { content: 'once', nonce: 7, enforce_nonce: true };

  it('repeated by the same author return the first message and dispatch nothing', () => {
    const first = sent(draft);
    const again = send({ ...draft, nonce: '7' });
    expect(again).toMatchObject({ code: undefined, facts: [], outcome: { value: { message: first } } });
  });

  it('are separate for each author, expire, and have no effect unless enforced', () => {
    const first = sent(draft);
    expect(sent(draft, {}, caller(OTHER)).id).not.toBe(first.id);
    expect(send(draft, {}, me, messageEnv(NOW_MS + LIMITS.nonce_ms)).facts).toHaveLength(1);
    expect(send({ ...draft, enforce_nonce: false }).facts).toHaveLength(1);
  });

  it('are remembered up to a bound', () => {
    const message = storedMessage('50', WRITER);
    for (let nonce = 0; nonce <= LIMITS.nonces_per_guild_max; nonce += 1) {
      written({ message, nonce, referenced: null, enforceNonce: true });
    }
    expect(guild.nonces.size).toBe(LIMITS.nonces_per_guild_max);
    expect(guild.nonces.has(`${WRITER}:0`)).toBe(false);
  });
});

describe('slow mode', () => {
  const slow = into('51');
  const later = (ms: number) => messageEnv(NOW_MS + ms);

  it('makes a user wait, and returns the remaining time', () => {
    expect(send({ content: 'a' }, slow).code).toBeUndefined();
    const { outcome } = send({ content: 'b' }, slow, me, later(2_500));
    expect(outcome).toMatchObject({ refusal: { status: 429, code: 20016, retryAfterSec: 7.5 } });
    expect(send({ content: 'b' }, slow, me, later(10_000)).code).toBeUndefined();
  });

  it('does not count rejected messages, other users, or other channels', () => {
    expect(send({}, slow).code).toBe(50006);
    expect(send({ content: 'a' }, slow).code).toBeUndefined();
    expect(send({ content: 'a' }, slow, caller(OTHER)).code).toBeUndefined();
    expect(send({ content: 'a' }).code).toBeUndefined();
  });

  it('is not started by messages that the server writes for a user', () => {
    const message = storedMessage('51', WRITER, { type: 7 });
    written({ message, nonce: null, referenced: null, enforceNonce: false });
    expect(send({ content: 'a' }, slow).code).toBeUndefined();
  });

  it('exempts bots and users with permission to bypass it', () => {
    guild.members.set(OTHER as UserId, fullMember(OTHER, [], { user: user(OTHER, true) }));
    guild.roles.set('1' as never, role('1', TALK | P.BYPASS_SLOWMODE));
    for (const id of [OTHER, WRITER, OTHER, WRITER]) {
      expect(send({ content: 'a' }, slow, caller(id)).code).toBeUndefined();
    }
  });
});
