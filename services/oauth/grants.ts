import { webhookEvent } from '../../engine/application/webhookevents.ts';
import type { Env } from '../../engine/kernel/outcome.ts';
import {
  agree,
  begin,
  grantOf,
  type Holdings,
  TOKEN_LIFE_SEC,
  takeBack,
} from '../../engine/oauth/holdings.ts';
import { type ApplicationId, compareIds, type UserId } from '../../protocol/ids.ts';
import type { ApplicationStore, StoredFact, UserStore } from '../../storage/ports.ts';
import type { Holders } from './holders.ts';
import { createMint, type Minted, type MintPorts } from './mint.ts';
import type { IssuedTokens, OAuth, TokenOrder } from './ports.ts';

export interface GrantPorts extends MintPorts {
  readonly holders: Holders;
  readonly applications: Pick<ApplicationStore, 'get'>;
  readonly users: Pick<UserStore, 'get'>;
  nextId(): string;
  /** Called once tokens of the pair no longer count: its sessions are told, and closed. */
  revoked(userId: UserId, applicationId: ApplicationId): void;
  /** Whether the person is banned from the server. */
  isBanned(userId: UserId): Promise<boolean>;
  /** Called once everything was taken back, however it came to it. */
  deauthorized(userId: UserId, applicationId: ApplicationId): Promise<void>;
}

const deauthorizer =
  (ports: GrantPorts, envNow: () => Env): OAuth['deauthorize'] =>
  async (userId, applicationId, { silent } = { silent: false }) => {
    const [application, [user]] = await Promise.all([
      ports.applications.get(applicationId),
      ports.users.get([userId]),
    ]);
    const isTaken = await ports.holders.change(userId, (held) => {
      const ended = takeBack(held, userId, applicationId);
      if (!ended) return { value: false, facts: [] };
      const isTold = application && user && !silent;
      const event = isTold ? webhookEvent(application, 'APPLICATION_DEAUTHORIZED', { user }, envNow()) : [];
      const all: StoredFact[] = [...ended, ...event];
      return { value: true, facts: all };
    });
    if (!isTaken) return false;
    ports.revoked(userId, applicationId);
    await ports.deauthorized(userId, applicationId);
    return true;
  };

/** Grants and their tokens: made, recognised and taken back. */
export function createGrants(ports: GrantPorts) {
  const { holders } = ports;
  const { mint, shown } = createMint(ports);
  const envNow = (): Env => ({ nowMs: ports.nowMs(), nextId: () => ports.nextId() });
  const deauthorize = deauthorizer(ports, envNow);

  /** The facts that make minted tokens count, beside the grant they hang on. */
  function start(held: Holdings, order: TokenOrder, { hashes }: Minted) {
    const env = envNow();
    const agreed = agree(held, order, env);
    // Whoever reaches it has let a thousand applications act; to refuse in words would need words of its own.
    if (!agreed) throw new Error('The user has let too many applications act.');
    const lastMs = order.untilMs ?? Number.POSITIVE_INFINITY;
    const expiresMs = Math.min(env.nowMs + TOKEN_LIFE_SEC * 1000, lastMs);
    const begun = begin(held, { ...order, tokens: hashes, expiresMs }, env);
    const facts: StoredFact[] = [...agreed.facts, ...begun.facts, ...(order.facts ?? [])];
    return { chain: begun.chain, facts };
  }

  async function issue(order: TokenOrder): Promise<IssuedTokens> {
    const minted = mint(order.userId, order.refreshable);
    const chain = await holders.change(order.userId, (held) => {
      const { chain, facts } = start(held, order, minted);
      return { value: chain, facts };
    });
    await endIfBanned(order.userId, order.applicationId);
    return shown(minted, chain, { nonce: order.nonce ?? null, agreedMs: ports.nowMs() });
  }

  /** A ban takes back what there is; to be asked of what was durable later, because it had begun before. */
  async function endIfBanned(userId: UserId, applicationId: ApplicationId): Promise<boolean> {
    if (!(await ports.isBanned(userId))) return false;
    await deauthorize(userId, applicationId);
    return true;
  }

  return {
    envNow,
    mint,
    start,
    shown,
    issue,
    endIfBanned,
    isBanned: (userId: UserId) => ports.isBanned(userId),
    deauthorize,
    grantors: (applicationId: ApplicationId, limit: number) => holders.grantors(applicationId, limit),
    authenticate: (accessToken: string) => holders.passOf(accessToken, ports.nowMs()),
    async granted(userId: UserId, applicationId: ApplicationId) {
      const grant = grantOf(await holders.holdings(userId), applicationId);
      return grant && new Set(grant.scopes);
    },
    async grants(userId: UserId) {
      const { grants } = await holders.holdings(userId);
      return [...grants].sort((a, b) => compareIds(a.id, b.id));
    },
  };
}

export type Grants = ReturnType<typeof createGrants>;
