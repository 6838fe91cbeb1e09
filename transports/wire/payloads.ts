import type * as wire from 'discord-api-types/v10';
import type { JoinRequestObject } from '../../engine/guild/joinrequests.ts';
import type { MemberListUpdate } from '../../engine/guild/memberlist.changes.ts';
import type { ReadyCheckObject } from '../../engine/lobby/extensions.ts';
import type { LobbyVoiceState } from '../../engine/lobby/lobby.ts';
import type { ApplicationId, ChannelId, GuildId, MessageId, UserId } from '../../protocol/ids.ts';
import type { Channel } from '../../protocol/schemas/channel.ts';
import type { Guild } from '../../protocol/schemas/guild.ts';
import type { Lobby, LobbyMessage } from '../../protocol/schemas/lobby.ts';
import type { VoiceState } from '../../protocol/schemas/member.ts';
import type { GameRelationship, Relationship } from '../../protocol/schemas/social.ts';
import type { User } from '../../protocol/schemas/user.ts';
import type { WithIds, WithOwnId } from '../../protocol/wireids.ts';
import type { TicketObject } from '../../services/matchmaking/ports.ts';

/** An object whose fields are not typed yet. */
type Json = Readonly<Record<string, unknown>>;

/** @source https://docs.discord.food/topics/gateway-events#guild-join-request-update */
interface JoinRequestNews {
  readonly guild_id: GuildId;
  readonly status: JoinRequestObject['application_status'];
  readonly request: JoinRequestObject;
}

type GatewayMessage = WithOwnId<wire.GatewayMessageCreateDispatchData, MessageId> & { readonly author: User };

interface LobbyPerson {
  readonly user: User;
  readonly metadata: Readonly<Record<string, string>> | null;
  readonly flags: number;
  readonly connected: boolean;
}
/** A lobby of the gateway: its members are whole users. */
export type GatewayLobby = Omit<Lobby, 'members'> & {
  readonly region: string;
  readonly members: readonly LobbyPerson[];
  readonly voice_states: readonly LobbyVoiceState[];
  readonly host_id?: UserId;
};
export interface GatewayLobbyMember {
  readonly member: LobbyPerson;
  readonly lobby_id: ChannelId;
  readonly application_id: ApplicationId;
}
/** The user only where the user changed. */
type LobbyMemberChange = Omit<GatewayLobbyMember, 'member'> & {
  readonly member: Omit<LobbyPerson, 'user'> &
    ({ readonly id: UserId } | { readonly user: LobbyPerson['user'] });
};
interface LobbyGone {
  readonly id: ChannelId;
  readonly reason: 'deleted' | 'removed';
}
interface LobbyMessageGone {
  readonly id: MessageId;
  readonly lobby_id: ChannelId;
}
interface LobbyHost {
  readonly lobby_id: ChannelId;
  readonly host_id: UserId | null;
  readonly previous_host_id: UserId | null;
}
interface LobbyGameMessage {
  readonly lobby_id: ChannelId;
  /** The member who sent it; null for the server's game. */
  readonly user_id: UserId | null;
  readonly type: string;
  readonly data: unknown;
}
interface LobbyVoiceServer {
  readonly lobby_id: ChannelId;
  readonly token: string;
  readonly endpoint: string | null;
}
/** A user who is a recipient of a group from now on, or no longer. */
interface Recipient {
  readonly channel_id: ChannelId;
  readonly user: User;
}

interface PrivateCall {
  readonly channel_id: ChannelId;
  readonly message_id: MessageId;
  readonly ringing: readonly UserId[];
  readonly voice_states?: readonly VoiceState[];
}
interface InteractionOutcome {
  readonly id: string;
  readonly nonce: string | null;
}

/**
 * The payloads of dispatches: the types of `discord-api-types` with branded ids, and the types that only this server
 * or user sessions have. A dispatch without a row has an unknown payload.
 */
export interface DispatchPayloads {
  readonly READY: wire.GatewayReadyDispatchData;
  readonly RESUMED: Json;
  readonly APPLICATION_COMMAND_PERMISSIONS_UPDATE: WithIds<wire.GatewayApplicationCommandPermissionsUpdateDispatchData>;
  readonly AUTO_MODERATION_RULE_CREATE: WithIds<wire.GatewayAutoModerationRuleCreateDispatchData>;
  readonly AUTO_MODERATION_RULE_UPDATE: WithIds<wire.GatewayAutoModerationRuleUpdateDispatchData>;
  readonly AUTO_MODERATION_RULE_DELETE: WithIds<wire.GatewayAutoModerationRuleDeleteDispatchData>;
  readonly AUTO_MODERATION_ACTION_EXECUTION: WithIds<wire.GatewayAutoModerationActionExecutionDispatchData>;
  readonly CHANNEL_CREATE: Channel;
  readonly CHANNEL_UPDATE: Channel;
  readonly CHANNEL_DELETE: Channel;
  readonly CHANNEL_RECIPIENT_ADD: Recipient & { readonly nick?: string };
  readonly CHANNEL_RECIPIENT_REMOVE: Recipient;
  readonly CALL_CREATE: PrivateCall;
  readonly CALL_UPDATE: PrivateCall;
  readonly CALL_DELETE: { readonly channel_id: ChannelId; readonly unavailable?: true };
  readonly STREAM_CREATE: Json;
  readonly STREAM_UPDATE: Json;
  readonly STREAM_SERVER_UPDATE: Json;
  readonly STREAM_DELETE: Json;
  readonly CHANNEL_INFO: WithIds<wire.GatewayChannelInfoDispatchData>;
  readonly VOICE_CHANNEL_STATUS_UPDATE: WithIds<wire.GatewayVoiceChannelStatusUpdateDispatchData>;
  readonly VOICE_CHANNEL_START_TIME_UPDATE: WithIds<wire.GatewayVoiceChannelStartTimeUpdateDispatchData>;
  readonly THREAD_CREATE: WithOwnId<wire.GatewayThreadCreateDispatchData, ChannelId>;
  readonly THREAD_UPDATE: WithOwnId<wire.GatewayThreadUpdateDispatchData, ChannelId>;
  readonly THREAD_DELETE: WithOwnId<wire.GatewayThreadDeleteDispatchData, ChannelId>;
  readonly THREAD_LIST_SYNC: WithIds<wire.GatewayThreadListSyncDispatchData>;
  readonly THREAD_MEMBER_UPDATE: WithIds<wire.GatewayThreadMemberUpdateDispatchData>;
  readonly THREAD_MEMBERS_UPDATE: WithIds<wire.GatewayThreadMembersUpdateDispatchData>;
  readonly CHANNEL_PINS_UPDATE: WithIds<wire.GatewayChannelPinsUpdateDispatchData>;
  readonly ENTITLEMENT_CREATE: WithIds<wire.GatewayEntitlementCreateDispatchData>;
  readonly ENTITLEMENT_UPDATE: WithIds<wire.GatewayEntitlementUpdateDispatchData>;
  readonly ENTITLEMENT_DELETE: WithIds<wire.GatewayEntitlementDeleteDispatchData>;
  readonly GUILD_CREATE: WithOwnId<wire.GatewayGuildCreateDispatchData, GuildId>;
  readonly GUILD_UPDATE: Guild;
  readonly GUILD_DELETE: WithOwnId<wire.GatewayGuildDeleteDispatchData, GuildId>;
  readonly GUILD_AUDIT_LOG_ENTRY_CREATE: WithIds<wire.GatewayGuildAuditLogEntryCreateDispatchData>;
  readonly GUILD_JOIN_REQUEST_CREATE: JoinRequestNews;
  readonly GUILD_JOIN_REQUEST_UPDATE: JoinRequestNews;
  readonly GUILD_JOIN_REQUEST_DELETE: {
    readonly guild_id: GuildId;
    readonly id: string;
    readonly user_id: UserId;
  };
  readonly GUILD_BAN_ADD: WithIds<wire.GatewayGuildBanAddDispatchData>;
  readonly GUILD_BAN_REMOVE: WithIds<wire.GatewayGuildBanRemoveDispatchData>;
  readonly GUILD_EMOJIS_UPDATE: WithIds<wire.GatewayGuildEmojisUpdateDispatchData>;
  readonly GUILD_STICKERS_UPDATE: WithIds<wire.GatewayGuildStickersUpdateDispatchData>;
  readonly GUILD_INTEGRATIONS_UPDATE: WithIds<wire.GatewayGuildIntegrationsUpdateDispatchData>;
  readonly GUILD_MEMBER_ADD: WithIds<wire.GatewayGuildMemberAddDispatchData>;
  readonly GUILD_MEMBER_REMOVE: WithIds<wire.GatewayGuildMemberRemoveDispatchData>;
  readonly GUILD_MEMBER_UPDATE: WithIds<wire.GatewayGuildMemberUpdateDispatchData>;
  readonly GUILD_MEMBER_LIST_UPDATE: MemberListUpdate;
  readonly GUILD_MEMBERS_CHUNK: WithIds<wire.GatewayGuildMembersChunkDispatchData>;
  readonly GUILD_ROLE_CREATE: WithIds<wire.GatewayGuildRoleCreateDispatchData>;
  readonly GUILD_ROLE_UPDATE: WithIds<wire.GatewayGuildRoleUpdateDispatchData>;
  readonly GUILD_ROLE_DELETE: WithIds<wire.GatewayGuildRoleDeleteDispatchData>;
  readonly GUILD_SCHEDULED_EVENT_CREATE: WithIds<wire.GatewayGuildScheduledEventCreateDispatchData>;
  readonly GUILD_SCHEDULED_EVENT_UPDATE: WithIds<wire.GatewayGuildScheduledEventUpdateDispatchData>;
  readonly GUILD_SCHEDULED_EVENT_DELETE: WithIds<wire.GatewayGuildScheduledEventDeleteDispatchData>;
  readonly GUILD_SCHEDULED_EVENT_USER_ADD: WithIds<wire.GatewayGuildScheduledEventUserAddDispatchData>;
  readonly GUILD_SCHEDULED_EVENT_USER_REMOVE: WithIds<wire.GatewayGuildScheduledEventUserRemoveDispatchData>;
  readonly GUILD_SCHEDULED_EVENT_EXCEPTION_CREATE: Json;
  readonly GUILD_SCHEDULED_EVENT_EXCEPTION_UPDATE: Json;
  readonly GUILD_SCHEDULED_EVENT_EXCEPTION_DELETE: Json;
  readonly GUILD_SCHEDULED_EVENT_EXCEPTIONS_DELETE: Json;
  readonly GUILD_SOUNDBOARD_SOUND_CREATE: WithIds<wire.GatewayGuildSoundboardSoundCreateDispatchData>;
  readonly GUILD_SOUNDBOARD_SOUND_UPDATE: WithIds<wire.GatewayGuildSoundboardSoundUpdateDispatchData>;
  readonly GUILD_SOUNDBOARD_SOUND_DELETE: WithIds<wire.GatewayGuildSoundboardSoundDeleteDispatchData>;
  readonly GUILD_SOUNDBOARD_SOUNDS_UPDATE: WithIds<wire.GatewayGuildSoundboardSoundsUpdateDispatchData>;
  readonly SOUNDBOARD_SOUNDS: WithIds<wire.GatewaySoundboardSoundsDispatchData>;
  readonly INTEGRATION_CREATE: WithIds<wire.GatewayIntegrationCreateDispatchData>;
  readonly INTEGRATION_UPDATE: WithIds<wire.GatewayIntegrationUpdateDispatchData>;
  readonly INTEGRATION_DELETE: WithIds<wire.GatewayIntegrationDeleteDispatchData>;
  readonly INVITE_CREATE: WithIds<wire.GatewayInviteCreateDispatchData>;
  readonly INVITE_DELETE: WithIds<wire.GatewayInviteDeleteDispatchData>;
  readonly MESSAGE_CREATE: GatewayMessage;
  readonly MESSAGE_UPDATE: GatewayMessage;
  readonly MESSAGE_DELETE: WithOwnId<wire.GatewayMessageDeleteDispatchData, MessageId>;
  readonly MESSAGE_DELETE_BULK: WithIds<wire.GatewayMessageDeleteBulkDispatchData>;
  readonly MESSAGE_REACTION_ADD: WithIds<wire.GatewayMessageReactionAddDispatchData>;
  readonly MESSAGE_REACTION_REMOVE: WithIds<wire.GatewayMessageReactionRemoveDispatchData>;
  readonly MESSAGE_REACTION_REMOVE_ALL: WithIds<wire.GatewayMessageReactionRemoveAllDispatchData>;
  readonly MESSAGE_REACTION_REMOVE_EMOJI: WithIds<wire.GatewayMessageReactionRemoveEmojiDispatchData>;
  readonly PRESENCE_UPDATE: WithIds<wire.GatewayPresenceUpdateDispatchData>;
  readonly TYPING_START: WithIds<wire.GatewayTypingStartDispatchData>;
  readonly USER_UPDATE: User;
  readonly VOICE_CHANNEL_EFFECT_SEND: WithIds<wire.GatewayVoiceChannelEffectSendDispatchData>;
  readonly VOICE_STATE_UPDATE: WithIds<wire.GatewayVoiceStateUpdateDispatchData>;
  readonly VOICE_SERVER_UPDATE: WithIds<wire.GatewayVoiceServerUpdateDispatchData>;
  readonly WEBHOOKS_UPDATE: WithIds<wire.GatewayWebhooksUpdateDispatchData>;
  readonly INTERACTION_CREATE: WithIds<wire.GatewayInteractionCreateDispatchData>;
  readonly GUILD_APPLICATION_COMMAND_INDEX_UPDATE: Json;
  readonly INTERACTION_SUCCESS: InteractionOutcome;
  readonly INTERACTION_FAILURE: InteractionOutcome & { readonly reason_code: number };
  readonly INTERACTION_MODAL_CREATE: Json;
  readonly APPLICATION_COMMAND_AUTOCOMPLETE_RESPONSE: Json;
  readonly STAGE_INSTANCE_CREATE: WithIds<wire.GatewayStageInstanceCreateDispatchData>;
  readonly STAGE_INSTANCE_UPDATE: WithIds<wire.GatewayStageInstanceUpdateDispatchData>;
  readonly STAGE_INSTANCE_DELETE: WithIds<wire.GatewayStageInstanceDeleteDispatchData>;
  readonly SUBSCRIPTION_CREATE: WithIds<wire.GatewaySubscriptionCreateDispatchData>;
  readonly SUBSCRIPTION_UPDATE: WithIds<wire.GatewaySubscriptionUpdateDispatchData>;
  readonly SUBSCRIPTION_DELETE: WithIds<wire.GatewaySubscriptionDeleteDispatchData>;
  readonly MESSAGE_POLL_VOTE_ADD: WithIds<wire.GatewayMessagePollVoteDispatchData>;
  readonly MESSAGE_POLL_VOTE_REMOVE: WithIds<wire.GatewayMessagePollVoteDispatchData>;
  readonly RELATIONSHIP_ADD: Relationship;
  readonly RELATIONSHIP_UPDATE: Relationship;
  readonly RELATIONSHIP_REMOVE: Pick<Relationship, 'id' | 'type' | 'nickname'>;
  readonly GAME_RELATIONSHIP_ADD: GameRelationship;
  readonly GAME_RELATIONSHIP_REMOVE: Pick<GameRelationship, 'id' | 'application_id' | 'type' | 'user_id'>;
  readonly ACTIVITY_INVITE_CREATE: Json;
  readonly EMBEDDED_ACTIVITY_UPDATE_V2: Json;
  readonly USER_MERGE_OPERATION_COMPLETED: Json;
  readonly OAUTH2_TOKEN_REVOKE: Json;
  readonly USER_APPLICATION_IDENTITY_UPDATE: Json;
  readonly USER_APPLICATION_IDENTITY_REMOVE: Json;
  readonly AUTHORIZE_REQUEST: Json;
  readonly LOBBY_CREATE: GatewayLobby;
  readonly LOBBY_UPDATE: GatewayLobby;
  readonly LOBBY_DELETE: LobbyGone;
  readonly LOBBY_MEMBER_ADD: GatewayLobbyMember;
  readonly LOBBY_MEMBER_UPDATE: GatewayLobbyMember;
  readonly LOBBY_MEMBER_REMOVE: GatewayLobbyMember;
  readonly LOBBY_MEMBER_CONNECT: GatewayLobbyMember;
  readonly LOBBY_MEMBER_DISCONNECT: GatewayLobbyMember;
  readonly LOBBY_MESSAGE_CREATE: LobbyMessage;
  readonly LOBBY_MESSAGE_UPDATE: LobbyMessage;
  readonly LOBBY_MESSAGE_DELETE: LobbyMessageGone;
  readonly LOBBY_VOICE_STATE_UPDATE: LobbyVoiceState;
  readonly LOBBY_VOICE_SERVER_UPDATE: LobbyVoiceServer;
  readonly GUILDHALL_LOBBY_HOST: LobbyHost;
  readonly GUILDHALL_LOBBY_READY: ReadyCheckObject;
  readonly GUILDHALL_LOBBY_UPDATE: Omit<GatewayLobby, 'members' | 'voice_states'>;
  readonly GUILDHALL_LOBBY_MEMBER_UPDATE: LobbyMemberChange;
  readonly GUILDHALL_LOBBY_MESSAGE: LobbyGameMessage;
  readonly GUILDHALL_MATCHMAKING_UPDATE: TicketObject;
  readonly RATE_LIMITED: wire.GatewayRateLimitedDispatchData;
}
