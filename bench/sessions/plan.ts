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
/** One person owns all guilds. */
export const GUILDS_MAX = 100;
/** Ports that a loopback address has for connections to one other, with a margin: Linux has 28,232 by default. */
const PORTS_OF_ADDRESS = 25_000;

/** How many sessions this number of server processes may hold here; whole hundreds. */
export function mostSessions(shards: number): number {
  const sockets = (openFilesMax() - FILES_BESIDE) * shards;
  return Math.min(SESSIONS_MAX, Math.floor(sockets / UNEVEN / 100) * 100);
}

/**
 * @throws Error with what to do, when a process may not have as many sockets, when one person would own too many guilds, or when a
 * value is not a positive number.
 */
export function planOf(asked: Omit<Plan, 'guilds' | 'clients'>): Plan {
  const { sessions, shards, membersOfGuild, minutes, perSecond } = asked;
  for (const [name, value] of Object.entries({
    sessions,
    members: membersOfGuild,
    shards,
    minutes,
    rate: perSecond,
  }))
    if (!(value > 0)) throw new Error(`--${name} must be a number above 0.`);
  const most = mostSessions(shards);
  if (sessions > most)
    throw new Error(
      `${shards} processes may hold ${most} sessions here, as each may open ${openFilesMax()} files. Raise --shards, or the limit (ulimit -n), up to ${SESSIONS_MAX}.`,
    );
  const guilds = Math.ceil(sessions / membersOfGuild);
  if (guilds > GUILDS_MAX)
    throw new Error(
      `${guilds} guilds would be needed, and one person may own ${GUILDS_MAX}. Raise --members.`,
    );
  const clients = Math.ceil(sessions / Math.min(openFilesMax() - FILES_BESIDE, PORTS_OF_ADDRESS));
  return { ...asked, guilds, clients };
}
