import type { ApplicationId, UserId } from '../ids.ts';
import { BOT_INTEGRATION } from '../integrations.ts';
import {
  choice,
  dict,
  flag,
  id,
  integer,
  link,
  list,
  nullable,
  object,
  optional,
  type Schema,
  text,
  time,
  type ValueOf,
} from './schema.ts';
import { User } from './user.ts';

const applicationFields = {
  id: id<ApplicationId>(),
  name: text,
  icon: nullable(text),
  description: text,
  type: nullable(choice(4)),
  bot: User,
  rpc_origins: list(text),
  bot_public: flag,
  bot_require_code_grant: flag,
  verify_key: text,
  flags: integer,
  flags_new: text,
  max_participants: nullable(integer),
  tags: list(text),
};
const application = object({ ...applicationFields, bot: optional(User) }, 'Application');
export interface Application extends ValueOf<typeof application> {}
export const Application: Schema<Application> = application;

const applicationOAuth2InstallParams = object(
  {
    scopes: list(text),
    permissions: text,
  },
  'ApplicationOAuth2InstallParams',
);
export interface ApplicationOAuth2InstallParams extends ValueOf<typeof applicationOAuth2InstallParams> {}
export const ApplicationOAuth2InstallParams: Schema<ApplicationOAuth2InstallParams> =
  applicationOAuth2InstallParams;

const applicationIntegrationTypeConfiguration = object(
  {
    oauth2_install_params: optional(ApplicationOAuth2InstallParams),
  },
  'ApplicationIntegrationTypeConfiguration',
);
export interface ApplicationIntegrationTypeConfiguration
  extends ValueOf<typeof applicationIntegrationTypeConfiguration> {}
export const ApplicationIntegrationTypeConfiguration: Schema<ApplicationIntegrationTypeConfiguration> =
  applicationIntegrationTypeConfiguration;

const applicationRoleConnectionsMetadataItem = object(
  {
    type: choice(1, 2, 3, 4, 5, 6, 7, 8),
    key: text,
    name: text,
    name_localizations: optional(nullable(dict(text))),
    description: text,
    description_localizations: optional(nullable(dict(text))),
  },
  'ApplicationRoleConnectionsMetadataItem',
);
export interface ApplicationRoleConnectionsMetadataItem
  extends ValueOf<typeof applicationRoleConnectionsMetadataItem> {}
export const ApplicationRoleConnectionsMetadataItem: Schema<ApplicationRoleConnectionsMetadataItem> =
  applicationRoleConnectionsMetadataItem;

const applicationUserRoleConnection = object(
  {
    platform_name: optional(text),
    platform_username: optional(nullable(text)),
    metadata: optional(dict(text)),
  },
  'ApplicationUserRoleConnection',
);
export interface ApplicationUserRoleConnection extends ValueOf<typeof applicationUserRoleConnection> {}
export const ApplicationUserRoleConnection: Schema<ApplicationUserRoleConnection> =
  applicationUserRoleConnection;

const connectedAccountGuild = object(
  {
    id: id(),
    name: text,
    icon: nullable(text),
  },
  'ConnectedAccountGuild',
);

const integrationAccount = object(
  {
    id: text,
    name: nullable(text),
  },
  'IntegrationAccount',
);

const connectedAccountIntegration = object(
  {
    id: text,
    type: choice(BOT_INTEGRATION, 'twitch', 'youtube', 'guild_subscription'),
    account: integrationAccount,
    guild: connectedAccountGuild,
  },
  'ConnectedAccountIntegration',
);

const connectedAccount = object(
  {
    id: text,
    name: nullable(text),
    type: text,
    friend_sync: flag,
    integrations: optional(list(connectedAccountIntegration)),
    show_activity: flag,
    two_way_link: flag,
    verified: flag,
    visibility: choice(0, 1),
    revoked: optional(flag),
  },
  'ConnectedAccount',
);
export interface ConnectedAccount extends ValueOf<typeof connectedAccount> {}
export const ConnectedAccount: Schema<ConnectedAccount> = connectedAccount;

const currentAuthorization = object(
  {
    application: Application,
    expires: time,
    scopes: list(text),
    user: optional(User),
  },
  'CurrentAuthorization',
);
export interface CurrentAuthorization extends ValueOf<typeof currentAuthorization> {}
export const CurrentAuthorization: Schema<CurrentAuthorization> = currentAuthorization;

const integrationApplication = object(
  {
    id: id<ApplicationId>(),
    name: text,
    icon: nullable(text),
    description: text,
    type: nullable(choice(4)),
    bot: optional(User),
    summary: text,
  },
  'IntegrationApplication',
);

const botIntegration = object(
  {
    type: choice(BOT_INTEGRATION),
    name: nullable(text),
    account: integrationAccount,
    enabled: flag,
    id: id(),
    application: integrationApplication,
    scopes: list(text),
  },
  'BotIntegration',
);
export interface BotIntegration extends ValueOf<typeof botIntegration> {}
export const BotIntegration: Schema<BotIntegration> = botIntegration;

const teamMember = object(
  {
    user: User,
    team_id: id(),
    membership_state: choice(1, 2),
    role: choice('admin', 'developer', 'read_only'),
    permissions: list(text),
  },
  'TeamMember',
);

const team = object(
  {
    id: id(),
    icon: nullable(text),
    name: text,
    owner_user_id: id<UserId>(),
    members: list(teamMember),
  },
  'Team',
);
export interface Team extends ValueOf<typeof team> {}
export const Team: Schema<Team> = team;

const ownApplication = object(
  {
    ...applicationFields,
    install_params: optional(ApplicationOAuth2InstallParams),
    integration_types_config: optional(dict(ApplicationIntegrationTypeConfiguration)),
    redirect_uris: list(link),
    interactions_endpoint_url: nullable(link),
    role_connections_verification_url: nullable(link),
    owner: User,
    approximate_guild_count: integer,
    approximate_user_install_count: integer,
    approximate_user_authorization_count: integer,
    event_webhooks_url: nullable(link),
    event_webhooks_status: choice(1, 2, 3),
    event_webhooks_types: list(text),
    explicit_content_filter: choice(0, 1),
    team: nullable(Team),
    eligible_oauth2_scopes: list(text),
  },
  'OwnApplication',
);
export interface OwnApplication extends ValueOf<typeof ownApplication> {}
export const OwnApplication: Schema<OwnApplication> = ownApplication;

const partialBotIntegration = object(
  {
    id: id(),
    type: choice(BOT_INTEGRATION),
    name: nullable(text),
    account: integrationAccount,
    application_id: id<ApplicationId>(),
  },
  'PartialBotIntegration',
);
export interface PartialBotIntegration extends ValueOf<typeof partialBotIntegration> {}
export const PartialBotIntegration: Schema<PartialBotIntegration> = partialBotIntegration;

const playerTokens = object(
  {
    token_type: text,
    access_token: text,
    expires_in: integer,
    scope: text,
    id_token: text,
    refresh_token: optional(nullable(text)),
    scopes: nullable(list(text)),
    expires_at_s: nullable(integer),
  },
  'PlayerTokens',
);
export interface PlayerTokens extends ValueOf<typeof playerTokens> {}
export const PlayerTokens: Schema<PlayerTokens> = playerTokens;

const publicKey = object(
  {
    kty: text,
    use: text,
    kid: text,
    n: text,
    e: text,
    alg: text,
  },
  'PublicKey',
);

const publicKeys = object(
  {
    keys: list(publicKey),
  },
  'PublicKeys',
);
export interface PublicKeys extends ValueOf<typeof publicKeys> {}
export const PublicKeys: Schema<PublicKeys> = publicKeys;

const userInfo = object(
  {
    sub: text,
    email: optional(nullable(text)),
    email_verified: optional(flag),
    preferred_username: optional(text),
    nickname: optional(nullable(text)),
    picture: optional(text),
    locale: optional(text),
  },
  'UserInfo',
);
export interface UserInfo extends ValueOf<typeof userInfo> {}
export const UserInfo: Schema<UserInfo> = userInfo;
