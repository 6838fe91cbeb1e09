/** Lobbies that search can find: one row each, rewritten when the listing changes. */
export const listings = `
-- numbers: the values of metadata that are numbers.
CREATE TABLE lobby_listings (
  id bigint PRIMARY KEY, application_id bigint NOT NULL, members integer NOT NULL, is_open boolean NOT NULL,
  metadata jsonb NOT NULL, numbers jsonb NOT NULL, data jsonb NOT NULL
);
CREATE INDEX lobby_listings_newest ON lobby_listings (application_id, id);
CREATE INDEX lobby_listings_metadata ON lobby_listings USING gin (metadata jsonb_path_ops);
CREATE INDEX lobby_listings_numbers ON lobby_listings USING gin (numbers jsonb_path_ops);
`;
