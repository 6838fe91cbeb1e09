// Goal: people change their own threads and posts within what is theirs, and what moderators decided stays.
import { beforeEach, expect, test } from 'vitest';
import type { Guild } from '../../../engine/guild/guild.ts';
import { type GuildCommands, guildRules } from '../../../engine/guild/rules.ts';
import type { ChannelId, UserId } from '../../../protocol/ids.ts';
import { P } from '../../../protocol/permissions.ts';
import { buildGuild, channel, role } from '../../support/guild.ts';
import { creation } from '../../support/messages.ts';
import { caller, envAt, fullMember, NOW_MS } from '../../support/people.ts';
import { ruled } from '../../support/ruled.ts';

const [AUTHOR, OTHER, MODERATOR] = ['11', '12', '13'] as const;
const [TEXT, FORUM] = ['50', '51'];
const [PUBLIC, PRIVATE] = [11, 12];
const [PLAIN, RESERVED] = ['901', '902'];
const [MISSING_PERMISSIONS, THREAD_LOCKED] = [50_013, 160_005];
const [NO_TAGS, TAG_REQUIRED] = [40_066, 40_067];
const [WRONG_TYPE, MISSING_ACCESS, INVALID_FORM] = [50_024, 50_001, 50_035];
const PINNED_ALREADY = 30_047;
const REQUIRE_TAG = 16;
let guild: Guild;
let ids = 700_000;
beforeEach(() => {
  const talks = P.VIEW_CHANNEL | P.SEND_MESSAGES | P.SEND_MESSAGES_IN_THREADS;
  const tag = { moderated: false, emoji_id: null, emoji_name: null };
  guild = buildGuild({
    everyone: talks | P.CREATE_PUBLIC_THREADS | P.CREATE_PRIVATE_THREADS,
    roles: [role('60', P.MANAGE_THREADS | P.MANAGE_MESSAGES, 1)],
    members: [fullMember(AUTHOR), fullMember(OTHER), fullMember(MODERATOR, ['60'])],
    channels: [
      channel(TEXT),
      channel(FORUM, [], {
        ...{ type: 15 },
        available_tags: [
          { ...tag, id: PLAIN, name: 'question' },
          { ...tag, id: RESERVED, name: 'solved', moderated: true },
        ],
      }),
    ],
  });
});

function threadOf(type: number): ChannelId {
  const draft = { name: 'Talk', type };
  expect(ruled(guild, 'createThread', { channelId: TEXT, draft }, AUTHOR).code).toBeUndefined();
  return [...guild.threads.keys()].at(-1)!;
}

function post(): ChannelId {
  ids += 1;
  const input = {
    ...{ channelId: FORUM, id: String(ids), draft: { name: 'Why?' } },
    first: creation({ content: 'hi' }),
  };
  expect(ruled(guild, 'createPost', input, AUTHOR).code).toBeUndefined();
  return [...guild.threads.keys()].at(-1)!;
}

const change = (channelId: ChannelId, threadChange: object, by: string) =>
  ruled(guild, 'updateChannel', { channelId, draft: {}, threadChange }, by).code;

test('an author cannot pin a post, lock it, or slow it down', () => {
  const id = post();
  for (const wanted of [{ flags: 2 }, { locked: true }, { rate_limit_per_user: 5 }])
    expect([wanted, change(id, wanted, AUTHOR)]).toEqual([wanted, MISSING_PERMISSIONS]);
  expect([change(id, { name: 'How?' }, AUTHOR), change(id, { flags: 2 }, MODERATOR)]).toEqual([
    undefined,
    undefined,
  ]);
});

test('an author can neither change a locked thread nor unarchive it', () => {
  const id = threadOf(PUBLIC);
  const [archived, active] = [{ archived: true }, { archived: false }];
  expect(change(id, { locked: true }, MODERATOR)).toBeUndefined();
  for (const wanted of [{ name: 'How?' }, archived, { auto_archive_duration: 60 }])
    expect([wanted, change(id, wanted, AUTHOR)]).toEqual([wanted, THREAD_LOCKED]);
  expect([change(id, archived, MODERATOR), change(id, active, AUTHOR)]).toEqual([undefined, THREAD_LOCKED]);
  expect([change(id, active, MODERATOR), change(id, { name: 'How?' }, MODERATOR)]).toEqual([
    undefined,
    undefined,
  ]);
});

test('the audit log names who created, changed and deleted a thread, and what changed', () => {
  const entriesOf = (command: string, input: object, by: string) =>
    ruled(guild, command, input, by).facts.flatMap((fact) =>
      fact.type === 'auditLogged' ? [[fact.entry.action_type, fact.entry.user_id, keysOf(fact.entry)]] : [],
    );
  const keysOf = ({ changes = [] }: { readonly changes?: readonly { readonly key: string }[] }) =>
    changes.map(({ key }) => key).sort();
  const whole = [
    'archived',
    'auto_archive_duration',
    'flags',
    'locked',
    'name',
    'rate_limit_per_user',
    'type',
  ];
  const draft = { name: 'Talk', type: PUBLIC };
  expect(entriesOf('createThread', { channelId: TEXT, draft }, AUTHOR)).toEqual([[110, AUTHOR, whole]]);
  const channelId = [...guild.threads.keys()].at(-1)!;
  const threadChange = { name: 'Other', locked: true };
  expect(entriesOf('updateChannel', { channelId, draft: {}, threadChange }, MODERATOR)).toEqual([
    [111, MODERATOR, ['locked', 'name']],
  ]);
  expect(entriesOf('deleteChannel', { channelId }, MODERATOR)).toEqual([[112, MODERATOR, whole]]);
});

test('an author keeps the reserved tag of a post, and neither adds nor removes one', () => {
  const id = post();
  const tagged = (tags: readonly string[], by: string) => change(id, { applied_tags: tags }, by);
  expect(tagged([RESERVED], AUTHOR)).toBe(MISSING_PERMISSIONS);
  expect(tagged([RESERVED], MODERATOR)).toBeUndefined();
  expect(tagged([PLAIN, RESERVED], AUTHOR)).toBeUndefined();
  expect(tagged([PLAIN], AUTHOR)).toBe(MISSING_PERMISSIONS);
  expect(guild.threads.get(id)?.thread.applied_tags).toEqual([PLAIN, RESERVED]);
});

test('a post accepts its own tags after the forum has deleted one of them', () => {
  const id = post();
  expect(change(id, { applied_tags: [PLAIN] }, AUTHOR)).toBeUndefined();
  const forum = guild.channels.get(FORUM as ChannelId)!;
  const left = { id: '903', name: 'idea', moderated: false, emoji_id: null, emoji_name: null };
  guild.channels.set(forum.id, { ...forum, available_tags: [left] } as typeof forum);
  expect(change(id, { applied_tags: [PLAIN, left.id] }, AUTHOR)).toBeUndefined();
  expect(guild.threads.get(id)?.thread.applied_tags).toEqual([left.id]);
  expect(change(id, { applied_tags: [PLAIN] }, AUTHOR)).toBe(INVALID_FORM);
});

test('a post without a required tag is refused, with a code that depends on the tags that its author may apply', () => {
  const codeOf = (by: string, moderated: readonly boolean[]) => {
    const tags = moderated.map((each, at) => ({ id: `90${at}`, name: `tag ${at}`, moderated: each }));
    const forum = channel(FORUM, [], { ...{ type: 15, flags: REQUIRE_TAG }, available_tags: tags });
    guild.channels.set(forum.id, forum);
    const first = creation({ content: 'hi' });
    const input = { channelId: FORUM, id: '800001', draft: { name: 'Why?' }, first };
    return ruled(guild, 'createPost', input, by).code;
  };
  expect([codeOf(AUTHOR, [true, true]), codeOf(AUTHOR, [])]).toEqual([NO_TAGS, NO_TAGS]);
  expect([codeOf(AUTHOR, [true, false]), codeOf(MODERATOR, [true])]).toEqual([TAG_REQUIRED, TAG_REQUIRED]);
});

test('the author of a private thread removes its members, and that of a public one does not', () => {
  const removed = (threadId: ChannelId) => {
    const named = { channelId: threadId, threadId, userId: OTHER };
    expect(ruled(guild, 'addThreadMember', named, AUTHOR).code).toBeUndefined();
    return ruled(guild, 'removeThreadMember', named, AUTHOR).code;
  };
  expect([removed(threadOf(PRIVATE)), removed(threadOf(PUBLIC))]).toEqual([undefined, MISSING_PERMISSIONS]);
});

test('the first message of a post is not counted, so its deletion does not decrease the count', () => {
  const id = post();
  const said = ruled<{ id: string }>(
    guild,
    'createMessage',
    { ...creation({ content: 'more' }), channelId: id },
    OTHER,
  );
  const count = () => guild.threads.get(id)?.thread.message_count;
  expect([said.code, count()]).toEqual([undefined, 1]);
  const gone = ruled(guild, 'deleteMessage', { channelId: id, messageId: id }, MODERATOR);
  expect([gone.code, count()]).toEqual([undefined, 1]);
});

test('a thread has no threads of its own, and a post needs a message', () => {
  const threadId = threadOf(PUBLIC);
  const draft = { name: 'Inner', type: PUBLIC };
  const made = (channelId: string) => ruled(guild, 'createThread', { channelId, draft }, AUTHOR);
  expect(made(threadId).code).toBe(WRONG_TYPE);
  const ofMessage = { channelId: threadId, messageId: '4', draft };
  expect(ruled(guild, 'createThreadFromMessage', ofMessage, AUTHOR).code).toBe(WRONG_TYPE);
  expect(made(FORUM).outcome).toMatchObject({
    refusal: { code: INVALID_FORM, errors: { message: { _errors: [{ code: 'BASE_TYPE_REQUIRED' }] } } },
  });
});

test('a bot lists the members of a thread with the intent of members alone, and may ask for one of them', () => {
  const channelId = threadOf(PUBLIC);
  const asked = (command: string, applicationFlags: number) => {
    const by = caller(OTHER, { bot: true, applicationFlags });
    const input = { channelId, userId: AUTHOR, withMember: false, after: null, limit: 100 };
    const type = command as keyof GuildCommands;
    const outcome = guildRules.decide(guild, type, input as never, { by, requires: 0n }, envAt(NOW_MS));
    return outcome.ok ? undefined : outcome.refusal.code;
  };
  const MEMBERS_LIMITED = 1 << 15;
  expect([asked('listThreadMembers', 0), asked('listThreadMembers', MEMBERS_LIMITED)]).toEqual([
    MISSING_ACCESS,
    undefined,
  ]);
  expect(asked('getThreadMember', 0)).toBeUndefined();
});

test('members of a private thread add others, unless it is not invitable', () => {
  const [THIRD, FOURTH] = ['14', '15'] as const;
  for (const id of [THIRD, FOURTH]) guild.members.set(id as UserId, fullMember(id));
  const added = (invitable: boolean) => {
    const draft = { name: 'Inner circle', type: PRIVATE, invitable };
    expect(ruled(guild, 'createThread', { channelId: TEXT, draft }, AUTHOR).code).toBeUndefined();
    const channelId = [...guild.threads.keys()].at(-1)!;
    const add = (userId: string, by: string) =>
      ruled(guild, 'addThreadMember', { channelId, userId }, by).code;
    return [add(OTHER, AUTHOR), add(THIRD, OTHER), add(FOURTH, MODERATOR)];
  };
  expect(added(true)).toEqual([undefined, undefined, undefined]);
  expect(added(false)).toEqual([undefined, MISSING_PERMISSIONS, undefined]);
});

test('an archived post is unpinned, also when it is unarchived, and another may be pinned', () => {
  const [first, second] = [post(), post()];
  const flagsOf = (id: ChannelId) => guild.threads.get(id)?.thread.flags;
  expect(change(first, { flags: 2 }, MODERATOR)).toBeUndefined();
  expect(change(second, { flags: 2 }, MODERATOR)).toBe(PINNED_ALREADY);
  expect(change(first, { archived: true }, MODERATOR)).toBeUndefined();
  expect(flagsOf(first)).toBe(0);
  expect(change(second, { flags: 2 }, MODERATOR)).toBeUndefined();
  expect(change(first, { archived: false }, MODERATOR)).toBeUndefined();
  expect([flagsOf(first), flagsOf(second)]).toEqual([0, 2]);
});
