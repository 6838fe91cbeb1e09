import { directRecipients } from '../../engine/fanout/audience.ts';
import type { Recipient } from '../../engine/fanout/body.ts';
import { ALL_SESSIONS, type SessionFilter, type SessionRef } from '../../engine/fanout/direct.ts';
import type { Presence } from '../../engine/presence/merge.ts';
import type { DispatchName } from '../../protocol/dispatches.ts';
import type { ApplicationId, GuildId, UserId } from '../../protocol/ids.ts';
import type { StoredFact } from '../../storage/ports.ts';
import type { UserSession } from './user.shell.ts';

/** A dispatch and the users it is sent to. */
export interface DirectDispatch {
  readonly userIds: readonly UserId[];
  readonly filter: SessionFilter;
  readonly t: DispatchName;
  readonly d: object;
}

/**
 * Commits facts together with the dispatches that notify users of them. Resolves with a function that sends the
 * dispatches; the caller must run it before the next commit of the same owner. If this shard crashes before that, the
 * owner shards of the users deliver them.
 *
 * @param stream Numbers the dispatches by the owner, or by its partition: for owners whose actors number dispatches to users
 * themselves, and for many owners with few dispatches each, because sessions remember their position in each stream.
 */
export type CommitAndNotify = (
  ownerId: string,
  facts: readonly StoredFact[],
  notifications: readonly DirectDispatch[],
  stream?: 'owner' | 'partition',
) => Promise<() => void>;

export interface CommitNotifier {
  readonly commitAndNotify: CommitAndNotify;
  /**
   * For a caller that repeats the first commit of an owner, which is stored: sends its dispatches again, under the numbers
   * that they have, so that a session receives each of them once. Does nothing when later ones of the owner were stored, since
   * they name these as the ones before.
   */
  readonly notifyAgain: (ownerId: string) => Promise<void>;
}

/** Sends dispatches without a guild to sessions of users anywhere in the cluster, and looks users up there. */
export interface Notifier {
  /** Sends to the sessions that receive dispatches without a guild. */
  notify(userId: UserId, t: DispatchName, d: object, filter?: SessionFilter): void;
  /** Sends one body to many users. */
  notifyEach(to: readonly (readonly [UserId, SessionFilter])[], t: DispatchName, d: object): void;
  /**
   * The user's sessions that receive dispatches without a guild, or a route to them when another shard owns the user.
   */
  listeners(userId: UserId): readonly Recipient[];
  /** A route to all of these sessions, on this and other shards, for numbered bodies. */
  recipientOf(to: readonly (readonly [UserId, SessionFilter])[]): Recipient;
  /** This session, or a route to it, even when the ownership of its user changes later. */
  route(session: SessionRef): Recipient;
  /**
   * Sends to one session. If its user has just moved from another shard, the dispatch waits until the session is open.
   */
  notifySession(userId: UserId, sessionId: string, t: DispatchName, d: object): void;
  /** A session of a user of this shard is open again: delivers the dispatches that waited for it. */
  sessionOpened(session: Pick<Recipient, 'sessionId'>): void;
  /** Presences of the users who do not appear offline. Users without an owner are left out. */
  presencesOf(userIds: readonly UserId[]): Promise<ReadonlyMap<UserId, Presence>>;
  /** Guilds of a user who is online. */
  guildIdsOf(userId: UserId): Promise<readonly GuildId[]>;
  /** Whether the user has this session open, with a token of the user's own. */
  hasSession(userId: UserId, sessionId: string): Promise<boolean>;
  /** Whether the user still has this session, with any token and possibly without a connection. */
  keepsSession(userId: UserId, sessionId: string): Promise<boolean>;
  /** Whether the application has an open session of the user that receives dispatches without a guild. */
  plays(userId: UserId, applicationId: ApplicationId): Promise<boolean>;
}

const matches = ({ sessionId, bot, authorization }: UserSession, filter: SessionFilter): boolean => {
  if (filter.sessionId !== undefined && filter.sessionId !== sessionId) return false;
  if (authorization)
    return filter.applications === 'all' || filter.applications.includes(authorization.applicationId);
  return bot ? (filter.bot ?? filter.own) : filter.own;
};

/** The sessions that match the filter and may receive the dispatch. */
export function matchingSessions(
  sessions: readonly UserSession[],
  t: DispatchName,
  filter: SessionFilter,
): UserSession[] {
  const matching =
    filter === ALL_SESSIONS ? sessions : sessions.filter((session) => matches(session, filter));
  return directRecipients(matching, t);
}
