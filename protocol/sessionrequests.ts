import type { GatewayPresenceUpdateData } from 'discord-api-types/v10';
import { type Static, Type } from 'typebox';
import { type FreshId, type GuildId, isSnowflake, type UserId } from './ids.ts';
import { LIMITS } from './limits.ts';
import { lobbyVoiceRequest, type MemberListRequest, memberList, presenceUpdate } from './link.sessions.ts';
import { channelId, guildId, lobbyId, userId } from './link.values.ts';
import {
  fields,
  flag,
  integer,
  list,
  nullable,
  type Schema,
  text,
  type ValueOf,
  variants,
} from './linkschema.ts';
import type { OP } from './opcodes.ts';
import {
  bulkOpcode,
  idOf,
  Nullish,
  type RequestOpcode,
  requestOpcode,
  Snowflake,
  StreamKey,
} from './opcodevalues.ts';
import type { Scope } from './scopes.ts';

/** The opcodes that carry a request, by name. */
type RequestOpcodes<Input> = { readonly [Name in keyof typeof OP]?: RequestOpcode<Input> };

/** Columns of a request's row. Sessions of bots and of people with their own token may send it. */
interface RequestColumns {
  /** The owner that answers it: of the session's user, or of the guild that the input names. */
  readonly answeredBy: 'user' | 'guild';
  /** Deadline of the answer, where it may take longer than other calls between shards. */
  readonly deadlineMs?: number;
  /** An application that acts for a user needs one of these scopes; an empty list forbids the request. */
  readonly scopes: readonly Scope[];
  /** `people`: rejects bots. `applications`: only an application that acts for a user may. Absent: all. */
  readonly only?: 'people' | 'applications';
}

/** One request of a session's client: what clients send, and what its session's shard sends to the owner. */
interface SessionRequestRow extends RequestColumns {
  readonly opcodes: RequestOpcodes<unknown>;
  readonly input: Schema<unknown>;
}

/** A row, whose opcodes must produce the input. */
const row = <Input, const Columns extends RequestColumns>(
  input: Schema<Input>,
  opcodes: RequestOpcodes<NoInfer<Input>>,
  columns: Columns,
) => ({ input, opcodes, ...columns });

const place = fields({ guildId: nullable(guildId), channelId });

/** Activities are not validated here: `engine/presence` drops malformed ones. */
export const Presence = Type.Object({
  since: Nullish(Type.Number()),
  activities: Nullish(Type.Array(Type.Object({}))),
  status: Nullish(Type.Enum(['online', 'dnd', 'idle', 'invisible', 'offline'])),
  afk: Nullish(Type.Boolean()),
});

/** Fills in the defaults of a presence. */
export function presenceOf(given: Static<typeof Presence>): GatewayPresenceUpdateData | null {
  const { since, activities, status, afk } = given;
  const presence: object = {
    since: since ?? null,
    activities: activities ?? [],
    status: status ?? 'online',
    afk: afk ?? false,
  };
  return presenceUpdate.accepts(presence) ? presence : null;
}

const One = <S extends typeof Snowflake>(schema: S) =>
  Type.Union([schema, Type.Array(schema, { minItems: 1, maxItems: 1 })]);

/** Older libraries send the guild as an array of one, and a single user without an array. */
const RequestMembers = Type.Object({
  guild_id: One(Snowflake),
  query: Nullish(Type.String()),
  user_ids: Nullish(Type.Union([Snowflake, Type.Array(Snowflake)])),
  limit: Nullish(Type.Integer({ minimum: 0 })),
  presences: Nullish(Type.Boolean()),
  nonce: Nullish(Type.Union([Type.String(), Type.Integer(), Type.BigInt()])),
});
type RequestMembersData = Static<typeof RequestMembers>;

/** The nonce as a string; null if it is too long, and the chunks then carry no nonce. */
function nonceOf(given: RequestMembersData['nonce']): string | null {
  if (given == null) return null;
  const nonce = String(given);
  return Buffer.byteLength(nonce) <= LIMITS.member_request_nonce_bytes_max ? nonce : null;
}

/**
 * Exactly one of `query` and `userIds` is not null. `query` is the prefix of a name; with `limit` 0 it is empty and requests
 * every member. `limit` and the number of ids are at most 100, `nonce` 32 bytes.
 */
const membersRequest = fields({
  ...{ guildId, query: nullable(text), userIds: nullable(list(userId)), limit: integer },
  ...{ presences: flag, nonce: nullable(text) },
});
export type MembersRequest = ValueOf<typeof membersRequest>;

/** User ids take precedence over a query. A query returns 100 members at most, unless it asks for all. */
function wantedMembers(d: RequestMembersData): Pick<MembersRequest, 'query' | 'userIds' | 'limit'> | null {
  if (d.user_ids != null) {
    const given = Array.isArray(d.user_ids) ? d.user_ids : [d.user_ids];
    const userIds = given.slice(0, LIMITS.member_request_ids_max).map(idOf);
    return { query: null, userIds, limit: userIds.length };
  }
  if (d.query == null) return null;
  const limit = d.limit ?? 0;
  const max = LIMITS.member_query_results_max;
  const all = d.query === '' && limit === 0;
  return { query: d.query, userIds: null, limit: all ? 0 : Math.min(limit === 0 ? max : limit, max) };
}

/** What clients also send here, such as `typing` and `activities`, changes nothing: people's sessions receive all of it. */
const subscriptions = {
  /** Ranges of rows, by channel. */
  channels: Nullish(
    Type.Record(
      Type.String(),
      Type.Union([Type.Array(Type.Tuple([Type.Integer(), Type.Integer()])), Type.Null()]),
    ),
  ),
  members: Nullish(Type.Array(Snowflake)),
};
type Subscriptions = Static<ReturnType<typeof Type.Object<typeof subscriptions>>>;

/** Names that are no ids, and what is beyond the bounds, are left out. */
function memberListOf(guildId: FreshId, { channels, members }: Subscriptions): MemberListRequest {
  const named = Object.entries(channels ?? {}).filter(([id]) => isSnowflake(id));
  const lists = named.map(([id, ranges]) => ({
    channelId: idOf(id),
    ranges: (ranges ?? []).slice(0, LIMITS.member_list_ranges_max),
  }));
  return {
    guildId,
    channels: channels ? lists.slice(0, LIMITS.member_list_channels_max) : null,
    memberIds: members ? [...new Set(members.slice(0, LIMITS.member_list_named_max).map(idOf))] : null,
    atMs: 0,
  };
}

const muting = {
  self_mute: Nullish(Type.Boolean()),
  self_deaf: Nullish(Type.Boolean()),
  self_video: Nullish(Type.Boolean()),
};
const mutingOf = (d: Static<ReturnType<typeof Type.Object<typeof muting>>>) => ({
  selfMute: d.self_mute ?? false,
  selfDeaf: d.self_deaf ?? false,
  selfVideo: d.self_video ?? false,
});

const CHANNEL_INFO_FIELDS = ['status', 'voice_start_time'] as const;

const ofStream = Type.Object({ stream_key: StreamKey });

/** The requests of a session's client by name, one row each: the input for the owner, the opcodes that carry it, and its columns. */
export const SESSION_REQUESTS = {
  presence: row(
    presenceUpdate,
    { PRESENCE_UPDATE: requestOpcode(Presence, presenceOf) },
    { answeredBy: 'user', scopes: ['activities.write', 'presences.write'] },
  ),
  members: row(
    membersRequest,
    {
      REQUEST_GUILD_MEMBERS: requestOpcode(RequestMembers, (d) => {
        const wanted = wantedMembers(d);
        const [guild] = [d.guild_id].flat();
        if (!wanted || guild === undefined) return null;
        return { ...wanted, guildId: idOf(guild), presences: d.presences ?? false, nonce: nonceOf(d.nonce) };
      }),
    },
    // A member list is delivered at the pace of the client's socket.
    { answeredBy: 'guild', deadlineMs: 5 * 60_000, scopes: [] },
  ),
  /** Null leaves that part of the session's request for the guild as it is. */
  memberList: row(
    memberList,
    {
      GUILD_SUBSCRIPTIONS: requestOpcode(Type.Object({ guild_id: Snowflake, ...subscriptions }), (d) =>
        memberListOf(idOf(d.guild_id), d),
      ),
      GUILD_SUBSCRIPTIONS_BULK: bulkOpcode(
        Type.Object({ subscriptions: Type.Record(Type.String(), Type.Object(subscriptions)) }),
        (d) =>
          Object.entries(d.subscriptions).flatMap(([id, each]) =>
            isSnowflake(id) ? [memberListOf(idOf(id), each)] : [],
          ),
      ),
    },
    { answeredBy: 'guild', scopes: [], only: 'people' },
  ),
  /** `guild_id` is null for calls outside guilds. */
  voiceState: row(
    fields({
      ...{ guildId: nullable(guildId), channelId: nullable(channelId) },
      ...{ selfMute: flag, selfDeaf: flag, selfVideo: flag },
    }),
    {
      VOICE_STATE_UPDATE: requestOpcode(
        Type.Object({ guild_id: Nullish(Snowflake), channel_id: Nullish(Snowflake), ...muting }),
        (d) => ({
          guildId: d.guild_id == null ? null : idOf(d.guild_id),
          channelId: d.channel_id == null ? null : idOf(d.channel_id),
          ...mutingOf(d),
        }),
      ),
    },
    { answeredBy: 'user', scopes: ['voice'] },
  ),
  /** Answered with one SOUNDBOARD_SOUNDS per guild. */
  soundboard: row(
    list(guildId),
    {
      REQUEST_SOUNDBOARD_SOUNDS: requestOpcode(Type.Object({ guild_ids: Type.Array(Snowflake) }), (d) => [
        ...new Set(d.guild_ids.map(idOf)),
      ]),
    },
    { answeredBy: 'user', scopes: [] },
  ),
  /** Unknown fields are omitted from the answer. */
  channelInfo: row(
    fields({ guildId, fields: list(text) }),
    {
      REQUEST_CHANNEL_INFO: requestOpcode(
        Type.Object({ guild_id: Snowflake, fields: Type.Array(Type.String()) }),
        (d) => ({
          guildId: idOf(d.guild_id),
          fields: CHANNEL_INFO_FIELDS.filter((field) => d.fields.includes(field)),
        }),
      ),
    },
    { answeredBy: 'guild', scopes: [] },
  ),
  /** The list names all lobbies whose calls the session is in; it leaves the call of any other lobby. */
  lobbyVoice: row(
    list(lobbyVoiceRequest),
    {
      LOBBY_VOICE_STATES: requestOpcode(
        Type.Array(Type.Object({ lobby_id: Snowflake, ...muting }), {
          maxItems: LIMITS.lobbies_per_user_max,
        }),
        (d) => d.map((state) => ({ lobbyId: idOf(state.lobby_id), ...mutingOf(state) })),
      ),
    },
    { answeredBy: 'user', scopes: ['lobbies.write'], only: 'applications' },
  ),
  /** Answered with LOBBY_VOICE_SERVER_UPDATE if the session is in that lobby's call and has not connected to it. */
  lobbyVoiceServer: row(
    lobbyId,
    {
      LOBBY_VOICE_SERVER_PING: requestOpcode(Type.Object({ lobby_id: Snowflake }), (d) => idOf(d.lobby_id)),
    },
    { answeredBy: 'user', scopes: ['lobbies.write'], only: 'applications' },
  ),
  /** `place`: the voice channel of the session's user, in which the stream starts. */
  stream: row(
    variants('type', {
      create: { place },
      ...{ delete: { streamKey: text }, watch: { streamKey: text }, ping: { streamKey: text } },
      setPaused: { streamKey: text, paused: flag },
    }),
    {
      // The preferred region is ignored: there is only one.
      STREAM_CREATE: requestOpcode(
        Type.Object({
          type: Type.Enum(['guild', 'call']),
          guild_id: Nullish(Snowflake),
          channel_id: Snowflake,
        }),
        (d) => {
          const isGuild = d.type === 'guild';
          if (isGuild && d.guild_id == null) return null;
          const inGuild = isGuild && d.guild_id != null ? idOf(d.guild_id) : null;
          return { type: 'create', place: { guildId: inGuild, channelId: idOf(d.channel_id) } };
        },
      ),
      STREAM_DELETE: requestOpcode(ofStream, (d) => ({ type: 'delete', streamKey: d.stream_key })),
      STREAM_WATCH: requestOpcode(ofStream, (d) => ({ type: 'watch', streamKey: d.stream_key })),
      STREAM_PING: requestOpcode(ofStream, (d) => ({ type: 'ping', streamKey: d.stream_key })),
      STREAM_SET_PAUSED: requestOpcode(
        Type.Object({ stream_key: StreamKey, paused: Type.Boolean() }),
        (d) => ({ type: 'setPaused', streamKey: d.stream_key, paused: d.paused }),
      ),
    },
    { answeredBy: 'user', scopes: ['voice'], only: 'people' },
  ),
} satisfies Readonly<Record<string, SessionRequestRow>>;

type Rows = typeof SESSION_REQUESTS;
export type RequestName = keyof Rows;
/** The input of each request, by its name. */
export type Requests = { readonly [N in RequestName]: ValueOf<Rows[N]['input']> };
export type SessionRequest = {
  readonly [N in RequestName]: { readonly name: N; readonly input: Requests[N] };
}[RequestName];

/** The requests that the owner of a guild answers. */
export type GuildRequest = {
  readonly [N in RequestName]: Rows[N]['answeredBy'] extends 'guild'
    ? Extract<SessionRequest, { readonly name: N }>
    : never;
}[RequestName];

export const isGuildRequest = (request: SessionRequest): request is GuildRequest =>
  SESSION_REQUESTS[request.name].answeredBy === 'guild';

/** The id whose owner answers a request of this user's session. */
export const answererOf = (request: SessionRequest, userId: UserId): GuildId | UserId =>
  isGuildRequest(request) ? request.input.guildId : userId;

export const isRequestName = (name: string): name is RequestName => Object.hasOwn(SESSION_REQUESTS, name);
export const requestRow = (name: RequestName): SessionRequestRow => SESSION_REQUESTS[name];

export type VoiceStateRequest = Requests['voiceState'];
export type StreamRequest = Requests['stream'];
