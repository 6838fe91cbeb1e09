import { webhookEvent } from '../../engine/application/webhookevents.ts';
import type { Env } from '../../engine/kernel/aggregate.ts';
import {
  agree,
  begin,
  grantOf,
  type Holdings,
  revokeGrant,
  TOKEN_LIFE_SEC,
} from '../../engine/oauth/holdings.ts';
import { type ApplicationId, compareIds, type FreshId, type UserId } from '../../protocol/ids.ts';
import type { ApplicationStore } from '../../storage/application/port.ts';
import type { StoredFact } from '../../storage/ports.ts';
import type { UserStore } from '../../storage/user/port.ts';
import type { GrantCache } from './grantcache.ts';
import type { IssuedTokens, OAuth, TokenOrder } from './ports.ts';
import { createTokenIssuer, type TokenIssuerPorts, type TokenPair } from './tokenissuer.ts';

export interface GrantPorts extends TokenIssuerPorts {
  readonly grantCache: GrantCache;
  readonly applications: Pick<ApplicationStore, 'get'>;
  readonly users: Pick<UserStore, 'get'>;
  nextId(): FreshId;
  /** Called when the tokens of a user and application are revoked: their sessions get OAUTH2_TOKEN_REVOKE and close. */
  revoked(userId: UserId, applicationId: ApplicationId): void;
  /** Whether the user is banned from the server. */
  isBanned(userId: UserId): Promise<boolean>;
  /** Called after every revocation of a grant. */
  deauthorized(userId: UserId, applicationId: ApplicationId): Promise<void>;
}

const deauthorizer =
  (ports: GrantPorts, envNow: () => Env): OAuth['deauthorize'] =>
  async (userId, applicationId, { silent } = { silent: false }) => {
    const [application, [user]] = await Promise.all([
      ports.applications.get(applicationId),
      ports.users.get([userId]),
    ]);
    const isRevoked = await ports.grantCache.change(userId, (held) => {
      const ended = revokeGrant(held, userId, applicationId);
      if (!ended) return { value: false, facts: [] };
      const notifies = application && user && !silent;
      const event = notifies ? webhookEvent(application, 'APPLICATION_DEAUTHORIZED', { user }, envNow()) : [];
      const all: StoredFact[] = [...ended, ...event];
      return { value: true, facts: all };
    });
    if (!isRevoked) return false;
    ports.revoked(userId, applicationId);
    await ports.deauthorized(userId, applicationId);
    return true;
  };

/** Issues, authenticates and revokes grants and their tokens. */
export function createGrants(ports: GrantPorts) {
  const { grantCache } = ports;
  const { generate, respond } = createTokenIssuer(ports);
  const envNow = (): Env => ({ nowMs: ports.nowMs(), nextId: () => ports.nextId() });
  const deauthorize = deauthorizer(ports, envNow);

  /** The facts that make generated tokens valid, with their grant. */
  function startChain(held: Holdings, order: TokenOrder, { hashes }: TokenPair) {
    const env = envNow();
    const agreed = agree(held, order, env);
    // A thousand grants of one user; the platform has no refusal for it.
    if (!agreed)
      throw new Error(`Too many grants: user ${order.userId} cannot authorize another application.`);
    const lastMs = order.untilMs ?? Number.POSITIVE_INFINITY;
    const expiresMs = Math.min(env.nowMs + TOKEN_LIFE_SEC * 1000, lastMs);
    const begun = begin(held, { ...order, tokens: hashes, expiresMs }, env);
    const facts: StoredFact[] = [...agreed.facts, ...begun.facts, ...(order.facts ?? [])];
    return { chain: begun.chain, facts };
  }

  async function issue(order: TokenOrder): Promise<IssuedTokens> {
    const tokens = generate(order.userId, order.refreshable);
    const chain = await grantCache.change(order.userId, (held) => {
      const { chain, facts } = startChain(held, order, tokens);
      return { value: chain, facts };
    });
    await endIfBanned(order.userId, order.applicationId);
    return respond(tokens, chain, { nonce: order.nonce ?? null, agreedMs: ports.nowMs() });
  }

  /** Revokes the grant if the user is banned. Called after issuing, because a ban revokes only grants committed before it. */
  async function endIfBanned(userId: UserId, applicationId: ApplicationId): Promise<boolean> {
    if (!(await ports.isBanned(userId))) return false;
    await deauthorize(userId, applicationId);
    return true;
  }

  return {
    envNow,
    generate,
    startChain,
    respond,
    issue,
    endIfBanned,
    isBanned: (userId: UserId) => ports.isBanned(userId),
    deauthorize,
    grantors: (applicationId: ApplicationId, limit: number) => grantCache.grantors(applicationId, limit),
    authenticate: (accessToken: string) => grantCache.principalOf(accessToken, ports.nowMs()),
    async granted(userId: UserId, applicationId: ApplicationId) {
      const grant = grantOf(await grantCache.holdings(userId), applicationId);
      return grant && new Set(grant.scopes);
    },
    async grants(userId: UserId) {
      const { grants } = await grantCache.holdings(userId);
      return [...grants].sort((a, b) => compareIds(a.id, b.id));
    },
  };
}

export type Grants = ReturnType<typeof createGrants>;
