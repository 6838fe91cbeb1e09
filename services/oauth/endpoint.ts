import { createHash } from 'node:crypto';
import type { Reply } from '../../engine/kernel/aggregate.ts';
import type { Chain, Code, OAuthFact } from '../../engine/oauth/facts.ts';
import { grantOf, type Judged, judgeCode, refresh } from '../../engine/oauth/holdings.ts';
import { isVerifier } from '../../engine/oauth/pkce.ts';
import { readScopes } from '../../engine/oauth/scopes.ts';
import type { MergeOrder } from '../../engine/provisional/identity.ts';
import { type ApplicationId, snowflakeMs, type UserId } from '../../protocol/ids.ts';
import { BAD_REFRESH_TOKEN, oauthRefusal } from '../../protocol/oauth.ts';
import type { OAuthErrorName } from '../../protocol/oautherrors.ts';
import type { Refusal } from '../../protocol/refusal.ts';
import type { SecurityTrail } from '../../protocol/security.ts';
import type { StoredFact } from '../../storage/ports.ts';
import type { UserStore } from '../../storage/user/port.ts';
import { claimedUser, hashOf } from '../identity/identity.ts';
import type { DeviceFlow, DevicePorts } from './devices.ts';
import type { Grants } from './grants.ts';
import { chainOfRefresh, chainOfToken, codeOf, type GrantCache } from './grants.ts';
import type { Installer, InstallPorts } from './install.ts';
import type { Client, IssuedTokens, OAuth, TokenAnswer, TokenRequest } from './ports.ts';

export interface EndpointPorts {
  readonly grantCache: GrantCache;
  readonly grants: Grants;
  readonly devices: DeviceFlow;
  readonly install: Installer;
  readonly guildObject: InstallPorts['guildObject'];
  readonly client: OAuth['client'];
  readonly users: Pick<UserStore, 'get'>;
  /** Called before a code with an external proof is redeemed; see `Provisional.merge`. */
  merge(order: MergeOrder): Promise<Reply<null>>;
  revoked(userId: UserId, applicationId: ApplicationId): void;
  readonly security?: SecurityTrail;
}

type TokenReply = Reply<TokenAnswer>;

interface Exchanged {
  readonly verdict: Judged;
  readonly code: Code | null;
  /** Null when no tokens were issued. */
  readonly chain: Chain | null;
}

export const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';
const failure = (error: OAuthErrorName, description: string) => ({
  ok: false as const,
  refusal: oauthRefusal(error, description),
});
const INVALID_CLIENT = failure('invalid_client', 'The client is unknown or its secret is wrong.');
const INVALID_CODE = failure('invalid_grant', 'Invalid "code" in request.');
const GRANT_REVOKED = failure('access_denied', 'The user has revoked the grant.');
const BANNED = failure('access_denied', 'The user is banned from this server.');
const s256 = (verifier: string): string => createHash('sha256').update(verifier, 'ascii').digest('base64url');

const tokenReply = (tokens: IssuedTokens, guild: object | null = null): TokenReply => ({
  ok: true,
  value: { ...tokens, guild },
});

async function byCode(ports: EndpointPorts, client: Client, request: TokenRequest): Promise<TokenReply> {
  const { grants, grantCache } = ports;
  const { code: text, codeVerifier: verifier } = request;
  if (text === null) return failure('invalid_request', 'A code is required.');
  if (verifier !== null && !isVerifier(verifier))
    return failure('invalid_request', 'The code_verifier is 43 to 128 unreserved characters.');
  if (!client.proved && verifier === null) return INVALID_CLIENT;
  const userId = claimedUser(text);
  if (userId === null) return INVALID_CODE;
  const applicationId = client.application.id;
  const presented = {
    applicationId,
    redirectUri: request.redirectUri,
    isRegistered: client.application.redirect_uris.includes(request.redirectUri ?? ''),
    challenge: verifier === null ? null : s256(verifier),
  };
  const hash = hashOf(text);
  if (request.external) {
    const early = judgeCode(
      codeOf(await grantCache.holdings(userId), hash),
      presented,
      grants.envNow().nowMs,
    );
    const merged = early === 'ok' ? await ports.merge({ ...request.external, applicationId, userId }) : null;
    if (merged?.ok === false) return merged;
  }
  const tokens = grants.generate(userId, true);
  const exchanged = await grantCache.change<Exchanged>(userId, (held) => {
    const code = codeOf(held, hash);
    const verdict = judgeCode(code, presented, grants.envNow().nowMs);
    if (!code || verdict !== 'ok') {
      const facts = verdict === 'used' && code ? reusedCodeFacts(code) : [];
      return { value: { verdict, code, chain: null }, facts };
    }
    const order = { userId, applicationId, scopes: code.scopes, refreshable: true };
    const { chain, facts } = grants.startChain(held, order, tokens);
    const spent: StoredFact = { type: 'codeWritten', code: { ...code, chainId: chain.id, install: null } };
    return { value: { verdict, code, chain }, facts: [...facts, spent] };
  });
  const { verdict, code, chain } = exchanged;
  if (verdict === 'used') {
    ports.security?.('authorization_code_reused', { user_id: userId, application_id: applicationId });
    ports.revoked(userId, applicationId);
  }
  if (!chain || !code) return codeRefusal(verdict);
  if (code.install)
    // The user agreed and the code is redeemed: tokens are issued even if the guild refuses the bot.
    await ports.install(userId, client.application, code.install);
  const guild = code.guildId === null ? null : await ports.guildObject(code.guildId);
  return tokenReply(await grants.respond(tokens, chain, code), guild);
}

async function byRefresh(ports: EndpointPorts, client: Client, request: TokenRequest): Promise<TokenReply> {
  const { grants, grantCache } = ports;
  const bad = { ok: false as const, refusal: BAD_REFRESH_TOKEN };
  if (request.refreshToken === null) return bad;
  const userId = claimedUser(request.refreshToken);
  if (userId === null) return bad;
  const hash = hashOf(request.refreshToken);
  const applicationId = client.application.id;
  const tokens = grants.generate(userId, true);
  const outcome = await grantCache.change(userId, (held) => {
    const value = refresh(chainOfRefresh(held, hash), applicationId, tokens.hashes, grants.envNow().nowMs);
    return { value, facts: value.kind === 'unknown' ? [] : value.facts };
  });
  if (outcome.kind === 'stolen') {
    ports.security?.('refresh_token_reused', { user_id: userId, application_id: applicationId });
    ports.revoked(userId, applicationId);
  }
  if (outcome.kind !== 'refreshed') return bad;
  const { nowMs } = grants.envNow();
  return tokenReply(
    await grants.respond(tokens, outcome.chain, { nonce: null, agreedMs: agreedMsOf(outcome.chain, nowMs) }),
  );
}

async function byCredentials(
  ports: EndpointPorts,
  { application, proved }: Client,
  request: TokenRequest,
): Promise<TokenReply> {
  if (!proved) return INVALID_CLIENT;
  const asked = readScopes(request.scope ?? '', application, 'clientCredentials');
  if (!asked.ok) return asked;
  const [owner] = await ports.users.get([application.owner_id]);
  if (!owner || owner.bot)
    return failure('unauthorized_client', 'The owner of the application is not a user.');
  if (await ports.grants.isBanned(application.owner_id)) return BANNED;
  const order = { userId: application.owner_id, applicationId: application.id, scopes: asked.scopes };
  return tokenReply(await ports.grants.issue({ ...order, refreshable: false }));
}

async function byDevice(
  ports: EndpointPorts,
  { application }: Client,
  { deviceCode, external }: TokenRequest,
): Promise<TokenReply> {
  if (deviceCode === null) return failure('invalid_request', 'A device_code is required.');
  return ports.devices.poll(deviceCode, application.id, external);
}

/** Issues tokens to a device that a user has granted access. */
export function createDeviceExchange(ports: Omit<EndpointPorts, 'devices'>): DevicePorts['exchange'] {
  const { grants, grantCache } = ports;
  return async ({ userId, scopes, id, applicationId }, external) => {
    if (external) {
      if ((await grants.granted(userId, applicationId)) === null) return GRANT_REVOKED;
      const merged = await ports.merge({ ...external, applicationId, userId });
      if (!merged.ok) return merged;
    }
    const tokens = grants.generate(userId, true);
    const facts: OAuthFact[] = [{ type: 'deviceRequestEnded', id }];
    const order = { userId, applicationId, scopes, refreshable: true, facts };
    const chain = await grantCache.change<Chain | null>(userId, (held) => {
      // The user may have revoked the grant before the device polled.
      if (!grantOf(held, applicationId)) return { value: null, facts };
      const started = grants.startChain(held, order, tokens);
      return { value: started.chain, facts: started.facts };
    });
    if (!chain) return GRANT_REVOKED;
    const response = await grants.respond(tokens, chain, { nonce: null, agreedMs: grants.envNow().nowMs });
    return unlessBanned(ports, applicationId, tokenReply(response));
  };
}

/** Revokes tokens that were issued while a ban was committed: the ban revoked only the grants that existed before. */
async function unlessBanned(
  { grants }: Pick<EndpointPorts, 'grants'>,
  applicationId: ApplicationId,
  reply: TokenReply,
): Promise<TokenReply> {
  const userId = reply.ok ? claimedUser(reply.value.accessToken.reveal()) : null;
  return userId !== null && (await grants.endIfBanned(userId, applicationId)) ? BANNED : reply;
}

/** Handlers of the token endpoint by `grant_type`. */
const GRANTS: Readonly<Record<string, typeof byCode>> = {
  authorization_code: byCode,
  refresh_token: byRefresh,
  client_credentials: byCredentials,
  [DEVICE_GRANT]: byDevice,
};

/** The token endpoint. @source RFC 6749, RFC 7636, RFC 8628 */
export function createEndpoint(ports: EndpointPorts): Pick<OAuth, 'token' | 'revoke'> {
  return {
    async token(request) {
      const client = await ports.client(request.clientId, request.clientSecret);
      if (!client) return INVALID_CLIENT;
      const give = Object.hasOwn(GRANTS, request.grantType) ? GRANTS[request.grantType] : undefined;
      if (!give) return failure('unsupported_grant_type', 'This grant_type is not supported.');
      const reply = await give(ports, client, request);
      return give === byDevice ? reply : unlessBanned(ports, client.application.id, reply);
    },

    async revoke({ application }, token) {
      const userId = claimedUser(token);
      if (userId === null) return;
      const chain = chainOfToken(await ports.grantCache.holdings(userId), hashOf(token));
      if (chain?.applicationId === application.id) await ports.grants.deauthorize(userId, application.id);
    },
  };
}

/** Ends the tokens of a code that was redeemed twice, because one of the two clients must have stolen it. */
const reusedCodeFacts = ({ userId, id, chainId }: Code): OAuthFact[] => [
  { type: 'codeEnded', userId, codeId: id },
  ...(chainId === null ? [] : [{ type: 'chainEnded' as const, userId, chainId }]),
];

function codeRefusal(verdict: Judged): { readonly ok: false; readonly refusal: Refusal } {
  if (verdict === 'wrongRedirect') return failure('invalid_grant', 'Invalid "redirect_uri" in request.');
  if (verdict === 'wrongVerifier') return failure('invalid_grant', 'Invalid "code_verifier" in request.');
  return INVALID_CODE;
}

/** When the user agreed: the creation time of the chain, which its id contains. */
function agreedMsOf({ id }: Chain, nowMs: number): number {
  return Math.min(nowMs, snowflakeMs(id));
}
