import type { GatewayPresenceUpdateData } from 'discord-api-types/v10';
import type { ApplicationId, SessionId, UserId } from '../../protocol/ids.ts';
import type { Scope } from '../../protocol/scopes.ts';
import type { Cursor } from './cursors.ts';
import type { Shard } from './identify.ts';
import type { DispatchContent } from './journal.ts';

/** Who a session's token belongs to, as plain data. */
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

/** What of a session does not change. */
export interface PlainIdentity {
  readonly sessionId: SessionId;
  readonly principal: PlainPrincipal;
  readonly intents: number;
  readonly shard: Shard;
  readonly largeThreshold: number;
}

/** What of it does. */
export interface SessionManner {
  /** The last presence that the client sent; null without one. */
  readonly presence: GatewayPresenceUpdateData | null;
  /** Whether its application receives requests to link its user. */
  readonly wantsAuthorizeRequests: boolean;
}

/** A dispatch that the client may not have. */
export interface MissedFrame extends DispatchContent {
  /** How long ago it was sent. */
  readonly ageMs: number;
}

/** A session on its way from one home to the next: plain data. */
export interface SessionRecord {
  readonly identity: PlainIdentity;
  readonly manner: SessionManner;
  /** The last number given out. */
  readonly seq: number;
  /** The last dispatches, all that its client does not have; the newest has that number. */
  readonly missed: readonly MissedFrame[];
  /** How far it has the streams that it follows. */
  readonly cursors: readonly Cursor[];
}

/** Who asks for a session, and up to which number its client has what it was sent. */
export interface SessionClaim {
  readonly sessionId: string;
  readonly principal: PlainPrincipal;
  readonly seq: number;
}

/** Whether a token resumes what another began: of the same user, by the same application or by none. */
export const isSamePrincipal = (
  a: Pick<PlainPrincipal, 'userId'> & { readonly authorization: { readonly applicationId: string } | null },
  b: typeof a,
): boolean => a.userId === b.userId && a.authorization?.applicationId === b.authorization?.applicationId;
