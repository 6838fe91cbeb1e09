import { LIMITS } from '../../protocol/limits.ts';
import { keysOf } from '../../protocol/present.ts';
import { cleanMetadata, type Metadata } from './metadata.ts';

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

export type LobbyFields = { readonly [K in Name]: ValueOf<Rows[K]> };

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
