// Goal: identities of players at other providers are read back as they were written, on every database.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Move } from '../../engine/provisional/facts.ts';
import type { Identity } from '../../engine/provisional/identity.ts';
import type { StoredFact } from '../../storage/ports.ts';
import { commit, id, user } from './builders.ts';
import { databases, openFresh } from './databases.ts';

const APP = id<Identity['applicationId']>('500');
const OTHER = id<Identity['applicationId']>('501');
const USER = id<Identity['userId']>('10');

const identity = (more: Partial<Identity> = {}): Identity => ({
  applicationId: APP,
  providerType: 'OIDC',
  providerId: 'https://id.example.org',
  providerIssuedUserId: 'player',
  userId: USER,
  formerUserId: null,
  ...more,
});

describe.each(databases())('identities on $name', (kind) => {
  let fresh: Awaited<ReturnType<typeof openFresh>>;
  const store = () => fresh.storage.identities;
  const write = (...facts: StoredFact[]) => commit(fresh.storage.writer, APP, ...facts);

  beforeAll(async () => {
    fresh = await openFresh(kind);
  });
  afterAll(() => fresh.close());
  beforeEach(() =>
    fresh.driver.script(
      'TRUNCATE identities, account_moves, server_bans, child_applications, identity_providers, users, tokens',
    ),
  );

  test('an identity is found by its provider and player in its application, and only there', async () => {
    await write({ type: 'identityWritten', identity: identity() });
    expect(await store().get(APP, identity())).toEqual({ identity: identity(), profile: null });
    expect(await store().get(OTHER, identity())).toBeNull();
    expect(await store().get(APP, identity({ providerId: 'https://other.example.org' }))).toBeNull();
    expect(await store().get(APP, identity({ providerId: null }))).toBeNull();
    expect(await store().get(APP, identity({ providerIssuedUserId: 'Player' }))).toBeNull();
    expect(await store().get(APP, identity({ providerType: 'STEAM' }))).toBeNull();
  });

  test('an identity of the greatest length is stored', async () => {
    const long = identity({ providerType: 'BOT', providerId: null, providerIssuedUserId: '𝔵'.repeat(1024) });
    await write({ type: 'identityWritten', identity: long });
    expect((await store().get(APP, long))?.identity).toEqual(long);
  });

  test('an identity moves to another account with its profile', async () => {
    const profile = { username: 'Ada', metadata: { a: [1] }, data: { primary: { season: '3' } } };
    await write(
      { type: 'identityWritten', identity: identity() },
      { type: 'profileWritten', applicationId: APP, external: identity(), profile },
    );
    const moved = identity({ userId: id('11'), formerUserId: USER });
    await write({ type: 'identityWritten', identity: moved });
    expect(await store().ofUser(USER)).toEqual([]);
    expect(await store().ofUsers(APP, [id('11'), USER])).toEqual([{ identity: moved, profile }]);
    await write({ type: 'identityRemoved', applicationId: APP, external: moved });
    expect(await store().get(APP, moved)).toBeNull();
  });

  test('identities are listed by user, and up to a limit by application', async () => {
    const here = identity();
    const there = identity({ applicationId: OTHER });
    const another = identity({ providerIssuedUserId: 'another', userId: id('12') });
    await write(
      ...[here, there, another].map((each) => ({ type: 'identityWritten', identity: each }) as const),
    );
    expect(await store().ofUser(USER)).toEqual([here, there]);
    expect(await store().some(APP, 10)).toHaveLength(2);
    expect(await store().some(APP, 1)).toHaveLength(1);
  });

  test('a deleted account is deleted with its tokens', async () => {
    const token = { id: '900', userId: USER, kind: 'user', hash: 'ab' } as const;
    await write({ type: 'userCreated', user: user('10') }, { type: 'tokenIssued', token });
    expect(await store().usernameTaken('USER10')).toBe(true);
    await write({ type: 'provisionalDeleted', userId: USER });
    expect(await fresh.storage.users.get([USER])).toEqual([]);
    expect(await fresh.storage.users.tokens([USER])).toEqual([]);
    expect(await store().usernameTaken('user10')).toBe(false);
  });

  test('moves that have not ended are listed oldest first', async () => {
    const first: Move = { kind: 'merge', id: '70', applicationId: APP, fromId: USER, toId: id('11') };
    const second: Move = { kind: 'adoption', id: '600', childId: OTHER };
    await write({ type: 'moveBegun', move: second }, { type: 'moveBegun', move: first });
    expect(await store().merges()).toEqual([first, second]);
    await write({ type: 'moveEnded', moveId: '70' });
    expect(await store().merges()).toEqual([second]);
  });

  test('a ban ends at its time, or never, or when it is lifted', async () => {
    expect(await store().bannedUntil(USER, 0)).toBeUndefined();
    await write({ type: 'serverBanned', userId: USER, untilMs: 1_800_000_000_000 });
    expect(await store().bannedUntil(USER, 1_799_999_999_999)).toBe(1_800_000_000_000);
    expect(await store().bannedUntil(USER, 1_800_000_000_000)).toBeUndefined();
    await write({ type: 'serverBanned', userId: USER, untilMs: null });
    expect(await store().bannedUntil(USER, 9_999_999_999_999)).toBeNull();
    await write({ type: 'serverUnbanned', userId: USER });
    expect(await store().bannedUntil(USER, 0)).toBeUndefined();
  });

  test('a child application has one parent, which lists its children', async () => {
    await write({ type: 'childLinked', childId: OTHER, parentId: APP });
    expect(await store().parentOf(OTHER)).toBe(APP);
    expect(await store().parentOf(APP)).toBeNull();
    expect(await store().childrenOf(APP)).toEqual([OTHER]);
  });

  test('the settings of a provider are read back until they are removed', async () => {
    const settings = { type: 'OIDC', issuer: 'https://id.example.org', clientId: 'game' } as const;
    await write({ type: 'providerConfigured', applicationId: APP, settings });
    expect(await store().provider(APP, 'OIDC')).toEqual(settings);
    expect(await store().provider(APP, 'STEAM')).toBeNull();
    await write({ type: 'providerUnconfigured', applicationId: APP, provider: 'OIDC' });
    expect(await store().provider(APP, 'OIDC')).toBeNull();
  });
});
