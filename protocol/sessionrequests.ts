import type { GuildId, UserId } from './ids.ts';
import { presenceUpdate } from './link.sessions.ts';
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
import type { Scope } from './scopes.ts';

/** One request of a session's client, after it was parsed. Sessions of bots and of people with their own token may send it. */
interface SessionRequestRow {
  readonly input: Schema<unknown>;
  /** The owner that answers it: of the session's user, or of the guild that the input names. */
  readonly answeredBy: 'user' | 'guild';
  /** Deadline of the answer, where it may take longer than other calls between shards. */
  readonly deadlineMs?: number;
  /** An application that acts for a user needs one of these scopes; an empty list forbids the request. */
  readonly scopes: readonly Scope[];
  /** `people`: rejects bots. `applications`: only an application that acts for a user may. Absent: all. */
  readonly only?: 'people' | 'applications';
}

const place = fields({ guildId: nullable(guildId), channelId });

/** The requests of a session's client by name, one row each, as the session's shard sends them to the owner. */
export const SESSION_REQUESTS = {
  /** Update Presence (op 3). */
  presence: { input: presenceUpdate, answeredBy: 'user', scopes: ['activities.write', 'presences.write'] },
  /**
   * Request Guild Members (op 8). Exactly one of `query` and `userIds` is not null. `query` is the prefix of a name; with
   * `limit` 0 it is empty and requests every member. `limit` and the number of ids are at most 100, `nonce` 32 bytes.
   */
  members: {
    input: fields({
      ...{ guildId, query: nullable(text), userIds: nullable(list(userId)), limit: integer },
      ...{ presences: flag, nonce: nullable(text) },
    }),
    answeredBy: 'guild',
    // A member list is delivered at the pace of the client's socket.
    deadlineMs: 5 * 60_000,
    scopes: [],
  },
  /** Update Voice State (op 4). */
  voiceState: {
    input: fields({
      ...{ guildId: nullable(guildId), channelId: nullable(channelId) },
      ...{ selfMute: flag, selfDeaf: flag, selfVideo: flag },
    }),
    answeredBy: 'user',
    scopes: ['voice'],
  },
  /** Request Soundboard Sounds (op 31). */
  soundboard: { input: list(guildId), answeredBy: 'user', scopes: [] },
  /** Request Channel Info (op 43). `fields` are of `status` and `voice_start_time`. */
  channelInfo: { input: fields({ guildId, fields: list(text) }), answeredBy: 'guild', scopes: [] },
  /** Lobby Voice States (op 17). The session leaves the voice of every lobby without an entry. */
  lobbyVoice: {
    input: list(fields({ lobbyId, selfMute: flag, selfDeaf: flag, selfVideo: flag })),
    answeredBy: 'user',
    scopes: ['lobbies.write'],
    only: 'applications',
  },
  /** Lobby Voice Server Ping (op 42): requests the voice server of a lobby's call again. */
  lobbyVoiceServer: { input: lobbyId, answeredBy: 'user', scopes: ['lobbies.write'], only: 'applications' },
  /** The stream opcodes (18 to 22). `place`: the voice channel of the session's user, in which the stream starts. */
  stream: {
    input: variants('type', {
      create: { place },
      ...{ delete: { streamKey: text }, watch: { streamKey: text }, ping: { streamKey: text } },
      setPaused: { streamKey: text, paused: flag },
    }),
    answeredBy: 'user',
    scopes: ['voice'],
    only: 'people',
  },
} as const satisfies Readonly<Record<string, SessionRequestRow>>;

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

export type MembersRequest = Requests['members'];
export type VoiceStateRequest = Requests['voiceState'];
/** One entry of Lobby Voice States. */
export type LobbyVoiceRequest = Requests['lobbyVoice'][number];
export type StreamRequest = Requests['stream'];
