import type { PremiumFacts } from '../../engine/premium/premium.ts';
import { type ApplicationId, type SubscriptionId, snowflakeAt } from '../../protocol/ids.ts';
import {
  type Entitlement,
  type Order,
  type Sku,
  SUBSCRIPTION_STATUS,
  type Subscription,
} from '../../protocol/premium.ts';
import type { Sql } from '../database/driver.ts';
import { type StatementTable, upsert } from '../database/statement.ts';
import type { PremiumStore } from './port.ts';

const KEY = { application_id: 'bigint', id: 'bigint' };
const NAMES = 'application_id, id';
const SKU = upsert('skus', { ...KEY, data: 'jsonb' }, NAMES);
const ENTITLEMENT = upsert(
  'entitlements',
  {
    ...{ ...KEY, sku_id: 'bigint', user_id: 'bigint', guild_id: 'bigint', starts_ms: 'bigint' },
    ...{ until_ms: 'bigint', deleted: 'boolean', consumed: 'boolean', data: 'jsonb' },
  },
  NAMES,
);
const SUBSCRIPTION = upsert(
  'subscriptions',
  { ...KEY, user_id: 'bigint', sku_id: 'bigint', due_ms: 'bigint', data: 'jsonb' },
  NAMES,
);

const ORDER = upsert(
  'orders',
  {
    ...KEY,
    sku_id: 'bigint',
    payer_id: 'bigint',
    user_id: 'bigint',
    guild_id: 'bigint',
    state: 'text',
    data: 'jsonb',
  },
  NAMES,
);

export const premiumStatements: StatementTable<PremiumFacts> = {
  skuWritten: (_, { sku }) => [
    { sql: SKU, row: { application_id: sku.application_id, id: sku.id, data: sku } },
  ],
  entitlementWritten: (_, { entitlement }) => {
    const { applicationId, id, skuId, userId, guildId, startsMs, untilMs, deleted, consumed } = entitlement;
    const ids = { application_id: applicationId, id, sku_id: skuId, user_id: userId, guild_id: guildId };
    const state = { starts_ms: startsMs, until_ms: untilMs, deleted, consumed };
    return [{ sql: ENTITLEMENT, row: { ...ids, ...state, data: entitlement } }];
  },
  subscriptionWritten: (_, { subscription }) => {
    const { applicationId, id, userId, skuId, status, periodEndMs, checkMs = periodEndMs } = subscription;
    const dueMs = status === SUBSCRIPTION_STATUS.INACTIVE ? null : checkMs;
    const ids = { application_id: applicationId, id, user_id: userId, sku_id: skuId };
    return [{ sql: SUBSCRIPTION, row: { ...ids, due_ms: dueMs, data: subscription } }];
  },
  orderWritten: (_, { order }) => {
    const { applicationId, id, skuId, payerId, to, state } = order;
    const ids = { application_id: applicationId, id, sku_id: skuId, payer_id: payerId };
    const row = { ...ids, user_id: to.userId, guild_id: to.guildId, state, data: order };
    return [{ sql: ORDER, row }];
  },
};

/** Reading order of a page's rows. */
const pageOrder = (before: string | null, after: string | null): 'ASC' | 'DESC' =>
  before !== null && after === null ? 'DESC' : 'ASC';

const ascending = <Row>(rows: readonly { readonly data: Row }[], order: 'ASC' | 'DESC'): Row[] => {
  const found = rows.map(({ data }) => data);
  return order === 'DESC' ? found.reverse() : found;
};

const entitlementsOf =
  (sql: Sql): PremiumStore['entitlements'] =>
  async (query) => {
    const order = pageOrder(query.before, query.after);
    const text = `SELECT data FROM entitlements WHERE application_id = $1
      AND ($2::bigint IS NULL OR user_id = $2) AND ($3::bigint IS NULL OR guild_id = $3)
      AND ($4::bigint[] IS NULL OR sku_id = ANY($4))
      AND ($5::bigint IS NULL OR id < $5) AND ($6::bigint IS NULL OR id > $6)
      AND ($7::bigint IS NULL OR until_ms IS NULL OR until_ms > $7)
      AND ($8::bigint IS NULL OR (NOT deleted AND NOT consumed AND (starts_ms IS NULL OR starts_ms <= $8)
        AND (until_ms IS NULL OR until_ms > $8)))
      AND ($9 OR NOT deleted) AND ($10 OR NOT consumed) ORDER BY id ${order} LIMIT $11`;
    const rows = await sql.query<{ data: Entitlement }>(text, [
      ...[query.applicationId, query.userId, query.guildId, query.skuIds, query.before, query.after],
      ...[query.endedByMs, query.activeAtMs, query.withDeleted, query.withConsumed, query.limit],
    ]);
    return ascending(rows, order);
  };

const subscriptionsOf =
  (sql: Sql): PremiumStore['subscriptions'] =>
  async ({ applicationId, skuId, userId, before, after, limit }) => {
    const order = pageOrder(before, after);
    const text = `SELECT data FROM subscriptions WHERE application_id = $1 AND sku_id = $2 AND user_id = $3
      AND ($4::bigint IS NULL OR id < $4) AND ($5::bigint IS NULL OR id > $5) ORDER BY id ${order} LIMIT $6`;
    const values = [applicationId, skuId, userId, before, after, limit];
    return ascending(await sql.query<{ data: Subscription }>(text, values), order);
  };

export function premiumStore(sql: Sql): PremiumStore {
  const one = async <Row>(table: string, applicationId: ApplicationId, id: string): Promise<Row | null> => {
    const text = `SELECT data FROM ${table} WHERE application_id = $1 AND id = $2`;
    return (await sql.query<{ data: Row }>(text, [applicationId, id]))[0]?.data ?? null;
  };
  return {
    sku: async (id) =>
      (await sql.query<{ data: Sku }>('SELECT data FROM skus WHERE id = $1', [id]))[0]?.data ?? null,
    skus: async (applicationId) => {
      const text = 'SELECT data FROM skus WHERE application_id = $1 ORDER BY id';
      return (await sql.query<{ data: Sku }>(text, [applicationId])).map(({ data }) => data);
    },
    skusWithPerks: async () => {
      const text = `SELECT data FROM skus WHERE data->'perks' IS NOT NULL ORDER BY application_id, id`;
      return (await sql.query<{ data: Sku }>(text, [])).map(({ data }) => data);
    },
    entitlement: (applicationId, id) => one<Entitlement>('entitlements', applicationId, id),
    entitlements: entitlementsOf(sql),
    subscription: (applicationId, id) => one<Subscription>('subscriptions', applicationId, id),
    subscriptions: subscriptionsOf(sql),
    order: (applicationId, id) => one<Order>('orders', applicationId, id),
    openOrder: async (applicationId, { skuId, payerId, to }) => {
      const text = `SELECT data FROM orders WHERE application_id = $1 AND payer_id = $2 AND sku_id = $3
        AND user_id = $4 AND guild_id IS NOT DISTINCT FROM $5 AND state = 'open' ORDER BY id DESC LIMIT 1`;
      const values = [applicationId, payerId, skuId, to.userId, to.guildId];
      return (await sql.query<{ data: Order }>(text, values))[0]?.data ?? null;
    },
    forgetOrders: async (beforeMs, limit) => {
      const text = `DELETE FROM orders WHERE (application_id, id) IN (SELECT application_id, id FROM orders
        WHERE state = 'open' AND id < $1 LIMIT $2) AND state = 'open' RETURNING id`;
      return (await sql.query(text, [snowflakeAt(beforeMs), limit])).length;
    },
    due: async (nowMs, limit) => {
      const text = `SELECT application_id AS "applicationId", id, due_ms::float8 AS "dueMs" FROM subscriptions
        WHERE due_ms <= $1 ORDER BY due_ms LIMIT $2`;
      return sql.query<{ applicationId: ApplicationId; id: SubscriptionId; dueMs: number }>(text, [
        nowMs,
        limit,
      ]);
    },
    nextDueMs: async () => {
      const text = 'SELECT min(due_ms)::float8 AS ms FROM subscriptions WHERE due_ms IS NOT NULL';
      return (await sql.query<{ ms: number | null }>(text, []))[0]?.ms ?? null;
    },
  };
}
