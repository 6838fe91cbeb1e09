// Goal: who joins a guild with membership screening can only read until the form is answered, or a moderator agrees.
import { beforeEach, describe, expect, test } from 'vitest';
import type { Guild } from '../../../engine/guild/guild.ts';
import type { JoinRequest } from '../../../engine/guild/joinrequests.types.ts';
import { channelPermissions, guildPermissions } from '../../../engine/permissions/permissions.ts';
import type { UserId } from '../../../protocol/ids.ts';
import { P } from '../../../protocol/permissions.ts';
import { buildGuild, channel, GUILD_ID, message, role, user } from '../../support/guild.ts';
import { fullMember, NOW_MS } from '../../support/people.ts';
import { ruled } from '../../support/ruled.ts';

const NEW = '11' as UserId;
const MODERATOR = '12';
const PLAIN = '13';
const ROBOT = '14' as UserId;
const TERMS = { field_type: 'TERMS', label: 'Rules', required: true, values: ['Be kind'] } as const;
const WHY = { field_type: 'TEXT_INPUT', label: 'Why?', required: true } as const;
const PICK = {
  field_type: 'MULTIPLE_CHOICE',
  label: 'Which?',
  required: false,
  choices: ['A', 'B'],
} as const;

let guild: Guild;
beforeEach(() => {
  guild = buildGuild({
    everyone: P.VIEW_CHANNEL | P.SEND_MESSAGES | P.READ_MESSAGE_HISTORY | P.CONNECT | P.CREATE_INSTANT_INVITE,
    roles: [
      role('60', P.KICK_MEMBERS | P.MANAGE_GUILD | P.MANAGE_ROLES | P.MODERATE_MEMBERS | P.BAN_MEMBERS, 5),
      role('61', 0n, 1),
    ],
    members: [fullMember(MODERATOR, ['60']), fullMember(PLAIN)],
    channels: [channel('50')],
  });
  guild.users.set(NEW, user(NEW));
  guild.users.set(ROBOT, user(ROBOT, true));
});

const screen = (...form_fields: readonly object[]) =>
  ruled<{ version: string }>(
    guild,
    'updateMemberVerification',
    { draft: { enabled: true, form_fields } },
    MODERATOR,
  );
const join = (userId = NEW) => ruled(guild, 'addMember', { userId }, '0');
const submit = (form_fields: readonly object[], version = form()?.version ?? null, by: string = NEW) =>
  ruled<JoinRequest>(guild, 'submitJoinRequest', { form_fields, version }, by);
const act = (approve: boolean, reason: string | null = null, by = MODERATOR) =>
  ruled<JoinRequest>(
    guild,
    'actOnJoinRequest',
    { userId: NEW, requestId: request()?.id, approve, reason },
    by,
  );
const form = () => guild.pages.member_verification;
const request = () => guild.joinRequests.get(NEW);
const member = () => guild.members.get(NEW);
const bits = () => channelPermissions(guild, NEW, guild.channels.get('50' as never)!, NOW_MS);

describe('the form', () => {
  test('is written by members who manage the guild, and sets the guild features', () => {
    expect(ruled(guild, 'getMemberVerification', {}, PLAIN).code).toBe(10_068);
    expect(screen(TERMS).code).toBeUndefined();
    expect(guild.info.features).toEqual(['MEMBER_VERIFICATION_GATE_ENABLED', 'PREVIEW_ENABLED']);
    expect(ruled(guild, 'getMemberVerification', {}, PLAIN).outcome).toMatchObject({
      value: { form_fields: [TERMS], description: null, version: expect.any(String) },
    });
    screen(TERMS, WHY);
    expect(guild.info.features).toContain('MEMBER_VERIFICATION_GATE_ENABLED');
    const off = { draft: { enabled: false } };
    expect(ruled(guild, 'updateMemberVerification', off, MODERATOR).types).toContain('guildUpdated');
    expect(guild.info.features).toEqual([]);
  });

  test.each([[[]], [[{ ...TERMS, values: [] }]], [[{ ...PICK, choices: undefined }]]])(
    'is refused without questions that can be answered: %j',
    (fields) => {
      expect(screen(...fields).code).toBe(50_035);
    },
  );
});

describe('a new member of a screened guild', () => {
  test('is pending and can only read, whatever the overwrites of the channel', () => {
    screen(TERMS);
    const { dispatches } = join();
    expect(member()?.pending).toBe(true);
    expect(bits()).toBe(P.VIEW_CHANNEL | P.READ_MESSAGE_HISTORY);
    expect(guildPermissions(guild, NEW, NOW_MS)).toBe(P.VIEW_CHANNEL | P.READ_MESSAGE_HISTORY);
    expect(dispatches.filter(({ t }) => t.startsWith('GUILD_JOIN'))).toMatchObject([
      { t: 'GUILD_JOIN_REQUEST_CREATE', d: { status: 'STARTED' }, to: { kind: 'users', userIds: [NEW] } },
    ]);
  });

  test('may not vote or join a reaction', () => {
    screen(TERMS);
    join();
    const emoji = { id: null, name: '👍' };
    const reactions = [{ key: '👍', emoji, count: 1 }];
    const poll = { question: { text: '?' }, answers: [{ answer_id: 1, poll_media: { text: 'a' } }] };
    guild.messages.set(
      '70' as never,
      { ...message('12'), id: '70', channel_id: '50', reactions, poll } as never,
    );
    const about = { channelId: '50', messageId: '70' };
    expect(ruled(guild, 'addReaction', { ...about, emoji: '👍' }, NEW).code).toBe(50_013);
    expect(ruled(guild, 'votePoll', { ...about, answerIds: [1] }, NEW).code).toBe(50_013);
  });

  test('is a full member at once with a role, or as a bot', () => {
    screen(TERMS);
    ruled(guild, 'addMember', { userId: NEW, roles: ['61'] }, '0');
    join(ROBOT);
    expect([member()?.pending, guild.members.get(ROBOT)?.pending]).toEqual([false, false]);
    expect(guild.joinRequests.size).toBe(0);
  });

  test('is a full member in a guild without a form', () => {
    join();
    expect(member()?.pending).toBe(false);
  });

  test('becomes a full member by accepting the rules', () => {
    screen(TERMS);
    join();
    expect(submit([{ ...TERMS, response: false }]).code).toBe(50_035);
    expect(submit([]).code).toBe(50_035);
    expect(submit([{ ...TERMS, response: true }], '2020-01-01T00:00:00+00:00').code).toBe(50_035);
    const { dispatches, outcome } = submit([{ ...TERMS, response: true }]);
    expect(outcome).toMatchObject({
      value: { application_status: 'APPROVED', form_responses: [{ label: 'Rules', response: true }] },
    });
    expect(member()?.pending).toBe(false);
    expect(bits() & P.SEND_MESSAGES).toBe(P.SEND_MESSAGES);
    expect(dispatches.map(({ t }) => t)).toEqual([
      'GUILD_MEMBER_UPDATE',
      'GUILD_JOIN_REQUEST_UPDATE',
      'GUILD_JOIN_REQUEST_UPDATE',
    ]);
    expect(submit([{ ...TERMS, response: true }]).code).toBe(0);
  });

  test.each([
    [[{ response: '' }, { response: 0 }]],
    [[{ response: 'x'.repeat(151) }, { response: 0 }]],
    [[{ response: 'I like it' }, { response: 2 }]],
    [[{ response: 'I like it' }, { response: -1 }]],
    [[{ response: 7 }, { response: 0 }]],
    [[{ response: 'I like it', field_type: 'TERMS' }, { response: 0 }]],
  ])('is refused an answer that fits no question: %j', (given) => {
    screen(WHY, PICK);
    join();
    expect(submit(given).code).toBe(50_035);
    expect(request()?.status).toBe('STARTED');
  });

  test.each<[string, object]>([
    ['a role', { roles: ['61'] }],
    ['the flag BYPASSES_VERIFICATION', { flags: 4 }],
  ])('is admitted by %s', (_how, change) => {
    screen(TERMS);
    join();
    expect(ruled(guild, 'updateMember', { userId: NEW, ...change }, MODERATOR).outcome).toMatchObject({
      value: { pending: false },
    });
    expect(request()).toMatchObject({ status: 'APPROVED', actioned_by_user: { id: MODERATOR } });
  });

  test('is admitted by a single role', () => {
    screen(TERMS);
    join();
    ruled(guild, 'addMemberRole', { userId: NEW, roleId: '61' }, MODERATOR);
    expect(member()?.pending).toBe(false);
  });

  test('loses the join request when leaving, kicked or banned', () => {
    for (const [command, input, by] of [
      ['leaveGuild', {}, NEW],
      ['kickMember', { userId: NEW }, MODERATOR],
      ['banUser', { userId: NEW }, MODERATOR],
    ] as const) {
      screen(TERMS);
      join();
      const { dispatches } = ruled(guild, command, input, by);
      expect(dispatches.map(({ t }) => t)).toContain('GUILD_JOIN_REQUEST_DELETE');
      expect(request()).toBeNull();
    }
  });
});

describe('a join request that asks for approval', () => {
  beforeEach(() => {
    screen(WHY, PICK);
    join();
  });
  const answered = [
    { field_type: 'TEXT_INPUT', response: 'I like it' },
    { field_type: 'MULTIPLE_CHOICE', response: 1 },
  ];

  test('is dispatched on submission to its user and to members who may kick', () => {
    const { dispatches, outcome } = submit(answered);
    expect(outcome).toMatchObject({ value: { application_status: 'SUBMITTED', guild_id: GUILD_ID } });
    expect(dispatches.map(({ t, to }) => [t, to.kind])).toEqual([
      ['GUILD_JOIN_REQUEST_UPDATE', 'users'],
      ['GUILD_JOIN_REQUEST_UPDATE', 'guild'],
    ]);
    expect(member()?.pending).toBe(true);
    expect(submit(answered).code).toBe(0);
  });

  test('is decided once, and only after it is submitted', () => {
    expect(act(true).code).toBe(0);
    submit(answered);
    expect(act(true).outcome).toMatchObject({
      value: { application_status: 'APPROVED', actioned_by_user: { id: MODERATOR } },
    });
    expect(member()?.pending).toBe(false);
    expect(act(false).code).toBe(0);
    expect(member()).toBeTruthy();
  });

  test('is distinguished from other requests of the same user', () => {
    submit(answered);
    const input = { userId: NEW, requestId: '1', approve: true, reason: null };
    expect(ruled(guild, 'actOnJoinRequest', input, MODERATOR).code).toBe(0);
    expect(member()?.pending).toBe(true);
  });

  test('is not rejected by a moderator who is not above its member, and may be approved', () => {
    submit(answered);
    guild.members.set(NEW, { ...member()!, roles: ['60' as never] });
    expect([act(false).code, request()?.status]).toEqual([50_013, 'SUBMITTED']);
    expect([act(true).code, request()?.status]).toEqual([undefined, 'APPROVED']);
  });

  test('removes its member when it is rejected, and keeps the reason', () => {
    submit(answered);
    const { types } = act(false, 'Not now');
    expect(types).toEqual(['joinRequestWritten', 'memberRemoved', 'auditLogged']);
    expect(request()).toMatchObject({ status: 'REJECTED', rejection_reason: 'Not now' });
    expect(member()).toBeNull();
    join();
    expect(request()).toMatchObject({ status: 'STARTED', rejection_reason: null });
  });

  test('is settled with all others when screening ends', () => {
    submit(answered);
    const input = { userIds: [NEW, PLAIN as UserId], approve: true };
    ruled(guild, 'settleJoinRequests', input, MODERATOR);
    expect([member()?.pending, request()?.status]).toEqual([false, 'APPROVED']);
  });
});
