// Goal: READY shows people their e-mail address and second factor, and applications the address only with the scope for it.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ApplicationId, UserId } from '../../protocol/ids.ts';
import type { Scope } from '../../protocol/scopes.ts';
import { openInstance } from '../support/instance.ts';

const ADDRESS = 'ada@example.org';
const PLACE = { address: null, agent: '' };

let instance: Awaited<ReturnType<typeof openInstance>>;
beforeAll(async () => {
  instance = await openInstance({ registration: 'open' });
}, 60_000);
afterAll(() => instance.close());

describe('the user in READY', () => {
  let userId: UserId;
  beforeAll(async () => {
    // Houses of other tests have left users in the same database.
    const form = { username: 'registered.here', email: ADDRESS, password: 'correct horse battery' };
    const reply = await instance.features.accounts.register(form, PLACE);
    if (!reply.ok) throw new Error(JSON.stringify(reply));
    userId = reply.value;
  });

  const readyUser = async (token: string) => {
    const { sink } = await instance.connect(token, 0);
    return (sink.dispatches[0]!.d as { user: object }).user;
  };

  async function grantedTo(scopes: readonly Scope[]): Promise<string> {
    const { application } = await instance.operator.createApplication({ name: 'Game' });
    const applicationId = application.id as ApplicationId;
    const tokens = await instance.features.oauth.issue({ userId, applicationId, scopes, refreshable: false });
    return tokens.accessToken.reveal();
  }

  it('has the e-mail address, verified and mfa_enabled when a person signs in', async () => {
    const token = (await instance.identity.issue(userId, 'user')).reveal();
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
    expect(await readyUser(instance.botToken)).toMatchObject({ bot: true, email: null, mfa_enabled: false });
  });
});

describe('the RPC origins of an application', () => {
  it('are stored beside the other client settings, and rejected unless each is an origin', async () => {
    const { application } = await instance.operator.createApplication({ name: 'Page' });
    const applicationId = application.id as ApplicationId;
    const rpcOrigins = ['https://game.example.org', 'http://localhost:8080'];
    await instance.operator.configureClient({ applicationId, approvedScopes: ['rpc'] });
    const { oauth2 } = await instance.operator.configureClient({ applicationId, rpcOrigins });
    expect(oauth2).toEqual({ publicClient: false, approvedScopes: ['rpc'], rpcOrigins });
    for (const wrong of ['https://game.example.org/', 'game.example.org', '*', 'file://x'])
      await expect(
        instance.operator.configureClient({ applicationId, rpcOrigins: [wrong] }),
      ).rejects.toMatchObject({ refusal: { code: 50035, errors: { rpc_origins: {} } } });
  });
});

describe('the public client setting', () => {
  const applicationOf = async (name: string) =>
    (await instance.operator.createApplication({ name })).application.id as ApplicationId;
  const isPublic = async (id: ApplicationId) =>
    (await instance.storage.applications.get(id))?.oauth2?.publicClient ?? false;

  it('changes for a parent application and its children together, and never for a child alone', async () => {
    const [parentId, childId, other] = [
      await applicationOf('Publisher'),
      await applicationOf('Game'),
      await applicationOf('Another'),
    ];
    await instance.operator.configureClient({ applicationId: childId, approvedScopes: ['rpc'] });
    await instance.operator.linkChildApplication({ childId, parentId });
    const alone = instance.operator.configureClient({ applicationId: childId, publicClient: true });
    await expect(alone).rejects.toMatchObject({ refusal: { code: 50035, errors: { public_client: {} } } });
    expect(await isPublic(childId)).toBe(false);
    await instance.operator.configureClient({ applicationId: parentId, publicClient: true });
    expect([await isPublic(parentId), await isPublic(childId), await isPublic(other)]).toEqual([
      true,
      true,
      false,
    ]);
    const child = await instance.operator.configureClient({ applicationId: childId, publicClient: true });
    expect(child.oauth2?.approvedScopes).toEqual(['rpc']);
  });
});
