// Goal: the titles of threads are held to a guild's rules as messages are.
import { beforeEach, expect, test } from 'vitest';
import type { RuleDraft } from '../../../engine/automod/rule.ts';
import type { Guild } from '../../../engine/guild/guild.ts';
import { P } from '../../../protocol/permissions.ts';
import { buildGuild, channel, OWNER_ID, role } from '../../support/guild.ts';
import { creation } from '../../support/messages.ts';
import { fullMember } from '../../support/people.ts';
import { ruled } from '../../support/ruled.ts';

const [ANN, MOD] = ['11', '12'];
let guild: Guild;
beforeEach(() => {
  guild = buildGuild({
    everyone:
      P.VIEW_CHANNEL |
      P.SEND_MESSAGES |
      P.SEND_MESSAGES_IN_THREADS |
      P.READ_MESSAGE_HISTORY |
      P.CREATE_PUBLIC_THREADS,
    roles: [role('60', P.MANAGE_GUILD | P.MANAGE_THREADS, 1)],
    members: [fullMember(ANN), fullMember(MOD, ['60'])],
    channels: [channel('50'), channel('51', [], { type: 15 }), channel('52')],
  });
  guild.info = { ...guild.info, features: [] };
  const draft: RuleDraft = {
    ...{ name: 'words', event_type: 1, trigger_type: 1, enabled: true },
    trigger_metadata: { keyword_filter: ['cat'] },
    actions: [{ type: 1 }, { type: 2, metadata: { channel_id: '52' } }],
  } as RuleDraft;
  expect(ruled(guild, 'createAutoModerationRule', { draft }, OWNER_ID).code).toBeUndefined();
});

const open = (name: string, by = ANN) =>
  ruled(guild, 'createThread', { channelId: '50', draft: { name, type: 11 } }, by);

test('refuses a title that a rule blocks, and reports it to moderators', () => {
  const ran = open('a cat');
  expect(ran.code).toBe(200_001);
  expect(ran.types).toContain('messageCreated');
  expect(ran.types).toContain('autoModerationActionExecuted');
  expect(ran.types).not.toContain('threadCreated');
});

test('accepts other titles, and any title of moderators', () => {
  expect(open('a dog').code).toBeUndefined();
  expect(open('a cat', MOD).code).toBeUndefined();
});

test('reads the titles of posts, of threads made from messages, and new titles', () => {
  const first = creation({ content: 'hi' });
  const post = { channelId: '51', id: '801', draft: { name: 'cat' }, first };
  expect(ruled(guild, 'createPost', post, ANN).code).toBe(200_001);
  ruled(guild, 'createMessage', { ...creation({ content: 'hi' }), channelId: '50' }, ANN);
  const messageId = [...guild.messages.keys()].at(-1);
  const named = { channelId: '50', messageId, draft: { name: 'cat' } };
  expect(ruled(guild, 'createThreadFromMessage', named, ANN).code).toBe(200_001);
  expect(open('a dog').code).toBeUndefined();
  const threadId = [...guild.threads.keys()].at(-1);
  const change = (name: string) =>
    ruled(guild, 'updateChannel', { channelId: threadId, threadChange: { name } }, ANN);
  expect(change('the cat').code).toBe(200_001);
  expect(change('the dog').code).toBeUndefined();
});
