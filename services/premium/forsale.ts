import type { ApplicationId } from '../../protocol/ids.ts';
import { SKU_FLAG } from '../../protocol/premium.ts';
import type { PremiumStore } from '../../storage/premium/port.ts';

/** Ids of the SKUs that an application sells now: its premium buttons may name them. */
export async function skusForSale(
  store: Pick<PremiumStore, 'skus'>,
  applicationId: ApplicationId,
): Promise<string[]> {
  const skus = await store.skus(applicationId);
  return skus.filter(({ flags }) => (flags & SKU_FLAG.AVAILABLE) !== 0).map(({ id }) => id);
}
