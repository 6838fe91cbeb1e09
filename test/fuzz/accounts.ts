// Goal: the parsers of untrusted links, forms, cookies, tokens and presences answer every input at once, redirect no
// user elsewhere, and accept nothing that they must refuse.

import { cleanMetadata, METADATA, metadataRefusal } from '../../engine/lobby/metadata.ts';
import { mayRegister } from '../../engine/oauth/redirects.ts';
import { type AuthorizeQuery, readRequest } from '../../engine/oauth/request.ts';
import { readActivities } from '../../engine/presence/activities.ts';
import { checkClaims, readTokenHeader } from '../../engine/provisional/idtoken.ts';
import { issuerProblem, readDiscovery } from '../../engine/provisional/issuer.ts';
import type { Application } from '../../engine/user/facts.ts';
import type { ApplicationId, UserId } from '../../protocol/ids.ts';
import { createKeys } from '../../services/accounts/keys.ts';
import { claimedUser } from '../../services/identity/identity.ts';
import { readQuery } from '../../transports/http/exchange.ts';
import { readCookie } from '../../transports/pages/cookies.ts';
import { formTarget, safeNext } from '../../transports/pages/origin.ts';
import { over } from './parsers.ts';
import type { Random } from './random.ts';

const REDIRECTS = [
  'https://game.example/callback',
  'http://127.0.0.1/callback',
  'http://[::1]/',
  'game-7:/authorize/callback',
  'https://game.example:8443/a?b=c',
];
const GAME: Application = {
  id: '7' as ApplicationId,
  bot_id: '8' as UserId,
  owner_id: '9' as UserId,
  name: 'Game',
  icon: null,
  cover_image: null,
  description: '',
  bot_public: true,
  bot_require_code_grant: false,
  flags: 0,
  verify_key: '',
  tags: [],
  interactions_endpoint_url: null,
  role_connections_verification_url: null,
  custom_install_url: null,
  redirect_uris: REDIRECTS,
  install_params: null,
  integration_types_config: null,
  event_webhooks_url: null,
  event_webhooks_status: 1,
  event_webhooks_types: [],
  max_participants: null,
  explicit_content_filter: 0,
};

const ODD = [
  '',
  '\u0000',
  '\r\nSet-Cookie: a=b',
  '//',
  '/\\',
  '@',
  '#',
  '?',
  '%2f',
  '\ud800',
  '😀',
  '..',
  ':',
  '\t',
  'evil.example',
  ';',
  '=',
];

/** A text that is mostly what it should be, with up to three things in it that it should not have. */
function bent(random: Random, from: readonly string[]): string {
  let text = random.pick(from);
  for (let edits = random.below(4); edits > 0; edits -= 1) {
    const at = random.below(text.length + 1);
    text = text.slice(0, at) + random.pick(ODD) + text.slice(at + random.below(4));
  }
  return random.next() < 0.001 ? text.repeat(2_000) : text;
}

const CHALLENGE = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM';
const VALUES: Readonly<Record<keyof AuthorizeQuery, readonly string[]>> = {
  client_id: ['7'],
  response_type: ['code', 'code', 'token', 'id_token'],
  scope: [
    'identify',
    'identify guilds',
    'openid sdk.social_layer',
    'bot',
    'bot applications.commands',
    'identify  email',
  ],
  redirect_uri: REDIRECTS,
  state: ['state', 's t&=#', 'x'.repeat(500)],
  prompt: ['none', 'consent'],
  nonce: ['n'],
  code_challenge: [CHALLENGE],
  code_challenge_method: ['S256', 'S256', 'plain'],
  integration_type: ['0', '1', '2'],
  permissions: ['0', '8', '18446744073709551615', '99999999999999999999'],
  guild_id: ['1', '18446744073709551615'],
  disable_guild_select: ['true', 'false'],
};

function authorizeQuery(random: Random): AuthorizeQuery {
  const wild = random.next() < 0.5 ? 0.3 : 0.02;
  const pairs = Object.entries(VALUES).map(([name, values]) => {
    const value = random.next() < wild ? bent(random, values) : random.pick(values);
    return [name, random.next() < 0.3 ? null : value] as const;
  });
  return Object.fromEntries(pairs) as unknown as AuthorizeQuery;
}

/** All of a redirect but its query, its fragment and, of a loopback address, the port and an empty path. */
function placeOf(uri: string): string {
  const place = uri.replace(/[?#].*$/, '').replace(/^(http:\/\/(?:127\.0\.0\.1|\[::1\])):\d+/, '$1');
  return place === 'http://[::1]' ? `${place}/` : place;
}
const PLACES = new Set(REDIRECTS.map(placeOf));

/** Requests for consent: no request redirects a user to an address that the application has not registered. */
export const fuzzAuthorize = over(
  authorizeQuery,
  (query, watch) => {
    const read = readRequest(query, GAME);
    watch.count(read.kind);
    const uri =
      read.kind === 'redirect' ? read.location : read.kind === 'request' ? read.request.redirectUri : null;
    if (uri !== null && !PLACES.has(placeOf(uri))) throw new Error(`It leads to ${uri}`);
    if (read.kind === 'redirect' && /[^\x21-\x7e]/.test(read.location))
      throw new Error('A header could begin in it.');
    if (query.redirect_uri !== null && mayRegister(query.redirect_uri)) {
      watch.count('registered');
      const { protocol } = new URL(query.redirect_uri);
      if (['javascript:', 'data:', 'file:', 'blob:'].includes(protocol)) throw new Error('It would run.');
    }
  },
  (query) => JSON.stringify(query),
);

const PATHS = [
  '/settings',
  '/activate?user_code=BCDFGHJK',
  '/oauth2/authorize?client_id=7',
  '/voice-room/',
  '/login',
  'https://evil.example',
];
const HEADERS = [
  'guildhall_session=abc',
  'a=b; guildhall_session=abc; c=d',
  'guildhall_session=x; guildhall_session=abc',
];
const KEYS = createKeys('the secret of a fuzzed server');
const TICKET = KEYS.ticket('reset', '7' as UserId, 2_000_000_000_000, 'state');
const SEALED = KEYS.seal('plain', 'bound', Buffer.alloc(12, 1));
const TOKENS = [
  'MTU3Mzc1OTgzNjM5MzMwODE2MA.awHcFA.RFZug-YiOcnoB_-dVPIVcUsumgJS-KqDHpYePt1LHYk',
  TICKET,
  SEALED,
];

/** Inputs of browsers: the next path, cookies, forms, tickets. */
export const fuzzPages = over(
  (random) => bent(random, random.pick([PATHS, HEADERS, TOKENS, REDIRECTS])),
  (text, watch) => {
    const next = safeNext(text);
    watch.count(next === null ? 'nowhere' : 'somewhere');
    if (next !== null && new URL(next, 'https://own.example').host !== 'own.example')
      throw new Error(`It leads to ${next}`);
    const target = formTarget(text);
    if (target !== null && /[\s;,'"]/.test(target)) throw new Error('A policy could be ended in it.');
    watch.count(readCookie(text, 'guildhall_session') === null ? 'no cookie' : 'a cookie');
    if (Object.getPrototypeOf(readQuery(text)) !== null) throw new Error('A form with a prototype.');
    if (claimedUser(text) !== null) watch.count('a token');
    const claim = KEYS.claim(text);
    if (claim && text !== TICKET && KEYS.verifies(claim, 'reset', 'state', 0)) watch.count('bent and proved');
    if (text !== SEALED && KEYS.unseal(text, 'bound') !== null) watch.count('bent and opened');
  },
  (text) => JSON.stringify(text),
);

const WORDS = [
  'iss',
  'aud',
  'sub',
  'exp',
  'iat',
  'nbf',
  'alg',
  'kid',
  'crit',
  'issuer',
  'jwks_uri',
  'id_token_signing_alg_values_supported',
  'preferred_username',
  '__proto__',
];
const SCALARS = [
  'https://id.example.org',
  'game',
  'player',
  'ES256',
  'none',
  'HS256',
  'https://id.example.org/jwks',
  'https://127.0.0.1/',
  '\u0000',
  '\ud800',
  '',
  0,
  1,
  2_000_000_000,
  1.7e9,
  -1,
  1e308,
  null,
  true,
];
const GOOD = {
  iss: 'https://id.example.org',
  aud: 'game',
  sub: 'player',
  iat: 1_700_000_000,
  exp: 1_700_003_600,
  alg: 'ES256',
  kid: 'k',
  issuer: 'https://id.example.org',
  jwks_uri: 'https://id.example.org/jwks',
  id_token_signing_alg_values_supported: ['ES256'],
};
const NOW_MS = 1_700_000_100_000;

function claims(random: Random): unknown {
  if (random.next() < 0.02) return random.pick<unknown>([...SCALARS, [], [[]]]);
  const value = (): unknown =>
    random.next() < 0.2 ? [random.pick(SCALARS)] : random.next() < 0.1 ? {} : random.pick(SCALARS);
  const changed = Array.from({ length: random.below(3) }, () => [random.pick(WORDS), value()] as const);
  return { ...GOOD, ...Object.fromEntries(changed) };
}

/** Tokens of issuers and of forgers. */
export const fuzzIdToken = over(
  claims,
  (document, watch) => {
    const given = document as Record<string, unknown> | null;
    const header = readTokenHeader(document);
    if (header.ok && /^(none|HS)/i.test(header.value.algorithm)) throw new Error('A signature that is none.');
    const checked = checkClaims(
      document,
      { issuer: GOOD.iss, audience: 'game', nameClaim: 'preferred_username' },
      NOW_MS,
    );
    watch.count(checked.ok ? 'taken' : checked.refusal.code);
    if (checked.ok && (given?.iss !== GOOD.iss || ![given.aud].flat().includes('game')))
      throw new Error('It is for another.');
    const discovery = readDiscovery(document, GOOD.issuer);
    watch.count(discovery ? 'discovered' : 'no discovery');
    if (discovery && !discovery.jwksUri.startsWith('https://')) throw new Error('Keys without https.');
    if (typeof given?.jwks_uri === 'string') issuerProblem(given.jwks_uri, false);
  },
  (document) => JSON.stringify(document),
);

const TEXTS = [
  'x',
  'xy',
  '',
  ' ',
  '\u0000',
  '\ud800',
  '😀'.repeat(200),
  'x'.repeat(1_100),
  'https://a.example/',
  'javascript:1',
  '7',
  'secret',
];
const FIELDS = [
  'name',
  'type',
  'state',
  'details',
  'state_url',
  'details_url',
  'assets',
  'party',
  'secrets',
  'buttons',
  'metadata',
  'timestamps',
  'emoji',
  'flags',
  'application_id',
  'id',
  'join',
  'size',
  'privacy',
  'large_image',
  'label',
  'url',
  'button_urls',
  'start',
  'supported_platforms',
  '__proto__',
];

function anything(random: Random, depth: number): unknown {
  const kind = random.below(depth > 3 ? 3 : 6);
  if (kind === 0) return random.pick<unknown>([null, true, 0, 1, -1, 3, 5, 1.5, 2 ** 53, 1e99]);
  if (kind < 3) return random.pick(TEXTS);
  const size = random.below(5);
  if (kind === 3) return Array.from({ length: size }, () => anything(random, depth + 1));
  return Object.fromEntries(
    Array.from({ length: size }, () => [random.pick(FIELDS), anything(random, depth + 1)]),
  );
}

const JOIN = 'what lets others in';

/** Activities of presences, and metadata of lobbies. */
export const fuzzPresence = over(
  (random) => {
    const from = anything(random, 0);
    const rest = typeof from === 'object' && !Array.isArray(from) ? from : {};
    const usual =
      random.next() < 0.5
        ? { secrets: { join: JOIN }, buttons: [{ label: 'l', url: 'https://a.example/' }] }
        : {};
    return [{ name: 'x', type: random.below(6), ...usual, ...rest }, anything(random, 0)];
  },
  (sent, watch) => {
    const source = { sessionId: 'session', applicationId: '7' as ApplicationId };
    const { shown, hidden } = readActivities(sent, false, NOW_MS, source);
    watch.count(`${shown.length} shown`);
    if (hidden.length > 0) watch.count('hidden');
    if (JSON.stringify(shown).includes(JOIN)) throw new Error('A secret is shown.');
    if (shown.some((activity) => 'secrets' in activity)) throw new Error('Secrets are shown.');
    const map = Object.fromEntries(
      Object.entries(sent[0] as object).filter(([, value]) => typeof value === 'string'),
    );
    const isFit = metadataRefusal(map, METADATA, ['metadata']) === null;
    watch.count(isFit ? 'fits' : 'does not fit');
    if (/\\u0000|\\ud8/.test(JSON.stringify(cleanMetadata(map))))
      throw new Error('The database does not take it.');
  },
  (sent) => JSON.stringify(sent),
);
