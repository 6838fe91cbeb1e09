// Goal: the best perk of each kind among a receiver's entitlements counts; entitlements without access give no perk.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { perksOf } from '../../../engine/premium/perks.ts';
import {
  type ApplicationId,
  type EntitlementId,
  type GuildId,
  type SkuId,
  snowflakeOf,
} from '../../../protocol/ids.ts';
import type { Entitlement, Perks } from '../../../protocol/premium.ts';
import { id } from '../../support/guild.ts';

const NOW_MS = 1_000;
const level = (n: number) => n as Perks['guildTier'];
const PERKS = new Map<SkuId, Perks>(
  [0, 1, 2, 3].map((n) => [id(n), { guildTier: level(n), premiumType: level(n) }]),
);
const entitlement = (skuId: string, more: Partial<Entitlement> = {}): Entitlement => ({
  ...{
    id: id<EntitlementId>('1'),
    applicationId: snowflakeOf(7n) as ApplicationId,
    skuId: id<SkuId>(skuId),
    userId: snowflakeOf(8n),
  },
  ...{ guildId: snowflakeOf(9n) as GuildId, gifterId: null, test: false, startsMs: null, endsMs: null },
  ...{ untilMs: null, deleted: false, consumed: false, subscriptionId: null },
  ...more,
});

test('the best of several counts, in whatever order they were got', () => {
  const skus = fc.array(fc.constantFrom('0', '1', '2', '3', 'without perks'));
  fc.assert(
    fc.property(skus, fc.boolean(), (ids, isForGuild) => {
      const held = ids.map((each) => entitlement(each, isForGuild ? {} : { guildId: null }));
      const best = Math.max(0, ...ids.map((each) => PERKS.get(id(each))?.guildTier ?? 0));
      expect(perksOf(held, PERKS, NOW_MS)).toEqual({
        guildTier: isForGuild ? best : 0,
        premiumType: isForGuild ? 0 : best,
      });
    }),
  );
});

test.each([
  ['a test', { test: true }],
  ['deleted', { deleted: true }],
  ['consumed', { consumed: true }],
  ['over', { untilMs: NOW_MS }],
  ['yet to begin', { startsMs: NOW_MS + 1 }],
] as const)('an entitlement that is %s gives no perk', (_, more) => {
  expect(perksOf([entitlement('3', more), entitlement('1')], PERKS, NOW_MS).guildTier).toBe(1);
});
