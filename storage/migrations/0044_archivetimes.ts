/** Archived threads are ordered by microseconds, which no two threads of a guild share. */
export const archiveTimes = `
ALTER TABLE threads RENAME COLUMN archive_ms TO archive_us;
UPDATE threads SET archive_us = archive_us * 1000;
`;
