// Goal: every scope allows what it names and nothing else; the refusal names the missing scope.
import { describe, expect, test } from 'vitest';
import type { ApplicationId } from '../../../protocol/ids.ts';
import { isScope, SCOPES, type Scope } from '../../../protocol/scopes.ts';
import type { AnyOperation, Caller } from '../../../transports/rest/operation.ts';
import { operations, unlisted } from '../../../transports/rest/resources/index.ts';
import { HUMAN, pipelineOf } from '../../support/rest.ts';

const built: Readonly<Record<string, AnyOperation>> = { ...operations, ...unlisted };

/** Operations that each scope by itself opens over REST. */
const OPENS: Partial<Record<Scope, readonly string[]>> = {
  'account.global_name.update': ['update_my_account'],
  'activities.invites.write': ['send_user_message'],
  'activities.read': ['get_activity_metadata', 'get_activity_secret', 'subscribe_activities'],
  'activities.write': ['end_headless_session', 'start_headless_session'],
  'application_identities.write': [
    'delete_user_application_identity',
    'get_application_identity_profile',
    'list_application_identities',
    'list_user_application_identities',
    'update_application_identity_profile',
  ],
  'applications.commands.permissions.update': [
    'get_guild_application_command_permissions',
    'list_guild_application_command_permissions',
    'set_guild_application_command_permissions',
  ],
  'applications.commands.update': [
    'bulk_set_application_commands',
    'bulk_set_guild_application_commands',
    'create_application_command',
    'create_guild_application_command',
    'delete_application_command',
    'delete_guild_application_command',
    'get_application_command',
    'get_guild_application_command',
    'list_application_commands',
    'list_guild_application_commands',
    'update_application_command',
    'update_guild_application_command',
  ],
  'applications.entitlements': [
    'consume_entitlement',
    'delete_entitlement',
    'get_entitlement',
    'get_entitlements',
  ],
  connections: ['list_my_connections'],
  'dm_channels.messages.read': ['list_user_messages'],
  'dm_channels.messages.write': ['delete_user_message', 'send_user_message', 'update_user_message'],
  'dm_channels.read': ['get_user_dm_channel'],
  guilds: ['list_my_guilds'],
  'guilds.channels.read': ['list_guild_channels'],
  'guilds.members.read': ['get_my_guild_member'],
  identify: [
    'get_application_identity_profile',
    'get_my_user',
    'list_application_identities',
    'list_user_application_identities',
  ],
  'lobbies.write': [
    'answer_lobby_ready_check',
    'cancel_lobby_ready_check',
    'create_linked_lobby_guild_invite_for_self',
    'create_lobby_message',
    'create_matchmaking_ticket',
    'create_open_lobby',
    'create_or_join_lobby',
    'delete_matchmaking_ticket',
    'edit_lobby_channel_link',
    'edit_lobby_settings',
    'get_lobby',
    'get_lobby_messages',
    'get_matchmaking_ticket',
    'get_open_lobby',
    'join_open_lobby',
    'leave_lobby',
    'search_lobbies',
    'send_lobby_game_message',
    'set_lobby_host',
    'start_lobby_ready_check',
  ],
  openid: ['get_openid_connect_userinfo'],
  'relationships.read': ['list_game_relationships', 'list_relationships'],
  'relationships.write': [
    'remove_game_relationship',
    'remove_relationship',
    'request_friend',
    'request_game_friend',
    'set_game_relationship',
    'set_relationship',
    'update_relationship',
  ],
  'role_connections.write': [
    'delete_application_user_role_connection',
    'get_application_user_role_connection',
    'update_application_user_role_connection',
  ],
  'sdk.social_layer': ['update_my_account'],
  'sdk.social_layer_presence': ['update_my_account'],
};
/** Open to any access token. */
const ANY = [
  'get_current_user_application_entitlements',
  'get_my_oauth2_authorization',
  'get_sku_subscription',
  'get_sku_subscriptions',
  'ignore_authorize_requests',
  'list_skus',
  'upload_application_attachment',
  'want_authorize_requests',
];

/** Scopes that open no operation by themselves, and what they are for instead. */
const ELSEWHERE: Partial<Record<Scope, string>> = {
  'applications.builds.read': 'no builds are kept here',
  'applications.builds.upload': 'no builds are kept here',
  'applications.commands': 'installs commands',
  'applications.store.update': 'there is no store here',
  bot: 'adds the bot to a guild',
  email: 'shows the address in get_my_user',
  'gateway.connect': 'opens a session',
  'gdm.join': 'lets create_dm and add_group_dm_user take the token',
  'guilds.join': 'lets add_guild_member take the token',
  'identify.premium': 'shows premium_type in get_my_user',
  'messages.read': 'read by clients over RPC',
  'payment_sources.country_code': 'nobody pays here',
  'presences.read': 'shows presences in a session',
  'presences.write': 'lets a session change the status',
  rpc: 'for clients over RPC',
  'rpc.activities.write': 'for clients over RPC',
  'rpc.notifications.read': 'for clients over RPC',
  'rpc.screenshare.read': 'for clients over RPC',
  'rpc.screenshare.write': 'for clients over RPC',
  'rpc.video.read': 'for clients over RPC',
  'rpc.video.write': 'for clients over RPC',
  'rpc.voice.read': 'for clients over RPC',
  'rpc.voice.write': 'for clients over RPC',
  voice: 'lets a session join voice',
  'webhook.incoming': 'not granted here',
};

const scopesOf = ({ scope }: AnyOperation): readonly string[] =>
  scope === undefined ? [] : typeof scope === 'string' ? [scope] : scope;

const actingWith = (scopes: readonly Scope[]): Caller => ({
  ...HUMAN,
  applicationId: '5' as ApplicationId,
  authorization: {
    id: '7',
    applicationId: '5' as ApplicationId,
    scopes: new Set(scopes),
    expiresMs: Number.POSITIVE_INFINITY,
  },
});

/** The operation's first check of an application with these scopes; null: it passes. */
const { pipeline } = pipelineOf(built, { limited: false });
async function refusedTo(
  id: string,
  scopes: readonly Scope[],
): Promise<{ status: number; body: unknown } | null> {
  const context = { caller: actingWith(scopes), publicUrl: 'http://x', address: null };
  const admission = await pipeline.admit(id, {}, context);
  return admission.ok ? null : { status: admission.result.status, body: admission.result.body };
}

test('each scope admits exactly the operations of its table row', () => {
  const opened: Record<string, string[]> = {};
  for (const [id, operation] of Object.entries(built))
    for (const scope of scopesOf(operation)) opened[scope] = [...(opened[scope] ?? []), id];
  for (const ids of Object.values(opened)) ids.sort();
  expect(opened).toEqual({ ...OPENS, any: ANY });
});

test('each scope admits an operation, or is listed as used elsewhere', () => {
  const known = [...Object.keys(OPENS), ...Object.keys(ELSEWHERE)];
  expect(known.sort()).toEqual(Object.keys(SCOPES).sort());
});

const demanding = Object.entries(built).filter(([, operation]) => scopesOf(operation).some(isScope));
const ALL = Object.keys(SCOPES) as Scope[];

describe('an access token', () => {
  test.each(demanding.map(([id]) => id))(
    'is refused without the scope of %s with the missing scope',
    async (id) => {
      const demanded = scopesOf(built[id]!) as readonly Scope[];
      const others = ALL.filter((scope) => !demanded.includes(scope));
      const message = `Missing required OAuth2 scope: ${demanded.join(' or ')}`;
      expect(await refusedTo(id, others)).toEqual({ status: 403, body: { code: 50026, message } });
      for (const scope of demanded) expect(await refusedTo(id, [scope])).toBeNull();
    },
  );

  test('is refused by operations that declare no scope, whatever its scopes', async () => {
    const closed = Object.entries(built).filter(
      ([, { scope, auth }]) => scope === undefined && (auth === 'any' || auth === 'user'),
    );
    expect(closed.length).toBeGreaterThan(60);
    for (const [id] of closed)
      expect(await refusedTo(id, ALL), id).toMatchObject({ status: 403, body: { code: 50026 } });
  });
});
