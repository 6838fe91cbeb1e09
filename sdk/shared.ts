/** Exports of every environment. */
export type {
  Activity,
  ActivityAssets,
  ActivityButton,
  ActivityParty,
  ActivitySecrets,
  ActivityTimestamps,
} from './activity.ts';
export { ACTIVITY_LIMITS } from './activity.ts';
export { AuthorizationArgs, type AuthorizationCode, type AuthorizationFields } from './authorize.ts';
export * from './call/enums.ts';
export type {
  AudioDevice,
  Call,
  CallAudio,
  CallInfoHandle,
  CapturedAudio,
  ReceivedAudio,
  VADThresholdSettings,
  VoiceStateHandle,
} from './call/index.ts';
export type { DeviceAuthorizationArgs } from './client/accounts.ts';
export type { ClientOptions } from './client/core.ts';
export type { GuildChannel, GuildMinimal, LinkedLobby } from './client/lobbies.ts';
export type { UserMessageSummary } from './client/messages.ts';
export type { ActivityInvite } from './client/presence.ts';
export type { ClientConstructor } from './client.ts';
export * from './enums.ts';
export type {
  LobbyFilter,
  LobbyListing,
  LobbySearch,
  LobbySettings,
  MatchTicket,
  ReadyCheck,
} from './extensions.ts';
export type { ChannelView, GuildView, MemberView } from './guilds/guilds.ts';
export type { PrivateChannelView } from './guilds/privates.ts';
export type {
  AdditionalContent,
  ChannelHandle,
  LobbyHandle,
  LobbyMemberHandle,
  MessageHandle,
  RelationshipHandle,
  UserApplicationProfileHandle,
  UserHandle,
} from './handles.ts';
export type { OptionFile, OptionValue } from './interactions/invocation.ts';
export type {
  FieldValue,
  InteractionAnswer,
  Person,
  Place,
  ShownMessage,
  ShownModal,
} from './interactions/person.ts';
export type { LogCallback } from './log.ts';
export type { AuthorizationCodeChallenge, AuthorizationCodeVerifier } from './pkce.ts';
export { ClientError, type ClientResult } from './result.ts';
export type { Disposer } from './signal.ts';
export type { LinkedChannel, Metadata } from './store/store.ts';
export type { TokenExchange } from './tokens.ts';
export type { OpenSocket } from './voice/wire.ts';
