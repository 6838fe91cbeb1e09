// Goal: a guild's rules read all that a message says.
import type { APIAttachment } from 'discord-api-types/v10';
import { beforeEach, expect, test } from 'vitest';
import type { RuleDraft } from '../../../engine/automod/rule.ts';
import type { Guild, StoredMessage } from '../../../engine/guild/guild.ts';
import { P } from '../../../protocol/permissions.ts';
import { buildGuild, channel, OWNER_ID } from '../../support/guild.ts';
import { creation, storedMessage } from '../../support/messages.ts';
import { fullMember } from '../../support/people.ts';
import { ruled } from '../../support/ruled.ts';

const ANN = '11';
const BLOCKED = 200_000;

let guild: Guild;
beforeEach(() => {
  guild = buildGuild({
    everyone: P.VIEW_CHANNEL | P.SEND_MESSAGES | P.SEND_POLLS | P.EMBED_LINKS | P.ATTACH_FILES,
    members: [fullMember(ANN)],
    channels: [channel('50')],
  });
  guild.info = { ...guild.info, features: [] };
  const draft: RuleDraft = {
    ...{ name: 'words', event_type: 1, trigger_type: 1, enabled: true },
    trigger_metadata: { keyword_filter: ['cat'] },
  };
  expect(ruled(guild, 'createAutoModerationRule', { draft }, OWNER_ID).code).toBeUndefined();
});

const send = (draft: object, more: object = {}) =>
  ruled(guild, 'createMessage', creation(draft, more), ANN).code;

const file = (description: string): APIAttachment => ({
  ...{ id: '700000000000000001', filename: 'a.png', size: 3, description },
  url: 'https://chat.example/attachments/1/7/a.png',
  proxy_url: 'https://chat.example/attachments/1/7/a.png',
});

test('reads polls', () => {
  const poll = (text: string) => ({
    poll: { question: { text }, answers: [{ poll_media: { text: 'yes' } }] },
  });
  expect(send(poll('dog?'))).toBeUndefined();
  expect(send(poll('cat?'))).toBe(BLOCKED);
});

test('reads the texts and links of embeds', () => {
  const embeds = (word: string) => [
    { fields: [{ name: 'pet', value: `a ${word}` }] },
    { title: 'hi', url: `https://${word}.example/` },
    { author: { name: 'hi', url: `https://a.example/${word}` } },
  ];
  for (const embed of embeds('dog')) expect(send({ embeds: [embed] })).toBeUndefined();
  for (const embed of embeds('cat')) expect(send({ embeds: [embed] })).toBe(BLOCKED);
});

test('reads the labels and links of buttons', () => {
  const link = (label: string, url: string) => ({
    content: 'hi',
    components: [{ type: 1, components: [{ type: 2, style: 5, label, url }] }],
  });
  expect(send(link('a dog', 'https://a.example/dog'))).toBeUndefined();
  expect(send(link('a cat', 'https://a.example/dog'))).toBe(BLOCKED);
  expect(send(link('a dog', 'https://a.example/cat'))).toBe(BLOCKED);
});

test('reads the descriptions of files', () => {
  expect(send({ content: 'hi' }, { attachments: [file('a dog')] })).toBeUndefined();
  expect(send({ content: 'hi' }, { attachments: [file('a cat')] })).toBe(BLOCKED);
});

test('reads all texts of a forwarded message', () => {
  const draft = { message_reference: { type: 1, message_id: '3', channel_id: '8' } };
  const forward = (more: Partial<StoredMessage>) =>
    send(draft, { forward: { message: storedMessage('8', '12', more), guildId: '9' } });
  expect(forward({ content: 'a dog' })).toBeUndefined();
  expect(forward({ content: 'a cat' })).toBe(BLOCKED);
  expect(forward({ embeds: [{ description: 'a cat' }] })).toBe(BLOCKED);
  expect(forward({ attachments: [file('a cat')] })).toBe(BLOCKED);
});
