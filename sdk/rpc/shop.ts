import { type CallApi, id, type Prompts, type Run } from './commands.ts';
import { type Args, isObject, RpcError } from './link.ts';

interface ShopPorts {
  readonly call: CallApi;
  readonly page: Prompts;
  readonly applicationId: string;
  /** Origin of the server, which serves the store. */
  readonly origin: string;
}

/** Commands for the items that an application sells, and for the person's entitlements. */
export function shopCommands(ports: ShopPorts): Record<string, Run> {
  const { call, page, applicationId, origin } = ports;
  const listed = async (path: string): Promise<Args[]> => {
    const { status, body } = await call('GET', path);
    if (status !== 200 || !Array.isArray(body))
      throw new RpcError('SERVICE_UNAVAILABLE', 'The server does not answer.');
    return body.filter(isObject);
  };
  // A SKU without a price costs nothing: the operator grants it.
  const skus = async () =>
    (await listed(`/applications/${applicationId}/skus`)).map((sku) => ({
      ...sku,
      price: sku.price ?? { amount: 0, currency: 'usd' },
    }));
  const entitlements = async () =>
    (await listed(`/users/@me/applications/${applicationId}/entitlements`)).map((each) => ({
      ...{ gift_code_flags: 0, ...each },
    }));
  return {
    GET_SKUS: skus,
    GET_SKUS_EMBEDDED: async () => ({ skus: await skus() }),
    GET_ENTITLEMENTS: entitlements,
    GET_ENTITLEMENTS_EMBEDDED: async () => ({ entitlements: await entitlements() }),
    START_PURCHASE: async (args) => {
      const skuId = id(args, 'sku_id');
      const sku = (await skus()).find((one: Args) => one.id === skuId);
      if (!sku) throw new RpcError('PURCHASE_ERROR', 'The application does not sell this SKU.');
      const isWanted = await page.confirm(`Open the store to buy ${String(Reflect.get(sku, 'name'))}?`);
      if (!isWanted || !page.openExternal(`${origin}/store/${applicationId}#sku-${skuId}`))
        throw new RpcError('PURCHASE_CANCELED', 'The person declined the purchase.');
      // It is paid for in the store; ENTITLEMENT_CREATE reports the payment.
      return [];
    },
  };
}
