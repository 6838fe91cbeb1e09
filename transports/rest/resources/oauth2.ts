import type { Reply } from '../../../engine/kernel/aggregate.ts';
import type { AuthorizeQuery } from '../../../engine/oauth/request.ts';
import type { Application } from '../../../engine/user/facts.ts';
import { EXTERNAL_AUTH_TYPES, IDENTITY_LIMITS } from '../../../protocol/identities.ts';
import type { GuildId } from '../../../protocol/ids.ts';
import { AUTHORIZE_PARAMETERS, oauthRefusal } from '../../../protocol/oauth.ts';
import { refusal } from '../../../protocol/refusal.ts';
import {
  AccessTokens,
  AuthorizationResult,
  ConsentRequest,
  DeviceCodes as DeviceCodesObject,
  DeviceRequest,
  GrantedToken,
  Redirect,
} from '../../../protocol/schemas/account.ts';
import { CurrentAuthorization, PublicKeys, UserInfo } from '../../../protocol/schemas/application.ts';
import {
  Bool,
  Choice,
  Nullable,
  Obj,
  Optional,
  PermissionBits,
  Snowflake,
  type Static,
  Str,
} from '../../../protocol/schemas/request.ts';
import { list, none, object, oneOf } from '../../../protocol/schemas/schema.ts';
import type { Consent, Decision, DeviceCodes, TokenAnswer } from '../../../services/oauth/ports.ts';
import { publicApplicationBody, userBody } from '../accounts.ts';
import { BODY_BYTES } from '../bodysize.ts';
import { type Answer, type BasicCredentials, op, resource } from '../operation.ts';
import type { Services } from '../services.ts';

// The platform publishes no limits for these routes; the values are this server's own.
const READ = { per: null, limit: 30, windowMs: 10_000 } as const;
/** Game servers exchange the codes of all their players from one address. */
const TOKENS = { per: null, limit: 100, windowMs: 10_000 } as const;
const DECISIONS = { per: null, limit: 20, windowMs: 60_000 } as const;
/** A user code has 34 bits and expires after five minutes, so it cannot be guessed at this rate. */
const GUESSES = { per: null, limit: 10, windowMs: 60_000, group: 'device codes' } as const;

const PARAMETER_CHARACTERS_MAX = 2_048;
const SECRET_CHARACTERS_MAX = 512;
const Text = (max: number) => Optional(Nullable(Str(0, max)));

/** Credentials of a client in the form; a client may use HTTP Basic instead. */
const CLIENT = { client_id: Text(64), client_secret: Text(SECRET_CHARACTERS_MAX) };

const TokenForm = Obj({
  ...CLIENT,
  grant_type: Str(0, 128),
  code: Text(SECRET_CHARACTERS_MAX),
  redirect_uri: Text(PARAMETER_CHARACTERS_MAX),
  code_verifier: Text(SECRET_CHARACTERS_MAX),
  refresh_token: Text(SECRET_CHARACTERS_MAX),
  scope: Text(PARAMETER_CHARACTERS_MAX),
  device_code: Text(SECRET_CHARACTERS_MAX),
  external_auth_type: Optional(Nullable(Choice(...EXTERNAL_AUTH_TYPES))),
  external_auth_token: Text(IDENTITY_LIMITS.external_auth_token_characters_max),
});

const parameters = Object.fromEntries(
  AUTHORIZE_PARAMETERS.map((name) => [name, Text(PARAMETER_CHARACTERS_MAX)]),
);
const AuthorizeParameters = Obj(parameters as Record<keyof AuthorizeQuery, ReturnType<typeof Text>>);

const DecisionBody = Obj({
  authorize: Bool(),
  permissions: Optional(Nullable(PermissionBits())),
  guild_id: Optional(Nullable(Snowflake<GuildId>())),
  integration_type: Optional(Nullable(Choice(0, 1))),
});

const queryOf = (given: Static<typeof AuthorizeParameters>): AuthorizeQuery =>
  Object.fromEntries(AUTHORIZE_PARAMETERS.map((name) => [name, given[name] ?? null])) as AuthorizeQuery;

type Credentials =
  | { readonly ok: true; readonly id: string; readonly secret: string | null }
  | { readonly ok: false; readonly refusal: ReturnType<typeof oauthRefusal> };

/** The client's credentials; a client must use only one method. @source RFC 6749, section 2.3 */
function credentialsOf(
  basic: BasicCredentials | null,
  { client_id: id, client_secret: secret }: { client_id?: string | null; client_secret?: string | null },
): Credentials {
  if (basic && (secret || (id && id !== basic.id)))
    return {
      ok: false,
      refusal: oauthRefusal('invalid_request', 'The client shows itself in one way only.'),
    };
  if (basic) return { ok: true, ...basic };
  if (!id) return { ok: false, refusal: oauthRefusal('invalid_client', 'A client_id is required.') };
  return { ok: true, id, secret: secret || null };
}

/** The token response of RFC 6749, section 5.1. */
const tokenBody = ({ accessToken, refreshToken, idToken, guild, ...tokens }: TokenAnswer): object => ({
  token_type: 'Bearer',
  access_token: accessToken.reveal(),
  expires_in: tokens.expiresInSec,
  scope: [...tokens.scopes].sort().join(' '),
  ...(refreshToken ? { refresh_token: refreshToken.reveal() } : {}),
  ...(idToken === null ? {} : { id_token: idToken }),
  ...(guild ? { guild } : {}),
});

/** @source RFC 8628, section 3.2 */
export const deviceBody = (codes: DeviceCodes, publicUrl: string): object => ({
  device_code: codes.deviceCode.reveal(),
  user_code: codes.userCode,
  verification_uri: `${publicUrl}/activate`,
  verification_uri_complete: `${publicUrl}/activate?user_code=${codes.userCode}`,
  expires_in: codes.expiresInSec,
  interval: codes.intervalSec,
});

const unknownCode = (): Answer => ({
  ok: false,
  refusal: { ...refusal('NOT_FOUND'), message: 'Unknown code' },
});

/** The public view of an application, with its bot. */
async function shownApplication(application: Application, { read }: Services): Promise<object> {
  const [bot] = application.bot_id === null ? [] : await read.users.get([application.bot_id]);
  return publicApplicationBody(application, bot ?? null);
}

/** Content of the consent page. @source https://docs.discord.food/topics/oauth2#preview-oauth2-authorization */
async function consentBody({ request, agreed, guilds }: Consent, services: Services): Promise<object> {
  const { application, scopes, redirectUri, integrationType, permissions, guildId } = request;
  return {
    application: await shownApplication(application, services),
    scopes,
    authorized: agreed,
    redirect_uri: redirectUri,
    integration_type: integrationType,
    permissions: String(permissions),
    ...(guildId === null ? {} : { guild_id: guildId }),
    disable_guild_select: request.guildFixed,
    ...(guilds ? { guilds } : {}),
  };
}

export const oauth2 = resource({
  get_my_oauth2_authorization: op({
    method: 'GET',
    path: '/oauth2/@me',
    auth: 'any',
    scope: 'any',
    bucket: READ,
    status: 200,
    reply: CurrentAuthorization,
    async handle({ caller }, services) {
      const { authorization, userId } = caller;
      const application =
        authorization && (await services.read.applications.get(authorization.applicationId));
      if (!application) return { ok: false, refusal: refusal('INVALID_OAUTH2_ACCESS_TOKEN') };
      const { scopes, expiresMs } = authorization;
      const [user] = scopes.has('identify') ? await services.read.users.get([userId]) : [];
      return {
        ok: true,
        value: {
          application: await shownApplication(application, services),
          scopes: [...scopes],
          expires: new Date(expiresMs).toISOString(),
          ...(user ? { user: userBody(user) } : {}),
        },
      };
    },
  }),

  get_public_keys: op({
    method: 'GET',
    path: '/oauth2/keys',
    auth: 'none',
    bucket: READ,
    status: 200,
    reply: PublicKeys,
    handle: async (_, { oauth }) => ({ ok: true, value: { keys: await oauth.publicKeys() } }),
  }),

  get_openid_connect_userinfo: op({
    method: 'GET',
    path: '/oauth2/userinfo',
    auth: 'user',
    scope: 'openid',
    bucket: READ,
    status: 200,
    reply: UserInfo,
    async handle({ caller, publicUrl }, { read, accounts }) {
      const { authorization, userId } = caller;
      if (!authorization) return { ok: false, refusal: refusal('INVALID_OAUTH2_ACCESS_TOKEN') };
      const { scopes } = authorization;
      const [user] = scopes.has('identify') ? await read.users.get([userId]) : [];
      const contact = scopes.has('email') ? await accounts.contact(userId) : null;
      const shown = user && {
        preferred_username: user.username,
        nickname: user.global_name,
        ...(user.avatar === null ? {} : { picture: `${publicUrl}/avatars/${userId}/${user.avatar}.png` }),
        locale: user.locale ?? 'en-US',
      };
      const mail = contact && { email: contact.email, email_verified: contact.verified };
      return { ok: true, value: { sub: userId, ...shown, ...mail } };
    },
  }),
});

export const oauth2Unlisted = resource({
  oauth2_token: op({
    method: 'POST',
    path: '/oauth2/token',
    auth: 'none',
    oauth2: true,
    bucket: TOKENS,
    bodyBytesMax: BODY_BYTES.tokens,
    body: TokenForm,
    status: 200,
    reply: AccessTokens,
    async handle({ body, basic }, { oauth }): Promise<Answer> {
      const client = credentialsOf(basic, body);
      if (!client.ok) return client;
      const { external_auth_type: externalAuthType, external_auth_token: externalAuthToken } = body;
      if (!externalAuthType !== !externalAuthToken)
        return {
          ok: false,
          refusal: oauthRefusal('invalid_request', 'External proofs have type and token.'),
        };
      const external = externalAuthType && externalAuthToken ? { externalAuthType, externalAuthToken } : null;
      const reply = await oauth.token({
        clientId: client.id,
        clientSecret: client.secret,
        grantType: body.grant_type,
        code: body.code || null,
        redirectUri: body.redirect_uri || null,
        codeVerifier: body.code_verifier || null,
        refreshToken: body.refresh_token || null,
        scope: body.scope || null,
        deviceCode: body.device_code || null,
        external,
      });
      return reply.ok ? { ok: true, value: tokenBody(reply.value) } : reply;
    },
  }),

  oauth2_token_revoke: op({
    method: 'POST',
    path: '/oauth2/token/revoke',
    auth: 'none',
    oauth2: true,
    bucket: TOKENS,
    body: Obj({ ...CLIENT, token: Str(1, SECRET_CHARACTERS_MAX), token_type_hint: Text(128) }),
    status: 200,
    reply: object({}),
    async handle({ body, basic }, { oauth }): Promise<Answer> {
      const shown = credentialsOf(basic, body);
      if (!shown.ok) return shown;
      const client = await oauth.client(shown.id, shown.secret);
      if (!client) return UNPROVED;
      await oauth.revoke(client, body.token);
      return { ok: true, value: {} };
    },
  }),

  oauth2_device_authorize: op({
    method: 'POST',
    path: '/oauth2/device/authorize',
    auth: 'none',
    oauth2: true,
    bucket: TOKENS,
    body: Obj({ ...CLIENT, scope: Text(PARAMETER_CHARACTERS_MAX) }),
    status: 200,
    reply: DeviceCodesObject,
    async handle({ body, basic, publicUrl }, { oauth }): Promise<Answer> {
      const shown = credentialsOf(basic, body);
      if (!shown.ok) return shown;
      const reply: Reply<DeviceCodes> = await oauth.devices.begin(shown.id, shown.secret, body.scope ?? '');
      return reply.ok ? { ok: true, value: deviceBody(reply.value, publicUrl) } : reply;
    },
  }),

  oauth2_device_verify: op({
    method: 'POST',
    path: '/oauth2/device/verify',
    auth: 'user',
    bucket: GUESSES,
    body: Obj({ user_code: Str(1, 32) }),
    status: 200,
    reply: DeviceRequest,
    async handle({ body }, services): Promise<Answer> {
      const device = await services.oauth.devices.look(body.user_code);
      // A device is signed in on the page, or by its code; there is no application to describe.
      if (!device?.application) return unknownCode();
      const { application, scopes, state } = device;
      const shown = await shownApplication(application, services);
      const rest = { application: shown, scopes, two_way_link_code: null, type: state };
      return { ok: true, value: { client_id: application.id, ...rest } };
    },
  }),

  oauth2_device_finish: op({
    method: 'POST',
    path: '/oauth2/device/finish',
    auth: 'user',
    bucket: GUESSES,
    body: Obj({ user_code: Str(1, 32), result: Choice('granted', 'denied') }),
    status: 204,
    reply: none,
    async handle({ body, caller }, { oauth }): Promise<Answer> {
      const done = await oauth.devices.finish(caller.userId, body.user_code, body.result === 'granted');
      return done ? { ok: true } : unknownCode();
    },
  }),

  oauth2_describe: op({
    method: 'GET',
    path: '/oauth2/authorize',
    auth: 'user',
    bucket: READ,
    query: AuthorizeParameters,
    status: 200,
    reply: oneOf(Redirect, ConsentRequest),
    async handle({ query, caller }, services): Promise<Answer> {
      const described = await services.oauth.consents.describe(caller.userId, queryOf(query));
      if (described.kind === 'refused') return { ok: false, refusal: described.refusal };
      if (described.kind === 'redirect') return { ok: true, value: { location: described.location } };
      const [user] = await services.read.users.get([caller.userId]);
      const body = await consentBody(described.consent, services);
      return { ok: true, value: { ...body, user: user && userBody(user) } };
    },
  }),

  oauth2_authorize: op({
    method: 'POST',
    path: '/oauth2/authorize',
    auth: 'user',
    bucket: DECISIONS,
    query: AuthorizeParameters,
    body: DecisionBody,
    status: 200,
    reply: AuthorizationResult,
    async handle({ query, body, caller }, { oauth }): Promise<Answer> {
      const decision: Decision = {
        authorize: body.authorize,
        permissions: body.permissions ?? null,
        guildId: body.guild_id ?? null,
        integrationType: body.integration_type ?? null,
      };
      const decided = await oauth.consents.decide(caller.userId, queryOf(query), decision);
      if (decided.kind === 'refused') return { ok: false, refusal: decided.refusal };
      return { ok: true, value: { location: decided.location } };
    },
  }),

  oauth2_tokens: op({
    method: 'GET',
    path: '/oauth2/tokens',
    auth: 'user',
    bucket: READ,
    status: 200,
    reply: list(GrantedToken),
    async handle({ caller }, services): Promise<Answer> {
      const grants = await services.oauth.grants(caller.userId);
      const shown = grants.map(async ({ id, applicationId, scopes }) => {
        const application = await services.read.applications.get(applicationId);
        return application && [{ id, scopes, application: await shownApplication(application, services) }];
      });
      return { ok: true, value: (await Promise.all(shown)).flatMap((row) => row ?? []) };
    },
  }),

  oauth2_token_delete: op({
    method: 'DELETE',
    path: '/oauth2/tokens/:token_id',
    auth: 'user',
    bucket: DECISIONS,
    status: 204,
    reply: none,
    async handle({ params, caller }, { oauth }): Promise<Answer> {
      const grant = (await oauth.grants(caller.userId)).find(({ id }) => id === params.token_id);
      if (!grant) return { ok: false, refusal: refusal('UNKNOWN_TOKEN') };
      await oauth.deauthorize(caller.userId, grant.applicationId);
      return { ok: true };
    },
  }),
});

const UNPROVED = {
  ok: false,
  refusal: oauthRefusal('invalid_client', 'The client is unknown or its secret is wrong.'),
} as const;
