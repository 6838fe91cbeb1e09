import type { GatewayPresenceUpdateData } from 'discord-api-types/v10';
import type { Authorization } from '../../engine/oauth/authorization.ts';
import { LinkFault } from '../../protocol/faults.ts';
import type { ChannelId, GuildId, UserId } from '../../protocol/ids.ts';
import { SESSION_REQUESTS } from '../../protocol/link.sessions.ts';
import type { Scope } from '../../protocol/scopes.ts';

/** Request Guild Members (op 8) after it was parsed. Exactly one of `query` and `userIds` is not null. */
export interface MembersRequest {
  readonly guildId: GuildId;
  /** Prefix of a name; with `limit` 0 it is empty and requests every member. */
  readonly query: string | null;
  /** At most 100. */
  readonly userIds: readonly UserId[] | null;
  /** At most 100; 0 only to request every member. */
  readonly limit: number;
  readonly presences: boolean;
  /** At most 32 bytes. */
  readonly nonce: string | null;
}

/** One entry of Lobby Voice States (op 17). The session leaves every lobby without an entry. */
export interface LobbyVoiceRequest {
  readonly lobbyId: ChannelId;
  readonly selfMute: boolean;
  readonly selfDeaf: boolean;
  readonly selfVideo: boolean;
}

/** Voice State Update (op 4) after it was parsed. */
export interface VoiceStateRequest {
  readonly guildId: GuildId | null;
  readonly channelId: ChannelId | null;
  readonly selfMute: boolean;
  readonly selfDeaf: boolean;
  readonly selfVideo: boolean;
}

/** The stream opcodes (18 to 22) after they were parsed. */
export type StreamRequest =
  | {
      readonly type: 'create';
      /** The voice channel of the session's user, in which the stream starts. */
      readonly place: { readonly guildId: GuildId | null; readonly channelId: ChannelId };
    }
  | { readonly type: 'delete' | 'watch' | 'ping'; readonly streamKey: string }
  | { readonly type: 'setPaused'; readonly streamKey: string; readonly paused: boolean };

/** The parsed requests of a session's client: the input of each request, by its name. */
export interface Requests {
  /** Update Presence (op 3). */
  presence: GatewayPresenceUpdateData;
  /** Request Guild Members (op 8). */
  members: MembersRequest;
  /** Update Voice State (op 4). */
  voiceState: VoiceStateRequest;
  /** Request Soundboard Sounds (op 31). */
  soundboard: readonly GuildId[];
  /** Request Channel Info (op 43). `fields` are of `status` and `voice_start_time`. */
  channelInfo: { readonly guildId: GuildId; readonly fields: readonly string[] };
  /** Lobby Voice States (op 17): the complete list of lobbies whose voice the session joins. */
  lobbyVoice: readonly LobbyVoiceRequest[];
  /** Lobby Voice Server Ping (op 42): requests the voice server of a lobby's call again. */
  lobbyVoiceServer: ChannelId;
  /** The stream opcodes (18 to 22). */
  stream: StreamRequest;
}

export type RequestName = keyof Requests;

/** A request of a session of another shard. @throws LinkFault when no request has this name and input. */
export function requestOf(name: string, input: unknown): SessionRequest {
  const request = { name, input };
  if (!isRequest(request)) throw new LinkFault('failed', 'Malformed request of a session.');
  return request;
}

const isRequest = (request: { readonly name: string; readonly input: unknown }): request is SessionRequest =>
  isRequestName(request.name) && SESSION_REQUESTS[request.name].accepts(request.input);

const isRequestName = (name: string): name is RequestName => Object.hasOwn(SESSION_REQUESTS, name);

export type SessionRequest = {
  readonly [N in RequestName]: { readonly name: N; readonly input: Requests[N] };
}[RequestName];

/**
 * Permission to send a request, by kind of session. Sessions of bots and of people with their own token may, unless `only`
 * says otherwise.
 */
interface Row {
  /** An application that acts for a user needs one of these scopes; an empty list forbids the request. */
  readonly scopes: readonly Scope[];
  /** `people`: rejects bots. `applications`: only an application that acts for a user may. Absent: all. */
  readonly only?: 'people' | 'applications';
}

const ROWS: { readonly [N in RequestName]: Row } = {
  presence: { scopes: ['activities.write', 'presences.write'] },
  members: { scopes: [] },
  voiceState: { scopes: ['voice'] },
  soundboard: { scopes: [] },
  channelInfo: { scopes: [] },
  lobbyVoice: { scopes: ['lobbies.write'], only: 'applications' },
  lobbyVoiceServer: { scopes: ['lobbies.write'], only: 'applications' },
  stream: { scopes: ['voice'], only: 'people' },
};

/**
 * Whether a session may send a request. An application's permissions for its user expire with its token, although the
 * session receives dispatches until another token resumes it.
 */
export function mayAsk(
  name: RequestName,
  { bot, authorization }: { readonly bot: boolean; readonly authorization: Authorization | null },
  unixMs: number,
): boolean {
  const { scopes, only } = ROWS[name];
  if (bot && only === 'people') return false;
  if (!authorization) return only !== 'applications';
  return unixMs < authorization.expiresMs && scopes.some((scope) => authorization.scopes.has(scope));
}
