import { isRecord } from '../../protocol/json.ts';
import { SIGNING_ALGORITHMS, type SigningAlgorithm } from './idtoken.ts';

/** Longest URL of an issuer or of its keys. */
const URL_CHARACTERS_MAX = 2048;
/**
 * Names that never lead to the public.
 *
 * @source
 * https://docs.discord.com/developers/discord-social-sdk/development-guides/provisional-accounts/identity-providers,
 * "Issuer URL Requirements"; RFC 6761, RFC 6762
 */
const PRIVATE_TOP_LABELS: ReadonlySet<string> = new Set(['local', 'arpa', 'internal', 'localhost']);
const PRINTABLE = /^[\x21-\x7e]+$/;
const IPV4 = /^\d+(\.\d+){3}$/;

function parsed(text: string): URL | null {
  if (text.length > URL_CHARACTERS_MAX || !PRINTABLE.test(text)) return null;
  return URL.canParse(text) ? new URL(text) : null;
}

/** Why a host is not public; null when it may be. `URL` has already rewritten numbers as addresses. */
function hostProblem(host: string): string | null {
  if (host.startsWith('[') || IPV4.test(host)) return 'It must name a host, not an address.';
  const labels = host.split('.');
  if (labels.length < 2 || labels.includes('')) return 'Its host must have at least two labels.';
  if (PRIVATE_TOP_LABELS.has(labels.at(-1)!)) return 'Its host must not be of a private domain.';
  return null;
}

/**
 * Why a text is not a valid issuer; null when it is.
 *
 * @param isPrivate The operator has allowed this origin although it is not public: its host is not checked.
 * @source
 * https://docs.discord.com/developers/discord-social-sdk/development-guides/provisional-accounts/identity-providers,
 * "Issuer URL Requirements"
 */
export function issuerProblem(text: string, isPrivate: boolean): string | null {
  const url = parsed(text);
  if (url === null) return 'It must be a URL of at most 2048 printable characters.';
  if (url.protocol !== 'https:') return 'It must begin with https://.';
  if (text.includes('?')) return 'It must not have a query.';
  if (text.includes('#')) return 'It must not have a fragment.';
  if (url.username !== '' || url.password !== '' || text.includes('@'))
    return 'It must not have credentials.';
  return isPrivate ? null : hostProblem(url.hostname);
}

export const discoveryUrl = (issuer: string): string =>
  `${issuer.endsWith('/') ? issuer.slice(0, -1) : issuer}/.well-known/openid-configuration`;

/** The needed fields of a discovery document. */
export interface Discovery {
  readonly jwksUri: string;
  /** The supported ones of the named algorithms; at least one. */
  readonly algorithms: readonly SigningAlgorithm[];
}

/** Reads a discovery document; null for an unusable document or another issuer's. */
export function readDiscovery(document: unknown, issuer: string): Discovery | null {
  if (!isRecord(document)) return null;
  const { issuer: claimed, jwks_uri: jwksUri, id_token_signing_alg_values_supported: named } = document;
  if (claimed !== issuer || typeof jwksUri !== 'string' || !Array.isArray(named)) return null;
  const url = parsed(jwksUri);
  if (url?.protocol !== 'https:' || url.username !== '' || url.password !== '') return null;
  const algorithms = SIGNING_ALGORITHMS.filter((algorithm) => named.includes(algorithm));
  return algorithms.length > 0 ? { jwksUri, algorithms } : null;
}
