import type { GatewayPresenceUpdateData } from 'discord-api-types/v10';
import type { ApplicationId, SessionId, UserId } from '../../protocol/ids.ts';
import type { LobbyVoiceRequest, MemberListRequest } from '../../protocol/link.sessions.ts';
import type { Scope } from '../../protocol/scopes.ts';
import type { Cursor } from './cursors.ts';
import type { Shard } from './identify.ts';
import type { DispatchContent } from './journal.ts';

/** The owner of a session's token, as plain data. */
export interface PlainPrincipal {
  readonly userId: UserId;
  readonly bot: boolean;
  readonly applicationId: ApplicationId | null;
  readonly applicationFlags: number;
  readonly authorization: {
    readonly id: string;
    readonly applicationId: ApplicationId;
    readonly scopes: readonly Scope[];
    readonly expiresMs: number;
  } | null;
  readonly tokenId?: string;
}

/** The fields of a session that never change. */
export interface PlainIdentity {
  readonly sessionId: SessionId;
  readonly principal: PlainPrincipal;
  readonly intents: number;
  readonly shard: Shard;
  readonly largeThreshold: number;
}

/** The fields of a session that may change. */
export interface SessionPreferences {
  /** The last presence that the client sent; null without one. */
  readonly presence: GatewayPresenceUpdateData | null;
  /** Whether its application receives requests to link its user. */
  readonly wantsAuthorizeRequests: boolean;
  /** What the client wants to be shown of guilds' members; null for nothing. Absent in records of earlier versions. */
  readonly memberLists?: readonly MemberListRequest[] | null;
  /** The calls of lobbies that the client was last in; null before it was in any. Absent in records of earlier versions. */
  readonly lobbyVoice?: readonly LobbyVoiceRequest[] | null;
}

/** What an application wants that acts for the user of a session. */
export type ApplicationPreferences = Required<
  Pick<SessionPreferences, 'wantsAuthorizeRequests' | 'lobbyVoice'>
>;
/** One object for all sessions that want nothing, to keep each session small. */
export const NO_PREFERENCES: ApplicationPreferences = { wantsAuthorizeRequests: false, lobbyVoice: null };

export const preferencesOf = ({
  wantsAuthorizeRequests,
  lobbyVoice = null,
}: SessionPreferences): ApplicationPreferences =>
  wantsAuthorizeRequests || lobbyVoice ? { wantsAuthorizeRequests, lobbyVoice } : NO_PREFERENCES;

/** A dispatch that the client may not have received. */
export interface MissedFrame extends DispatchContent {
  /** Time since it was sent. */
  readonly ageMs: number;
}

/** A session on its way from one shard to another: plain data. */
export interface SessionRecord {
  readonly identity: PlainIdentity;
  readonly manner: SessionPreferences;
  /** The last assigned sequence number. */
  readonly seq: number;
  /** The last dispatches, including all that its client has not received; the newest has the number `seq`. */
  readonly missed: readonly MissedFrame[];
  /** Positions in the streams that it follows. */
  readonly cursors: readonly Cursor[];
}

/** A request for a session, with the last number that its client received. */
export interface SessionClaim {
  readonly sessionId: string;
  readonly principal: PlainPrincipal;
  readonly seq: number;
}

/**
 * Whether a token may resume the session of another: it must be of the same user and of the same application, or both
 * of none.
 */
export const isSamePrincipal = (
  a: Pick<PlainPrincipal, 'userId'> & { readonly authorization: { readonly applicationId: string } | null },
  b: typeof a,
): boolean => a.userId === b.userId && a.authorization?.applicationId === b.authorization?.applicationId;
