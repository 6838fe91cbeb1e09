import type { ExternalAuthType, ProviderType } from './identities.ts';
import {
  application,
  applicationId,
  clientInput,
  clientObject,
  guildId,
  scope,
  user,
  userId,
} from './link.values.ts';
import {
  fields,
  flag,
  given,
  id,
  integer,
  is,
  list,
  nullable,
  number,
  oneOf,
  optional,
  partial,
  record,
  refusal,
  secret,
  setOf,
  text,
  union,
  variants,
  word,
} from './linkschema.ts';

/** Values of accounts, OAuth2, devices, players and teams between shards; see `link.ts`. */

/** The client that a request comes from. */
export const client = fields({ address: nullable(text), agent: text, devices: optional(list(text)) });
export const signInForm = fields({ login: text, password: text });
export const signInStep = variants('kind', { signedIn: { userId }, factor: { userId, ticket: text } });
export const newNames = fields({ username: text, globalName: given(text) });
export const passwordForm = fields({ current: text, password: text });
export const emailForm = fields({ email: text, current: text });
export const confirmation = fields({ current: text });
export const factorOffer = fields({ secret, uri: secret, sealed: text });
export const factorForm = fields({ sealed: text, code: text, current: text });
/** A call of the REST interface as its limits see it, and the verdict. */
export const call = {
  attempt: fields({
    ...{ principal: text, group: text, major: text, globalExempt: flag },
    rule: fields({ limit: integer, windowMs: integer }),
  }),
  verdict: fields({
    ...{ allowed: flag, limit: integer, remaining: integer, resetMs: number },
    scope: oneOf('user', 'global'),
  }),
};
/** Counters for sign-in attempts. */
export const attemptKind = oneOf('login', 'everywhere', 'factor', 'address');
export const attemptStart = fields({ waitMs: number, first: flag, free: flag, counted: flag });

const externalFields = {
  providerType: word<ProviderType>('provider', 'OIDC'),
  providerId: nullable(text),
  providerIssuedUserId: text,
};
export const externalIdentity = fields(externalFields);
export const verifiedPlayer = fields({ ...externalFields, name: nullable(text) });
/** An identity of a player at a provider, linked to an account. */
export const identity = fields({
  ...externalFields,
  ...{ applicationId, userId, formerUserId: nullable(userId) },
});
/** Proof of an identity that its provider has not confirmed yet. */
export const externalProof = fields({
  externalAuthType: word<ExternalAuthType>('proof', 'OIDC'),
  externalAuthToken: text,
});
const profileData = fields({
  primary: optional(record(clientInput)),
  dynamic: optional(list(clientObject)),
});
/** A game's statement about its player. */
export const profileChange = partial({
  ...{ username: nullable(text), metadata: nullable(record(clientInput)), data: nullable(profileData) },
});

const issued = {
  ...{ accessToken: secret, refreshToken: nullable(secret), expiresInSec: number, expiresMs: number },
  ...{ scopes: setOf(scope), idToken: nullable(text) },
};
export const issuedTokens = fields(issued);
export const tokenAnswer = fields({ ...issued, guild: nullable(clientObject) });
export const signedIn = variants('kind', { tokens: { tokens: issuedTokens }, linked: { identity } });

export const tokenOrder = fields({
  ...{ userId, applicationId, scopes: union(setOf(scope), list(scope)), refreshable: flag },
  ...{ untilMs: optional(number), nonce: given(text) },
  /** The account of a new player, which its first token makes durable. */
  facts: optional(list(variants('type', { userCreated: { user }, identityWritten: { identity } }))),
});
export const tokenRequest = fields({
  ...{ clientId: text, clientSecret: nullable(text), grantType: text, code: nullable(text) },
  ...{ redirectUri: nullable(text), codeVerifier: nullable(text), refreshToken: nullable(text) },
  ...{ scope: nullable(text), deviceCode: nullable(text), external: nullable(externalProof) },
});
/** An application that has authenticated itself. */
export const oauthClient = fields({ application, proved: flag });
export const grant = fields({ id: text, userId, applicationId, scopes: list(scope), userInstall: flag });

const parameter = nullable(text);
/** The parameters of an authorization URL. */
export const authorizeQuery = fields({
  ...{ client_id: parameter, response_type: parameter, scope: parameter, redirect_uri: parameter },
  ...{ state: parameter, prompt: parameter, nonce: parameter, code_challenge: parameter },
  ...{ code_challenge_method: parameter, integration_type: parameter, permissions: parameter },
  ...{ guild_id: parameter, disable_guild_select: parameter },
});
export const decision = fields({
  ...{ authorize: flag, permissions: nullable(text), guildId: nullable(guildId) },
  integrationType: nullable(union(is(0), is(1))),
});
export const consentOutcome = variants('kind', {
  consent: { consent: fields({ request: fields({ application }), agreed: flag }) },
  refused: { refusal },
  redirect: { location: text },
});
export const decisionOutcome = variants('kind', {
  decided: { location: nullable(text), guildId: nullable(guildId) },
  refused: { refusal },
});

const deviceFields = {
  ...{ id: text, userCodeHash: text, scopes: list(scope), expiresMs: number },
  state: oneOf('pending', 'granted', 'denied'),
};
/** A request of a device without a browser. */
export const deviceRequest = fields({
  ...deviceFields,
  ...{ applicationId: nullable(applicationId), userId: nullable(userId) },
});
export const grantedDevice = fields({ ...deviceFields, applicationId, userId });
export const deviceDecision = fields({ userId, userCode: text, granted: flag });

const role = oneOf('read_only', 'developer', 'admin');
export const teamChange = variants('kind', {
  setMember: { userId, role, isInvited: flag },
  ...{ removeMember: { userId }, accept: { userId }, leave: { userId }, setOwner: { userId } },
  ...{ delete: {}, adopt: { applicationId } },
});
export const team = fields({ id: id('team'), name: text, ownerId: userId });
