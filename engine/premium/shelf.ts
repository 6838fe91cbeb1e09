import type { ApplicationId, SkuId } from '../../protocol/ids.ts';
import {
  type Entitlement,
  type Order,
  type Receiver,
  SKU_FLAG,
  SKU_TYPE,
  type Sku,
  type Subscription,
} from '../../protocol/premium.ts';
import { type Refusal, refusal } from '../../protocol/refusal.ts';
import type { Env, Outcome } from '../kernel/aggregate.ts';
import { givesAccess, type PremiumFact } from './premium.ts';

/** Most unused entitlements of one owner to one consumable. */
const UNUSED_MAX = 100;

/** State of its application that a command needs. */
export interface Shelf {
  readonly applicationId: ApplicationId;
  readonly skus: readonly Sku[];
  /** The entitlement that the command names, or the latest of its subscription. */
  readonly entitlement: Entitlement | null;
  /** The subscription that the command names, or that of its entitlement. */
  readonly subscription: Subscription | null;
  /** Entitlements of the receiver to the SKU. */
  readonly held: readonly Entitlement[];
  /** The order that the command names, or the open one of the same payer for the same thing. */
  readonly order: Order | null;
}

export type Decision = Outcome<null, PremiumFact>;
/** Whether this receiver may get this SKU: subscriptions are for people or for guilds, and everything else is for people. */
const isFor = ({ type, flags }: Sku, { guildId }: Receiver, isTest: boolean): boolean => {
  if (type === SKU_TYPE.GROUP) return false;
  if (type === SKU_TYPE.SUBSCRIPTION)
    return (flags & (guildId === null ? SKU_FLAG.USER : SKU_FLAG.GUILD)) !== 0;
  return guildId === null || isTest;
};

/** The SKU, when the receiver may get it now. */
export function obtainable(
  { skus, held }: Shelf,
  { skuId, to, isTest }: { readonly skuId: SkuId; readonly to: Receiver; readonly isTest: boolean },
  { nowMs }: Pick<Env, 'nowMs'>,
): { readonly ok: true; readonly sku: Sku } | { readonly ok: false; readonly refusal: Refusal } {
  const no = (code: 'UNKNOWN_SKU' | 'INVALID_SKU' | 'ENTITLEMENT_ALREADY_GRANTED') =>
    ({ ok: false, refusal: refusal(code) }) as const;
  const sku = skus.find(({ id }) => id === skuId);
  if (!sku) return no('UNKNOWN_SKU');
  if (!isFor(sku, to, isTest)) return no('INVALID_SKU');
  if (!isTest && (sku.flags & SKU_FLAG.AVAILABLE) === 0) return no('INVALID_SKU');
  const live = held.filter((each) => givesAccess(each, nowMs)).length;
  if (live >= (sku.type === SKU_TYPE.CONSUMABLE ? UNUSED_MAX : 1)) return no('ENTITLEMENT_ALREADY_GRANTED');
  return { ok: true, sku };
}
