// Goal: READY shows people their e-mail address and second factor, and applications the address only with the scope for it.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ApplicationId, UserId } from '../../protocol/ids.ts';
import type { Scope } from '../../protocol/scopes.ts';
import { openHouse } from '../support/house.ts';

const ADDRESS = 'ada@example.org';
const PLACE = { address: null, agent: '' };

let house: Awaited<ReturnType<typeof openHouse>>;
beforeAll(async () => {
  house = await openHouse({ registration: 'open' });
}, 60_000);
afterAll(() => house.close());

describe('the user in READY', () => {
  let userId: UserId;
  beforeAll(async () => {
    // Houses of other tests have left users in the same database.
    const form = { username: 'registered.here', email: ADDRESS, password: 'correct horse battery' };
    const reply = await house.features.accounts.register(form, PLACE);
    if (!reply.ok) throw new Error(JSON.stringify(reply));
    userId = reply.value;
  });

  const readyUser = async (token: string) => {
    const { sink } = await house.connect(token, 0);
    return (sink.dispatches[0]!.d as { user: object }).user;
  };

  async function grantedTo(scopes: readonly Scope[]): Promise<string> {
    const { application } = await house.operator.createApplication({ name: 'Game' });
    const applicationId = application.id as ApplicationId;
    const tokens = await house.features.oauth.issue({ userId, applicationId, scopes, refreshable: false });
    return tokens.accessToken.reveal();
  }

  it('has the e-mail address, verified and mfa_enabled when a person signs in', async () => {
    const token = (await house.identity.issue(userId, 'user')).reveal();
    expect(await readyUser(token)).toMatchObject({ email: ADDRESS, verified: false, mfa_enabled: false });
  });

  it('has the e-mail address for an application only with the email scope', async () => {
    const connect = ['identify', 'gateway.connect'] as const;
    expect(await readyUser(await grantedTo([...connect, 'email']))).toMatchObject({ email: ADDRESS });
    const without = await readyUser(await grantedTo(connect));
    expect(without).toMatchObject({ id: userId, mfa_enabled: false });
    expect(without).not.toHaveProperty('email');
    expect(without).not.toHaveProperty('verified');
  });

  it('has no e-mail address and no second factor for a bot', async () => {
    expect(await readyUser(house.botToken)).toMatchObject({ bot: true, email: null, mfa_enabled: false });
  });
});

describe('the RPC origins of an application', () => {
  it('are stored beside the other client settings, and rejected unless each is an origin', async () => {
    const { application } = await house.operator.createApplication({ name: 'Page' });
    const applicationId = application.id as ApplicationId;
    const rpcOrigins = ['https://game.example.org', 'http://localhost:8080'];
    await house.operator.configureClient({ applicationId, approvedScopes: ['rpc'] });
    const { oauth2 } = await house.operator.configureClient({ applicationId, rpcOrigins });
    expect(oauth2).toEqual({ publicClient: false, approvedScopes: ['rpc'], rpcOrigins });
    for (const wrong of ['https://game.example.org/', 'game.example.org', '*', 'file://x'])
      await expect(
        house.operator.configureClient({ applicationId, rpcOrigins: [wrong] }),
      ).rejects.toMatchObject({ refusal: { code: 50035, errors: { rpc_origins: {} } } });
  });
});

describe('the public client setting', () => {
  const applicationOf = async (name: string) =>
    (await house.operator.createApplication({ name })).application.id as ApplicationId;
  const isPublic = async (id: ApplicationId) =>
    (await house.storage.applications.get(id))?.oauth2?.publicClient ?? false;

  it('changes for a parent application and its children together, and never for a child alone', async () => {
    const [parentId, childId, other] = [
      await applicationOf('Publisher'),
      await applicationOf('Game'),
      await applicationOf('Another'),
    ];
    await house.operator.configureClient({ applicationId: childId, approvedScopes: ['rpc'] });
    await house.operator.linkChildApplication({ childId, parentId });
    const alone = house.operator.configureClient({ applicationId: childId, publicClient: true });
    await expect(alone).rejects.toMatchObject({ refusal: { code: 50035, errors: { public_client: {} } } });
    expect(await isPublic(childId)).toBe(false);
    await house.operator.configureClient({ applicationId: parentId, publicClient: true });
    expect([await isPublic(parentId), await isPublic(childId), await isPublic(other)]).toEqual([
      true,
      true,
      false,
    ]);
    const child = await house.operator.configureClient({ applicationId: childId, publicClient: true });
    expect(child.oauth2?.approvedScopes).toEqual(['rpc']);
  });
});
