import type { Clock } from '../../actors/runtime/clock.ts';
import type { ApplicationId, UserId } from '../../protocol/ids.ts';
import { expandScopes } from '../../protocol/scopes.ts';
import type { Secret } from '../../protocol/secret.ts';
import { hashOf, makeToken } from '../identity/identity.ts';
import type { IdTokenKeys } from './idtokens.ts';
import type { IssuedTokens, TokenOrder } from './ports.ts';

export interface TokenIssuerPorts {
  readonly keys: IdTokenKeys;
  readonly clock: Pick<Clock, 'now'>;
  randomBytes(size: number): Uint8Array;
  /** Base URL of this server as clients use it: the issuer of ID tokens. */
  publicUrl(): string;
}

/** Generated tokens that are not valid until their hashes are committed. */
export interface TokenPair {
  readonly access: Secret;
  readonly refresh: Secret | null;
  readonly hashes: { readonly accessHash: string; readonly refreshHash: string | null };
}

/** Generates tokens and the responses that contain them. */
export function createTokenIssuer(ports: TokenIssuerPorts) {
  function generate(userId: UserId, refreshable: boolean): TokenPair {
    const make = () => makeToken(userId, ports.clock.now(), (size) => ports.randomBytes(size));
    const access = make();
    const refresh = refreshable ? make() : null;
    const refreshHash = refresh && hashOf(refresh.reveal());
    return { access, refresh, hashes: { accessHash: hashOf(access.reveal()), refreshHash } };
  }

  /** The token response, with an ID token when `openid` is among the scopes. */
  async function respond(
    tokens: TokenPair,
    chain: { userId: UserId; applicationId: ApplicationId; scopes: TokenOrder['scopes']; expiresMs: number },
    identity: { readonly nonce: string | null; readonly agreedMs: number },
  ): Promise<IssuedTokens> {
    const scopes = expandScopes(chain.scopes);
    // Rounded up: a lifetime of seven days is reported as seven days although the commit took a moment.
    const expiresInSec = Math.max(0, Math.ceil((chain.expiresMs - ports.clock.now()) / 1000));
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
