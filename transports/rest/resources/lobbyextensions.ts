import type { Reply } from '../../../engine/kernel/aggregate.ts';
import type { Authority } from '../../../engine/kernel/authority.ts';
import type { ChannelId, UserId } from '../../../protocol/ids.ts';
import { LIMITS } from '../../../protocol/limits.ts';
import { invalidField, refusal } from '../../../protocol/refusal.ts';
import {
  LobbySearch as LobbySearchObject,
  MatchmakingTicket,
  OpenLobby,
  ReadyCheck,
} from '../../../protocol/schemas/extension.ts';
import { requestsOf } from '../../../protocol/schemas/fields.ts';
import { Lobby } from '../../../protocol/schemas/lobby.ts';
import { LOBBY_FIELDS, LOBBY_SETTINGS } from '../../../protocol/schemas/lobbyfields.ts';
import {
  Any,
  Arr,
  Bool,
  Choice,
  Dict,
  Int,
  Nullable,
  Num,
  Obj,
  OneOf,
  Optional,
  Snowflake,
  type Static,
  Str,
} from '../../../protocol/schemas/request.ts';
import { none } from '../../../protocol/schemas/schema.ts';
import type { LobbyFilter, LobbySearch } from '../../../storage/lobby/port.ts';
import { BODY_BYTES } from '../bodysize.ts';
import { type Answer, type Bucket, op, resource } from '../operation.ts';

// All bounds and limits here are this server's own: the platform has none of these routes.
const BASE = '/guildhall/v1';
const WRITES: Bucket = { per: null, limit: 20, windowMs: 1_000 };
const READS: Bucket = { per: null, limit: 50, windowMs: 1_000 };
const SEARCHES: Bucket = { per: null, limit: 5, windowMs: 1_000 };
/** Joins, which may be guesses at a password. */
const ENTRIES: Bucket = { per: null, limit: 10, windowMs: 10_000 };
const MESSAGES: Bucket = { per: null, limit: 40, windowMs: 1_000 };
const TICKETS: Bucket = { per: null, limit: 10, windowMs: 10_000 };

const KEYS_MAX = 25;
const CHARS_MAX = 1_024;
const NUMBER_MAX = 1e15;

const Meta = () => Optional(Nullable(Dict(Str(0, CHARS_MAX), KEYS_MAX)));
const Key = () => Str(1, CHARS_MAX);
const Value = () => OneOf(Num(-NUMBER_MAX, NUMBER_MAX), Str(0, CHARS_MAX));
const Bound = () => Optional(Nullable(Num(-NUMBER_MAX, NUMBER_MAX)));

const { idle_timeout_seconds } = requestsOf(LOBBY_FIELDS);
const Settings = {
  ...requestsOf(LOBBY_SETTINGS),
  password: Optional(Nullable(Str(1, LIMITS.lobby_password_chars_max))),
};

const Filter = Obj({
  key: Key(),
  is: Choice('equal', 'in', 'range', 'exists'),
  value: Optional(Value()),
  values: Optional(Arr(Value(), LIMITS.lobby_search_values_max, 1)),
  min: Bound(),
  max: Bound(),
  exists: Optional(Bool()),
});

const Search = Obj({
  filters: Optional(Arr(Filter, LIMITS.lobby_search_filters_max)),
  game: Optional(Nullable(Str(1, LIMITS.lobby_game_name_chars_max))),
  open_only: Optional(Bool()),
  sort: Optional(
    Obj({
      by: Choice('created', 'members', 'metadata'),
      key: Optional(Key()),
      order: Optional(Choice('ascending', 'descending')),
    }),
  ),
  limit: Optional(Int(1, LIMITS.lobby_search_page_max)),
});

const no = (name: 'INVALID_OAUTH2_ACCESS_TOKEN' | 'INVALID_FORM_BODY'): Answer => ({
  ok: false,
  refusal: refusal(name),
});

/** Refuses the request because of one invalid field. */
function wrong(path: readonly (string | number)[], message: string): Answer {
  return { ok: false, refusal: invalidField(path, 'BASE_TYPE_REQUIRED', message) };
}

/** Refuses callers that act for no application: lobbies belong to an application. */
const owned = (authority: Authority, run: () => Promise<Reply<unknown>>): Promise<Answer> | Answer =>
  authority.by.applicationId ? run() : no('INVALID_OAUTH2_ACCESS_TOKEN');

/** Copies only the keys that the body has, because an absent key leaves the stored value unchanged. */
function changeOf({ password, ...body }: Static<typeof SettingsBody>) {
  const named = Object.entries(body).filter(([, value]) => value !== undefined);
  return { change: Object.fromEntries(named), password };
}
const SettingsBody = Obj(Settings);

function filterOf({ key, is, value, values, min, max, exists }: Static<typeof Filter>): LobbyFilter | null {
  switch (is) {
    case 'equal':
      return value === undefined ? null : { key, is, value };
    case 'in':
      return values === undefined ? null : { key, is, values };
    case 'range':
      return min == null && max == null ? null : { key, is, min: min ?? null, max: max ?? null };
    case 'exists':
      return { key, is, exists: exists ?? true };
  }
}

function sortOf({ sort }: Static<typeof Search>): LobbySearch['sort'] | null {
  const { by, key, order } = sort ?? { by: 'created' as const };
  const descending = (order ?? 'descending') === 'descending';
  if (by !== 'metadata') return { by, descending };
  return key === undefined ? null : { by, key, descending };
}

const isSmall = (data: unknown): boolean =>
  Buffer.byteLength(JSON.stringify(data ?? null)) <= LIMITS.lobby_game_message_bytes_max;

const scoped = { auth: 'any', scope: 'lobbies.write' } as const;

/** Lobby and matchmaking operations that extend the platform's. */
export const lobbyExtensions = resource({
  search_lobbies: op({
    ...scoped,
    method: 'POST',
    path: `${BASE}/lobbies/search`,
    bucket: SEARCHES,
    bodyBytesMax: BODY_BYTES.texts,
    body: Search,
    status: 200,
    reply: LobbySearchObject,
    handle: ({ body, authority }, { lobbies }) => {
      const filters: LobbyFilter[] = [];
      for (const [index, given] of (body.filters ?? []).entries()) {
        const filter = filterOf(given);
        if (!filter) return wrong(['filters', index], 'This filter lacks what it compares with');
        filters.push(filter);
      }
      const sort = sortOf(body);
      if (!sort) return wrong(['sort', 'key'], 'This field is required');
      const game = body.game ?? null;
      const search = {
        filters,
        game,
        openOnly: body.open_only ?? false,
        sort,
        limit: body.limit ?? LIMITS.lobby_search_page_default,
      };
      return owned(authority, async () => {
        const found = await lobbies.extensions.search(search, authority);
        return found.ok ? { ok: true, value: { lobbies: found.value.map(listed) } } : found;
      });
    },
  }),

  create_open_lobby: op({
    ...scoped,
    method: 'POST',
    path: `${BASE}/lobbies`,
    bucket: WRITES,
    bodyBytesMax: BODY_BYTES.texts,
    body: Obj({
      ...Settings,
      metadata: Meta(),
      member_metadata: Meta(),
      idle_timeout_seconds,
    }),
    status: 201,
    reply: OpenLobby,
    handle: ({ body, authority }, { lobbies }) => {
      const { metadata = null, member_metadata, idle_timeout_seconds = null, ...rest } = body;
      const { change: settings, password } = changeOf(rest);
      const change = { metadata, idle_timeout_seconds };
      const member = member_metadata ? { metadata: member_metadata } : {};
      const input = { change, settings, member, ...(password !== undefined && { password }) };
      return owned(authority, () => lobbies.extensions.create(input, authority));
    },
  }),

  get_open_lobby: op({
    ...scoped,
    method: 'GET',
    path: `${BASE}/lobbies/:lobby_id`,
    bucket: READS,
    status: 200,
    reply: OpenLobby,
    handle: ({ params, authority }, { lobbies }) =>
      owned(authority, () => lobbies.call(params.lobby_id, 'getBeyond', {}, authority)),
  }),

  edit_lobby_settings: op({
    ...scoped,
    method: 'PATCH',
    path: `${BASE}/lobbies/:lobby_id`,
    bucket: WRITES,
    body: SettingsBody,
    status: 200,
    reply: OpenLobby,
    handle: ({ params, body, authority }, { lobbies }) =>
      owned(authority, () => lobbies.extensions.configure(params.lobby_id, changeOf(body), authority)),
  }),

  join_open_lobby: op({
    ...scoped,
    method: 'PUT',
    path: `${BASE}/lobbies/:lobby_id/members/@me`,
    bucket: ENTRIES,
    body: Obj({ password: Optional(Nullable(Str(1, LIMITS.lobby_password_chars_max))), metadata: Meta() }),
    status: 200,
    reply: Lobby,
    handle: ({ params, body, authority }, { lobbies }) => {
      const member = body.metadata === undefined ? {} : { metadata: body.metadata };
      const input = { password: body.password ?? null, member };
      return owned(authority, () => lobbies.extensions.enter(params.lobby_id, input, authority));
    },
  }),

  set_lobby_host: op({
    ...scoped,
    method: 'PUT',
    path: `${BASE}/lobbies/:lobby_id/host`,
    bucket: WRITES,
    body: Obj({ user_id: Snowflake<UserId>() }),
    status: 200,
    reply: OpenLobby,
    handle: ({ params, body, authority }, { lobbies }) => {
      const userId = body.user_id;
      return owned(authority, () => lobbies.call(params.lobby_id, 'setHost', { userId }, authority));
    },
  }),

  start_lobby_ready_check: op({
    ...scoped,
    method: 'POST',
    path: `${BASE}/lobbies/:lobby_id/ready-check`,
    bucket: WRITES,
    body: Obj({
      timeout_seconds: Optional(Int(LIMITS.lobby_ready_check_sec_min, LIMITS.lobby_ready_check_sec_max)),
    }),
    status: 201,
    reply: ReadyCheck,
    handle: ({ params, body, authority }, { lobbies }) => {
      const timeoutMs = (body.timeout_seconds ?? LIMITS.lobby_ready_check_sec_default) * 1_000;
      return owned(authority, () =>
        lobbies.call(params.lobby_id, 'startReadyCheck', { timeoutMs }, authority),
      );
    },
  }),

  answer_lobby_ready_check: op({
    ...scoped,
    method: 'PUT',
    path: `${BASE}/lobbies/:lobby_id/ready-check/@me`,
    bucket: WRITES,
    body: Obj({ ready: Bool() }),
    status: 200,
    reply: ReadyCheck,
    handle: ({ params, body, authority }, { lobbies }) =>
      owned(authority, () => lobbies.call(params.lobby_id, 'answerReadyCheck', body, authority)),
  }),

  cancel_lobby_ready_check: op({
    ...scoped,
    method: 'DELETE',
    path: `${BASE}/lobbies/:lobby_id/ready-check`,
    bucket: WRITES,
    status: 200,
    reply: ReadyCheck,
    handle: ({ params, authority }, { lobbies }) =>
      owned(authority, () => lobbies.call(params.lobby_id, 'cancelReadyCheck', {}, authority)),
  }),

  send_lobby_game_message: op({
    ...scoped,
    method: 'POST',
    path: `${BASE}/lobbies/:lobby_id/messages`,
    bucket: MESSAGES,
    body: Obj({ type: Str(1, LIMITS.lobby_game_name_chars_max), data: Optional(Any()) }),
    status: 204,
    reply: none,
    handle: ({ params, body, authority }, { lobbies }) => {
      if (!isSmall(body.data))
        return wrong(['data'], `Must be ${LIMITS.lobby_game_message_bytes_max} bytes or fewer of JSON.`);
      return owned(authority, () =>
        lobbies.extensions.speak(params.lobby_id, body.type, body.data ?? null, authority),
      );
    },
  }),

  create_matchmaking_ticket: op({
    ...scoped,
    method: 'POST',
    path: `${BASE}/matchmaking/tickets`,
    bucket: TICKETS,
    bodyBytesMax: BODY_BYTES.texts,
    body: Obj({
      queue: Str(1, LIMITS.lobby_game_name_chars_max),
      properties: Optional(Dict(Value(), LIMITS.match_properties_max)),
      lobby_id: Optional(Nullable(Snowflake<ChannelId>())),
      user_ids: Optional(Nullable(Arr(Snowflake<UserId>(), LIMITS.lobby_members_max, 1))),
    }),
    status: 201,
    reply: MatchmakingTicket,
    handle: ({ body, authority }, { matchmaking }) => {
      const { queue, properties = {} } = body;
      const lobbyId = body.lobby_id ?? null;
      const userIds = body.user_ids ?? null;
      return owned(authority, () => matchmaking.enter({ queue, properties, lobbyId, userIds }, authority));
    },
  }),

  get_matchmaking_ticket: op({
    ...scoped,
    method: 'GET',
    path: `${BASE}/matchmaking/tickets/:ticket_id`,
    bucket: READS,
    status: 200,
    reply: MatchmakingTicket,
    handle: async ({ params, authority }, { matchmaking }) =>
      await matchmaking.get(params.ticket_id, authority),
  }),

  delete_matchmaking_ticket: op({
    ...scoped,
    method: 'DELETE',
    path: `${BASE}/matchmaking/tickets/:ticket_id`,
    bucket: READS,
    status: 200,
    reply: MatchmakingTicket,
    handle: async ({ params, authority }, { matchmaking }) =>
      await matchmaking.cancel(params.ticket_id, authority),
  }),
});

/** A listing in search results: without the internal copy of its numbers. */
const listed = ({ numbers: _, ...listing }: { readonly numbers: object }) => listing;
