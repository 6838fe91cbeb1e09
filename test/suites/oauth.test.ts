// Goal: authorizations of applications by people are read back as written, and deleted without others, on every database.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Chain, Code, DeviceRequest, Grant } from '../../engine/oauth/facts.ts';
import { newApplication } from '../../engine/user/application.ts';
import type { StoredFact } from '../../storage/ports.ts';
import { commit, id } from './builders.ts';
import { databases, openFresh } from './databases.ts';

const ANNA = id<Grant['userId']>('10');
const BERT = id<Grant['userId']>('11');
const GAME = id<Grant['applicationId']>('500');
const OTHER = id<Grant['applicationId']>('501');
const hash = (digit: string) => digit.repeat(64);

const grant = (more: Partial<Grant> = {}): Grant => ({
  ...{ id: '1', userId: ANNA, applicationId: GAME, scopes: ['identify'], userInstall: false },
  ...more,
});
const chain = (more: Partial<Chain> = {}): Chain => ({
  ...{ id: '2', userId: ANNA, applicationId: GAME, scopes: ['identify', 'guilds'] },
  ...{
    accessHash: hash('a'),
    refreshHash: hash('b'),
    spentHashes: [hash('c')],
    expiresMs: 1_800_000_000_000,
  },
  ...more,
});
const code = (more: Partial<Code> = {}): Code => ({
  ...{ id: '3', userId: ANNA, applicationId: GAME, hash: hash('d'), redirectUri: null, challenge: 'x' },
  ...{ scopes: ['bot'], nonce: '"\u0001"', agreedMs: 1, expiresMs: 2, guildId: null, chainId: null },
  install: { guildId: id('9'), permissions: '18446744073709551615' },
  ...more,
});
const device = (more: Partial<DeviceRequest> = {}): DeviceRequest => ({
  ...{ id: hash('e'), userCodeHash: hash('f'), applicationId: GAME, scopes: ['identify'] },
  ...{ expiresMs: 1_000, state: 'pending', userId: null },
  ...more,
});

describe.each(databases())('authorizations on $name', (kind) => {
  let fresh: Awaited<ReturnType<typeof openFresh>>;
  const store = () => fresh.storage.oauth;
  const held = async (userId: Grant['userId']) => (await store().holdings([userId])).get(userId);
  const write = (...facts: StoredFact[]) => commit(fresh.storage.writer, ANNA, ...facts);

  beforeAll(async () => {
    fresh = await openFresh(kind);
  });
  afterAll(() => fresh.close());
  beforeEach(() =>
    fresh.driver.script(
      'TRUNCATE oauth_grants, oauth_chains, oauth_codes, oauth_device_requests, applications',
    ),
  );

  test('the grants, chains and codes of a user are read completely', async () => {
    await write(
      { type: 'grantWritten', grant: grant() },
      { type: 'chainWritten', chain: chain() },
      { type: 'codeWritten', code: code() },
      { type: 'grantWritten', grant: grant({ userId: BERT }) },
    );
    expect(await held(ANNA)).toEqual({ grants: [grant()], chains: [chain()], codes: [code()] });
    expect(await held(BERT)).toEqual({
      grants: [grant({ userId: BERT })],
      chains: [],
      codes: [],
    });
    expect(await held(id('12'))).toEqual({ grants: [], chains: [], codes: [] });
    const both = await store().holdings([BERT, ANNA]);
    expect([...both.keys()]).toEqual([BERT, ANNA]);
    expect(both.get(ANNA)?.codes).toEqual([code()]);
    expect(both.get(BERT)?.codes).toEqual([]);
  });

  test('the users who authorized an application are listed up to a limit', async () => {
    await write(
      { type: 'grantWritten', grant: grant() },
      { type: 'grantWritten', grant: grant({ userId: BERT }) },
      { type: 'grantWritten', grant: grant({ userId: id('12'), applicationId: OTHER }) },
    );
    expect((await store().grantors(GAME, 10)).sort()).toEqual([ANNA, BERT]);
    expect(await store().grantors(GAME, 1)).toHaveLength(1);
    expect(await store().grantors(id('502'), 10)).toEqual([]);
  });

  test('a later write replaces an earlier one, also within one commit', async () => {
    const wider = grant({ scopes: ['guilds', 'identify'] });
    const next = chain({ accessHash: hash('1'), refreshHash: null });
    await write(
      { type: 'grantWritten', grant: grant() },
      { type: 'grantWritten', grant: wider },
      { type: 'chainWritten', chain: chain() },
      { type: 'chainWritten', chain: next },
      { type: 'codeWritten', code: code() },
    );
    await write({ type: 'codeWritten', code: code({ chainId: '2', install: null }) });
    expect(await held(ANNA)).toEqual({
      grants: [wider],
      chains: [next],
      codes: [code({ chainId: '2', install: null })],
    });
  });

  test('a chain or a code is deleted alone, and only for its user', async () => {
    await write(
      { type: 'chainWritten', chain: chain() },
      { type: 'chainWritten', chain: chain({ id: '4' }) },
      { type: 'codeWritten', code: code() },
    );
    await write(
      { type: 'chainEnded', userId: ANNA, chainId: '2' },
      { type: 'codeEnded', userId: ANNA, codeId: '3' },
      { type: 'chainEnded', userId: BERT, chainId: '4' },
    );
    expect(await held(ANNA)).toEqual({ grants: [], chains: [chain({ id: '4' })], codes: [] });
  });

  test('deleting a grant deletes its chains and codes, of that user and application only', async () => {
    await write(
      { type: 'grantWritten', grant: grant() },
      { type: 'chainWritten', chain: chain() },
      { type: 'codeWritten', code: code() },
      { type: 'grantWritten', grant: grant({ applicationId: OTHER }) },
      { type: 'chainWritten', chain: chain({ id: '5', applicationId: OTHER }) },
      { type: 'chainWritten', chain: chain({ id: '6', userId: BERT }) },
    );
    await write({ type: 'grantEnded', userId: ANNA, applicationId: GAME });
    expect(await held(ANNA)).toEqual({
      grants: [grant({ applicationId: OTHER })],
      chains: [chain({ id: '5', applicationId: OTHER })],
      codes: [],
    });
    expect((await held(BERT))?.chains).toHaveLength(1);
  });

  test('a device request is found by either code, and deleted when it expires or is answered', async () => {
    await write({ type: 'deviceRequestWritten', request: device(), nowMs: 0 });
    expect(await store().deviceRequest(hash('e'))).toEqual(device());
    expect(await store().deviceRequestOf(hash('f'))).toEqual(device());
    expect(await store().deviceRequest(hash('f'))).toBeNull();
    const answered = device({ state: 'granted', userId: ANNA });
    await write({ type: 'deviceRequestWritten', request: answered, nowMs: 999 });
    expect(await store().deviceRequestOf(hash('f'))).toEqual(answered);
    const later = device({ id: hash('7'), userCodeHash: hash('8'), expiresMs: 5_000 });
    await write({ type: 'deviceRequestWritten', request: later, nowMs: 1_001 });
    expect(await store().deviceRequest(hash('e'))).toBeNull();
    await write({ type: 'deviceRequestEnded', id: hash('7') });
    expect(await store().deviceRequest(hash('7'))).toBeNull();
  });

  test('the hash of a client secret is stored with its application, and kept by an update', async () => {
    const given = { name: 'Game', ownerId: ANNA, flags: 0, verifyKey: 'ab' };
    const application = newApplication(GAME, id('501'), given);
    await write({ type: 'applicationCreated', application, signingKey: 'k', clientSecretHash: hash('0') });
    expect(await fresh.storage.applications.secretHash(GAME)).toBe(hash('0'));
    expect(await fresh.storage.applications.secretHash(OTHER)).toBeNull();
    const oauth2 = { publicClient: true, approvedScopes: ['rpc' as const] };
    await write({ type: 'applicationUpdated', application: { ...application, oauth2 } });
    expect(await fresh.storage.applications.get(GAME)).toMatchObject({ oauth2 });
    expect(await fresh.storage.applications.secretHash(GAME)).toBe(hash('0'));
  });
});
