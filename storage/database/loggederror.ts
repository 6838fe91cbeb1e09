import { stdSerializers } from 'pino';

/** The error without the query values that a database driver adds, which may contain user input; for the log. */
export function withoutValues(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const shown: Record<string, unknown> = { ...stdSerializers.err(error) };
  delete shown.params;
  delete shown.parameters;
  return shown;
}
