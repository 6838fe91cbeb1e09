// Goal: a player of another issuer has one account at any time, under concurrent requests and faults.
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import type { ApplicationId, UserId } from '../../../protocol/ids.ts';
import { until } from '../../support/instance.ts';
import { codeOf, openPlayers } from './arrange.ts';

const MINUTE_MS = 60_000;
let at: Awaited<ReturnType<typeof openPlayers>>;
let game: Awaited<ReturnType<typeof at.game>>;

beforeAll(async () => {
  at = await openPlayers();
}, 60_000);
afterAll(() => at.instance.close());
beforeEach(async () => {
  game = await at.game();
  at.part.fail = false;
  at.part.gate = null;
  for (const list of [at.part.moves, at.told, at.faults, at.later]) list.splice(0);
});

const userOf = async (userId: UserId) => (await at.instance.storage.users.get([userId]))[0];
const merge = (userId: UserId, token: string, id: ApplicationId = game.id) =>
  at.players.merge({ applicationId: id, userId, ...at.botProof(token) });
const linkedTo = async (player: string) => {
  const external = { providerType: 'BOT', providerId: null, providerIssuedUserId: player } as const;
  return (await at.players.identity(game.id, external))?.userId ?? null;
};
const completed = (userId: UserId) =>
  until(() => at.told.some(({ userId: to, t }) => to === userId && t === 'USER_MERGE_OPERATION_COMPLETED'));

describe('sign-in on behalf of a bot', () => {
  test('creates an account the first time and finds it later', async () => {
    const first = await at.enter(game.id, 'p1', '  Ada   L ');
    const again = await at.enter(game.id, 'p1', 'Bob');
    const other = await at.enter(game.id, 'p2');
    expect(again.userId).toBe(first.userId);
    expect(other.userId).not.toBe(first.userId);
    const user = await userOf(first.userId);
    expect(user).toMatchObject({ global_name: 'Ada L', flags: 1 << 23, public_flags: 1 << 23 });
    expect(user?.username).toMatch(/^adal_[0-9a-f]{10}$/);
    expect((await userOf(other.userId))?.global_name).toBeNull();
    expect(await at.players.isProvisional(first.userId)).toBe(true);
  });

  test("issues tokens of seven days with the client library's scopes, an ID token and no refresh token", async () => {
    const { tokens } = await at.enter(game.id, 'p1');
    expect(tokens).toMatchObject({ expiresInSec: 604_800, refreshToken: null, idToken: expect.any(String) });
    expect([...tokens.scopes]).toEqual(
      expect.arrayContaining(['openid', 'sdk.social_layer', 'lobbies.write']),
    );
  });

  test('creates one account for concurrent sign-ins', async () => {
    const entered = await Promise.all(Array.from({ length: 20 }, () => at.enter(game.id, 'crowd')));
    expect(new Set(entered.map(({ userId }) => userId)).size).toBe(1);
  });

  test('keeps the players of applications apart', async () => {
    const other = await at.game();
    const [here, there] = [await at.enter(game.id, 'p1'), await at.enter(other.id, 'p1')];
    expect(here.userId).not.toBe(there.userId);
  });

  test.each(['', 'a\0b', 'p'.repeat(1025)])('refuses %j as a player id', async (player) => {
    expect(codeOf(await at.players.signInByBot(game.id, player, null))).toBe(50_035);
  });

  test('refuses when no username is free', async () => {
    const before = await at.enter(game.id, 'p1', 'taken');
    const { username } = (await userOf(before.userId))!;
    const digits = Buffer.from(username.split('_')[1]!, 'hex');
    const stuck = at.start();
    const real = at.instance.foundation.randomBytes;
    // The same bytes again and again: chance has run out.
    const { foundation } = at.instance as { foundation: { randomBytes: (size: number) => Uint8Array } };
    foundation.randomBytes = () => digits;
    const unlucky = at.start();
    foundation.randomBytes = real;
    expect(codeOf(await unlucky.signInByBot(game.id, 'p2', 'taken'))).toBe(530_006);
    expect(codeOf(await stuck.signInByBot(game.id, 'p2', 'taken'))).toBe(0);
  });
});

describe('clients', () => {
  const proof = () => at.botProof('anything');

  test('present their secret when they are confidential', async () => {
    for (const clientSecret of [null, '', 'wrong', `${game.secret}x`])
      expect(codeOf(await at.players.signIn({ applicationId: game.id, clientSecret }, proof()))).toBe(
        530_007,
      );
    const client = { applicationId: game.id, clientSecret: game.secret };
    expect(codeOf(await at.players.signIn(client, proof()))).toBe(50_025);
    expect(codeOf(await at.players.unmerge({ ...client, clientSecret: 'wrong' }, proof()))).toBe(530_007);
  });

  test('may present the token of their bot, and none of another application or user', async () => {
    const client = { applicationId: game.id, clientSecret: game.secret };
    const { userId, token } = await at.enter(game.id, 'p1');
    const reply = await at.players.signIn(client, at.botProof(token));
    expect(reply).toMatchObject({ ok: true, value: { kind: 'tokens' } });
    expect(await linkedTo('p1')).toBe(userId);
    const foreign = await at.enter((await at.game()).id, 'p1');
    const someone = await at.person(game.id);
    for (const each of [foreign.token, someone.token, game.botToken, 'x'.repeat(10_241)])
      expect(codeOf(await at.players.signIn(client, at.botProof(each)))).toBe(50_025);
  });

  test('are refused when the provider is not configured', async () => {
    const client = { applicationId: game.id, clientSecret: game.secret };
    const codes = async (externalAuthType: 'OIDC' | 'STEAM_SESSION_TICKET' | 'APPLE_ID_TOKEN') =>
      codeOf(await at.players.signIn(client, { externalAuthType, externalAuthToken: 'x' }));
    expect(await codes('OIDC')).toBe(530_008);
    expect(await codes('STEAM_SESSION_TICKET')).toBe(530_000);
    expect(await codes('APPLE_ID_TOKEN')).toBe(530_000);
  });
});

describe('a merge', () => {
  test('moves all data to the full account and deletes the provisional one', async () => {
    const player = await at.enter(game.id, 'p1');
    const ada = await at.person(game.id);
    expect(await merge(ada.userId, player.token)).toEqual({ ok: true, value: null });
    await completed(ada.userId);
    expect(at.part.moves).toEqual([`merge ${player.userId} ${ada.userId}`]);
    expect(await userOf(player.userId)).toBeUndefined();
    expect(await at.instance.features.oauth.authenticate(player.token)).toBeNull();
    expect(await at.instance.features.oauth.authenticate(ada.token)).not.toBeNull();
    expect(await linkedTo('p1')).toBe(ada.userId);
    expect(await at.instance.storage.identities.merges()).toEqual([]);
    expect(at.told.find(({ t }) => t === 'USER_MERGE_OPERATION_COMPLETED')?.d).toEqual({
      merge_operation_id: expect.any(String),
      source_user_id: player.userId,
    });
  });

  test('ends at the owner of the application, like an unmerge, whichever shards own the accounts', async () => {
    const { userId: provisionalId, token } = await at.enter(game.id, 'p1');
    const ada = await at.person(game.id);
    for (const id of [provisionalId, ada.userId]) at.foreign.add(id);
    await merge(ada.userId, token);
    await completed(ada.userId);
    await at.players.unmergeByBot(game.id, 'p1');
    expect(await at.instance.storage.identities.merges()).toEqual([]);
  });

  test('queues no deauthorization event', async () => {
    const kept = (await at.instance.storage.applications.get(game.id))!;
    const event_webhooks_types = ['APPLICATION_DEAUTHORIZED'];
    const wanting = {
      event_webhooks_url: 'https://game.example',
      event_webhooks_status: 2,
      event_webhooks_types,
    };
    await at.instance.commit(game.id, [
      { type: 'applicationUpdated', application: { ...kept, ...wanting } as never },
    ]);
    const queued = () => at.instance.storage.webhookEvents.pending(game.id, 10);
    const ada = await at.person(game.id);
    await merge(ada.userId, (await at.enter(game.id, 'p1')).token);
    await completed(ada.userId);
    expect(await queued()).toEqual([]);
    await at.instance.features.oauth.deauthorize(ada.userId, game.id);
    // It is queued after the revocation is answered.
    await vi.waitFor(async () => expect(await queued()).toHaveLength(1), { timeout: 10_000 });
  });

  test('makes the player sign in by OAuth2 from then on, and names the linked account', async () => {
    const player = await at.enter(game.id, 'p1');
    const ada = await at.person(game.id);
    await merge(ada.userId, player.token);
    const reply = await at.players.signInByBot(game.id, 'p1', null);
    const identity = { userId: ada.userId, providerType: 'BOT', providerIssuedUserId: 'p1' };
    expect(reply).toMatchObject({ ok: true, value: { kind: 'linked', identity } });
    await completed(ada.userId);
  });

  test.each([
    ['a token that is none', 50_025, async () => merge((await at.person(game.id)).userId, 'nothing')],
    [
      'a provisional destination',
      530_016,
      async () => merge((await at.enter(game.id, 'p2')).userId, (await at.enter(game.id, 'p1')).token),
    ],
    [
      'a user with another identity here',
      530_023,
      async () => {
        const ada = await at.person(game.id);
        await merge(ada.userId, (await at.enter(game.id, 'p1')).token);
        await completed(ada.userId);
        return merge(ada.userId, (await at.enter(game.id, 'p2')).token);
      },
    ],
    ['an unknown person', 10_013, async () => merge('5' as UserId, (await at.enter(game.id, 'p1')).token)],
  ])('is refused for %s: %i', async (_, code, run) => {
    expect(codeOf(await run())).toBe(code);
  });

  test('is refused with 423 while one of the accounts is being merged', async () => {
    let open = () => {};
    at.part.gate = new Promise((resolve) => {
      open = resolve;
    });
    const [one, two] = [await at.enter(game.id, 'p1'), await at.enter(game.id, 'p2')];
    const [ada, bob] = [await at.person(game.id), await at.person(game.id)];
    expect((await merge(ada.userId, one.token)).ok).toBe(true);
    expect(await merge(ada.userId, two.token)).toMatchObject({ refusal: { status: 423, code: 0 } });
    open();
    await completed(ada.userId);
    expect((await merge(bob.userId, two.token)).ok).toBe(true);
    await completed(bob.userId);
  });

  test('links one of two users who merge the same player at once', async () => {
    const player = await at.enter(game.id, 'p1');
    const people = [await at.person(game.id), await at.person(game.id)];
    const replies = await Promise.all(people.map(({ userId }) => merge(userId, player.token)));
    expect(replies.filter(({ ok }) => ok)).toHaveLength(1);
    await completed(people[replies.findIndex(({ ok }) => ok)]!.userId);
  });

  test('continues after a service has failed', async () => {
    const player = await at.enter(game.id, 'p1');
    const ada = await at.person(game.id);
    at.part.fail = true;
    await merge(ada.userId, player.token);
    await until(() => at.later.length === 1);
    expect(at.faults).toHaveLength(1);
    expect(await merge(ada.userId, 'nothing')).toMatchObject({ ok: false });
    at.part.fail = false;
    at.later.shift()!();
    await completed(ada.userId);
    expect(await userOf(player.userId)).toBeUndefined();
  });

  test('is completed by the next server after a crash, without starting over', async () => {
    const player = await at.enter(game.id, 'p1');
    const ada = await at.person(game.id);
    at.part.gate = new Promise(() => {});
    await merge(ada.userId, player.token);
    await until(() => at.told.length > 0);
    at.part.gate = null;
    const next = at.start();
    await next.resume();
    await completed(ada.userId);
    expect(at.part.moves).toEqual([`merge ${player.userId} ${ada.userId}`]);
    expect(await userOf(player.userId)).toBeUndefined();
    expect(await at.instance.storage.identities.merges()).toEqual([]);
  });
});

describe('an unmerge', () => {
  async function linked(player = 'p1') {
    const { token } = await at.enter(game.id, player);
    const ada = await at.person(game.id);
    await merge(ada.userId, token);
    await completed(ada.userId);
    return ada;
  }

  test('ends the tokens and gives the player a new account with copied data', async () => {
    const ada = await linked();
    at.part.moves.splice(0);
    expect(await at.players.unmergeByBot(game.id, 'p1')).toEqual({ ok: true, value: null });
    expect(await at.instance.features.oauth.authenticate(ada.token)).toBeNull();
    const fresh = (await linkedTo('p1'))!;
    expect(fresh).not.toBe(ada.userId);
    expect(at.part.moves).toEqual([`unmerge ${ada.userId} ${fresh} ${game.id}`]);
    expect(await userOf(fresh)).toMatchObject({ global_name: 'Ada', flags: 1 << 23 });
    expect(await userOf(ada.userId)).toMatchObject({ global_name: 'Ada', flags: 0 });
    expect((await at.enter(game.id, 'p1')).userId).toBe(fresh);
  });

  test('is refused for provisional and unknown accounts', async () => {
    await at.enter(game.id, 'p1');
    expect(codeOf(await at.players.unmergeByBot(game.id, 'p1'))).toBe(50_229);
    expect(codeOf(await at.players.unmergeByBot(game.id, 'nobody'))).toBe(10_013);
    expect(codeOf(await at.players.unmergeByBot(game.id, ''))).toBe(50_035);
  });

  test('follows every revocation of the grant', async () => {
    const ada = await linked();
    expect(await at.instance.features.oauth.deauthorize(ada.userId, game.id)).toBe(true);
    await until(() => true);
    expect(await linkedTo('p1')).not.toBe(ada.userId);
    expect(await at.instance.storage.identities.merges()).toEqual([]);
  });
});

describe('an identity provider', () => {
  test('is configured and removed by any shard', async () => {
    at.foreign.add(game.id);
    const { identities } = at.instance.storage;
    const settings = { type: 'UNITY', projectId: 'project' } as const;
    expect(await at.players.configure(game.id, settings)).toEqual({ ok: true, value: null });
    expect(await identities.provider(game.id, 'UNITY')).toEqual(settings);
    await at.players.unconfigure(game.id, 'UNITY');
    expect(await identities.provider(game.id, 'UNITY')).toBeNull();
  });
});

describe('a publisher', () => {
  async function family() {
    const child = await at.game();
    expect(await at.players.linkChild(child.id, game.id)).toEqual({ ok: true, value: null });
    return child;
  }

  test("exchanges the parent's token for a child's, which ends with it", async () => {
    const child = await family();
    const ada = await at.person(game.id);
    at.instance.clock.advance(MINUTE_MS);
    const reply = await at.players.exchangeChild(ada.token, child.id, game.secret);
    if (!reply.ok) throw new Error(JSON.stringify(reply));
    const token = reply.value.accessToken.reveal();
    expect(reply.value).toMatchObject({ refreshToken: null, expiresInSec: 604_800 - 60 });
    expect(await at.instance.features.oauth.authenticate(token)).toMatchObject({
      userId: ada.userId,
      authorization: { applicationId: child.id },
    });
    await at.instance.features.oauth.deauthorize(ada.userId, game.id);
    expect(await at.instance.features.oauth.authenticate(token)).toBeNull();
  });

  test('must present its secret, its own child and a token of the client library', async () => {
    const child = await family();
    const stranger = await at.game();
    const ada = await at.person(game.id);
    const poor = await at.instance.features.oauth.issue({
      userId: ada.userId,
      applicationId: game.id,
      scopes: ['identify'],
      refreshable: false,
    });
    const { exchangeChild } = at.players;
    expect(codeOf(await exchangeChild(ada.token, child.id, 'wrong'))).toBe(530_007);
    expect(codeOf(await exchangeChild(ada.token, stranger.id, game.secret))).toBe(10_002);
    expect(codeOf(await exchangeChild('nothing', child.id, game.secret))).toBe(50_025);
    expect(codeOf(await exchangeChild(poor.accessToken.reveal(), child.id, game.secret))).toBe(50_026);
  });

  test('has one account per player in all its applications', async () => {
    const child = await family();
    const [here, there] = [await at.enter(game.id, 'p1'), await at.enter(child.id, 'p1')];
    expect(there.userId).toBe(here.userId);
    expect(await at.players.related(game.id, child.id)).toBe(true);
    expect(await at.players.parentOf(child.id)).toBe(game.id);
  });

  test("adopts a child without the child's earlier players", async () => {
    const child = await at.game();
    const player = await at.enter(child.id, 'p1');
    const ada = await at.person(child.id);
    await at.players.linkChild(child.id, game.id);
    expect(await userOf(player.userId)).toBeUndefined();
    for (const { token } of [player, ada])
      expect(await at.instance.features.oauth.authenticate(token)).toBeNull();
    expect(await linkedTo('p1')).toBeNull();
    expect(at.part.moves).toEqual([`forget ${child.id}`]);
    expect(await at.instance.storage.identities.merges()).toEqual([]);
  });

  test('has two generations of equal confidentiality', async () => {
    const child = await family();
    const other = await at.game();
    expect(codeOf(await at.players.linkChild(game.id, other.id))).toBe(50_035);
    expect(codeOf(await at.players.linkChild(other.id, child.id))).toBe(50_035);
    expect(codeOf(await at.players.linkChild(game.id, game.id))).toBe(50_035);
    expect(codeOf(await at.players.linkChild(child.id, other.id))).toBe(50_035);
    expect(codeOf(await at.players.linkChild(child.id, game.id))).toBe(0);
    expect(codeOf(await at.players.linkChild('7' as ApplicationId, game.id))).toBe(10_002);
    const open = (await at.instance.storage.applications.get(other.id))!;
    const oauth2 = { ...open.oauth2, publicClient: true } as never;
    await at.instance.commit(other.id, [{ type: 'applicationUpdated', application: { ...open, oauth2 } }]);
    expect(codeOf(await at.players.linkChild(other.id, game.id))).toBe(50_035);
  });
});

describe('a profile that a game sets for a player', () => {
  test('is stored with the identity and dispatched to the player', async () => {
    const { userId } = await at.enter(game.id, 'p1');
    const data = { primary: { season: '3' }, dynamic: [{ type: 1, name: 'a', value: 'b' }] };
    const update = (change: object) => at.players.updateProfile(game.id, userId, 'p1', change);
    expect(await update({ username: 'Knight' })).toEqual({ ok: true, value: { created: true } });
    expect(await update({ data })).toEqual({ ok: true, value: { created: false } });
    expect(await at.players.profile(game.id, userId, 'p1')).toMatchObject({
      value: { username: 'Knight', data, metadata: null },
    });
    expect(await at.players.profiles(game.id, [userId])).toHaveLength(1);
    await until(() => at.told.length === 2);
    expect(at.told[1]).toEqual({
      userId,
      t: 'USER_APPLICATION_IDENTITY_UPDATE',
      d: {
        application_id: game.id,
        user_id: userId,
        external_id: { provider_type: 'BOT', provider_issued_user_id: 'p1' },
        username: 'Knight',
        metadata: null,
        data,
      },
    });
    expect(codeOf(await update({ data: { dynamic: [{ a: 'x'.repeat(10_240) }] } }))).toBe(50_035);
    expect(codeOf(await at.players.updateProfile(game.id, userId, 'p2', {}))).toBe(10_013);
  });

  test('moves with the identity in a merge, and can be removed then', async () => {
    const player = await at.enter(game.id, 'p1');
    await at.players.updateProfile(game.id, player.userId, 'p1', { username: 'Knight' });
    const external = { providerType: 'BOT', providerId: null, providerIssuedUserId: 'p1' } as const;
    expect(codeOf(await at.players.forgetIdentity(game.id, player.userId, external))).toBe(50_229);
    const ada = await at.person(game.id);
    await merge(ada.userId, player.token);
    await completed(ada.userId);
    expect(await at.players.profile(game.id, ada.userId, 'p1')).toMatchObject({
      value: { username: 'Knight' },
    });
    expect(codeOf(await at.players.forgetIdentity(game.id, player.userId, external))).toBe(10_013);
    expect(codeOf(await at.players.forgetIdentity(game.id, ada.userId, external))).toBe(0);
    expect(await linkedTo('p1')).toBeNull();
    await until(() => at.told.at(-1)?.t === 'USER_APPLICATION_IDENTITY_REMOVE');
  });
});
