/** Items that applications sell, and entitlements to them. Times are Unix milliseconds; an ended subscription has no `due_ms`. */
export const premium = `
CREATE TABLE skus (
  application_id bigint NOT NULL, id bigint NOT NULL, data jsonb NOT NULL,
  PRIMARY KEY (application_id, id)
);
CREATE UNIQUE INDEX skus_by_id ON skus (id);
CREATE TABLE entitlements (
  application_id bigint NOT NULL, id bigint NOT NULL, sku_id bigint NOT NULL, user_id bigint NOT NULL, guild_id bigint,
  starts_ms bigint, until_ms bigint, deleted boolean NOT NULL, consumed boolean NOT NULL, data jsonb NOT NULL,
  PRIMARY KEY (application_id, id)
);
CREATE INDEX entitlements_by_user ON entitlements (application_id, user_id, id);
CREATE INDEX entitlements_by_guild ON entitlements (application_id, guild_id, id) WHERE guild_id IS NOT NULL;
CREATE TABLE subscriptions (
  application_id bigint NOT NULL, id bigint NOT NULL, user_id bigint NOT NULL, sku_id bigint NOT NULL, due_ms bigint,
  data jsonb NOT NULL,
  PRIMARY KEY (application_id, id)
);
CREATE INDEX subscriptions_by_user ON subscriptions (application_id, user_id, id);
CREATE INDEX subscriptions_by_due ON subscriptions (due_ms) WHERE due_ms IS NOT NULL;
`;
