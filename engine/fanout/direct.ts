import type { ApplicationId } from '../../protocol/ids.ts';
import type { Recipient } from './body.ts';

/** Which sessions of a user something is for; those it is for must also be let to hear it. Plain data. */
export interface SessionFilter {
  /** Those of the person themselves. */
  readonly own: boolean;
  /** Those of a bot. As `own` when absent. */
  readonly bot?: boolean;
  /** Those of applications that act for the user: of all, or of these. */
  readonly applications: 'all' | readonly ApplicationId[];
}

export const ALL_SESSIONS: SessionFilter = { own: true, applications: 'all' };
export const OWN_SESSIONS: SessionFilter = { own: true, bot: false, applications: [] };

/** The sessions of one application that acts for the user. */
export const applicationSessions = (applicationId: ApplicationId): SessionFilter => ({
  own: false,
  applications: [applicationId],
});

/** A session by name, with what decides what it may hear. Plain data. */
export type SessionRef = Pick<Recipient, 'sessionId' | 'userId' | 'intents' | 'bot' | 'authorization'>;

export const refOf = ({ sessionId, userId, intents, bot, authorization = null }: SessionRef): SessionRef => ({
  ...{ sessionId, userId, intents, bot, authorization },
});

/**
 * What an aggregate tells people by way of their owners is a stream as well, under another name than its id. Who is told
 * is few of many, and each on a way of their own: each session has its own number.
 */
const MARK = '@';

export const directStream = (ownerId: string): string => MARK + ownerId;

export const isDirect = (streamId: string): boolean => streamId.startsWith(MARK);

/** Not a stream: since when a session is, Unix milliseconds. What was told before is no matter of it. */
export const SINCE = directStream('');
