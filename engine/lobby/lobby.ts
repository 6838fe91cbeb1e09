import type { ApplicationId, ChannelId, GuildId, MessageId, UserId } from '../../protocol/ids.ts';
import { isRecord } from '../../protocol/json.ts';
import type { APIUser } from '../../protocol/objects.ts';
import { keysOf } from '../../protocol/present.ts';
import { type Refusal, refusal } from '../../protocol/refusal.ts';
import { initialOf, type Rows } from '../../protocol/schemas/fields.ts';
import {
  LOBBY_FIELDS,
  LOBBY_SETTINGS,
  type LobbyChange,
  type LobbyFields,
  type LobbySettings,
} from '../../protocol/schemas/lobbyfields.ts';
import type { SessionRef } from '../fanout/direct.ts';
import type { GuildChannel } from '../guild/guild.ts';
import type { Authority, By } from '../kernel/authority.ts';
import { cleanMetadata, type Metadata } from './metadata.ts';

/** A lobby without its members. Keys are the wire's where the wire has them. */
export interface Lobby extends LobbyFields {
  readonly id: ChannelId;
  readonly application_id: ApplicationId;
  /** Made by a client with a secret: clients may join and leave it, and it cannot be linked. */
  readonly by_secret: boolean;
  /** Unix milliseconds since which no member is connected; null while one is, or while the lobby is linked. */
  readonly idle_since_ms: number | null;
  readonly linked: LobbyLink | null;
  /** Settings beyond the platform's; absent for the defaults. */
  readonly settings?: LobbySettings;
  /** Only set when the settings require a host. */
  readonly host_id?: UserId | null;
}

/** The channel that mirrors the messages of a lobby, and the reverse. */
export interface LobbyLink {
  readonly guild_id: GuildId;
  /** As the guild last sent it. */
  readonly channel: GuildChannel;
  readonly linked_by: UserId;
  readonly linked_at: string;
}

export interface LobbyMember {
  /** As of the lobby's load, or of the user's join. */
  readonly user: APIUser;
  readonly metadata: Metadata | null;
  /** 1: may link the lobby to a channel. */
  readonly flags: number;
  /** Shown beside the user's own name; only the application's server sets it. */
  readonly additional_name: string | null;
  /** Unix milliseconds; members are listed in this order. */
  readonly joined_ms: number;
}

export const LOBBY_FLAGS = { REQUIRE_APPLICATION_AUTHORIZATION: 1 } as const;
export const LOBBY_MEMBER_FLAGS = { CAN_LINK_LOBBY: 1 } as const;

/** A message of a lobby as it is stored. The sender's `metadata` is sent once and not stored. */
export interface LobbyMessage {
  readonly id: MessageId;
  readonly channel_id: ChannelId;
  readonly type: 0;
  readonly content: string;
  readonly author: APIUser;
  readonly flags: number;
  readonly application_id: ApplicationId;
  readonly timestamp: string;
  readonly edited_timestamp: string | null;
  /** The sender's name at that time. */
  readonly lobby_member?: { readonly additional_name: string };
  readonly moderation_metadata?: Metadata;
}

/**
 * A member's lobby voice state, in the wire's shape. `channel_id` and `lobby_id` are the lobby; a null `channel_id`
 * means left.
 */
export interface LobbyVoiceState {
  readonly channel_id: ChannelId | null;
  readonly lobby_id: ChannelId;
  readonly user_id: UserId;
  readonly session_id: string;
  readonly deaf: false;
  readonly mute: false;
  readonly self_deaf: boolean;
  readonly self_mute: boolean;
  readonly self_video: boolean;
  readonly suppress: false;
  readonly request_to_speak_timestamp: null;
}

/** A poll of the connected members on whether they are ready. A lobby has one at a time. */
export interface ReadyCheck {
  readonly id: string;
  readonly started_by: UserId;
  /** Unix milliseconds. */
  readonly ends_ms: number;
  /** By the asked user; null until answered. */
  readonly answers: ReadonlyMap<UserId, boolean | null>;
  readonly status: 'open' | 'passed' | 'declined' | 'timed_out' | 'cancelled';
}

/** A listed lobby's entry in search. */
export interface Listing {
  readonly id: ChannelId;
  readonly application_id: ApplicationId;
  readonly members: number;
  readonly capacity: number;
  readonly locked: boolean;
  readonly has_password: boolean;
  readonly invite_only: boolean;
  readonly game: string | null;
  readonly metadata: Metadata;
  /** The values of `metadata` that are numbers, for ranges and order. */
  readonly numbers: Readonly<Record<string, number>>;
}

/** State of the lobby aggregate. Objects in it are replaced, never edited. */
export interface LobbyState {
  lobby: Lobby;
  /** In the order of joining. */
  readonly members: Map<UserId, LobbyMember>;
  /** Window on messages. `null`: known not to exist. */
  readonly messages: Map<MessageId, LobbyMessage | null>;
  /**
   * Open sessions of members in the lobby's application, by session id. They keep it alive and receive its dispatches.
   */
  readonly sessions: Map<string, SessionRef>;
  readonly voiceStates: Map<UserId, LobbyVoiceState>;
  /** Unix milliseconds since which the host has had no session here; null while it has one. */
  hostAwayMs: number | null;
  /** The latest ready check. */
  ready: ReadyCheck | null;
}

/** Fields that did not exist when the lobby was stored get their initial values. */
export const newLobbyState = (lobby: Lobby): Omit<LobbyState, 'messages'> => ({
  lobby: {
    ...INITIAL_FIELDS,
    ...lobby,
    ...(lobby.settings && { settings: { ...NO_SETTINGS, ...lobby.settings } }),
  },
  members: new Map(),
  sessions: new Map(),
  voiceStates: new Map(),
  hostAwayMs: null,
  ready: null,
});

/** When an idle lobby ends, Unix milliseconds; null while it is not idle. Linked lobbies do not end by themselves. */
export function idleAtMs({ idle_since_ms, idle_timeout_seconds, linked }: Lobby): number | null {
  return idle_since_ms === null || linked ? null : idle_since_ms + idle_timeout_seconds * 1_000;
}

export function isConnected({ sessions }: LobbyState, userId: string): boolean {
  for (const session of sessions.values()) if (session.userId === userId) return true;
  return false;
}

export const INITIAL_FIELDS = initialOf(LOBBY_FIELDS);
export const NO_SETTINGS = initialOf(LOBBY_SETTINGS);

const NAMES = keysOf(LOBBY_FIELDS);
const rowOf = (name: keyof LobbyFields): Rows[string] => LOBBY_FIELDS[name];

function fieldAfter(name: keyof LobbyFields, wanted: unknown, current: unknown): unknown {
  if (wanted === undefined) return current;
  const { initial, onNull } = rowOf(name);
  return wanted ?? (onNull === 'unchanged' ? current : initial);
}

/** The lobby after a change; the same object when nothing differs. */
export function changedLobby<L extends LobbyFields>(lobby: L, change: LobbyChange): L {
  const wanted = change.metadata ? { ...change, metadata: cleanMetadata(change.metadata) } : change;
  const differing = NAMES.flatMap((name) => {
    const next = fieldAfter(name, wanted[name], lobby[name]);
    return isSame(lobby[name], next) ? [] : [[name, next] as const];
  });
  return differing.length === 0 ? lobby : { ...lobby, ...Object.fromEntries(differing) };
}

/** Whether two values of a field are equal: primitive values, or flat objects. */
const isSame = (a: unknown, b: unknown): boolean => a === b || (isRecord(a) && isRecord(b) && haveSame(a, b));

function haveSame(a: Readonly<Record<string, unknown>>, b: typeof a): boolean {
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && a[key] === b[key])
  );
}

export const sameMetadata = (a: Metadata | null, b: Metadata | null): boolean => isSame(a, b);

/** The lobby as it should be stored; the same object when it is already. */
export function settled(state: LobbyState, nowMs: number): Lobby {
  const { lobby } = state;
  const inUse = lobby.linked !== null || state.sessions.size > 0;
  if (inUse === (lobby.idle_since_ms === null)) return lobby;
  return { ...lobby, idle_since_ms: inUse ? null : nowMs };
}

/** Hides a lobby from all other applications. */
const foreign = ({ lobby }: LobbyState, by: By): Refusal | null =>
  by.system || by.applicationId === lobby.application_id ? null : refusal('UNKNOWN_LOBBY');

/** Checked before every command's own rule: commands of the server itself refuse everyone else. */
export function callerRefusal(
  state: LobbyState,
  { row, authority: { by } }: { readonly row: { readonly server?: true }; readonly authority: Authority },
): Refusal | null {
  if (row.server && !by.system) return refusal('UNKNOWN_LOBBY');
  return foreign(state, by);
}

/** The caller's member; MISSING_ACCESS for callers who are not members. */
export function callingMember(state: LobbyState, by: By): LobbyMember | Refusal {
  return foreign(state, by) ?? state.members.get(by.userId) ?? refusal('MISSING_ACCESS');
}

export const isRefusal = (value: LobbyMember | Refusal): value is Refusal => 'status' in value;
