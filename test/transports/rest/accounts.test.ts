// Goal: the operations on one's own account and application answer in the platform's shapes and change what was asked.

import { describe, expect, test } from 'vitest';
import { newApplication } from '../../../engine/user/application.ts';
import type { Application } from '../../../engine/user/facts.ts';
import { newUser } from '../../../engine/user/user.ts';
import { USERNAME_TAKEN } from '../../../engine/user/usernames.ts';
import type { ApplicationId, UserId } from '../../../protocol/ids.ts';
import type { APIUser } from '../../../protocol/objects.ts';
import { refusal } from '../../../protocol/refusal.ts';
import type { Accounts, Profile } from '../../../services/accounts/ports.ts';
import { applications } from '../../../transports/rest/resources/applications.ts';
import { gateway } from '../../../transports/rest/resources/gateway.ts';
import { users } from '../../../transports/rest/resources/users.ts';
import { dataUri, pngPixel } from '../../support/media.ts';
import { validateResponse } from '../../support/openapi.ts';
import { BOT, HUMAN, pipelineOf } from '../../support/rest.ts';

const PNG = dataUri(pngPixel());
const people = [
  newUser({ id: BOT.userId, username: 'robot', globalName: null, bot: true }),
  newUser({ id: HUMAN.userId, username: 'ada', globalName: 'Ada', bot: false }),
];
const app = newApplication(BOT.applicationId as ApplicationId, BOT.userId, {
  name: 'robot',
  ownerId: HUMAN.userId,
  flags: 1 << 15,
  verifyKey: 'ab',
});

/** Services over the people and the application above, which record their calls. */
function world(accounts: Partial<Accounts> = {}) {
  const stored: string[] = [];
  const told: unknown[] = [];
  const services = {
    read: {
      users: {
        get: async (ids: readonly UserId[]) => people.filter(({ id }) => ids.includes(id as UserId)),
        guildIds: async () => ['10', '20', '30'],
      },
      applications: { get: async (id: string) => (id === app.id ? app : null) },
    },
    blobs: { put: async (key: string) => void stored.push(key) },
    users: {
      account: async (id: UserId) => people.find((user) => user.id === id) ?? null,
      updateUser: async (id: string, change: Partial<APIUser>) => {
        told.push(change);
        return { ok: true, value: { ...people.find((user) => user.id === id), ...change } };
      },
      openPrivateChannel: async () => ({
        ok: true,
        value: { id: '99', type: 1, recipientIds: [], last_message_id: null, last_pin_ms: 0 },
      }),
    },
    applications: {
      update: async (_id: string, change: Partial<Application>) => {
        told.push(change);
        return { ok: true, value: { ...app, ...change } };
      },
    },
    accounts: { profile: async () => null, ...accounts },
    premium: { premiumTypeOf: async () => 0 },
    guilds: { call: guildCall(told) },
    gateway: {
      url: 'ws://127.0.0.1:3000',
      sessionStart: async () => ({ total: 1000, remaining: 999, reset_after: 0, max_concurrency: 16 }),
    },
  };
  const { pipeline } = pipelineOf({ ...users, ...applications, ...gateway }, { services });
  const invoke = async (id: string, over: object = {}) => {
    const call = { caller: BOT, publicUrl: 'http://x', address: null, ...over };
    const { status, body } = await pipeline.invoke(id, call);
    expect(validateResponse(id, status, body)).toEqual([]);
    return { status, body };
  };
  return { invoke, stored, told };
}

/** Guilds 10 to 30: the bot owns the first, and has left the last since its list was read. */
function guildCall(told: unknown[]) {
  return async (id: string, type: string, input: { withCounts?: boolean }) => {
    if (type === 'leaveGuild') {
      told.push([id, type, input]);
      return { ok: true, value: null };
    }
    if (type === 'getMember') return { ok: true, value: member };
    if (id === '30') return { ok: false, refusal: refusal('UNKNOWN_GUILD') };
    const counts = input.withCounts ? { approximate_member_count: 3 } : {};
    const shown = { name: `g${id}`, icon: null, banner: null, permissions: '1024', features: [] };
    return { ok: true, value: { id, ...shown, owner: id === '10', ...counts } };
  };
}
const member = {
  user: people[0],
  roles: ['7'],
  nick: null,
  joined_at: '2024-01-01T00:00:00.000000+00:00',
  deaf: false,
  mute: false,
  flags: 0,
};

test('the gateway URL is returned without a query', async () => {
  const { invoke } = world();
  expect((await invoke('get_gateway', { caller: null })).body).toEqual({ url: 'ws://127.0.0.1:3000' });
  expect((await invoke('get_bot_gateway')).body).toMatchObject({
    shards: 1,
    session_start_limit: { remaining: 999, max_concurrency: 16 },
  });
});

test('users read more fields of their own account than others do', async () => {
  const { invoke } = world();
  expect((await invoke('get_my_user')).body).toMatchObject({ id: BOT.userId, bot: true, mfa_enabled: false });
  expect((await invoke('get_user', { params: { user_id: HUMAN.userId } })).body).not.toHaveProperty(
    'mfa_enabled',
  );
  expect(await invoke('get_user', { params: { user_id: '404' } })).toMatchObject({
    status: 404,
    body: { code: 10013 },
  });
});

describe('a user with a password', () => {
  const profile = {
    loginName: 'ada',
    email: 'ada@example.org',
    claimedEmail: null,
    hasFactor: true,
  } as Profile;
  const signsIn = (over: Partial<Accounts> = {}) => {
    const asked: unknown[] = [];
    const made = world({
      profile: async (id) => (id === HUMAN.userId ? profile : null),
      async confirm(_, password) {
        asked.push(password);
        return password === 'right'
          ? { ok: true, value: null }
          : { ok: false, refusal: refusal('FORBIDDEN') };
      },
      async rename(_, names) {
        asked.push(names);
        return { ok: true, value: null };
      },
      ...over,
    });
    const invoke = (id: string, body?: object) => made.invoke(id, { caller: HUMAN, ...(body && { body }) });
    return { ...made, invoke, asked };
  };
  const passwordIs = (code: string) => ({
    status: 400,
    body: { code: 50035, errors: { password: { _errors: [{ code }] } } },
  });

  test('reads the e-mail address and whether a second factor is enabled', async () => {
    const { invoke } = signsIn();
    const own = { email: 'ada@example.org', verified: true, mfa_enabled: true };
    expect((await invoke('get_my_user')).body).toMatchObject(own);
    const claims = async () => ({
      ...profile,
      email: null,
      claimedEmail: 'new@example.org',
      hasFactor: false,
    });
    const { body } = await signsIn({ profile: claims }).invoke('get_my_user');
    expect(body).toMatchObject({ email: 'new@example.org', verified: false, mfa_enabled: false });
  });

  test('changes the username with the password, and signs in with the new username', async () => {
    const { invoke, asked, told } = signsIn();
    expect(await invoke('update_my_user', { username: 'lovelace' })).toMatchObject(
      passwordIs('BASE_TYPE_REQUIRED'),
    );
    expect(await invoke('update_my_user', { username: 'lovelace', password: 'wrong' })).toMatchObject({
      status: 403,
    });
    expect(asked).toEqual(['wrong']);
    expect(told).toEqual([]);
    const { status } = await invoke('update_my_user', {
      username: 'lovelace',
      password: 'right',
      avatar: null,
    });
    expect(status).toBe(200);
    expect(asked.slice(1)).toEqual(['right', { username: 'lovelace' }]);
    // Only the avatar is left for the user record: the name is the account's to change.
    expect(told).toEqual([{ avatar: null }]);
  });

  test('needs no password for an unchanged name, and is refused a taken name', async () => {
    const { invoke } = signsIn();
    expect(await invoke('update_my_user', { username: 'Ada' })).toMatchObject({ status: 200 });
    const taken = async () => ({ ok: false, refusal: USERNAME_TAKEN }) as const;
    const refusing = signsIn({ rename: taken });
    expect(await refusing.invoke('update_my_user', { username: 'eve', password: 'right' })).toMatchObject({
      status: 400,
      body: { errors: { username: { _errors: [{ code: 'USERNAME_ALREADY_TAKEN' }] } } },
    });
    expect(refusing.told).toEqual([]);
  });
});

test('a new avatar is stored under its digest; null removes it', async () => {
  const { invoke, stored, told } = world();
  await invoke('update_my_user', { body: { username: 'other', avatar: PNG, banner: null } });
  expect(told).toEqual([
    { username: 'other', avatar: expect.stringMatching(/^[0-9a-f]{32}$/), banner: null },
  ]);
  expect(stored).toEqual([expect.stringMatching(new RegExp(`^avatars/${BOT.userId}/[0-9a-f]{32}$`))]);
  const no = await invoke('update_my_user', { body: { avatar: 'data:image/png;base64,AAAA' } });
  expect(no).toMatchObject({
    status: 400,
    body: { errors: { avatar: { _errors: [{ code: 'IMAGE_INVALID' }] } } },
  });
});

test('the guilds of the caller are listed in pages, without guilds that the caller has left', async () => {
  const { invoke } = world();
  const page = async (query: object) => (await invoke('list_my_guilds', { query })).body as { id: string }[];
  expect(await page({})).toMatchObject([
    { id: '10', owner: true },
    { id: '20', owner: false },
  ]);
  expect((await page({ after: '10', limit: '1' })).map(({ id }) => id)).toEqual(['20']);
  expect((await page({ before: '30', limit: '1' })).map(({ id }) => id)).toEqual(['20']);
  expect(await page({ with_counts: 'true', limit: '1' })).toMatchObject([{ approximate_member_count: 3 }]);
});

test('the caller leaves a guild, and reads their own member object', async () => {
  const { invoke, told } = world();
  const params = { guild_id: '10' };
  expect((await invoke('leave_guild', { params })).status).toBe(204);
  expect(told).toEqual([['10', 'leaveGuild', {}]]);
  expect((await invoke('get_my_guild_member', { params, caller: HUMAN })).body).toMatchObject({
    pending: false,
  });
});

test('a private channel opens only with an existing other user', async () => {
  const { invoke } = world();
  const open = (recipient_id: unknown) => invoke('create_dm', { body: { recipient_id } });
  expect((await open(HUMAN.userId)).body).toMatchObject({
    id: '99',
    type: 1,
    recipients: [{ id: HUMAN.userId }],
  });
  expect((await open(BOT.userId)).body).toMatchObject({ code: 50033 });
  expect((await open('404')).body).toMatchObject({ code: 50033 });
  expect((await open(null)).body).toMatchObject({ code: 50035 });
});

test('a private channel opens by a list of one recipient as well, for bots as for people', async () => {
  const { invoke } = world();
  const open = (body: object, caller: object = BOT) => invoke('create_dm', { body, caller });
  expect((await open({ recipients: [HUMAN.userId] })).body).toMatchObject({
    id: '99',
    recipients: [{ id: HUMAN.userId }],
  });
  expect((await open({ recipients: [BOT.userId] }, HUMAN)).body).toMatchObject({ id: '99' });
  expect((await open({ recipients: [BOT.userId, HUMAN.userId, HUMAN.userId] })).body).toMatchObject({
    id: '99',
  });
  expect((await open({ recipient_id: HUMAN.userId, recipients: null })).body).toMatchObject({ id: '99' });
  expect((await open({ recipients: [BOT.userId] })).body).toMatchObject({ code: 50033 });
  for (const body of [{ recipients: [] }, { recipients: [HUMAN.userId, '404'] }, { recipients: null }, {}])
    expect((await open(body)).body, JSON.stringify(body)).toMatchObject({ code: 50035 });
  expect((await open({ recipients: ['x'] })).body).toMatchObject({ code: 50035, errors: { recipients: {} } });
});

test('an application is readable by its bot and its owner', async () => {
  const { invoke } = world();
  for (const id of ['get_my_application', 'get_my_oauth2_application'])
    expect((await invoke(id)).body).toMatchObject({
      id: app.id,
      bot: { id: BOT.userId },
      owner: { id: HUMAN.userId },
    });
  const other = (caller: object, application_id: string) =>
    invoke('get_application', { caller, params: { application_id } });
  expect((await other(HUMAN, '1001')).status).toBe(200);
  expect((await other({ ...BOT, userId: '5', applicationId: '6' }, '1001')).status).toBe(403);
  expect((await other(BOT, '404')).status).toBe(404);
});

test('an application is updated by its bot, except flags that only the platform sets', async () => {
  const { invoke, told, stored } = world();
  const body = {
    description: { default: 'new' },
    flags: (1 << 19) | (1 << 12),
    icon: PNG,
    tags: ['a', 'a', 'b'],
    install_params: { scopes: ['bot'], permissions: 8 },
    integration_types_config: { 0: { oauth2_install_params: { scopes: ['bot'] } }, 1: null },
    max_participants: -1,
  };
  const { body: answer } = await invoke('update_my_application', { body });
  expect(told).toEqual([
    {
      description: 'new',
      flags: 1 << 19,
      icon: expect.stringMatching(/^[0-9a-f]{32}$/),
      tags: ['a', 'b'],
      install_params: { scopes: ['bot'], permissions: '8' },
      integration_types_config: {
        0: { oauth2_install_params: { scopes: ['bot'], permissions: '0' } },
        1: {},
      },
      max_participants: -1,
    },
  ]);
  expect(stored).toHaveLength(1);
  expect(answer).toMatchObject({ flags_new: String(1 << 19), description: 'new' });
  await invoke('update_my_application', { body: { description: 'plain', event_webhooks_types: null } });
  expect(told[1]).toEqual({ description: 'plain', event_webhooks_types: [] });
});
