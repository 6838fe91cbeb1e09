import type { Reply } from '../../engine/kernel/aggregate.ts';
import { checkClaims, type Expected, readTokenHeader } from '../../engine/provisional/idtoken.ts';
import type { ConfigurableProvider, ProviderSettings } from '../../engine/provisional/providers.ts';
import type { ExternalAuthType, ProviderType } from '../../protocol/identities.ts';
import type { ApplicationId } from '../../protocol/ids.ts';
import { type Refusal, refusal } from '../../protocol/refusal.ts';
import type { KeySets, Signer } from './keysets.ts';
import type { ExternalVerifier, OutgoingHttp, VerifiedPlayer } from './ports.ts';
import { verifyEpicAccessToken, verifySteamTicket } from './providerchecks.ts';

interface VerifierPorts {
  readonly keySets: KeySets;
  readonly outgoing: OutgoingHttp;
  /** The application's settings of a provider; null when it is not configured. */
  settings(applicationId: ApplicationId, type: ConfigurableProvider): Promise<ProviderSettings | null>;
  /** Unix milliseconds. */
  nowMs(): number;
}

type SettingsOf<Type extends ConfigurableProvider> = Extract<ProviderSettings, { readonly type: Type }>;

/** Proof types of external providers, without tokens issued by the application's own bot. */
export type ForeignAuthType = Exclude<ExternalAuthType, 'DISCORD_BOT_ISSUED_ACCESS_TOKEN'>;

/**
 * Providers with one issuer for all games. Their name claim is the account's name.
 *
 * @source https://dev.epicgames.com/docs/web-api-ref/authentication, https://services.docs.unity.com/docs/client-auth/
 * and https://developer.apple.com/documentation/signinwithapple/verifying-a-user
 */
const FIXED_SIGNERS = {
  epic: {
    issuer: 'https://api.epicgames.dev/epic/oauth/v2',
    jwksUri: 'https://api.epicgames.dev/epic/oauth/v2/.well-known/jwks.json',
  },
  unity: {
    issuer: 'https://player-auth.services.api.unity.com',
    jwksUri: 'https://player-auth.services.api.unity.com/.well-known/jwks.json',
  },
  apple: { issuer: 'https://appleid.apple.com', jwksUri: 'https://appleid.apple.com/auth/keys' },
} as const satisfies Record<string, Signer>;

/** One verifier per proof type. */
export function createVerifiers(ports: VerifierPorts): Readonly<Record<ForeignAuthType, ExternalVerifier>> {
  /** A verifier that uses the application's settings, or refuses with `none` when there are none. */
  const configured = <Type extends ConfigurableProvider>(
    type: Type,
    none: Refusal,
    check: (token: string, settings: SettingsOf<Type>) => Promise<Reply<VerifiedPlayer>>,
  ): ExternalVerifier => ({
    async verify(applicationId, token) {
      const settings = await ports.settings(applicationId, type);
      return settings ? check(token, settings as SettingsOf<Type>) : { ok: false, refusal: none };
    },
  });

  const verifyToken = (
    token: string,
    signer: Signer,
    expected: Omit<Expected, 'issuer'>,
    who: { readonly providerType: ProviderType; readonly providerId: string | null },
  ) => verifyIdToken(ports, token, signer, { issuer: signer.issuer, ...expected }, who);

  const notGranted = refusal('PROVISIONAL_ACCOUNTS_NOT_GRANTED');
  const noProviderId = (providerType: ProviderType) => ({ providerType, providerId: null });
  return {
    OIDC: configured('OIDC', refusal('OIDC_CONFIG_NOT_FOUND'), (token, { issuer, clientId }) =>
      verifyToken(
        token,
        { issuer, jwksUri: null },
        { audience: clientId, nameClaim: 'preferred_username' },
        { providerType: 'OIDC', providerId: issuer },
      ),
    ),
    EPIC_ONLINE_SERVICES_ID_TOKEN: configured('EPIC_ONLINE_SERVICES', notGranted, (token, { clientId }) =>
      verifyToken(
        token,
        FIXED_SIGNERS.epic,
        { audience: clientId, nameClaim: 'dn' },
        noProviderId('EPIC_ONLINE_SERVICES'),
      ),
    ),
    UNITY_SERVICES_ID_TOKEN: configured('UNITY', notGranted, (token, { projectId }) =>
      verifyToken(
        token,
        FIXED_SIGNERS.unity,
        { audience: `upid:${projectId}`, nameClaim: null },
        noProviderId('UNITY'),
      ),
    ),
    APPLE_ID_TOKEN: configured('APPLE', notGranted, (token, { clientId }) =>
      verifyToken(token, FIXED_SIGNERS.apple, { audience: clientId, nameClaim: null }, noProviderId('APPLE')),
    ),
    PLAYSTATION_NETWORK_ID_TOKEN: configured('PLAYSTATION_NETWORK', notGranted, (token, settings) =>
      verifyToken(
        token,
        { issuer: settings.issuer, jwksUri: null },
        { audience: settings.clientId, nameClaim: 'online_id' },
        noProviderId('PLAYSTATION_NETWORK'),
      ),
    ),
    EPIC_ONLINE_SERVICES_ACCESS_TOKEN: configured('EPIC_ONLINE_SERVICES', notGranted, (token, settings) =>
      verifyEpicAccessToken(ports.outgoing, token, settings.clientId),
    ),
    STEAM_SESSION_TICKET: configured('STEAM', notGranted, (token, settings) =>
      verifySteamTicket(ports.outgoing, token, settings),
    ),
  };
}

const INVALID = { ok: false, refusal: refusal('INVALID_OIDC_TOKEN') } as const;

/**
 * Verifies an ID token: form, then claims, then signature, so that an invalid token causes no request to the issuer.
 */
async function verifyIdToken(
  { keySets, nowMs }: VerifierPorts,
  token: string,
  signer: Signer,
  expected: Expected,
  who: { readonly providerType: ProviderType; readonly providerId: string | null },
): Promise<Reply<VerifiedPlayer>> {
  // Loaded for the first token: most processes verify none.
  const { compactVerify, decodeJwt, decodeProtectedHeader } = await import('jose');
  let parts: { readonly header: unknown; readonly claims: unknown };
  try {
    parts = { header: decodeProtectedHeader(token), claims: decodeJwt(token) };
  } catch {
    return INVALID;
  }
  const header = readTokenHeader(parts.header);
  if (!header.ok) return header;
  const player = checkClaims(parts.claims, expected, nowMs());
  if (!player.ok) return player;
  const key = await keySets.key(signer, header.value);
  if (!key.ok) return key;
  try {
    await compactVerify(token, key.value, { algorithms: [header.value.algorithm] });
  } catch {
    return INVALID;
  }
  const { subject, name } = player.value;
  return { ok: true, value: { ...who, providerIssuedUserId: subject, name } };
}
