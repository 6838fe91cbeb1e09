/**
 * Enumerations of the client library: results, statuses and handles. Where the original's names contain the
 * platform's name, ours contain `Platform`.
 */
const nameIn = (table: Readonly<Record<string, number>>, value: number): string =>
  Object.keys(table).find((name) => table[name] === value) ?? `${value}`;

type ValueOf<T> = T[keyof T];

export const ErrorType = {
  None: 0,
  NetworkError: 1,
  HTTPError: 2,
  ClientNotReady: 3,
  Disabled: 4,
  ClientDestroyed: 5,
  ValidationError: 6,
  Aborted: 7,
  AuthorizationFailed: 8,
  RPCError: 9,
} as const;
export type ErrorType = ValueOf<typeof ErrorType>;
export const errorTypeToString = (type: ErrorType): string => nameIn(ErrorType, type);

/** Connection status of a client. */
export const Status = {
  Disconnected: 0,
  Connecting: 1,
  Connected: 2,
  Ready: 3,
  Reconnecting: 4,
  Disconnecting: 5,
  /** The client requests the gateway's URL over HTTP. */
  HttpWait: 6,
} as const;
export type Status = ValueOf<typeof Status>;
export const statusToString = (status: Status): string => nameIn(Status, status);

/** Why the status changed without the application asking. */
export const ConnectionError = {
  None: 0,
  ConnectionFailed: 1,
  UnexpectedClose: 2,
  ConnectionCanceled: 3,
} as const;
export type ConnectionError = ValueOf<typeof ConnectionError>;
export const errorToString = (error: ConnectionError): string => nameIn(ConnectionError, error);

export const LoggingSeverity = { Verbose: 1, Info: 2, Warning: 3, Error: 4, None: 5 } as const;
export type LoggingSeverity = ValueOf<typeof LoggingSeverity>;
export const severityToString = (severity: LoggingSeverity): string => nameIn(LoggingSeverity, severity);

export const IntegrationType = { GuildInstall: 0, UserInstall: 1 } as const;
export type IntegrationType = ValueOf<typeof IntegrationType>;

export const AuthenticationCodeChallengeMethod = { S256: 0 } as const;
export type AuthenticationCodeChallengeMethod = ValueOf<typeof AuthenticationCodeChallengeMethod>;

export const AuthorizationTokenType = { User: 0, Bearer: 1 } as const;
export type AuthorizationTokenType = ValueOf<typeof AuthorizationTokenType>;

/** Provider that authenticates a player without an account. `externalAuthTypeOf` returns its wire name. */
export const AuthenticationExternalAuthType = {
  OIDC: 0,
  EpicOnlineServicesAccessToken: 1,
  EpicOnlineServicesIdToken: 2,
  SteamSessionTicket: 3,
  UnityServicesIdToken: 4,
  BotIssuedAccessToken: 5,
  AppleIdToken: 6,
  PlayStationNetworkIdToken: 7,
} as const;
export type AuthenticationExternalAuthType = ValueOf<typeof AuthenticationExternalAuthType>;

export const ExternalIdentityProviderType = {
  OIDC: 0,
  EpicOnlineServices: 1,
  Steam: 2,
  Unity: 3,
  Bot: 4,
  None: 5,
  Unknown: 6,
} as const;
export type ExternalIdentityProviderType = ValueOf<typeof ExternalIdentityProviderType>;

export const RelationshipType = {
  None: 0,
  Friend: 1,
  Blocked: 2,
  PendingIncoming: 3,
  PendingOutgoing: 4,
  Implicit: 5,
  Suggestion: 6,
} as const;
export type RelationshipType = ValueOf<typeof RelationshipType>;

export const RelationshipGroupType = { OnlinePlayingGame: 0, OnlineElsewhere: 1, Offline: 2 } as const;
export type RelationshipGroupType = ValueOf<typeof RelationshipGroupType>;

export const StatusType = {
  Online: 0,
  Offline: 1,
  Blocked: 2,
  Idle: 3,
  Dnd: 4,
  Invisible: 5,
  Streaming: 6,
  Unknown: 7,
} as const;
export type StatusType = ValueOf<typeof StatusType>;

export const ActivityTypes = {
  Playing: 0,
  Streaming: 1,
  Listening: 2,
  Watching: 3,
  CustomStatus: 4,
  Competing: 5,
  HangStatus: 6,
} as const;
export type ActivityTypes = ValueOf<typeof ActivityTypes>;

export const StatusDisplayTypes = { Name: 0, State: 1, Details: 2 } as const;
export type StatusDisplayTypes = ValueOf<typeof StatusDisplayTypes>;

export const ActivityPartyPrivacy = { Private: 0, Public: 1 } as const;
export type ActivityPartyPrivacy = ValueOf<typeof ActivityPartyPrivacy>;

export const ActivityActionTypes = { Invalid: 0, Join: 1, JoinRequest: 5 } as const;
export type ActivityActionTypes = ValueOf<typeof ActivityActionTypes>;

/** Bit flags. */
export const ActivityGamePlatforms = {
  Desktop: 1,
  Xbox: 2,
  Samsung: 4,
  IOS: 8,
  Android: 16,
  Embedded: 32,
  PS4: 64,
  PS5: 128,
} as const;

export const ChannelType = {
  GuildText: 0,
  Dm: 1,
  GuildVoice: 2,
  GroupDm: 3,
  GuildCategory: 4,
  GuildNews: 5,
  GuildNewsThread: 10,
  GuildPublicThread: 11,
  GuildPrivateThread: 12,
  GuildStageVoice: 13,
  GuildDirectory: 14,
  GuildForum: 15,
  GuildMedia: 16,
  Lobby: 17,
  EphemeralDm: 18,
} as const;
export type ChannelType = number;

export const AdditionalContentType = {
  Other: 0,
  Attachment: 1,
  Poll: 2,
  VoiceMessage: 3,
  Thread: 4,
  Embed: 5,
  Sticker: 6,
} as const;
export type AdditionalContentType = ValueOf<typeof AdditionalContentType>;

export const DisclosureTypes = { MessageDataVisibleOnPlatform: 3 } as const;
export type DisclosureTypes = ValueOf<typeof DisclosureTypes>;

export const AvatarType = { Gif: 0, Webp: 1, Png: 2, Jpeg: 3 } as const;
export type AvatarType = ValueOf<typeof AvatarType>;
export const avatarTypeToString = (type: AvatarType): string => nameIn(AvatarType, type).toLowerCase();
