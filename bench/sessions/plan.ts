import { openFilesMax } from '../../transports/http/openfiles.ts';

export interface Plan {
  readonly databaseUrl: string;
  readonly sessions: number;
  readonly membersOfGuild: number;
  readonly guilds: number;
  readonly shards: number;
  readonly minutes: number;
  readonly perSecond: number;
  /** Processes of the load client. */
  readonly clients: number;
}

/** Descriptors that a process needs beside its sockets. */
const FILES_BESIDE = 500;
/** The kernel distributes connections, though not quite evenly. */
const UNEVEN = 1.02;
const SESSIONS_MAX = 100_000;

/** How many sessions this number of server processes may hold here; whole hundreds. */
export function mostSessions(shards: number): number {
  const sockets = (openFilesMax() - FILES_BESIDE) * shards;
  return Math.min(SESSIONS_MAX, Math.floor(sockets / UNEVEN / 100) * 100);
}

/** @throws Error when a process may not have as many sockets, with what to do. */
export function planOf(asked: Omit<Plan, 'guilds' | 'clients'>): Plan {
  const { sessions, shards, membersOfGuild } = asked;
  const most = mostSessions(shards);
  if (sessions > most && sessions > 0 && most < SESSIONS_MAX)
    throw new Error(
      `${shards} processes may hold ${most} sessions here, as each may open ${openFilesMax()} files. Raise --shards, or the limit (ulimit -n).`,
    );
  const clients = Math.max(1, Math.ceil(sessions / (openFilesMax() - FILES_BESIDE)));
  return { ...asked, guilds: Math.ceil(sessions / membersOfGuild), clients };
}
