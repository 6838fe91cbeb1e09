import { directRecipients } from '../../engine/fanout/audience.ts';
import type { Recipient } from '../../engine/fanout/body.ts';
import { ALL_SESSIONS, type SessionFilter, type SessionRef } from '../../engine/fanout/direct.ts';
import type { Presence } from '../../engine/presence/merge.ts';
import type { DispatchName } from '../../protocol/dispatches.ts';
import type { ApplicationId, GuildId, UserId } from '../../protocol/ids.ts';
import type { StoredFact } from '../../storage/ports.ts';
import type { UserSession } from './user.shell.ts';

/** A dispatch, and whom it is for. */
export interface DirectDispatch {
  readonly userIds: readonly UserId[];
  readonly ears: SessionFilter;
  readonly t: DispatchName;
  readonly d: object;
}

/**
 * Makes facts durable together with what people are to be told of them. Answers how to tell it, which is to be done
 * before the next of the same owner; whoever owns the people does so if this shard does not live to.
 */
export type CommitAndNotify = (
  ownerId: string,
  facts: readonly StoredFact[],
  told: readonly DirectDispatch[],
) => Promise<() => void>;

/** Tells sessions of users what has no guild, and answers for them, wherever they are in the cluster. */
export interface Notifier {
  /** To the sessions that take what has no guild. */
  notify(userId: UserId, t: DispatchName, d: object, ears?: SessionFilter): void;
  /** The same to many, as one body. */
  notifyEach(to: readonly (readonly [UserId, SessionFilter])[], t: DispatchName, d: object): void;
  /** The sessions of a user that take what has no guild, or, when another shard owns the user, the way to them. */
  listeners(userId: UserId): readonly Recipient[];
  /** The way to all of these, for bodies that are numbered; they are of other shards as well. */
  recipientOf(to: readonly (readonly [UserId, SessionFilter])[]): Recipient;
  /** That very session, or the way to it, whichever shard owns its user from now on. */
  route(session: SessionRef): Recipient;
  /** To that very session; when its user has just come from another shard, it may be open a moment later. */
  notifySession(userId: UserId, sessionId: string, t: DispatchName, d: object): void;
  /** A session of a user of this shard is open again: it is told what waited for it. */
  sessionOpened(session: Pick<Recipient, 'sessionId'>): void;
  /** Those of the users who do not appear offline. Of whom nobody serves now nothing is known. */
  presencesOf(userIds: readonly UserId[]): Promise<ReadonlyMap<UserId, Presence>>;
  /** Guilds of a user who is online. */
  guildIdsOf(userId: UserId): Promise<readonly GuildId[]>;
  /** Whether a session of that application is open that takes what has no guild. */
  plays(userId: UserId, applicationId: ApplicationId): Promise<boolean>;
}

const matches = ({ bot, authorization }: UserSession, filter: SessionFilter): boolean => {
  if (authorization)
    return filter.applications === 'all' || filter.applications.includes(authorization.applicationId);
  return bot ? (filter.bot ?? filter.own) : filter.own;
};

/** Those of the sessions that it is for, and that may hear it. */
export function matchingSessions(
  sessions: readonly UserSession[],
  t: DispatchName,
  filter: SessionFilter,
): UserSession[] {
  const matching =
    filter === ALL_SESSIONS ? sessions : sessions.filter((session) => matches(session, filter));
  return directRecipients(matching, t);
}
