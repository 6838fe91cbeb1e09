/** Numbers of transactions, so that one without an answer can be repeated. */
export const writerTransactions = `
-- One row for each run of a writer: the number of its last transaction.
CREATE TABLE writer_transactions (writer uuid PRIMARY KEY, number bigint NOT NULL, at timestamptz NOT NULL)
WITH (fillfactor = 50);

-- Holds the row until the transaction ends, and refuses the transaction (GH002) when the number is taken. The first
-- transaction of a writer deletes the rows of writers that ended long ago, but for those that another one deletes.
CREATE FUNCTION guildhall_number(its_writer uuid, its_number bigint) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  INSERT INTO writer_transactions AS t VALUES (its_writer, its_number, now())
    ON CONFLICT (writer) DO UPDATE SET number = EXCLUDED.number, at = EXCLUDED.at WHERE t.number < EXCLUDED.number;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'transaction % of the writer is committed', its_number USING ERRCODE = 'GH002';
  END IF;
  IF its_number = 1 THEN
    DELETE FROM writer_transactions WHERE writer IN (
      SELECT writer FROM writer_transactions WHERE at < now() - interval '1 day' FOR UPDATE SKIP LOCKED
    );
  END IF;
  RETURN true;
END
$$;
`;
