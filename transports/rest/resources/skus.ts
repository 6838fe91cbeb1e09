import type { Reply } from '../../../engine/kernel/aggregate.ts';
import { LIMITS } from '../../../protocol/limits.ts';
import { type Sku, skuObject } from '../../../protocol/premium.ts';
import { PricedSku } from '../../../protocol/schemas/extension.ts';
import { Bool, Choice, Obj, Optional, Str } from '../../../protocol/schemas/request.ts';
import { op, resource } from '../operation.ts';

const WRITE = { per: null, limit: 30, windowMs: 10_000, group: 'skus' } as const;

/**
 * Management of an application's SKUs by its owner or a developer of its team, with the person's own token. The platform has
 * no public operations for it; these are this server's own.
 */
export const skus = resource({
  create_sku: op({
    method: 'POST',
    path: '/applications/:application_id/skus',
    auth: 'user',
    bucket: WRITE,
    body: Obj({
      name: Str(1, LIMITS.sku_name_chars_max),
      type: Choice('durable', 'consumable', 'subscription'),
      owner: Optional(Choice('user', 'guild')),
    }),
    status: 201,
    reply: PricedSku,
    async handle({ params, body, caller }, { catalog }) {
      const wanted = { name: body.name, type: body.type, owner: body.owner ?? 'user' };
      return priced(await catalog.create(params.application_id, caller.userId, wanted));
    },
  }),

  edit_sku: op({
    method: 'PATCH',
    path: '/applications/:application_id/skus/:sku_id',
    auth: 'user',
    bucket: WRITE,
    body: Obj({ name: Optional(Str(1, LIMITS.sku_name_chars_max)), available: Optional(Bool()) }),
    status: 200,
    reply: PricedSku,
    async handle({ params, body, caller }, { catalog }) {
      const { application_id: applicationId, sku_id: skuId } = params;
      return priced(await catalog.edit(applicationId, caller.userId, skuId, body));
    },
  }),
});

const priced = (reply: Reply<Sku>): Reply<object> =>
  reply.ok ? { ok: true, value: pricedSku(reply.value) } : reply;

/** @source https://github.com/discord/embedded-app-sdk, `src/schema/responses.ts` */
export const pricedSku = (sku: Sku) => ({
  ...skuObject(sku),
  price: sku.price ? { amount: sku.price.amount, currency: sku.price.currency } : null,
});
