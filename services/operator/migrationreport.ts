/** Most log lines for one report; the table holds the rest. */
const REPORTED_MAX = 1000;

interface ReportLog {
  warn(line: string): void;
  warn(details: object, line: string): void;
}

/** Logs what an upgrade of the database renamed. */
export function reportMigration(report: readonly string[], logger: ReportLog): void {
  for (const line of report.slice(0, REPORTED_MAX)) logger.warn(line);
  logger.warn(
    { count: report.length },
    'The upgrade renamed people; the table username_renames lists them all.',
  );
}
