/** Ownership of partitions, and data for the next owner of an aggregate. */
export const cluster = `
CREATE TABLE partition_epochs (partition integer PRIMARY KEY, epoch bigint NOT NULL, shard text NOT NULL);

-- Lasts for minutes, and as surely as what it tells of: after a crash of the database, or on its stand-by, a command
-- whose commit stood and whose answer was lost is known when it is sent again. Hardly a row is ever read: the data is
-- JSON that the database neither parses nor packs.
CREATE TABLE command_records (
  owner_id bigint NOT NULL, n bigint NOT NULL, at_ms bigint NOT NULL, command_key text, data text NOT NULL,
  PRIMARY KEY (owner_id, n)
);
ALTER TABLE command_records ALTER COLUMN data SET STORAGE EXTERNAL;
CREATE INDEX command_records_age ON command_records USING brin (at_ms);

-- Of the moment: only has to survive the processes, so it is not logged; a crash of the database empties it.
CREATE UNLOGGED TABLE actor_snapshots (owner_id bigint PRIMARY KEY, at_ms bigint NOT NULL, data jsonb NOT NULL);

-- Holds the partitions against a change of hands until the transaction ends, and refuses it when one has changed. The
-- lock first: what is read after it is what the last change has left.
CREATE FUNCTION guildhall_fence(partitions integer[], epochs bigint[]) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  at integer;
  current bigint;
BEGIN
  FOR at IN SELECT i FROM generate_subscripts(partitions, 1) AS i ORDER BY partitions[i] LOOP
    PERFORM pg_advisory_xact_lock_shared(7166012, partitions[at]);
    SELECT epoch INTO current FROM partition_epochs WHERE partition = partitions[at];
    IF current IS DISTINCT FROM epochs[at] THEN
      RAISE EXCEPTION 'partition % has epoch %, not %', partitions[at], current, epochs[at] USING ERRCODE = 'GH001';
    END IF;
  END LOOP;
  RETURN true;
END
$$;
`;
