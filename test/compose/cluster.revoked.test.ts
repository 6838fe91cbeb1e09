// Goal: a session of a revoked token or grant ends also when the shard died that had stored the revocation and not sent it yet.
import { afterEach, beforeAll, expect, it } from 'vitest';
import type { ApplicationId, UserId } from '../../protocol/ids.ts';
import type { Scope } from '../../protocol/scopes.ts';
import type { StoredFact } from '../../storage/ports.ts';
import { type ClusterInstance, openCluster, type TestCluster } from '../support/cluster.ts';

let cluster: TestCluster;
beforeAll(async () => (await openCluster(1)).close(), 60_000);
afterEach(() => cluster.close());

const SCOPES: Scope[] = ['identify', 'gateway.connect'];

async function connected(home: ClusterInstance, token: string) {
  const opened = await cluster.while(home.connect(token));
  await cluster.until(() => opened.sink.names.includes('READY'), 'READY');
  return opened;
}

/** A person whose sessions are at `home`, and the person's owner, which is another shard. */
async function arrange() {
  cluster = await openCluster(3);
  const [home, victim, heir] = cluster.instances as [ClusterInstance, ClusterInstance, ClusterInstance];
  const { user, token } = await cluster.while(home.operator.createUser({ username: 'ann' }));
  const userId = user.id as UserId;
  await cluster.move(userId, victim);
  /** The next owner takes over after the former one has stored the facts and died. */
  async function storeAndDie(facts: readonly StoredFact[]): Promise<void> {
    await cluster.while(victim.commitAsOwner(userId, facts));
    await cluster.adopt(heir, cluster.kill(victim));
    await cluster.pass(5_000);
  }
  return { home, userId, token, storeAndDie };
}

it('ends the session of a token that was revoked, and no session of another token', async () => {
  const { home, userId, token, storeAndDie } = await arrange();
  const other = (await cluster.while(home.identity.issue(userId, 'user'))).reveal();
  const [revoked, valid] = [await connected(home, token), await connected(home, other)];
  await storeAndDie([{ type: 'tokenRevoked', tokenId: revoked.session.principal.tokenId as string }]);
  expect([revoked.sink.closed?.code, valid.sink.closed?.code]).toEqual([4004, undefined]);
});

it('ends the sessions of a grant that was revoked, and no session of another application', async () => {
  const { home, userId, storeAndDie } = await arrange();
  const player = async (name: string) => {
    const { application } = await cluster.while(home.operator.createApplication({ name }));
    const applicationId = application.id as ApplicationId;
    const order = { userId, applicationId, scopes: SCOPES, refreshable: false };
    const { accessToken } = await cluster.while(home.features.oauth.issue(order));
    return { applicationId, ...(await connected(home, accessToken.reveal())) };
  };
  const [revoked, valid] = [await player('Chess'), await player('Go')];
  await storeAndDie([{ type: 'grantEnded', userId, applicationId: revoked.applicationId }]);
  expect(revoked.sink.dispatches.at(-1)).toMatchObject({
    t: 'OAUTH2_TOKEN_REVOKE',
    d: { application_id: revoked.applicationId },
  });
  expect([revoked.sink.closed?.code, valid.sink.closed?.code]).toEqual([4004, undefined]);
});
