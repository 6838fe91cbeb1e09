// Goal: what changed in people's purchases is sent to the bot and the receiver once, whichever shard dies after the commit.
import { afterEach, beforeAll, expect, it } from 'vitest';
import type { PremiumCommand } from '../../engine/premium/rules.ts';
import type { ApplicationId, UserId } from '../../protocol/ids.ts';
import { type ClusterInstance, openCluster, type TestCluster } from '../support/cluster.ts';
import { inOrder } from '../support/faultrun.ts';
import { ResumingClient } from '../support/resumingclient.ts';

beforeAll(async () => (await openCluster(1)).close(), 60_000);

let cluster: TestCluster;
afterEach(() => cluster.close());

const wait = <T>(promise: Promise<T>): Promise<T> => cluster.while(promise);

const changesOf = ({ received }: ResumingClient): string[] =>
  received.flatMap(({ t }) => (/^(ENTITLEMENT|SUBSCRIPTION)_/.test(t) ? [t] : []));

/** The third shard owns an application with its bot, the second a person; both have their sessions at the first. */
async function arrange() {
  cluster = await openCluster(3);
  const [first, second, third] = cluster.instances as [ClusterInstance, ClusterInstance, ClusterInstance];
  const { operator } = first;
  const made = await cluster.ownedBy(
    third,
    () => operator.createApplication({ name: 'Shop' }),
    ({ application }) => application.id,
  );
  let names = 0;
  const person = await cluster.ownedBy(
    second,
    () => operator.createUser({ username: `buyer${names++}` }),
    ({ user }) => user.id,
  );
  const applicationId = made.application.id as ApplicationId;
  const run = async (instance: ClusterInstance, command: PremiumCommand) => {
    const reply = await wait(instance.features.premium.run(applicationId, command));
    if (!reply.ok) throw new Error(reply.refusal.message);
    return reply.value;
  };
  const client = async (token: string) => {
    const opened = new ResumingClient(cluster, token, first);
    await opened.identify('READY');
    return opened;
  };
  const to = { userId: person.user.id as UserId, guildId: null };
  return {
    ...{ first, second, third, run, to },
    bot: await client(made.botToken),
    receiver: await client(person.token),
  };
}

it('sends a bot and a receiver the changes that the owner of the application committed before it died', async () => {
  const { first, second, third, run, to, bot, receiver } = await arrange();
  const [sku] = (await run(third, { kind: 'createSku', name: 'Pass', type: 'subscription', owner: 'user' }))
    .skus;
  const [gem] = (await run(third, { kind: 'createSku', name: 'Gem', type: 'consumable', owner: 'user' }))
    .skus;
  const grant = { kind: 'grant', to, gifterId: null, days: 30 } as const;
  const { entitlements } = await run(third, { ...grant, skuId: gem!.id });
  await cluster.until(() => changesOf(bot).length + changesOf(receiver).length === 2, 'the first grant');
  // From here on no frame arrives at another shard.
  cluster.net.delayMs = () => 60_000;
  const consume = { kind: 'consume', entitlementId: entitlements[0]!.id } as const;
  await run(third, consume);
  await run(third, { ...grant, skuId: sku!.id });
  cluster.net.delayMs = () => 0;
  await cluster.adopt(second, cluster.kill(third));
  await cluster.until(() => changesOf(bot).length === 4 && changesOf(receiver).length === 3, 'the changes');
  // A repeated request changes nothing, and the next change follows at the next owner.
  await run(first, consume);
  await run(first, { kind: 'refund', entitlementId: entitlements[0]!.id });
  await cluster.until(() => changesOf(receiver).length === 4, 'the refund');
  await cluster.pass(500);
  const [both, granted] = [
    ['ENTITLEMENT_CREATE', 'ENTITLEMENT_UPDATE', 'ENTITLEMENT_CREATE'],
    'SUBSCRIPTION_CREATE',
  ];
  expect(changesOf(receiver)).toEqual([...both, 'ENTITLEMENT_DELETE']);
  expect(changesOf(bot).toSorted()).toEqual([...both, granted, 'ENTITLEMENT_DELETE'].toSorted());
  expect(changesOf(bot).slice(0, 2)).toEqual(both.slice(0, 2));
  expect(changesOf(bot).at(-1)).toBe('ENTITLEMENT_DELETE');
  for (const each of [bot, receiver]) inOrder(each);
});
