import type * as wire from 'discord-api-types/v10';
import type { JoinRequestObject } from '../../engine/guild/joinrequests.ts';
import type { MemberVerification } from '../../engine/guild/joinrequests.types.ts';
import type { AnswersObject } from '../../engine/guild/onboarding.answers.ts';
import type { NewMemberWelcome } from '../../engine/guild/pages.types.ts';
import type { GuildProfile } from '../../engine/guild/tag.ts';
import type { LobbyMemberObject, LobbyObject } from '../../engine/lobby/objects.ts';
import type { ReadyCheckObject } from '../../engine/lobby/ready.ts';
import type {
  ApplicationId,
  ChannelId,
  GuildId,
  MessageId,
  RoleId,
  UserId,
  WebhookId,
} from '../../protocol/ids.ts';
import type { WithIds, WithOwnId } from '../../protocol/wireids.ts';
import type { TicketObject } from '../../services/matchmaking/ports.ts';

/** An object whose fields are not typed yet. */
export type Json = Readonly<Record<string, unknown>>;

export type User = WithOwnId<wire.APIUser, UserId>;
export type Member = WithIds<wire.APIGuildMember> & { readonly user: User };
export type Guild = WithOwnId<wire.APIGuild, GuildId>;
export type Role = WithOwnId<wire.APIRole, RoleId>;
export type Channel = WithOwnId<wire.APIChannel, ChannelId>;
type GroupChannel = WithOwnId<wire.APIGroupDMChannel, ChannelId>;
export type DirectMessageChannel = WithOwnId<wire.APIDMChannel, ChannelId>;
type Thread = WithOwnId<wire.APIThreadChannel, ChannelId>;
type ThreadMember = WithIds<wire.APIThreadMember>;
interface ThreadList {
  readonly threads: Thread[];
  readonly members: ThreadMember[];
  readonly has_more: boolean;
}
type Entitlement = WithIds<wire.APIEntitlement>;
type PricedSku = WithIds<wire.APISKU> & {
  readonly price: { readonly amount: number; readonly currency: string } | null;
};
export type Message = WithOwnId<wire.APIMessage, MessageId> & { readonly author: User };
export type Webhook = WithOwnId<wire.APIWebhook, WebhookId>;
export type Invite = wire.APIExtendedInvite;
export type Application = WithOwnId<wire.APIApplication, ApplicationId>;
export type Command = WithIds<wire.APIApplicationCommand>;
export type AutoModerationRule = WithIds<wire.APIAutoModerationRule>;
export type StageInstance = WithIds<wire.APIStageInstance>;
export type ScheduledEvent = WithIds<wire.APIGuildScheduledEvent>;
export type VoiceState = WithIds<wire.APIVoiceState>;

type NewMemberGuide = NewMemberWelcome & { readonly guild_id: string };

export type Lobby = LobbyObject;
export type LobbyMember = LobbyMemberObject;
export interface LobbyMessage {
  readonly id: MessageId;
  readonly type: number;
  readonly content: string;
  readonly lobby_id: ChannelId;
  readonly channel_id: ChannelId;
  readonly author: User;
  readonly flags: number;
  readonly application_id?: ApplicationId;
  readonly metadata?: Readonly<Record<string, string>>;
}
/** Each hit in a list of its own. */
interface MessageSearch {
  readonly messages: readonly (Message & { readonly hit: boolean })[][];
  readonly threads: Thread[];
  readonly members: ThreadMember[];
  readonly doing_deep_historical_index: boolean;
  readonly total_results: number;
}
/** A lobby with its settings beyond the platform. */
export type OpenLobby = Lobby & {
  readonly listed: boolean;
  readonly max_members: number;
  readonly locked: boolean;
  readonly has_password: boolean;
  readonly invited: readonly UserId[] | null;
  readonly host_grace_seconds: number | null;
  readonly host_id: UserId | null;
  readonly game: string | null;
  readonly ready_check: ReadyCheckObject | null;
};
interface LobbyListing {
  readonly id: ChannelId;
  readonly application_id: ApplicationId;
  readonly members: number;
  readonly capacity: number;
  readonly locked: boolean;
  readonly has_password: boolean;
  readonly invite_only: boolean;
  readonly game: string | null;
  readonly metadata: Readonly<Record<string, string>>;
}

/** @source https://docs.discord.food/resources/relationships#relationship-structure */
export interface Relationship {
  readonly id: UserId;
  readonly type: number;
  readonly user: User;
  readonly nickname: string | null;
  readonly since: string;
  readonly origin_application_id: ApplicationId | null;
}
export interface GameRelationship {
  readonly id: UserId;
  readonly application_id: ApplicationId;
  readonly type: number;
  readonly user: User;
  readonly since: string;
  readonly dm_access_type: number;
  readonly user_id: UserId;
}
interface UserSettings {
  readonly direct_messages_from: string | null;
}
interface CommandIndex {
  readonly applications: readonly Json[];
  readonly application_commands: readonly Json[];
  readonly version: string;
}

interface Session {
  readonly token: string;
  readonly user_id: UserId;
}
interface SecondFactor {
  readonly user_id: UserId;
  readonly mfa: true;
  readonly ticket: string;
}
/** @source RFC 6749, section 5.1 */
interface AccessTokens {
  readonly token_type: 'Bearer';
  readonly access_token: string;
  readonly expires_in: number;
  readonly scope: string;
  readonly refresh_token?: string;
  readonly id_token?: string;
}
type PlayerTokens = AccessTokens;
/** @source RFC 8628, section 3.2 */
interface DeviceCodes {
  readonly device_code: string;
  readonly user_code: string;
  readonly verification_uri: string;
  readonly verification_uri_complete: string;
  readonly expires_in: number;
  readonly interval: number;
}
interface Identities {
  readonly identities: readonly {
    readonly user_id: UserId;
    readonly provider_type: string;
    readonly provider_issued_user_id: string;
    readonly provider_id?: string;
  }[];
}

/**
 * The bodies of successful answers, by operation. Operations that answer 204 need no row; one that may answer either names
 * `undefined`.
 */
export interface Replies {
  // The gateway and the API itself.
  readonly get_gateway: wire.RESTGetAPIGatewayResult;
  readonly get_bot_gateway: wire.RESTGetAPIGatewayBotResult;
  readonly get_public_keys: { readonly keys: readonly object[] };
  readonly get_openid_connect_userinfo: { readonly sub: UserId } & Json;
  readonly list_voice_regions: wire.RESTGetAPIVoiceRegionsResult;
  // Applications and their commands.
  readonly get_application: Application;
  readonly get_my_application: Application;
  readonly get_my_oauth2_application: Application;
  readonly update_application: Application;
  readonly update_my_application: Application;
  readonly upload_application_attachment: { readonly attachment: wire.APIAttachment };
  readonly get_application_role_connections_metadata: wire.RESTGetAPIApplicationRoleConnectionMetadataResult;
  readonly update_application_role_connections_metadata: wire.RESTPutAPIApplicationRoleConnectionMetadataResult;
  readonly get_application_user_role_connection: wire.RESTGetAPICurrentUserApplicationRoleConnectionResult;
  readonly update_application_user_role_connection: wire.RESTPutAPICurrentUserApplicationRoleConnectionResult;
  readonly list_application_commands: Command[];
  readonly create_application_command: Command;
  readonly get_application_command: Command;
  readonly update_application_command: Command;
  readonly bulk_set_application_commands: Command[];
  readonly list_guild_application_commands: Command[];
  readonly create_guild_application_command: Command;
  readonly get_guild_application_command: Command;
  readonly update_guild_application_command: Command;
  readonly bulk_set_guild_application_commands: Command[];
  readonly list_guild_application_command_permissions: wire.RESTGetAPIGuildApplicationCommandsPermissionsResult;
  readonly get_guild_application_command_permissions: wire.RESTGetAPIApplicationCommandPermissionsResult;
  readonly set_guild_application_command_permissions: wire.RESTPutAPIApplicationCommandPermissionsResult;
  readonly get_application_command_index: CommandIndex;
  readonly get_channel_application_command_index: CommandIndex;
  readonly get_guild_application_command_index: CommandIndex;
  readonly get_my_application_command_index: CommandIndex;
  readonly create_interaction_response: wire.RESTPostAPIInteractionCallbackWithResponseResult | undefined;
  readonly applications_get_activity_instance: Json;
  readonly list_skus: wire.RESTGetAPISKUsResult;
  readonly create_sku: PricedSku;
  readonly edit_sku: PricedSku;
  readonly get_entitlements: Entitlement[];
  readonly get_entitlement: Entitlement;
  readonly create_entitlement: Entitlement;
  readonly get_current_user_application_entitlements: Entitlement[];
  readonly get_sku_subscriptions: wire.RESTGetAPISKUSubscriptionsResult;
  readonly get_sku_subscription: wire.RESTGetAPISKUSubscriptionResult;
  // Users.
  readonly get_my_user: User;
  readonly update_my_user: User;
  readonly set_my_primary_guild: User;
  readonly get_my_teams: readonly wire.APITeam[];
  readonly accept_team_invitation: wire.APITeam;
  readonly update_my_account: User;
  readonly get_user: User;
  readonly get_user_settings: UserSettings;
  readonly update_user_settings: UserSettings;
  readonly list_my_connections: wire.RESTGetAPICurrentUserConnectionsResult;
  readonly list_my_guilds: WithOwnId<wire.RESTAPIPartialCurrentUserGuild, GuildId>[];
  readonly get_my_guild_member: Member;
  readonly create_dm: DirectMessageChannel | GroupChannel;
  readonly add_group_dm_user: GroupChannel | undefined;
  readonly get_user_dm_channel: DirectMessageChannel;
  readonly list_user_messages: Message[];
  readonly send_user_message: Message;
  readonly update_user_message: Message;
  readonly list_relationships: Relationship[];
  readonly list_game_relationships: GameRelationship[];
  // Guilds.
  readonly create_guild: Guild;
  readonly create_guild_from_template: Guild;
  readonly get_guild: Guild;
  readonly update_guild: Guild;
  readonly get_guild_preview: WithOwnId<wire.RESTGetAPIGuildPreviewResult, GuildId>;
  readonly get_guild_vanity_url: wire.RESTGetAPIGuildVanityUrlResult;
  readonly get_guild_profile: GuildProfile;
  readonly update_guild_profile: GuildProfile;
  readonly set_guild_mfa_level: { readonly level: number };
  readonly set_guild_vanity_url: wire.RESTGetAPIGuildVanityUrlResult;
  readonly list_guild_voice_regions: wire.RESTGetAPIGuildVoiceRegionsResult;
  readonly get_guild_widget: wire.RESTGetAPIGuildWidgetJSONResult;
  readonly get_guild_widget_png: Uint8Array;
  readonly get_guild_widget_settings: wire.RESTGetAPIGuildWidgetSettingsResult;
  readonly update_guild_widget_settings: wire.RESTPatchAPIGuildWidgetSettingsResult;
  readonly get_guild_welcome_screen: wire.RESTGetAPIGuildWelcomeScreenResult;
  readonly update_guild_welcome_screen: wire.RESTPatchAPIGuildWelcomeScreenResult;
  readonly get_guilds_onboarding: WithIds<wire.RESTGetAPIGuildOnboardingResult>;
  readonly get_guild_new_member_welcome: NewMemberGuide | undefined;
  readonly update_guild_new_member_welcome: NewMemberGuide;
  readonly submit_guild_onboarding_responses: AnswersObject;
  readonly update_guild_onboarding_responses: AnswersObject;
  readonly put_guilds_onboarding: WithIds<wire.RESTPutAPIGuildOnboardingResult>;
  readonly update_guild_incident_actions: wire.RESTPutAPIGuildIncidentActionsResult;
  readonly preview_prune_guild: wire.RESTGetAPIGuildPruneCountResult;
  readonly prune_guild: wire.RESTPostAPIGuildPruneResult;
  readonly list_guild_audit_log_entries: wire.RESTGetAPIAuditLogResult;
  readonly list_guild_integrations: wire.RESTGetAPIGuildIntegrationsResult;
  readonly create_guild_template: wire.RESTPostAPIGuildTemplatesResult;
  readonly get_guild_template: wire.RESTGetAPITemplateResult;
  readonly list_guild_templates: wire.RESTGetAPIGuildTemplatesResult;
  readonly sync_guild_template: wire.RESTPutAPIGuildTemplateSyncResult;
  readonly update_guild_template: wire.RESTPatchAPIGuildTemplateResult;
  readonly delete_guild_template: wire.RESTDeleteAPIGuildTemplateResult;
  // Members, bans and roles.
  readonly add_guild_member: Member | undefined;
  readonly get_guild_member: Member;
  readonly update_guild_member: Member;
  readonly update_my_guild_member: Member;
  readonly update_my_guild_nick: { readonly nick: string | null };
  readonly list_guild_members: Member[];
  readonly search_guild_members: Member[];
  readonly list_guild_bans: wire.RESTGetAPIGuildBansResult;
  readonly get_guild_ban: wire.RESTGetAPIGuildBanResult;
  readonly bulk_ban_users_from_guild: wire.RESTPostAPIGuildBulkBanResult;
  readonly list_guild_roles: Role[];
  readonly get_guild_role: Role;
  readonly create_guild_role: Role;
  readonly update_guild_role: Role;
  readonly bulk_update_guild_roles: Role[];
  readonly guild_role_member_counts: Readonly<Record<string, number>>;
  // Channels.
  readonly list_guild_channels: Channel[];
  readonly create_guild_channel: Channel;
  readonly get_channel: Channel;
  readonly create_thread: Thread;
  readonly create_thread_from_message: Thread;
  readonly get_thread_member: ThreadMember;
  readonly list_thread_members: ThreadMember[];
  readonly list_public_archived_threads: ThreadList;
  readonly list_private_archived_threads: ThreadList;
  readonly list_my_private_archived_threads: ThreadList;
  readonly get_active_guild_threads: ThreadList;
  readonly thread_search: ThreadList & {
    readonly first_messages: Message[];
    readonly total_results: number;
  };
  readonly guild_search: MessageSearch | wire.RESTError;
  readonly get_channel_activities: Json;
  readonly join_activity: Json;
  readonly update_channel: Channel;
  readonly delete_channel: Channel;
  readonly unlink_channel_from_lobby: Channel;
  readonly follow_channel: WithIds<wire.RESTPostAPIChannelFollowersResult>;
  readonly get_guild_join_requests: {
    readonly total: number;
    readonly guild_join_requests: readonly JoinRequestObject[];
  };
  readonly action_guild_join_request: JoinRequestObject;
  readonly get_guild_member_verification: MemberVerification;
  readonly update_guild_member_verification: MemberVerification;
  readonly get_my_guild_join_request: JoinRequestObject;
  readonly submit_guild_join_request: JoinRequestObject;
  // Invites.
  readonly create_channel_invite: Invite;
  readonly list_channel_invites: Invite[];
  readonly list_guild_invites: Invite[];
  readonly invite_resolve: Invite;
  readonly invite_revoke: Invite;
  readonly accept_invite: Invite & { readonly new_member: boolean };
  readonly get_invite_target_users: string;
  readonly get_invite_target_users_job_status: wire.RESTGetAPIInviteTargetUsersJobStatusResult;
  // Messages.
  readonly create_message: Message;
  readonly get_message: Message;
  readonly list_messages: Message[];
  readonly update_message: Message;
  readonly crosspost_message: Message;
  readonly list_pins: wire.RESTGetAPIChannelMessagesPinsResult;
  readonly deprecated_list_pins: Message[];
  readonly list_message_reactions_by_emoji: User[];
  readonly get_answer_voters: wire.RESTGetAPIPollAnswerVotersResult;
  readonly poll_expire: Message;
  // Webhooks.
  readonly create_webhook: Webhook;
  readonly get_webhook: Webhook;
  readonly get_webhook_by_token: Webhook;
  readonly update_webhook: Webhook;
  readonly update_webhook_by_token: Webhook;
  readonly list_channel_webhooks: Webhook[];
  readonly get_guild_webhooks: Webhook[];
  readonly execute_webhook: Message | undefined;
  readonly execute_slack_compatible_webhook: string | undefined;
  readonly get_webhook_message: Message;
  readonly update_webhook_message: Message;
  readonly get_original_webhook_message: Message;
  readonly update_original_webhook_message: Message;
  // Emojis, stickers and sounds.
  readonly list_guild_emojis: wire.APIEmoji[];
  readonly get_guild_emoji: wire.APIEmoji;
  readonly create_guild_emoji: wire.APIEmoji;
  readonly update_guild_emoji: wire.APIEmoji;
  readonly list_application_emojis: { readonly items: readonly wire.APIEmoji[] };
  readonly get_application_emoji: wire.APIEmoji;
  readonly create_application_emoji: wire.APIEmoji;
  readonly update_application_emoji: wire.APIEmoji;
  readonly list_guild_stickers: wire.APISticker[];
  readonly get_guild_sticker: wire.APISticker;
  readonly create_guild_sticker: wire.APISticker;
  readonly update_guild_sticker: wire.APISticker;
  readonly get_sticker: wire.APISticker;
  readonly list_sticker_packs: wire.RESTGetStickerPacksResult;
  readonly get_sticker_pack: wire.APIStickerPack;
  readonly list_guild_soundboard_sounds: wire.RESTGetAPIGuildSoundboardSoundsResult;
  readonly get_guild_soundboard_sound: wire.APISoundboardSound;
  readonly create_guild_soundboard_sound: wire.APISoundboardSound;
  readonly update_guild_soundboard_sound: wire.APISoundboardSound;
  readonly get_soundboard_default_sounds: wire.APISoundboardSound[];
  // Auto moderation, stages and scheduled events.
  readonly list_auto_moderation_rules: AutoModerationRule[];
  readonly get_auto_moderation_rule: AutoModerationRule;
  readonly create_auto_moderation_rule: AutoModerationRule;
  readonly update_auto_moderation_rule: AutoModerationRule;
  readonly create_stage_instance: StageInstance;
  readonly get_stage_instance: StageInstance;
  readonly update_stage_instance: StageInstance;
  readonly list_guild_scheduled_events: ScheduledEvent[];
  readonly get_guild_scheduled_event: ScheduledEvent;
  readonly create_guild_scheduled_event: ScheduledEvent;
  readonly update_guild_scheduled_event: ScheduledEvent;
  readonly create_guild_scheduled_event_exception: Json;
  readonly update_guild_scheduled_event_exception: Json;
  readonly list_guild_scheduled_event_users: wire.RESTGetAPIGuildScheduledEventUsersResult;
  readonly list_guild_scheduled_event_exception_users: wire.RESTGetAPIGuildScheduledEventUsersResult;
  readonly count_guild_scheduled_event_users: Json;
  readonly subscribe_guild_scheduled_event: Json;
  readonly subscribe_guild_scheduled_event_exception: Json;
  // Voice.
  readonly get_self_voice_state: VoiceState;
  readonly get_voice_state: VoiceState;
  // Lobbies and matches.
  readonly create_lobby: Lobby;
  readonly create_or_join_lobby: Lobby;
  readonly get_lobby: Lobby;
  readonly edit_lobby: Lobby;
  readonly edit_lobby_channel_link: Lobby;
  readonly join_open_lobby: Lobby;
  readonly add_lobby_member: LobbyMember;
  readonly bulk_update_lobby_members: LobbyMember[];
  readonly create_lobby_message: LobbyMessage;
  readonly get_lobby_messages: LobbyMessage[];
  readonly create_linked_lobby_guild_invite_for_self: { readonly code: string };
  readonly create_linked_lobby_guild_invite_for_user: { readonly code: string };
  readonly create_open_lobby: OpenLobby;
  readonly get_open_lobby: OpenLobby;
  readonly edit_lobby_settings: OpenLobby;
  readonly set_lobby_host: OpenLobby;
  readonly search_lobbies: { readonly lobbies: readonly LobbyListing[] };
  readonly start_lobby_ready_check: ReadyCheckObject;
  readonly answer_lobby_ready_check: ReadyCheckObject;
  readonly cancel_lobby_ready_check: ReadyCheckObject;
  readonly create_matchmaking_ticket: TicketObject;
  readonly get_matchmaking_ticket: TicketObject;
  readonly delete_matchmaking_ticket: TicketObject;
  // Sign-in, tokens and identities.
  readonly register: Session;
  readonly login: Session | SecondFactor;
  readonly login_with_totp: Session;
  readonly begin_device_sign_in: DeviceCodes;
  readonly finish_device_sign_in: Session;
  readonly get_rpc_application: Json;
  readonly reset_password: Session | { readonly user_id: UserId; readonly mfa: true };
  readonly verify_email: { readonly user_id: UserId };
  readonly oauth2_describe: { readonly location: string } | Json;
  readonly oauth2_authorize: { readonly location: string | null };
  readonly oauth2_token: AccessTokens;
  readonly oauth2_token_revoke: Json;
  readonly oauth2_tokens: readonly {
    readonly id: string;
    readonly scopes: readonly string[];
    readonly application: Json;
  }[];
  readonly oauth2_device_authorize: DeviceCodes;
  readonly oauth2_device_verify: {
    readonly client_id: ApplicationId;
    readonly scopes: readonly string[];
  } & Json;
  readonly get_my_oauth2_authorization: wire.RESTGetAPIOAuth2CurrentAuthorizationResult;
  readonly partner_sdk_token: PlayerTokens;
  readonly partner_sdk_child_token: PlayerTokens;
  readonly bot_partner_sdk_token: PlayerTokens;
  readonly list_user_application_identities: Identities;
  readonly find_application_identity: Identities;
  readonly list_application_identities: readonly {
    readonly user_id: UserId;
    readonly external_user_id: string;
  }[];
  readonly get_application_identity_profile: wire.RESTGetAPIApplicationIdentityProfileResult;
  readonly update_application_identity_profile: wire.RESTPatchAPIApplicationIdentityProfileResult | undefined;
  readonly create_authorize_request: { readonly request_id: string };
  // Activities.
  readonly get_activity_metadata: Json;
  readonly get_activity_secret: { readonly secret: string };
  readonly start_headless_session: {
    readonly token: string;
    readonly activities: readonly wire.GatewayActivity[];
  };
}
