import type { ApplicationId, UserId } from '../../protocol/ids.ts';
import { expandScopes } from '../../protocol/scopes.ts';
import type { Secret } from '../identity/secret.ts';
import { hashOf, makeToken } from '../identity/tokens.ts';
import type { IdTokenKeys } from './idtokens.ts';
import type { IssuedTokens, TokenOrder } from './ports.ts';

export interface TokenIssuerPorts {
  readonly keys: IdTokenKeys;
  /** Unix milliseconds. */
  nowMs(): number;
  randomBytes(size: number): Uint8Array;
  /** Base URL of this server as clients use it: the issuer of ID tokens. */
  publicUrl(): string;
}

/** A pair of tokens that does not count yet. */
export interface TokenPair {
  readonly access: Secret;
  readonly refresh: Secret | null;
  readonly hashes: { readonly accessHash: string; readonly refreshHash: string | null };
}

/** Makes the texts of tokens, and the answers that show them. */
export function createTokenIssuer(ports: TokenIssuerPorts) {
  function generate(userId: UserId, refreshable: boolean): TokenPair {
    const make = () => makeToken(userId, ports.nowMs(), (size) => ports.randomBytes(size));
    const access = make();
    const refresh = refreshable ? make() : null;
    const refreshHash = refresh && hashOf(refresh.reveal());
    return { access, refresh, hashes: { accessHash: hashOf(access.reveal()), refreshHash } };
  }

  /** The answer that shows tokens tokens, with an ID token when `openid` is among the scopes. */
  async function respond(
    tokens: TokenPair,
    chain: { userId: UserId; applicationId: ApplicationId; scopes: TokenOrder['scopes']; expiresMs: number },
    identity: { readonly nonce: string | null; readonly agreedMs: number },
  ): Promise<IssuedTokens> {
    const scopes = expandScopes(chain.scopes);
    // Up: what was begun as seven days is told as seven days, though it took a moment to be durable.
    const expiresInSec = Math.max(0, Math.ceil((chain.expiresMs - ports.nowMs()) / 1000));
    const claims = {
      issuer: ports.publicUrl(),
      subject: chain.userId,
      audience: chain.applicationId,
      nonce: identity.nonce,
      authenticatedMs: identity.agreedMs,
      lifeSec: expiresInSec,
    };
    return {
      accessToken: tokens.access,
      refreshToken: tokens.refresh,
      expiresInSec,
      expiresMs: chain.expiresMs,
      scopes,
      idToken: scopes.has('openid') ? await ports.keys.sign(claims) : null,
    };
  }

  return { generate, respond };
}
