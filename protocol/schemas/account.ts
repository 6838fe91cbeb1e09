import type { ApplicationId, UserId } from '../ids.ts';
import { Application } from './application.ts';
import {
  bits,
  choice,
  dict,
  flag,
  id,
  integer,
  json,
  link,
  list,
  nullable,
  object,
  optional,
  text,
} from './schema.ts';
import { User } from './user.ts';

const session = { token: text, user_id: id<UserId>() };

/** The token of a user's own session. */
export const Session = object(session, 'Session');

/** The password was right, and the second factor is asked for. */
export const SecondFactor = object(
  {
    user_id: id<UserId>(),
    mfa: choice(true),
    totp: choice(true),
    backup: flag,
    sms: choice(false),
    ticket: text,
  },
  'SecondFactor',
);

/** A password was reset, and the user has a second factor: to sign in is left to them. */
export const ResetWithSecondFactor = object({ user_id: id<UserId>(), mfa: choice(true) });
export const VerifiedEmail = object({ user_id: id<UserId>() });

/** @source RFC 6749, section 5.1; https://openid.net/specs/openid-connect-core-1_0.html, section 3.1.3.3 */
export const AccessTokens = object(
  {
    token_type: choice('Bearer'),
    access_token: text,
    expires_in: integer,
    scope: text,
    refresh_token: optional(text),
    id_token: optional(text),
    guild: optional(json),
    webhook: optional(json),
  },
  'AccessTokens',
);

/** @source RFC 8628, section 3.2 */
export const DeviceCodes = object(
  {
    device_code: text,
    user_code: text,
    verification_uri: link,
    verification_uri_complete: link,
    expires_in: integer,
    interval: integer,
  },
  'DeviceCodes',
);

/** The request of a device, for the person who entered its code. */
export const DeviceRequest = object({
  type: text,
  client_id: id<ApplicationId>(),
  application: Application,
  scopes: list(text),
  two_way_link_code: nullable(text),
});

/** The request of an application, for the person who decides. */
export const ConsentRequest = object(
  {
    application: Application,
    scopes: list(text),
    authorized: flag,
    redirect_uri: nullable(link),
    integration_type: choice(0, 1),
    permissions: bits,
    disable_guild_select: flag,
    user: User,
    guild_id: optional(id()),
    guilds: optional(list(json)),
  },
  'ConsentRequest',
);
export const Redirect = object({ location: text });
export const AuthorizationResult = object({ location: nullable(text) });

/** An application that the user let in. */
export const GrantedToken = object({ id: text, scopes: list(text), application: Application });

const identity = object({
  user_id: id<UserId>(),
  provider_type: text,
  provider_issued_user_id: text,
  provider_id: optional(text),
});
export const Identities = object({ identities: list(identity) }, 'Identities');
export const ExternalIdentity = object({ user_id: id<UserId>(), external_user_id: text });

/** @source https://github.com/discordjs/discord-api-types/blob/main/payloads/v10/applicationIdentityProfile.ts */
export const IdentityProfile = object(
  { username: nullable(text), metadata: nullable(json), data: nullable(json) },
  'IdentityProfile',
);
export const AuthorizeRequest = object({ request_id: id() });

export const UserSettings = object({ direct_messages_from: nullable(text) }, 'UserSettings');

/** Permissions of a command in a guild, as far as they differ for the caller. */
const shownPermissions = object({
  user: optional(flag),
  roles: optional(dict(flag)),
  channels: optional(dict(flag)),
});
const indexedApplication = object({
  id: id<ApplicationId>(),
  name: text,
  description: text,
  icon: nullable(text),
  bot_id: nullable(id<UserId>()),
  flags: text,
  permissions: optional(shownPermissions),
  bot: optional(User),
});

/** The commands that the caller may use in a place. The platform publishes no schema of it. */
export const CommandIndex = object(
  { applications: list(indexedApplication), application_commands: list(json), version: id() },
  'CommandIndex',
);
