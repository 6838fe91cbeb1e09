import { directRecipients } from '../../engine/fanout/audience.ts';
import type { Subscriber } from '../../engine/fanout/body.ts';
import { type Ears, EVERY_EAR, type SessionRef } from '../../engine/fanout/direct.ts';
import type { Presence } from '../../engine/presence/merge.ts';
import type { DispatchName } from '../../protocol/dispatches.ts';
import type { ApplicationId, GuildId, UserId } from '../../protocol/ids.ts';
import type { StoredFact } from '../../storage/ports.ts';
import type { UserSession } from './user.shell.ts';

/** A dispatch, and whom it is for. */
export interface ToldPeople {
  readonly userIds: readonly UserId[];
  readonly ears: Ears;
  readonly t: DispatchName;
  readonly d: object;
}

/**
 * Makes facts durable together with what people are to be told of them. Answers how to tell it, which is to be done
 * before the next of the same owner; whoever owns the people does so if this shard does not live to.
 */
export type Announce = (
  ownerId: string,
  facts: readonly StoredFact[],
  told: readonly ToldPeople[],
) => Promise<() => void>;

/** Tells sessions of users what has no guild, and answers for them, wherever they are in the cluster. */
export interface Telling {
  /** To the sessions that take what has no guild. */
  tell(userId: UserId, t: DispatchName, d: object, ears?: Ears): void;
  /** The same to many, as one body. */
  tellEach(to: readonly (readonly [UserId, Ears])[], t: DispatchName, d: object): void;
  /** The sessions of a user that take what has no guild, or, when another shard owns the user, the way to them. */
  listeners(userId: UserId): readonly Subscriber[];
  /** The way to all of these, for bodies that are numbered; they are of other shards as well. */
  toEach(to: readonly (readonly [UserId, Ears])[]): Subscriber;
  /** That very session, or the way to it, whichever shard owns its user from now on. */
  route(session: SessionRef): Subscriber;
  /** To that very session; when its user has just come from another shard, it may be open a moment later. */
  tellSession(userId: UserId, sessionId: string, t: DispatchName, d: object): void;
  /** A session of a user of this shard is open again: it is told what waited for it. */
  opened(session: Pick<Subscriber, 'sessionId'>): void;
  /** Those of the users who do not appear offline. Of whom nobody serves now nothing is known. */
  presencesOf(userIds: readonly UserId[]): Promise<ReadonlyMap<UserId, Presence>>;
  /** Guilds of a user who is online. */
  guildIdsOf(userId: UserId): Promise<readonly GuildId[]>;
  /** Whether a session of that application is open that takes what has no guild. */
  plays(userId: UserId, applicationId: ApplicationId): Promise<boolean>;
}

const hears = ({ bot, authorization }: UserSession, ears: Ears): boolean => {
  if (authorization)
    return ears.applications === 'all' || ears.applications.includes(authorization.applicationId);
  return bot ? (ears.bot ?? ears.own) : ears.own;
};

/** Those of the sessions that it is for, and that may hear it. */
export function hearersOf(sessions: readonly UserSession[], t: DispatchName, ears: Ears): UserSession[] {
  const meant = ears === EVERY_EAR ? sessions : sessions.filter((session) => hears(session, ears));
  return directRecipients(meant, t);
}
