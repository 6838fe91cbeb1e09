// Goal: every operation that sets a name refuses invisible characters, and drops none.
import { describe, expect, test } from 'vitest';
import type { ApplicationId, UserId } from '../../../protocol/ids.ts';
import { NameText, Obj } from '../../../protocol/schemas/request.ts';
import { operations, unlisted } from '../../../transports/rest/resources/index.ts';
import { compileValidator } from '../../../transports/rest/validate.ts';
import { BOT, HUMAN, pipelineOf } from '../../support/rest.ts';

const HIDDEN = ['a\u0000bc', 'ab\u202ec', 'ab\u200bc', 'ab\nc', 'ab\u0007c'];
/** Names of which nothing is seen: `NAME_BLANK`, unless hidden characters are what is wrong. */
const BLANK = [
  '\u2800\u2800',
  '\u2003\u00a0\u2003',
  '\u3164\u3164',
  '\u115f\u1160',
  '\uffa0\uffa0',
  '\u200b\u2060',
  '\ufe0f\ufe0f',
];
const ALL = { ...operations, ...unlisted };

/** Each body up to the name, which is put in the place of `null`. */
const NAMED = [
  ['register', HUMAN, {}, (name: string) => ({ username: name, password: 'correct horse' }), 'username'],
  [
    'register',
    HUMAN,
    {},
    (name: string) => ({ username: 'ab', password: 'correct horse', global_name: name }),
    'global_name',
  ],
  ['update_my_user', BOT, {}, (name: string) => ({ username: name }), 'username'],
  ['update_my_account', HUMAN, {}, (name: string) => ({ global_name: name }), 'global_name'],
  ['update_guild', BOT, { guild_id: '1' }, (name: string) => ({ name }), 'name'],
  ['create_guild_channel', BOT, { guild_id: '1' }, (name: string) => ({ name }), 'name'],
  ['update_channel', BOT, { channel_id: '1' }, (name: string) => ({ name }), 'name'],
  ['create_guild_role', BOT, { guild_id: '1' }, (name: string) => ({ name }), 'name'],
  ['update_guild_role', BOT, { guild_id: '1', role_id: '2' }, (name: string) => ({ name }), 'name'],
  ['update_guild_member', BOT, { guild_id: '1', user_id: '2' }, (name: string) => ({ nick: name }), 'nick'],
  ['update_my_guild_member', BOT, { guild_id: '1' }, (name: string) => ({ nick: name }), 'nick'],
  [
    'bot_partner_sdk_token',
    BOT,
    {},
    (name: string) => ({ external_user_id: 'x', preferred_global_name: name }),
    'preferred_global_name',
  ],
  [
    'add_lobby_member',
    BOT,
    { lobby_id: '1', user_id: '2' },
    (name: string) => ({ additional_name: name }),
    'additional_name',
  ],
] as const;

describe('a name', () => {
  const { pipeline } = pipelineOf(ALL, { limited: false });

  test.each(NAMED)(
    'is refused in %s if it contains invisible characters',
    async (id, caller, params, bodyOf, field) => {
      for (const name of HIDDEN) {
        const call = { caller, params, body: bodyOf(name), publicUrl: 'http://x', address: null };
        const { status, body } = await pipeline.invoke(id, call);
        expect([name, status]).toEqual([name, 400]);
        expect(body).toMatchObject({
          code: 50_035,
          errors: { [field]: { _errors: [{ code: 'NAME_HIDDEN_CHARACTERS' }] } },
        });
      }
    },
  );

  test.each(NAMED)(
    'is refused in %s if all its characters are invisible',
    async (id, caller, params, bodyOf, field) => {
      for (const name of BLANK) {
        const call = { caller, params, body: bodyOf(name), publicUrl: 'http://x', address: null };
        const { status, body } = await pipeline.invoke(id, call);
        expect([name, status]).toEqual([name, 400]);
        const code = expect.stringMatching(/^NAME_(BLANK|HIDDEN_CHARACTERS)$/);
        expect(body).toMatchObject({ code: 50_035, errors: { [field]: { _errors: [{ code }] } } });
      }
    },
  );

  test.each(NAMED.filter(([, , , , field]) => field !== 'nick'))(
    'is refused in %s if it consists of spaces',
    async (id, caller, params, bodyOf, field) => {
      const call = { caller, params, body: bodyOf('   '), publicUrl: 'http://x', address: null };
      const { status, body } = await pipeline.invoke(id, call);
      expect(status).toBe(400);
      expect(body).toMatchObject({ errors: { [field]: { _errors: [{ code: 'BASE_TYPE_BAD_LENGTH' }] } } });
    },
  );

  test('is accepted as a nickname if it consists of spaces', () => {
    const parsed = ['', '  ', 'a'].map(
      (nick) => compileValidator(Obj({ nick: NameText(0, 32) }))({ nick }).ok,
    );
    expect(parsed).toEqual([true, true, true]);
  });
});

describe('POST /application-identities', () => {
  const world = () => {
    const asked: unknown[] = [];
    const services = {
      provisional: {
        identities: async (applicationId: string, userIds: readonly string[]) => {
          asked.push([applicationId, ...userIds]);
          return userIds.map((userId) => ({ userId, providerIssuedUserId: `player ${userId}` }));
        },
      },
    };
    const { pipeline } = pipelineOf(ALL, { services, limited: false });
    const scopes = new Set(['identify']);
    const player = {
      ...HUMAN,
      applicationId: '77' as ApplicationId,
      authorization: { applicationId: '77', scopes },
    } as unknown as typeof HUMAN;
    const ask = (caller: typeof HUMAN, ids: readonly string[]) =>
      pipeline.invoke('list_application_identities', {
        caller,
        params: {},
        body: { user_ids: ids },
        publicUrl: 'http://x',
        address: null,
      });
    return { asked, ask, player };
  };

  test('returns the identity of a user to the token of that user', async () => {
    const { ask, player } = world();
    expect(await ask(player, [player.userId])).toMatchObject({
      status: 200,
      body: [{ user_id: player.userId, external_user_id: `player ${player.userId}` }],
    });
  });

  test('refuses the token of a user for other users, alone or in a list', async () => {
    const { ask, asked, player } = world();
    for (const ids of [['5'], [player.userId, '5']])
      expect(await ask(player, ids)).toMatchObject({ status: 403, body: { code: 50_001 } });
    expect(asked).toEqual([]);
  });

  test('returns the identities of all players to the bot of their application', async () => {
    const { ask, asked } = world();
    expect((await ask(BOT, ['5', '6' as UserId])).status).toBe(200);
    expect(asked).toEqual([[BOT.applicationId, '5', '6']]);
  });
});
