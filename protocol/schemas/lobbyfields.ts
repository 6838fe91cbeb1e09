import type { UserId } from '../ids.ts';
import { LIMITS } from '../limits.ts';
import {
  type ChangeOf,
  type FieldsOf,
  flag,
  ids,
  integer,
  oneOf,
  type Rows,
  text,
  texts,
  url,
} from './fields.ts';

/**
 * The fields of a lobby that its application may set, one row each. Types, defaults and all schemas derive from the rows,
 * and the store keeps a lobby whole, so that a new field needs nothing else until a rule depends on it.
 *
 * @source https://docs.discord.com/developers/resources/lobby#lobby-object
 */
export const LOBBY_FIELDS = {
  /** 1: only users who have authorised the application may write in the linked channel. */
  flags: { value: oneOf(0, 1), initial: 0, shownTo: 'everyone', onNull: 'unchanged' },
  metadata: { value: texts(25, 1_024), initial: null, shownTo: 'everyone' },
  /** Target of this lobby's webhook events, in place of the application's URL. Clients cannot set it. */
  override_event_webhooks_url: { value: url(512), initial: null, shownTo: 'server' },
  /** Seconds without a connected member after which the lobby ends. */
  idle_timeout_seconds: {
    value: integer(LIMITS.lobby_idle_sec_min, LIMITS.lobby_idle_sec_max),
    initial: LIMITS.lobby_idle_sec_default,
    shownTo: 'nobody',
    onNull: 'initial',
  },
} as const satisfies Rows;

/**
 * The settings of a lobby that the platform does not have, one row each. All are off by default.
 */
export const LOBBY_SETTINGS = {
  /** Search finds the lobby, and users may join it without a secret. */
  listed: { value: flag, initial: false, shownTo: 'everyone' },
  /** Below the platform's own bound; null for that bound, which is then shown. */
  max_members: { value: integer(1, LIMITS.lobby_members_max), initial: null, shownTo: 'everyone' },
  /** Only the application's server adds members. */
  locked: { value: flag, initial: false, shownTo: 'everyone' },
  /** Keyed hash, hexadecimal. Required from users who join without the secret. Replies show whether there is one. */
  password_hash: { value: text(1, 128), initial: null, shownTo: 'nobody', internal: true },
  /** The only users who may join; null for everyone. */
  invited: { value: ids<UserId>('user', LIMITS.lobby_members_max), initial: null, shownTo: 'everyone' },
  /** The lobby has a host; the next one is elected when the host is disconnected for this long. Null for no host. */
  host_grace_seconds: {
    value: integer(0, LIMITS.lobby_host_grace_sec_max),
    initial: null,
    shownTo: 'everyone',
  },
  /** The game of the embedding program that the lobby plays. */
  game: { value: text(1, LIMITS.lobby_game_name_chars_max), initial: null, shownTo: 'everyone' },
} as const satisfies Rows;

export type LobbyFields = FieldsOf<typeof LOBBY_FIELDS>;
/** A change of a lobby's fields. An absent key keeps its field. */
export type LobbyChange = ChangeOf<typeof LOBBY_FIELDS>;

export type LobbySettings = FieldsOf<typeof LOBBY_SETTINGS>;
export type SettingsChange = ChangeOf<typeof LOBBY_SETTINGS>;
