import { type Reply, refused } from '../../engine/kernel/aggregate.ts';
import type { ApplicationId, SkuId, UserId } from '../../protocol/ids.ts';
import { SKU_TYPE, type Sku } from '../../protocol/premium.ts';
import { type Refusal, refusal } from '../../protocol/refusal.ts';
import type { SecurityTrail } from '../../protocol/security.ts';
import type { Storage } from '../../storage/ports.ts';
import type { Teams } from '../applications/teams.ts';
import type { Premium } from './premium.ts';

interface NewSku {
  readonly name: string;
  readonly type: 'durable' | 'consumable' | 'subscription';
  /** Receiver of a subscription. */
  readonly owner: 'user' | 'guild';
}

interface SkuChange {
  readonly name?: string;
  /** Whether people can get it. */
  readonly available?: boolean;
}

/**
 * The management of an application's SKUs by its owner and the developers of its team, without the operator. Prices and perks
 * are the operator's: the money goes to the operator's account, and perks are features of this server.
 */
export interface Catalog {
  /** All SKUs, for sale or not. */
  list(applicationId: ApplicationId, userId: UserId): Promise<Reply<readonly Sku[]>>;
  /** Adds a SKU that is not for sale yet. */
  create(applicationId: ApplicationId, userId: UserId, wanted: NewSku): Promise<Reply<Sku>>;
  edit(applicationId: ApplicationId, userId: UserId, skuId: SkuId, change: SkuChange): Promise<Reply<Sku>>;
}

interface CatalogPorts {
  readonly storage: Pick<Storage, 'applications' | 'premium'>;
  readonly teams: Pick<Teams, 'may'>;
  readonly premium: Pick<Premium, 'run'>;
  readonly security: SecurityTrail;
  /** Whether the operator lets owners of applications manage SKUs. */
  readonly isOpen: boolean;
}

export function createCatalog({ storage, teams, premium, security, isOpen }: CatalogPorts): Catalog {
  const denial = async (applicationId: ApplicationId, userId: UserId): Promise<Refusal | null> => {
    const application = await storage.applications.get(applicationId);
    const isTheirs = application !== null && (await teams.may(application, userId, 'changeSkus'));
    if (!isTheirs) return refusal('NOT_AUTHORIZED_ON_THIS_APPLICATION');
    return isOpen ? null : { ...refusal('NOT_AUTHORIZED_ON_THIS_APPLICATION'), message: CLOSED };
  };
  return {
    async list(applicationId, userId) {
      const denied = await denial(applicationId, userId);
      return denied ? refused(denied) : { ok: true, value: await storage.premium.skus(applicationId) };
    },
    async create(applicationId, userId, wanted) {
      const denied = await denial(applicationId, userId);
      if (denied) return refused(denied);
      const made = await premium.run(applicationId, { kind: 'createSku', ...wanted, available: false });
      if (!made.ok) return made;
      const sku = made.value.skus.find(({ type }) => type !== SKU_TYPE.GROUP);
      if (!sku) return refused(refusal('UNKNOWN_SKU'));
      const what = { application_id: applicationId, sku_id: sku.id, what: 'created' };
      security('sku_changed', { user_id: userId, ...what });
      return { ok: true, value: sku };
    },
    async edit(applicationId, userId, skuId, change) {
      const denied = await denial(applicationId, userId);
      if (denied) return refused(denied);
      const edited = await premium.run(applicationId, { kind: 'editSku', skuId, ...change });
      if (!edited.ok) return edited;
      const [written] = edited.value.skus;
      // An edit that changes nothing writes nothing.
      const sku = written ?? (await storage.premium.skus(applicationId)).find(({ id }) => id === skuId);
      if (!sku) return refused(refusal('UNKNOWN_SKU'));
      const what = { application_id: applicationId, sku_id: skuId, what: Object.keys(change).sort().join() };
      if (written) security('sku_changed', { user_id: userId, ...what });
      return { ok: true, value: sku };
    },
  };
}

const CLOSED = 'The operator of this server manages what applications sell.';
