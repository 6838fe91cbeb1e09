/** Orders of people from applications. `state` is open, paid, refunded or surplus. */
export const orders = `
CREATE TABLE orders (
  application_id bigint NOT NULL, id bigint NOT NULL, sku_id bigint NOT NULL, payer_id bigint NOT NULL,
  user_id bigint NOT NULL, guild_id bigint, state text NOT NULL, data jsonb NOT NULL,
  PRIMARY KEY (application_id, id)
);
CREATE INDEX orders_by_payer ON orders (application_id, payer_id, sku_id, id) WHERE state = 'open';
`;
