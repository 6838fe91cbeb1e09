/**
 * Every table's primary key begins with the id of the aggregate that owns the row. Entities are stored in the wire's format
 * as `data`; other columns exist only where a read or a set-based write needs them. There are no foreign keys: the rules
 * keep references intact, and a distributed database could not check them.
 */
export const foundation = `
CREATE TABLE guilds (id bigint PRIMARY KEY, data jsonb NOT NULL);

CREATE TABLE roles (
  guild_id bigint NOT NULL, id bigint NOT NULL, data jsonb NOT NULL,
  PRIMARY KEY (guild_id, id)
);

CREATE TABLE channels (
  guild_id bigint NOT NULL, id bigint NOT NULL, data jsonb NOT NULL,
  PRIMARY KEY (guild_id, id)
);

-- What changes with every message, apart from the channel itself so that its row stays small and hot.
CREATE TABLE channel_activity (
  owner_id bigint NOT NULL, channel_id bigint NOT NULL, last_message_id bigint, last_pin_ms bigint,
  PRIMARY KEY (owner_id, channel_id)
) WITH (fillfactor = 50);

-- guild_id is null for a private channel.
CREATE TABLE channel_directory (channel_id bigint PRIMARY KEY, guild_id bigint);

-- The three search columns are folded to lower case; the last two repeat the user's names for the prefix search.
CREATE TABLE members (
  guild_id bigint NOT NULL, user_id bigint NOT NULL, roles bigint[] NOT NULL, data jsonb NOT NULL,
  nick_search text COLLATE "C", username_search text COLLATE "C" NOT NULL, name_search text COLLATE "C",
  PRIMARY KEY (guild_id, user_id)
);
CREATE INDEX members_nick ON members (guild_id, nick_search) WHERE nick_search IS NOT NULL;
CREATE INDEX members_username ON members (guild_id, username_search);
CREATE INDEX members_name ON members (guild_id, name_search) WHERE name_search IS NOT NULL;

CREATE TABLE user_guilds (user_id bigint NOT NULL, guild_id bigint NOT NULL, PRIMARY KEY (user_id, guild_id));

CREATE TABLE bans (
  guild_id bigint NOT NULL, user_id bigint NOT NULL, reason text,
  PRIMARY KEY (guild_id, user_id)
);

CREATE TABLE invites (
  guild_id bigint NOT NULL, code text NOT NULL, channel_id bigint NOT NULL,
  created_ms bigint NOT NULL, expires_ms bigint, data jsonb NOT NULL,
  PRIMARY KEY (guild_id, code)
);
CREATE TABLE invite_directory (code text PRIMARY KEY, guild_id bigint NOT NULL);

CREATE TABLE messages (
  owner_id bigint NOT NULL, channel_id bigint NOT NULL, id bigint NOT NULL,
  author_id bigint NOT NULL, pinned_ms bigint, data jsonb NOT NULL,
  PRIMARY KEY (owner_id, channel_id, id)
);
CREATE INDEX messages_author ON messages (owner_id, author_id, id);
CREATE INDEX messages_pinned ON messages (owner_id, channel_id, pinned_ms) WHERE pinned_ms IS NOT NULL;

CREATE TABLE reactions (
  owner_id bigint NOT NULL, message_id bigint NOT NULL, key text NOT NULL, user_id bigint NOT NULL,
  PRIMARY KEY (owner_id, message_id, key, user_id)
);
CREATE INDEX reactions_user ON reactions (owner_id, message_id, user_id);

-- seq orders the reactions of a message by when the first of each kind came.
CREATE TABLE reaction_counts (
  owner_id bigint NOT NULL, message_id bigint NOT NULL, key text NOT NULL,
  emoji jsonb NOT NULL, count integer NOT NULL, seq bigint GENERATED ALWAYS AS IDENTITY,
  PRIMARY KEY (owner_id, message_id, key)
);

CREATE TABLE audit_log (
  guild_id bigint NOT NULL, id bigint NOT NULL, user_id bigint, target_id text, action_type integer NOT NULL,
  data jsonb NOT NULL,
  PRIMARY KEY (guild_id, id)
);

CREATE TABLE users (
  id bigint PRIMARY KEY, data jsonb NOT NULL,
  username_search text COLLATE "C" NOT NULL, name_search text COLLATE "C"
);

CREATE TABLE tokens (
  user_id bigint NOT NULL, id bigint NOT NULL, kind text NOT NULL, hash text NOT NULL,
  PRIMARY KEY (user_id, id)
);

CREATE TABLE applications (
  id bigint PRIMARY KEY, bot_id bigint, data jsonb NOT NULL,
  signing_key text NOT NULL, client_secret_hash text NOT NULL
);
CREATE INDEX applications_bot ON applications (bot_id);

CREATE TABLE private_channels (channel_id bigint PRIMARY KEY, low_id bigint NOT NULL, high_id bigint NOT NULL);

-- The key keeps two users from having two channels.
CREATE TABLE private_channel_members (
  user_id bigint NOT NULL, peer_id bigint NOT NULL, channel_id bigint NOT NULL,
  PRIMARY KEY (user_id, peer_id)
);

-- Deleted channels whose messages are still to be removed, a bounded number at a time.
CREATE TABLE purges (owner_id bigint NOT NULL, channel_id bigint NOT NULL, PRIMARY KEY (owner_id, channel_id));

CREATE TABLE settings (key text PRIMARY KEY, value text NOT NULL);
`;
