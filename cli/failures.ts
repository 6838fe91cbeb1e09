import { CommandError } from './world.ts';

/** Errors that indicate a bug of this program; every other error that stops a start has a cause in its environment. */
const BUGS: ReadonlySet<string> = new Set([
  'TypeError',
  'ReferenceError',
  'SyntaxError',
  'EvalError',
  'AssertionError',
]);

const SYSTEM: Readonly<Record<string, string>> = {
  EACCES: 'this user may not read or write it',
  EPERM: 'this user may not read or write it',
  EROFS: 'the file system is read-only',
  ENOTDIR: 'a part of the path is a file, not a directory',
  EEXIST: 'it exists and is not a directory',
  EISDIR: 'it is a directory, not a file',
  ENOENT: 'it does not exist',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EMFILE: 'too many files are open: raise the limit (ulimit -n)',
  ENFILE: 'too many files are open on this machine',
  EIO: 'the disk reports an input/output error',
};

/** Meanings of codes when a directory could not be created. */
const NOT_MADE: Readonly<Record<string, string>> = {
  ENOENT: 'no directory can be made in that place',
};

/**
 * Explains an error of the system or of the database to the operator: one sentence and what to do. Null for any other
 * error, which is then a bug of this program.
 */
export function environmentFailure(error: unknown): CommandError | null {
  if (error instanceof CommandError) return error;
  if (!(error instanceof Error)) return null;
  if (error.name === 'StorageFault') return storageFailure(error);
  const { code, path, syscall } = error as NodeJS.ErrnoException;
  if (code === undefined || syscall === undefined) return null;
  if (path === undefined)
    return new CommandError(`${sentence(error.message)}`, CHECK_SETTINGS, { cause: error });
  const reason = (syscall === 'mkdir' && NOT_MADE[code]) || SYSTEM[code] || error.message;
  const advice =
    'Check that directory and its owner, or name another one: data_dir or --data for the data of the server.';
  return new CommandError(`${path} cannot be used: ${reason}.`, advice, {
    cause: error,
  });
}

/** Explains any error that stops a start. Errors thrown on purpose describe the problem with settings or environment. */
export function startFailure(error: unknown): unknown {
  const known = environmentFailure(error);
  if (known !== null) return known;
  if (!(error instanceof Error) || BUGS.has(error.name) || /call stack|array length/.test(error.message))
    return error;
  return new CommandError(sentence(error.message || error.name), CHECK_SETTINGS, { cause: error });
}

const CHECK_SETTINGS =
  'Correct the settings, or the files and addresses in them; `guildhall config print` shows the current settings, docs/configuration.md explains each.';

const sentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`);

function storageFailure(error: Error): CommandError {
  const cause = error.cause as { readonly code?: string } | undefined;
  const advice = /PostgreSQL/.test(error.message)
    ? (DATABASE_ADVICE[cause?.code ?? ''] ??
      'Check that PostgreSQL runs and that database_url (or DATABASE_URL) names it; `psql` with the same URL shows the reason.')
    : 'database_url (or DATABASE_URL) names a PostgreSQL database, data_dir (or --data) the directory of the embedded one.';
  return new CommandError(sentence(error.message), advice, { cause: error });
}

/** Advice by PostgreSQL's error codes. @source https://www.postgresql.org/docs/current/errcodes-appendix.html */
const DATABASE_ADVICE: Readonly<Record<string, string>> = {
  '28P01': 'Correct the user or the password in database_url (or DATABASE_URL).',
  '28000': 'Let that user in (pg_hba.conf of the server), or correct database_url (or DATABASE_URL).',
  '3D000': 'Create the database with `createdb`, or correct the name in database_url (or DATABASE_URL).',
};

/** The error for a file of this program whose content is not what was written. */
export const damagedFile = (path: string, cause: unknown): CommandError =>
  new CommandError(
    `${path} is damaged: its content is not what was written to it.`,
    'Restore it from a backup, or delete it to start over.',
    { cause },
  );

/** The error for a missing or unusable certificate of the voice gateway. */
export function certificateFailure(cause: Error): CommandError {
  const advice =
    'Set tls_cert_file and tls_key_file to PEM files, or voice_tls to off when a proxy in front adds TLS.';
  return new CommandError(cause.message, advice, { cause });
}
