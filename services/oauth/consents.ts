import type { OAuthFact } from '../../engine/oauth/facts.ts';
import { agree, grantOf, issueCode } from '../../engine/oauth/holdings.ts';
import { answeredAt } from '../../engine/oauth/redirects.ts';
import {
  type AuthorizeQuery,
  type AuthorizeRequest,
  failed,
  readRequest,
} from '../../engine/oauth/request.ts';
import { PLACING } from '../../engine/oauth/scopes.ts';
import { type GuildId, isApplicationId, type UserId } from '../../protocol/ids.ts';
import { oauthRefusal } from '../../protocol/oauth.ts';
import type { OAuthErrorName } from '../../protocol/oautherrors.ts';
import { P } from '../../protocol/permissions.ts';
import { invalidField, type Refusal, refusal } from '../../protocol/refusal.ts';
import { expandScopes } from '../../protocol/scopes.ts';
import type { ApplicationStore, TeamStore } from '../../storage/application/port.ts';
import { teamRights } from '../applications/teams.ts';
import { hashOf, makeToken } from '../identity/identity.ts';
import type { GrantCache, Grants } from './grants.ts';
import { authorizedFacts, type Installer, type InstallPorts } from './install.ts';
import type {
  ConsentOutcome,
  Consents,
  Decision,
  DecisionOutcome,
  IssuedTokens,
  UserGuild,
} from './ports.ts';

export interface ConsentPorts extends Pick<InstallPorts, 'users' | 'guildObject'> {
  readonly grantCache: GrantCache;
  readonly grants: Grants;
  readonly install: Installer;
  readonly applications: Pick<ApplicationStore, 'get'>;
  readonly teams: Pick<TeamStore, 'get'>;
  /** The user's guilds, each with the user's permissions. */
  guildsOf(userId: UserId): Promise<readonly UserGuild[]>;
  randomBytes(size: number): Uint8Array;
}

const refused = (no: Refusal): { readonly kind: 'refused'; readonly refusal: Refusal } => ({
  kind: 'refused',
  refusal: no,
});

const mayInstall = ({ permissions }: UserGuild): boolean =>
  (BigInt(permissions) & (P.MANAGE_GUILD | P.ADMINISTRATOR)) !== 0n;

async function readRequestOf(ports: ConsentPorts, userId: UserId, query: AuthorizeQuery) {
  const id = query.client_id;
  const application = isApplicationId(id) ? await ports.applications.get(id) : null;
  const outcome = readRequest(query, application);
  if (outcome.kind !== 'request') return outcome;
  const { request } = outcome;
  // Only the owner of a private bot, or its team, may add it.
  if (!request.application.bot_public && placesBot(request)) {
    const isOwn = await teamRights(ports).may(request.application, userId, 'invite');
    if (!isOwn) return failed(request, 'access_denied', 'Only its owner may add this bot.');
  }
  return outcome;
}

async function isAgreed(ports: ConsentPorts, userId: UserId, request: AuthorizeRequest): Promise<boolean> {
  if (request.scopes.some((scope) => PLACING.has(scope))) return false;
  const grant = grantOf(await ports.grantCache.holdings(userId), request.application.id);
  const given = new Set(grant?.scopes);
  return grant !== null && [...expandScopes(request.scopes)].every((scope) => given.has(scope));
}

async function guildsFor(
  ports: ConsentPorts,
  userId: UserId,
  request: AuthorizeRequest,
): Promise<readonly UserGuild[] | null> {
  if (!placesInGuild(request)) return null;
  const all = (await ports.guildsOf(userId)).filter(mayInstall);
  return request.guildFixed && request.guildId !== null
    ? all.filter(({ id }) => id === request.guildId)
    : all;
}

/** The redirect of an implicit grant. Tokens are in the fragment, which browsers do not send to servers. */
async function implicitRedirect(
  ports: ConsentPorts,
  userId: UserId,
  request: AuthorizeRequest,
  uri: string,
): Promise<string> {
  const { scopes, nonce } = request;
  const order = { userId, applicationId: request.application.id, scopes, nonce };
  const tokens: IssuedTokens = await ports.grants.issue({ ...order, refreshable: false });
  return answeredAt(uri, 'fragment', {
    token_type: 'Bearer',
    access_token: tokens.accessToken.reveal(),
    expires_in: String(tokens.expiresInSec),
    scope: scopes.join(' '),
    id_token: tokens.idToken,
    state: request.state,
  });
}

/** Commits the grant, the authorization code of a code request, and the application's webhook event. Null when refused. */
async function storeConsent(
  ports: ConsentPorts,
  userId: UserId,
  agreed: AgreedRequest,
): Promise<{ code: string | null } | null> {
  const { request, integrationType, guildId } = agreed;
  const { application, scopes } = request;
  const userInstall = integrationType === 1 && scopes.includes('applications.commands');
  const isInstalled = guildId !== null || userInstall;
  const authorization = {
    application,
    userId,
    scopes,
    guildId,
    integrationType: isInstalled ? integrationType : null,
  };
  const events = await authorizedFacts(ports, authorization, ports.grants.envNow());
  const code =
    request.responseType === 'code'
      ? makeToken(userId, ports.grants.envNow().nowMs, ports.randomBytes)
      : null;
  const isWritten = await ports.grantCache.change(userId, (held) => {
    const env = ports.grants.envNow();
    const asked = { userId, applicationId: application.id, scopes, userInstall };
    const isLasting = userInstall || scopes.some((scope) => !PLACING.has(scope));
    const made = isLasting ? agree(held, asked, env) : { facts: [] };
    if (!made) return { value: false, facts: [] };
    const codes: readonly OAuthFact[] = code
      ? issueCode(
          held,
          {
            userId,
            applicationId: application.id,
            hash: hashOf(code.reveal()),
            redirectUri: request.redirectNamed ? request.redirectUri : null,
            challenge: request.challenge,
            scopes,
            nonce: request.nonce,
            guildId,
            install: agreed.installOnExchange,
          },
          env,
        )
      : [];
    return { value: true, facts: [...made.facts, ...codes, ...events] };
  });
  return isWritten ? { code: code?.reveal() ?? null } : null;
}

async function accept(
  ports: ConsentPorts,
  userId: UserId,
  request: AuthorizeRequest,
  decision: Decision,
): Promise<DecisionOutcome> {
  const integrationType = decision.integrationType ?? request.integrationType;
  const isInGuild = placesInGuild(request) && integrationType === 0;
  const guildId = isInGuild ? (decision.guildId ?? request.guildId) : null;
  const wrong = choiceRefusal(request, decision, { isInGuild, integrationType, guildId });
  if (wrong) return refused(wrong);
  if (guildId !== null && !(await guildsFor(ports, userId, request))?.some(({ id }) => id === guildId))
    return refused(refusal('MISSING_PERMISSIONS'));
  const bits = decision.permissions === null ? request.permissions : BigInt(decision.permissions);
  const permissions = String(bits & request.permissions);
  const install = guildId !== null && placesBot(request) ? { guildId, permissions } : null;
  const isLater = request.application.bot_require_code_grant;
  if (install && !isLater) {
    const added = await ports.install(userId, request.application, install);
    if (!added.ok) return refused(added.refusal);
  }
  const later = isLater ? install : null;
  const written = await storeConsent(ports, userId, {
    request,
    integrationType,
    guildId,
    installOnExchange: later,
  });
  if (!written)
    return refused(oauthRefusal('access_denied', 'The user has authorized too many applications.'));
  const { redirectUri, responseType, state } = request;
  if (redirectUri === null || responseType === null) return { kind: 'decided', location: null, guildId };
  if (responseType === 'token')
    return {
      kind: 'decided',
      location: await implicitRedirect(ports, userId, request, redirectUri),
      guildId,
    };
  const placed: Record<string, string> = install ? { guild_id: install.guildId, permissions } : {};
  const location = answeredAt(redirectUri, 'query', { code: written.code, state, ...placed });
  return { kind: 'decided', location, guildId };
}

/** Describes authorization requests to users and carries out their decisions. */
export function createConsents(ports: ConsentPorts): Consents {
  return {
    async describe(userId, query): Promise<ConsentOutcome> {
      const outcome = await readRequestOf(ports, userId, query);
      if (outcome.kind !== 'request') return outcome;
      const { request } = outcome;
      const [agreed, guilds] = await Promise.all([
        isAgreed(ports, userId, request),
        guildsFor(ports, userId, request),
      ]);
      return { kind: 'consent', consent: { request, agreed, guilds } };
    },

    async decide(userId, query, decision) {
      const outcome = await readRequestOf(ports, userId, query);
      if (outcome.kind === 'refused') return outcome;
      if (outcome.kind === 'redirect') return { ...outcome, kind: 'decided', guildId: null };
      if (decision.authorize) return accept(ports, userId, outcome.request, decision);
      return denied(
        outcome.request,
        'access_denied',
        'The resource owner or authorization server denied the request',
      );
    },
  };
}

/** A request that the user agreed to, with the user's choices. */
interface AgreedRequest {
  readonly request: AuthorizeRequest;
  readonly integrationType: 0 | 1;
  readonly guildId: GuildId | null;
  /** The bot to install when the code is exchanged; null when nothing is installed later. */
  readonly installOnExchange: { readonly guildId: GuildId; readonly permissions: string } | null;
}

const placesBot = ({ scopes }: AuthorizeRequest): boolean => scopes.includes('bot');
const placesInGuild = ({ scopes, integrationType }: AuthorizeRequest): boolean =>
  integrationType === 0 && scopes.some((scope) => PLACING.has(scope));

function denied(request: AuthorizeRequest, error: OAuthErrorName, description: string): DecisionOutcome {
  const end = failed(request, error, description);
  return end.kind === 'redirect'
    ? { kind: 'decided', location: end.location, guildId: null }
    : { kind: 'decided', location: null, guildId: null };
}

/** The refusal of a choice that the request does not allow; null for an allowed choice. */
function choiceRefusal(
  request: AuthorizeRequest,
  { guildId: chosen }: Decision,
  made: { readonly isInGuild: boolean; readonly integrationType: 0 | 1; readonly guildId: GuildId | null },
): Refusal | null {
  if (made.isInGuild && made.guildId === null)
    return invalidField(['guild_id'], 'BASE_TYPE_REQUIRED', 'This field is required');
  if (request.guildFixed && request.guildId !== null && chosen !== null && chosen !== request.guildId)
    return invalidField(['guild_id'], 'GUILD_FIXED', 'The application has chosen the server.');
  if (made.integrationType === 1 && placesBot(request))
    return invalidField(['integration_type'], 'BOT_NEEDS_GUILD', 'A bot is installed to a server.');
  return null;
}
