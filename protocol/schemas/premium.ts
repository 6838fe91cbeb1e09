import type { ApplicationId, GuildId, UserId } from '../ids.ts';
import {
  choice,
  flag,
  id,
  list,
  nullable,
  object,
  optional,
  type Schema,
  time,
  type ValueOf,
} from './schema.ts';

const entitlement = object(
  {
    id: id(),
    sku_id: id(),
    application_id: id<ApplicationId>(),
    user_id: id<UserId>(),
    guild_id: optional(nullable(id<GuildId>())),
    deleted: flag,
    starts_at: nullable(time),
    ends_at: nullable(time),
    type: choice(8, 10),
    consumed: flag,
    gifter_user_id: optional(nullable(id<UserId>())),
    subscription_id: optional(id()),
  },
  'Entitlement',
);
export interface Entitlement extends ValueOf<typeof entitlement> {}
export const Entitlement: Schema<Entitlement> = entitlement;

const subscription = object(
  {
    id: id(),
    user_id: id<UserId>(),
    sku_ids: list(id()),
    renewal_sku_ids: nullable(list(id())),
    entitlement_ids: list(id()),
    current_period_start: time,
    current_period_end: time,
    status: choice(0, 1, 2),
    canceled_at: nullable(time),
  },
  'Subscription',
);
export interface Subscription extends ValueOf<typeof subscription> {}
export const Subscription: Schema<Subscription> = subscription;
