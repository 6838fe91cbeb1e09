import type { Reply } from '../../../engine/kernel/aggregate.ts';
import { EXTERNAL_AUTH_TYPES, identityObject, IDENTITY_LIMITS as L } from '../../../protocol/identities.ts';
import type { ApplicationId } from '../../../protocol/ids.ts';
import { refusal } from '../../../protocol/refusal.ts';
import { PlayerTokens } from '../../../protocol/schemas/application.ts';
import {
  Choice,
  NameText,
  Nullable,
  Obj,
  Optional,
  Snowflake,
  Str,
} from '../../../protocol/schemas/request.ts';
import { none } from '../../../protocol/schemas/schema.ts';
import { OwnUser } from '../../../protocol/schemas/user.ts';
import type { IssuedTokens } from '../../../services/oauth/ports.ts';
import type { SignedIn } from '../../../services/players/ports.ts';
import { ownUser } from '../accounts.ts';
import { type Answer, op, resource } from '../operation.ts';
import { errorBody } from '../result.ts';

/** Game servers sign in all their players from one address. */
const SIGN_INS = { per: null, limit: 100, windowMs: 10_000 } as const;
const PARTINGS = { per: null, limit: 20, windowMs: 10_000 } as const;

const CLIENT_SECRET_CHARACTERS_MAX = 1024;
const ClientSecret = () => Optional(Nullable(Str(0, CLIENT_SECRET_CHARACTERS_MAX)));
const Token = () => Str(1, L.external_auth_token_characters_max);

/** A client's credentials, and the external proof for a player. */
const ExternalAuth = Obj({
  client_id: Snowflake<ApplicationId>(),
  client_secret: ClientSecret(),
  external_auth_token: Token(),
  external_auth_type: Choice(...EXTERNAL_AUTH_TYPES),
});

const ExternalUserId = () => Str(1, L.external_user_id_characters_max);

type ExternalAuthBody = {
  readonly client_id: ApplicationId;
  readonly client_secret?: string | null;
  readonly external_auth_token: string;
  readonly external_auth_type: (typeof EXTERNAL_AUTH_TYPES)[number];
};

const proofsOf = (body: ExternalAuthBody) =>
  [
    { applicationId: body.client_id, clientSecret: body.client_secret ?? null },
    { externalAuthType: body.external_auth_type, externalAuthToken: body.external_auth_token },
  ] as const;

export const provisional = resource({
  partner_sdk_token: op({
    method: 'POST',
    path: '/partner-sdk/token',
    auth: 'none',
    bucket: SIGN_INS,
    body: ExternalAuth,
    status: 200,
    reply: PlayerTokens,
    handle: async ({ body }, { provisional }) => signedIn(await provisional.signIn(...proofsOf(body))),
  }),

  bot_partner_sdk_token: op({
    method: 'POST',
    path: '/partner-sdk/token/bot',
    auth: 'bot',
    bucket: SIGN_INS,
    body: Obj({
      external_user_id: ExternalUserId(),
      preferred_global_name: Optional(Nullable(NameText(1, L.name_characters_max))),
    }),
    status: 200,
    reply: PlayerTokens,
    async handle({ body, caller }, { provisional }) {
      const { external_user_id: externalUserId, preferred_global_name: name } = body;
      if (caller.applicationId === null) return { ok: false, refusal: refusal('UNKNOWN_APPLICATION') };
      return signedIn(await provisional.signInByBot(caller.applicationId, externalUserId, name ?? null));
    },
  }),

  partner_sdk_unmerge_provisional_account: op({
    method: 'POST',
    path: '/partner-sdk/provisional-accounts/unmerge',
    auth: 'none',
    bucket: PARTINGS,
    body: ExternalAuth,
    status: 204,
    reply: none,
    handle: ({ body }, { provisional }) => provisional.unmerge(...proofsOf(body)),
  }),

  bot_partner_sdk_unmerge_provisional_account: op({
    method: 'POST',
    path: '/partner-sdk/provisional-accounts/unmerge/bot',
    auth: 'bot',
    bucket: PARTINGS,
    body: Obj({ external_user_id: ExternalUserId() }),
    status: 204,
    reply: none,
    async handle({ body, caller }, { provisional }) {
      if (caller.applicationId === null) return { ok: false, refusal: refusal('UNKNOWN_APPLICATION') };
      return provisional.unmergeByBot(caller.applicationId, body.external_user_id);
    },
  }),
});

export const provisionalUnlisted = resource({
  partner_sdk_child_token: op({
    method: 'POST',
    path: '/partner-sdk/child-token',
    auth: 'none',
    bucket: SIGN_INS,
    body: Obj({
      parent_access_token: Token(),
      child_application_id: Snowflake<ApplicationId>(),
      parent_client_secret: ClientSecret(),
    }),
    status: 200,
    reply: PlayerTokens,
    async handle({ body }, { provisional }) {
      const {
        parent_access_token: token,
        child_application_id: childId,
        parent_client_secret: secret,
      } = body;
      const reply = await provisional.exchangeChild(token, childId, secret ?? null);
      return reply.ok ? { ok: true, value: tokenBody(reply.value) } : reply;
    },
  }),

  /** Changes the display name. A game may change that of its provisional accounts; for other accounts it needs the scope. */
  update_my_account: op({
    method: 'PATCH',
    path: '/users/@me/account',
    auth: 'user',
    scope: ['account.global_name.update', 'sdk.social_layer', 'sdk.social_layer_presence'],
    bucket: { per: null, limit: 5, windowMs: 60_000 },
    body: Obj({ global_name: Nullable(NameText(1, L.name_characters_max)) }),
    status: 200,
    reply: OwnUser,
    async handle({ body, caller }, { provisional, users, accounts, premium }) {
      const mayAnybody = caller.authorization?.scopes.has('account.global_name.update') ?? true;
      if (!mayAnybody && !(await provisional.isProvisional(caller.userId))) {
        const missing = refusal('MISSING_OAUTH2_SCOPE');
        const message = `${missing.message}: account.global_name.update`;
        return { ok: false, refusal: { ...missing, message } };
      }
      const reply = await users.updateUser(caller.userId, { global_name: body.global_name });
      if (!reply.ok) return reply;
      const own = await ownUser(reply.value, caller.authorization?.scopes ?? null, { accounts, premium });
      return { ok: true, value: own };
    },
  }),
});

/** Returns tokens, or the existing account of a linked identity: the platform adds these keys to its error 530010. */
function signedIn(reply: Reply<SignedIn>): Answer {
  if (!reply.ok) return reply;
  if (reply.value.kind === 'tokens') return { ok: true, value: tokenBody(reply.value.tokens) };
  const { identity } = reply.value;
  const no = refusal('ACCOUNT_NOT_PROVISIONAL');
  const whose = { user_id: identity.userId, provider_id: null, ...identityObject(identity) };
  return { ok: true, status: no.status, value: { ...errorBody(no), ...whose } };
}

function tokenBody({ accessToken, expiresInSec, expiresMs, scopes, idToken }: IssuedTokens): object {
  return {
    token_type: 'Bearer',
    access_token: accessToken.reveal(),
    expires_in: expiresInSec,
    scope: [...scopes].join(' '),
    id_token: idToken,
    scopes: [...scopes],
    expires_at_s: Math.floor(expiresMs / 1000),
  };
}
