import type { ApplicationId, ChannelId, GuildId, MessageId, UserId } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import type { APIUser } from '../../protocol/objects.ts';
import { keysOf } from '../../protocol/present.ts';
import { type Refusal, refusal } from '../../protocol/refusal.ts';
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

/** A lobby's settings beyond the platform's. Every setting is off by default. */
export interface LobbySettings {
  /** Search finds the lobby, and users may join it without a secret. */
  readonly listed: boolean;
  /** Below the platform's own bound; null for that bound. */
  readonly max_members: number | null;
  /** Only the application's server adds members. */
  readonly locked: boolean;
  /** Keyed hash, hexadecimal. Required from users who join without the secret. */
  readonly password_hash: string | null;
  /** The only users who may join; null for everyone. */
  readonly invited: readonly UserId[] | null;
  /** The lobby has a host; the next one is elected when the host is disconnected for this long. Null for no host. */
  readonly host_grace_seconds: number | null;
  /** The game of the embedding program that the lobby plays. */
  readonly game: string | null;
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

export const newLobbyState = (lobby: Lobby): Omit<LobbyState, 'messages'> => ({
  lobby: { ...INITIAL_FIELDS, ...lobby },
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

/** One field of a lobby that its application may set. */
interface Field<T> {
  /** The value in a new lobby, and in one that was stored before the field existed. */
  readonly initial: T;
  /** The value after a change that names the field; null requests its removal. */
  changed(wanted: T | null, current: T): T;
  same(a: T, b: T): boolean;
  /** Visible to everyone who sees the lobby, to the application's server only, or to nobody. */
  readonly shownTo: 'everyone' | 'server' | 'nobody';
}

type Row<T> = Pick<Field<T>, 'initial'> & Partial<Pick<Field<T>, 'changed' | 'same'>>;

/** Makes rows of fields with this visibility. */
const fieldFor =
  <S extends Field<unknown>['shownTo']>(shownTo: S) =>
  <T>(row: Row<T>): Field<T> & { readonly shownTo: S } => ({
    changed: (wanted) => wanted ?? row.initial,
    same: (a, b) => a === b,
    ...row,
    shownTo,
  });
const forEveryone = fieldFor('everyone');
const forServer = fieldFor('server');
const forNobody = fieldFor('nobody');

/**
 * The fields of a lobby that its application may set, one row each. Their schemas in requests are in
 * `transports/rest/resources/lobbies.ts`; the store keeps a lobby whole.
 *
 * @source https://docs.discord.com/developers/resources/lobby#lobby-object
 */
const LOBBY_FIELDS = {
  metadata: forEveryone<Metadata | null>({
    initial: null,
    changed: (wanted) => cleanMetadata(wanted),
    same: sameMetadata,
  }),
  /** 1: only users who have authorised the application may write in the linked channel. Null keeps the value. */
  flags: forEveryone<number>({
    initial: 0,
    changed: (wanted, current) => wanted ?? current,
  }),
  /** Target of this lobby's webhook events, in place of the application's URL. */
  override_event_webhooks_url: forServer<string | null>({ initial: null }),
  /** Seconds without a connected member after which the lobby ends. */
  idle_timeout_seconds: forNobody<number>({ initial: LIMITS.lobby_idle_sec_default }),
};

type Rows = typeof LOBBY_FIELDS;
type Name = keyof Rows;
type ValueOf<F> = F extends Field<infer T> ? T : never;

type LobbyFields = { readonly [K in Name]: ValueOf<Rows[K]> };

type NamesFor<S> = { [K in Name]: Rows[K]['shownTo'] extends S ? K : never }[Name];
/** The fields in a lobby object; fields for the server only in objects for the server. */
export type ShownFields = Pick<LobbyFields, NamesFor<'everyone'>> &
  Partial<Pick<LobbyFields, NamesFor<'server'>>>;

/** A change of a lobby. An absent key keeps its field; for null see `changed` of the row. */
export type LobbyChange = { readonly [K in Name]?: LobbyFields[K] | null };

const NAMES = keysOf(LOBBY_FIELDS);
const rowOf = (name: Name): Field<unknown> => LOBBY_FIELDS[name];

const SHOWN_TO_EVERYONE = NAMES.filter((name) => rowOf(name).shownTo === 'everyone');
const SHOWN_TO_SERVER = NAMES.filter((name) => rowOf(name).shownTo !== 'nobody');

export const INITIAL_FIELDS = Object.fromEntries(
  NAMES.map((name) => [name, rowOf(name).initial]),
) as LobbyFields;

/** The lobby after a change; the same object when nothing differs. */
export function changedLobby<L extends LobbyFields>(lobby: L, change: LobbyChange): L {
  const differing = NAMES.flatMap((name) => {
    const wanted = change[name];
    if (wanted === undefined) return [];
    const row = rowOf(name);
    const next = row.changed(wanted, lobby[name]);
    return row.same(lobby[name], next) ? [] : [[name, next] as const];
  });
  return differing.length === 0 ? lobby : { ...lobby, ...Object.fromEntries(differing) };
}

/** The fields that a lobby object shows. @param server For the application's server, which sees additional fields. */
export const shownFields = (lobby: LobbyFields, server: boolean): ShownFields =>
  Object.fromEntries(
    (server ? SHOWN_TO_SERVER : SHOWN_TO_EVERYONE).map((name) => [name, lobby[name]]),
  ) as ShownFields;

export function sameMetadata(a: Metadata | null, b: Metadata | null): boolean {
  if (a === null || b === null) return a === b;
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && a[key] === b[key])
  );
}

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
