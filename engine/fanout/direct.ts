import type { ApplicationId } from '../../protocol/ids.ts';
import type { DispatchBody, Recipient } from './body.ts';

/** Selects sessions of a user. A selected session must also be allowed to receive the dispatch. Plain data. */
export interface SessionFilter {
  /** Sessions of the user's own clients. */
  readonly own: boolean;
  /** Sessions of a bot. Equals `own` when absent. */
  readonly bot?: boolean;
  /** Sessions of applications that act for the user: of all, or of these. */
  readonly applications: 'all' | readonly ApplicationId[];
  /** The id of the only session of these; absent for all. */
  readonly sessionId?: string;
}

export const ALL_SESSIONS: SessionFilter = { own: true, applications: 'all' };
export const OWN_SESSIONS: SessionFilter = { own: true, bot: false, applications: [] };

export const oneSession = (sessionId: string): SessionFilter => ({ ...ALL_SESSIONS, sessionId });

/** The sessions of one application that acts for the user. */
export const applicationSessions = (applicationId: ApplicationId): SessionFilter => ({
  own: false,
  applications: [applicationId],
});

/** A reference to a session, with the fields that decide what it may receive. Plain data. */
export type SessionRef = Pick<Recipient, 'sessionId' | 'userId' | 'intents' | 'bot' | 'authorization'>;

export const refOf = ({ sessionId, userId, intents, bot, authorization = null }: SessionRef): SessionRef => ({
  ...{ sessionId, userId, intents, bot, authorization },
});

/**
 * Stream of the dispatches that an aggregate sends to users through their owner shards: a second stream of the
 * aggregate, with a name of its own. Each dispatch goes to few users, by separate routes, so every session has its own
 * cursor.
 */
const MARK = '@';

export const directStream = (ownerId: string): string => MARK + ownerId;

/** The owner whose state a direct stream changes. */
export const directOwner = (streamId: string): string => streamId.slice(MARK.length);

export const isDirect = (streamId: string): boolean => streamId.startsWith(MARK);

/** Not a stream: its cursor is the session's start, Unix milliseconds. Earlier dispatches are not for the session. */
export const SINCE = directStream('');

/** Events that no state shows, for which READY is no substitute; and GUILD_DELETE, which the session's own shard sends without an origin. */
const OF_NO_STATE = /^(MESSAGE_|INTERACTION_|GUILD_DELETE$)/;

/**
 * Whether a dispatch that waits for READY is still of use when the session is opened once more. Subscriptions to guilds outlast the
 * opening; other state is in READY as it is then.
 */
export const outlastsOpening = ({ t, origin }: Pick<DispatchBody, 't' | 'origin'>): boolean =>
  OF_NO_STATE.test(t) || (origin !== null && !isDirect(origin.ownerId));
