import type { ApplicationId, GuildId, SessionId } from '../../protocol/ids.ts';
import type { APIUser } from '../../protocol/objects.ts';
import type { Scopes } from '../../protocol/scopes.ts';
import type { Shard } from './identify.ts';

/** READY's data on the user beyond the account. */
export interface ReadyRelations {
  readonly relationships: readonly object[];
  /** Relations of the application that acts for the user; empty for people's own clients. */
  readonly gameRelationships: readonly object[];
  /** Presences of online friends. */
  readonly presences: readonly object[];
  /** Users' identities in the application's games, by user id. */
  readonly profiles: Readonly<Record<string, readonly object[]>>;
}

/** READY's data on the application that acts for a user, and on its grant. */
export interface ReadyAuthorization {
  readonly scopes: Scopes;
  /** Equal for all sessions of one grant; clients store long-lived keys under it. */
  readonly staticSessionId: string;
  /** Null when lobbies are sent one by one after READY. */
  readonly lobbies: readonly object[] | null;
}

export interface ReadyApplication {
  readonly id: ApplicationId;
  readonly flags: number;
  /** Set for applications that act for users. */
  readonly name?: string;
  readonly parentId?: ApplicationId | null;
}

interface ReadyFacts {
  readonly version: number;
  readonly user: APIUser;
  readonly application: ReadyApplication | null;
  readonly sessionId: SessionId;
  readonly resumeUrl: string;
  readonly shard: Shard;
  /** The guilds of this shard. */
  readonly guildIds: readonly GuildId[];
  readonly privateChannels: readonly object[];
  /** Null for bots, which have no relations. */
  readonly relations: ReadyRelations | null;
  /** Null for bots and for people's own clients. */
  readonly authorization: ReadyAuthorization | null;
}

/** The oldest version of DAVE that calls on this server support. */
const DAVE_VERSION_MIN = 1;

/**
 * `d` of READY. Guilds are listed as unavailable and follow one by one. The empty lists belong to user accounts; some
 * stock libraries iterate them without a check.
 *
 * @source https://docs.discord.com/developers/events/gateway-events#ready; for OAuth2 tokens
 * https://docs.discord.food/gateway/gateway-events#ready
 */
export function readyPayload(facts: ReadyFacts): object {
  const { relations, authorization } = facts;
  // Direct messages belong to shard 0, which serves everything outside guilds.
  const privateChannels = facts.shard[0] === 0 ? facts.privateChannels : [];
  return {
    v: facts.version,
    user: facts.user,
    guilds: facts.guildIds.map((id) => ({ id, unavailable: true })),
    session_id: facts.sessionId,
    session_type: authorization ? 'oauth' : 'normal',
    resume_gateway_url: facts.resumeUrl,
    shard: facts.shard,
    private_channels: privateChannels,
    relationships: relations?.relationships ?? [],
    presences: relations?.presences ?? [],
    geo_ordered_rtc_regions: [],
    ...(facts.application && { application: applicationOf(facts.application) }),
    ...(relations && {
      game_relationships: relations.gameRelationships,
      users: usersIn(privateChannels, relations.relationships, relations.gameRelationships),
    }),
    ...(relations && authorization && actingFields(authorization, relations)),
  };
}

const actingFields = (
  { scopes, staticSessionId, lobbies }: ReadyAuthorization,
  { profiles }: ReadyRelations,
) => ({
  scopes: [...scopes],
  static_client_session_id: staticSessionId,
  user_application_profiles: profiles,
  av_sf_protocol_floor: DAVE_VERSION_MIN,
  feature_flags: { disabled_functions: [], disabled_gateway_events: [] },
  ...(lobbies && { lobbies }),
});

const applicationOf = ({ id, flags, name, parentId }: ReadyApplication) =>
  name === undefined
    ? { id, flags }
    : { id, flags, flags_new: String(flags), name, parent_id: parentId ?? null };

/** Each user in the lists, once. */
function usersIn(...lists: readonly (readonly object[])[]): object[] {
  const users = new Map<string, object>();
  for (const entry of lists.flat() as { readonly user?: APIUser; readonly recipients?: readonly APIUser[] }[])
    for (const user of [...(entry.user ? [entry.user] : []), ...(entry.recipients ?? [])])
      users.set(user.id, user);
  return [...users.values()];
}
