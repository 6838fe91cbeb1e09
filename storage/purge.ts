import { type FilesRow, type GoneFile, type LostFiles, lostFiles } from './blob/files.ts';
import type { Driver, Sql } from './database/driver.ts';
import { pollsGone } from './message/polls.ts';

/** Messages deleted in one step: a transaction of a few milliseconds between those of the writer. */
const STEP_MESSAGES = 1_000;

const DELETE_SOME = `
WITH gone AS (DELETE FROM messages t USING (
    SELECT owner_id, channel_id, id FROM messages WHERE owner_id = $1 AND channel_id = $2 LIMIT $3) r
    WHERE t.owner_id = r.owner_id AND t.channel_id = r.channel_id AND t.id = r.id RETURNING t.owner_id, t.channel_id, t.id, t.data->'files' AS files),
  c AS (DELETE FROM reaction_counts t USING gone WHERE t.owner_id = gone.owner_id AND t.message_id = gone.id),
  r AS (DELETE FROM reactions t USING gone WHERE t.owner_id = gone.owner_id AND t.message_id = gone.id),
  ${pollsGone('gone')}
SELECT count(*) AS count, jsonb_agg(jsonb_build_object('channel_id', channel_id::text, 'files', files))
  FILTER (WHERE files IS NOT NULL) AS rows FROM gone`;

/** Deletes some messages of one deleted channel. @returns their files, or null when nothing is left to purge. */
async function step(sql: Sql): Promise<GoneFile[] | null> {
  const [target] = await sql.query<{ owner_id: string; channel_id: string }>(
    'SELECT owner_id, channel_id FROM purges LIMIT 1',
  );
  if (!target) return null;
  const { owner_id, channel_id } = target;
  const [gone] = await sql.query<{ count: string; rows: FilesRow[] | null }>(DELETE_SOME, [
    owner_id,
    channel_id,
    STEP_MESSAGES,
  ]);
  if (Number(gone?.count ?? 0) < STEP_MESSAGES)
    await sql.query('DELETE FROM purges WHERE owner_id = $1 AND channel_id = $2', [owner_id, channel_id]);
  return lostFiles(gone?.rows ?? []);
}

export interface Purge {
  /** Starts the purge, after a channel was deleted. */
  wake(): void;
  /** Resolves when nothing is left to purge, or a step has failed. */
  settled(): Promise<void>;
  /** Stops after the current step; the rest is purged after the next start. */
  close(): Promise<void>;
}

/**
 * Deletes the messages of deleted channels in the background, in steps of bounded size. A failed step ends the run; the next
 * deletion or start continues.
 */
export function openPurge(driver: Driver, files: LostFiles): Purge {
  let closed = false;
  let again = false;
  let running: Promise<void> | null = null;
  const run = async (): Promise<void> => {
    try {
      do {
        again = false;
        for (let gone: GoneFile[] | null = []; gone && !closed; ) {
          gone = await driver.transaction(step);
          // Awaited, so that the files of at most one step are waiting to be deleted.
          if (gone) await files.notify(gone);
        }
      } while (again && !closed);
    } catch {
      // The writer reports a failing database to its callers; the purge can wait.
    } finally {
      running = null;
    }
  };
  const wake = (): void => {
    again = true;
    running ??= run();
  };
  return {
    wake,
    settled: async () => {
      await running;
    },
    close: async () => {
      closed = true;
      await running;
    },
  };
}
