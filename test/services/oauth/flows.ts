import { createHash } from 'node:crypto';
import type { AuthorizeQuery } from '../../../engine/oauth/request.ts';
import type { UserId } from '../../../protocol/ids.ts';
import type { OAuth, TokenRequest } from '../../../services/oauth/ports.ts';
import { ANNA, GAME } from './arrange.ts';

export const CALLBACK = 'https://game.example/callback';
export const VERIFIER = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk';
export const CHALLENGE = createHash('sha256').update(VERIFIER).digest('base64url');

const ABSENT: AuthorizeQuery = {
  client_id: null,
  response_type: null,
  scope: null,
  redirect_uri: null,
  state: null,
  prompt: null,
  nonce: null,
  code_challenge: null,
  code_challenge_method: null,
  integration_type: null,
  permissions: null,
  guild_id: null,
  disable_guild_select: null,
};

/** An authorization request of the game, by code, with everything in order. */
export const asking = (more: Partial<AuthorizeQuery> = {}): AuthorizeQuery => ({
  ...ABSENT,
  client_id: GAME,
  response_type: 'code',
  scope: 'identify',
  redirect_uri: CALLBACK,
  state: 's t&=',
  ...more,
});

export const AGREE = { authorize: true, permissions: null, guildId: null, integrationType: null } as const;

/** Where a person is sent who agrees. */
export async function agreedTo(
  oauth: OAuth,
  query: AuthorizeQuery = asking(),
  userId: UserId = ANNA,
): Promise<URL> {
  const decided = await oauth.consents.decide(userId, query, AGREE);
  if (decided.kind !== 'decided' || decided.location === null)
    throw new Error(`Not agreed: ${JSON.stringify(decided)}`);
  return new URL(decided.location);
}

export const codeIn = (location: URL): string => location.searchParams.get('code') ?? '';

/** A token request of the game; `secret` null for a client that shows none. */
export const tokenRequest = (
  secret: string | null,
  more: Partial<TokenRequest> & Pick<TokenRequest, 'grantType'>,
): TokenRequest => ({
  clientId: GAME,
  clientSecret: secret,
  code: null,
  redirectUri: null,
  codeVerifier: null,
  refreshToken: null,
  scope: null,
  deviceCode: null,
  external: null,
  ...more,
});
