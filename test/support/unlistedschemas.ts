import type { unlisted } from '../../transports/rest/resources/index.ts';
import { validateWith } from './openapi.ts';

type Schema = Readonly<Record<string, unknown>>;
type UnlistedId = keyof typeof unlisted;

/** A schema of the published file. */
const ref = (name: string): Schema => ({ $ref: `spec#/components/schemas/${name}` });
const text: Schema = { type: 'string' };
const flag: Schema = { type: 'boolean' };
const count: Schema = { type: 'integer', minimum: 0 };
const uri: Schema = { type: 'string', format: 'uri' };
const time: Schema = { type: 'string', format: 'date-time' };
const id = ref('SnowflakeType');
const list = (items: Schema): Schema => ({ type: 'array', items });
const nullable = (schema: Schema): Schema => ({ oneOf: [{ type: 'null' }, schema] });
const one = (...schemas: readonly Schema[]): Schema => ({ oneOf: schemas });
const is = (...values: readonly unknown[]): Schema => ({ enum: values });
/** An object of these keys and no others. */
const object = (required: Readonly<Record<string, Schema>>, optional: typeof required = {}): Schema => ({
  type: 'object',
  properties: { ...required, ...optional },
  required: Object.keys(required),
  additionalProperties: false,
});
/** A published object with keys that the file does not list. */
const extended = (name: string, more: Readonly<Record<string, Schema>>): Schema => ({
  allOf: [ref(name), { type: 'object', properties: more, required: Object.keys(more) }],
});

const metadata: Schema = { type: 'object', additionalProperties: text };
const session = object({ token: text, user_id: id });
const application = ref('ApplicationResponse');
const secondFactor = object({
  ...{ user_id: id, mfa: is(true), totp: is(true), backup: flag, sms: is(false), ticket: text },
});

/** @source RFC 6749, section 5.1; https://openid.net/specs/openid-connect-core-1_0.html, section 3.1.3.3 */
const tokens = object(
  { token_type: is('Bearer'), access_token: text, expires_in: count, scope: text },
  { refresh_token: text, id_token: text, guild: ref('GuildResponse') },
);
/** @source https://docs.discord.food/resources/discovery#guild-profile-object, what this server has of it */
const guildProfile = object({
  ...{ id, name: text, icon_hash: nullable(text), description: nullable(text), features: list(text) },
  ...{ member_count: count, online_count: count, tag: nullable(text), badge_hash: nullable(text) },
});
/** @source https://docs.discord.food/resources/guild#update-guild-onboarding-responses */
const onboardingAnswers = object({
  ...{ guild_id: id, user_id: id, onboarding_responses: list(id) },
  onboarding_prompts_seen: { type: 'object', additionalProperties: count },
  onboarding_responses_seen: { type: 'object', additionalProperties: count },
});
/** @source RFC 8628, section 3.2 */
const deviceCodes = object({
  ...{ device_code: text, user_code: text, verification_uri: uri, verification_uri_complete: uri },
  ...{ expires_in: count, interval: count },
});
const consent = object(
  {
    ...{ application, scopes: list(text), authorized: flag, redirect_uri: nullable(uri) },
    ...{ integration_type: is(0, 1), permissions: text, disable_guild_select: flag },
    user: ref('UserResponse'),
  },
  { guild_id: id, guilds: list({ type: 'object' }) },
);

/** @source https://docs.discord.food/resources/relationships#relationship-structure */
const relationship = object({
  ...{ id, type: count, user: ref('UserResponse'), nickname: nullable(text), since: time },
  ...{ is_spam_request: flag, stranger_request: flag, user_ignored: flag },
  origin_application_id: nullable(id),
});
const gameRelationship = object({
  ...{ id, application_id: id, type: count, user: ref('UserResponse'), since: time },
  ...{ dm_access_type: count, user_id: id },
});

/** @source https://github.com/discordjs/discord-api-types/blob/main/payloads/v10/applicationIdentityProfile.ts */
const identity = object(
  { user_id: id, provider_type: text, provider_issued_user_id: text },
  { provider_id: text },
);
const identities = object({ identities: list(identity) });
const profile = object({
  username: nullable(text),
  metadata: nullable({ type: 'object' }),
  data: nullable({ type: 'object' }),
});

const readyCheck = object({
  ...{ lobby_id: id, id, started_by: id, ends_at: time },
  status: is('open', 'passed', 'declined', 'timed_out', 'cancelled'),
  answers: list(object({ user_id: id, ready: nullable(flag) })),
});
const openLobby = extended('LobbyResponse', {
  ...{ listed: flag, max_members: count, locked: flag, has_password: flag },
  ...{ invited: nullable(list(id)), host_grace_seconds: nullable(count), host_id: nullable(id) },
  ...{ game: nullable(text), ready_check: nullable(readyCheck) },
});
const listing = object({
  ...{ id, application_id: id, members: count, capacity: count, locked: flag, has_password: flag },
  ...{ invite_only: flag, game: nullable(text), metadata },
});
const ticket = object({
  ...{ id, queue: text, user_ids: list(id), properties: { type: 'object' } },
  ...{ created_at: time, expires_at: time, lobby_id: nullable(id) },
  status: is('waiting', 'matched', 'timed_out', 'cancelled', 'failed'),
});
/** @source https://docs.discord.com/developers/events/gateway-events#activity-object */
const activity: Schema = {
  type: 'object',
  properties: { name: text, type: is(0, 1, 2, 3, 4, 5), created_at: count },
  required: ['name', 'type', 'created_at'],
};
const shownPermissions = object({}, { user: flag, roles: { type: 'object' }, channels: { type: 'object' } });
const commandIndex = {
  200: object({
    applications: list(
      object(
        { id, name: text, description: text, icon: nullable(text), bot_id: nullable(id), flags: text },
        { permissions: shownPermissions, bot: ref('UserResponse') },
      ),
    ),
    application_commands: list({
      type: 'object',
      properties: { id, version: id, name: text, name_default: text, permissions: shownPermissions },
      required: ['id', 'version', 'name', 'name_default'],
    }),
    version: id,
  }),
};

/** @source https://docs.discord.food/topics/gateway-events#embedded-activity-update-v2 */
const embeddedActivity = object({
  ...{ application_id: id, composite_instance_id: text, launch_id: id },
  location: object({ id: text, kind: is('gc', 'pc'), channel_id: id }, { guild_id: id }),
  participants: list(object({ user_id: id })),
});
const sku: Schema = {
  type: 'object',
  properties: { id, application_id: id, type: is(2, 3, 5, 6), name: text, slug: text, flags: count },
  required: ['id', 'application_id', 'type', 'name', 'slug', 'flags'],
};

/** @source https://docs.discord.food/resources/guild#member-verification-object */
const form = object({
  version: time,
  description: nullable(text),
  form_fields: list({
    type: 'object',
    properties: { field_type: is('TERMS', 'TEXT_INPUT', 'PARAGRAPH', 'MULTIPLE_CHOICE'), label: text },
    required: ['field_type', 'label', 'required'],
  }),
});

const settings = object({ direct_messages_from: nullable(text) });

/** An answer without a body. */
const EMPTY = null;
const done = { 204: EMPTY } as const;

/**
 * Responses of operations that the published file does not list, by status: whole objects, made of published schemas
 * where it has one. Every operation has a row, so none is passed over by the relay.
 */
const ANSWERS: Readonly<Record<UnlistedId, Readonly<Record<number, Schema | null>>>> = {
  get_channel_activities: { 200: object({ activities: list(embeddedActivity) }) },
  join_activity: {
    200: object({
      activity: embeddedActivity,
      heartbeat_interval: count,
      origin: nullable(uri),
      permissions: text,
    }),
  },
  leave_activity: done,
  create_interaction: done,
  list_skus: { 200: list(sku) },
  create_sku: { 201: sku },
  edit_sku: { 200: sku },
  get_guild_application_command_index: commandIndex,
  get_channel_application_command_index: commandIndex,
  get_my_application_command_index: commandIndex,
  get_application_command_index: commandIndex,
  create_guild: { 201: ref('GuildResponse') },
  create_guild_from_template: { 201: ref('GuildResponse') },
  delete_guild: done,
  get_guild_member_verification: { 200: form },
  update_guild_member_verification: { 200: form },
  get_my_guild_join_request: { 200: ref('GuildJoinRequestResponse') },
  submit_guild_join_request: { 200: ref('GuildJoinRequestResponse') },
  set_guild_vanity_url: { 200: object({ code: nullable(text), uses: count }) },
  get_guild_profile: { 200: guildProfile },
  update_guild_profile: { 200: guildProfile },
  get_my_teams: { 200: list(ref('TeamResponse')) },
  accept_team_invitation: { 200: ref('TeamResponse') },
  leave_team: done,
  set_my_primary_guild: { 200: ref('UserPIIResponse') },
  set_guild_mfa_level: { 200: object({ level: is(0, 1) }) },
  update_my_guild_nick: { 200: object({ nick: nullable(text) }) },
  post_join_thread: done,
  accept_invite: { 200: extended('GuildInviteResponse', { new_member: flag }) },
  subscribe_guild_scheduled_event: { 200: ref('ScheduledEventUserResponse') },
  unsubscribe_guild_scheduled_event: done,
  subscribe_guild_scheduled_event_exception: { 200: ref('ScheduledEventUserResponse') },
  unsubscribe_guild_scheduled_event_exception: done,
  update_guild_new_member_welcome: { 200: ref('GuildHomeSettingsResponse') },
  submit_guild_onboarding_responses: { 200: onboardingAnswers },
  update_guild_onboarding_responses: { 200: onboardingAnswers },
  vote_poll: done,
  unvote_poll: done,
  ring_call: done,
  stop_ringing_call: done,
  register: { 201: session },
  login: { 200: one(session, secondFactor) },
  login_with_totp: { 200: session },
  begin_device_sign_in: { 200: deviceCodes },
  finish_device_sign_in: { 200: session },
  get_rpc_application: { 200: application },
  logout: done,
  forgot_password: done,
  reset_password: { 200: one(session, object({ user_id: id, mfa: is(true) })) },
  verify_email: { 200: object({ user_id: id }) },
  oauth2_token: { 200: tokens },
  oauth2_token_revoke: { 200: object({}) },
  oauth2_device_authorize: { 200: deviceCodes },
  oauth2_device_verify: {
    200: object({ client_id: id, application, scopes: list(text), two_way_link_code: is(null), type: text }),
  },
  oauth2_device_finish: done,
  oauth2_describe: { 200: one(object({ location: uri }), consent) },
  // Null where no answer was asked for: a bot that is added without a redirect.
  oauth2_authorize: { 200: object({ location: nullable(uri) }) },
  oauth2_tokens: { 200: list(object({ id: text, scopes: list(text), application })) },
  oauth2_token_delete: done,
  partner_sdk_child_token: { 200: ref('ProvisionalTokenResponse') },
  update_my_account: { 200: ref('UserPIIResponse') },
  unlink_channel_from_lobby: { 200: ref('GuildChannelResponse') },
  search_lobbies: { 200: object({ lobbies: list(listing) }) },
  create_open_lobby: { 201: openLobby },
  get_open_lobby: { 200: openLobby },
  edit_lobby_settings: { 200: openLobby },
  join_open_lobby: { 200: ref('LobbyResponse') },
  set_lobby_host: { 200: openLobby },
  start_lobby_ready_check: { 201: readyCheck },
  answer_lobby_ready_check: { 200: readyCheck },
  cancel_lobby_ready_check: { 200: readyCheck },
  send_lobby_game_message: done,
  create_matchmaking_ticket: { 201: ticket },
  get_matchmaking_ticket: { 200: ticket },
  delete_matchmaking_ticket: { 200: ticket },
  list_relationships: { 200: list(relationship) },
  request_friend: done,
  set_relationship: done,
  update_relationship: done,
  remove_relationship: done,
  list_game_relationships: { 200: list(gameRelationship) },
  request_game_friend: done,
  set_game_relationship: done,
  remove_game_relationship: done,
  list_user_messages: { 200: list(ref('MessageResponse')) },
  send_user_message: { 200: ref('MessageResponse') },
  update_user_message: { 200: ref('MessageResponse') },
  delete_user_message: done,
  get_user_dm_channel: { 200: ref('PrivateChannelResponse') },
  get_activity_metadata: { 200: { type: 'object' } },
  get_activity_secret: { 200: object({ secret: text }) },
  start_headless_session: { 200: object({ token: text, activities: list(activity) }) },
  end_headless_session: done,
  subscribe_activities: done,
  list_user_application_identities: { 200: identities },
  find_application_identity: { 200: identities },
  delete_user_application_identity: done,
  get_application_identity_profile: { 200: profile },
  update_application_identity_profile: { 201: profile, 204: EMPTY },
  list_application_identities: { 200: list(object({ user_id: id, external_user_id: text })) },
  want_authorize_requests: done,
  ignore_authorize_requests: done,
  create_authorize_request: { 200: object({ request_id: id }) },
  get_user_settings: { 200: settings },
  update_user_settings: { 200: settings },
};

/** @source RFC 6749, section 5.2 */
const oauthError = object({ error: text }, { error_description: text, error_uri: uri });
/** Refusals have the published form at every operation; those of the token endpoints have the form of their RFC. */
const REFUSAL = { anyOf: [ref('ErrorResponse'), ref('RatelimitedResponse'), oauthError] };

export const isUnlisted = (operationId: string): operationId is UnlistedId =>
  Object.hasOwn(ANSWERS, operationId);

/** Faults in an answer of an operation that the published file does not list. `body`: undefined for none. */
export function objectionsToUnlisted(operationId: UnlistedId, status: number, body: unknown): string[] {
  const where = `${operationId} ${status}`;
  const schema = status >= 400 ? REFUSAL : ANSWERS[operationId][status];
  if (schema === undefined) return [`${where}: no such status`];
  if (schema === null) return body === undefined ? [] : [`${where} has a body`];
  return validateWith(schema, body, where);
}
