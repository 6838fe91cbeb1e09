import type { GatewayActivity, GatewayPresenceUpdateData } from 'discord-api-types/v10';
import type { SessionId } from './ids.ts';
import {
  applicationId,
  channelId,
  clientObject,
  guildId,
  lobbyId,
  principal,
  scope,
  user,
  userId,
} from './link.values.ts';
import {
  anything,
  fields,
  flag,
  given,
  integer,
  is,
  list,
  named,
  nullable,
  number,
  oneOf,
  optional,
  partial,
  record,
  type Schema,
  text,
  tuple,
  union,
  type ValueOf,
  variants,
  wireObject,
  word,
} from './linkschema.ts';

/** Values of gateway sessions, presences and deliveries between shards; see `link.ts`. */

/** A position in the stream of an aggregate. */
const cursor = tuple(text, number);
export const cursors = list(cursor);
/** The presence that a client has sent. */
export const presenceUpdate = wireObject<GatewayPresenceUpdateData>('presence update', {});
const status = word<'online' | 'idle' | 'dnd'>('status', 'online');
/** The presence of a user, merged over sessions. */
export const presence = fields({
  ...{ status, activities: list(wireObject<GatewayActivity>('activity', {})) },
  client_status: partial({ desktop: status, mobile: status, web: status, vr: status, embedded: status }),
});

const sessionShape = {
  ...{ intents: integer, shard: tuple(integer, integer), largeThreshold: integer },
};
/** A session of another shard, as its host describes it. */
export const session = fields({
  home: text,
  talk: integer,
  session: fields({ handle: integer, sessionId: text, principal, ...sessionShape }),
});
/** What a session is shown of a guild's members; null where a request leaves it as it is. */
export const memberList = fields({
  guildId,
  channels: nullable(list(fields({ channelId, ranges: list(tuple(integer, integer)) }))),
  memberIds: nullable(list(userId)),
  /** When the session passed it on, by its shard's clock: a request that is overtaken by a later one is ignored. */
  atMs: number,
});
/** What a session is shown of a guild's members: ranges of the lists of channels, and members by their ids. */
export type MemberListRequest = ValueOf<typeof memberList>;
/** A lobby in whose call a client is; one entry of Lobby Voice States. */
export const lobbyVoiceRequest = fields({ lobbyId, selfMute: flag, selfDeaf: flag, selfVideo: flag });
export type LobbyVoiceRequest = ValueOf<typeof lobbyVoiceRequest>;
export const wantedGuild = fields({ session, after: nullable(number), memberList: given(memberList) });
/** Result of a session's subscription. */
export const subscribed = oneOf('member', 'gone', 'tooOld');

const relations = fields({
  ...{ relationships: list(clientObject), gameRelationships: list(clientObject) },
  ...{ presences: list(clientObject), profiles: record(list(clientObject)) },
});
/** The fields of READY about the user of a session. */
export const opening = fields({
  user,
  application: nullable(
    fields({ id: applicationId, flags: integer, name: optional(text), parentId: given(applicationId) }),
  ),
  ...{ guildIds: list(guildId), privateChannels: list(clientObject), relations: nullable(relations) },
  lobbies: list(clientObject),
});
export const reopened = fields({ guildIds: list(guildId), isWhole: flag });

/** The input of a session's request. The owner checks it by `SESSION_REQUESTS`, under the name of the request. */
export const requestInput = named('session request', anything);
/** The session that a stream belongs to. */
export const streamer = fields({ userId, sessionId: text });

const plainPrincipal = fields({
  ...{ userId, bot: flag, applicationId: nullable(applicationId), applicationFlags: integer },
  authorization: nullable(fields({ id: text, applicationId, scopes: list(scope), expiresMs: number })),
  tokenId: optional(text),
});
/** A claim of a session that another shard may have. */
export const sessionClaim = fields({
  claim: fields({ sessionId: text, principal: plainPrincipal, seq: integer }),
  key: text,
});
/** A position in a stream, as a dispatch carries it. */
export const origin = fields({ ownerId: text, n: number, after: optional(number) });
const sessionRecord = fields({
  identity: fields({
    sessionId: word<SessionId>('session id', 'text'),
    principal: plainPrincipal,
    ...sessionShape,
  }),
  manner: fields({
    presence: nullable(presenceUpdate),
    wantsAuthorizeRequests: flag,
    memberLists: given(list(memberList)),
    lobbyVoice: given(list(lobbyVoiceRequest)),
  }),
  seq: integer,
  missed: list(fields({ ageMs: number, t: text, json: text, origin: nullable(origin) })),
  cursors,
});
/** The answer to a claim. */
export const claimAnswer = variants('kind', {
  taken: { record: sessionRecord },
  ...{ unknown: {}, seqUnknown: {}, seqTooOld: {}, busy: {} },
});

/** The recipients of a dispatch: the sessions of a user, or one of them by its id. */
export const deliveryTarget = tuple(
  userId,
  union(
    text,
    fields({
      ...{ own: flag, bot: optional(flag) },
      applications: union(is('all'), list(applicationId)),
      sessionId: optional(text),
    }),
  ),
);

export const startVerdict = oneOf('ok', 'tooSoon', 'tooMany');
export const startLimit = fields({
  total: integer,
  remaining: integer,
  reset_after: number,
  max_concurrency: integer,
});
/** A user with the application that acts for the user. */
export const applicationUser = fields({ userId, applicationId: nullable(applicationId) });

/** Current states by owner and subject. */
export const states = <O, A, I>(owner: Schema<O>, about: Schema<A>, item: Schema<I>) =>
  list(tuple(owner, list(tuple(about, item))));
