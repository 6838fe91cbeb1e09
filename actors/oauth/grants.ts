import { webhookEvent } from '../../engine/application/webhookevents.ts';
import {
  agree,
  begin,
  grantOf,
  type Holdings,
  TOKEN_LIFE_SEC,
  takeBack,
} from '../../engine/oauth/holdings.ts';
import type { Env } from '../../engine/outcome.ts';
import { type ApplicationId, compareIds, type UserId } from '../../protocol/ids.ts';
import { expandScopes } from '../../protocol/scopes.ts';
import type { ApplicationStore, StoredFact, UserStore } from '../../storage/ports.ts';
import type { Secret } from '../identity/secret.ts';
import { hashOf, makeToken } from '../identity/tokens.ts';
import type { Holders } from './holders.ts';
import type { Keys } from './keys.ts';
import type { IssuedTokens, OAuth, TokenOrder } from './ports.ts';

export interface GrantPorts {
  readonly holders: Holders;
  readonly keys: Keys;
  readonly applications: Pick<ApplicationStore, 'get'>;
  readonly users: Pick<UserStore, 'get'>;
  nextId(): string;
  /** Unix milliseconds. */
  nowMs(): number;
  randomBytes(size: number): Uint8Array;
  /** Base URL of this server as clients use it: the issuer of ID tokens. */
  publicUrl(): string;
  /** Called once tokens of the pair no longer count: its sessions are told, and closed. */
  revoked(userId: UserId, applicationId: ApplicationId): void;
  /** Called once everything was taken back, however it came to it. */
  deauthorized(userId: UserId, applicationId: ApplicationId): Promise<void>;
}

/** A pair of tokens that does not count yet. */
export interface Minted {
  readonly access: Secret;
  readonly refresh: Secret | null;
  readonly hashes: { readonly accessHash: string; readonly refreshHash: string | null };
}

/** Grants and their tokens: made, recognised and taken back. */
export function createGrants(ports: GrantPorts) {
  const { holders } = ports;
  const envNow = (): Env => ({ nowMs: ports.nowMs(), nextId: () => ports.nextId() });

  function mint(userId: UserId, refreshable: boolean): Minted {
    const make = () => makeToken(userId, ports.nowMs(), (size) => ports.randomBytes(size));
    const access = make();
    const refresh = refreshable ? make() : null;
    const refreshHash = refresh && hashOf(refresh.reveal());
    return { access, refresh, hashes: { accessHash: hashOf(access.reveal()), refreshHash } };
  }

  /** The answer that shows minted tokens, with an ID token when `openid` is among the scopes. */
  async function shown(
    minted: Minted,
    chain: { userId: UserId; applicationId: ApplicationId; scopes: TokenOrder['scopes']; expiresMs: number },
    identity: { readonly nonce: string | null; readonly agreedMs: number },
  ): Promise<IssuedTokens> {
    const scopes = expandScopes(chain.scopes);
    const expiresInSec = Math.max(0, Math.floor((chain.expiresMs - ports.nowMs()) / 1000));
    const claims = {
      issuer: ports.publicUrl(),
      subject: chain.userId,
      audience: chain.applicationId,
      nonce: identity.nonce,
      authenticatedMs: identity.agreedMs,
      lifeSec: expiresInSec,
    };
    return {
      accessToken: minted.access,
      refreshToken: minted.refresh,
      expiresInSec,
      expiresMs: chain.expiresMs,
      scopes,
      idToken: scopes.has('openid') ? await ports.keys.sign(claims) : null,
    };
  }

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
    return shown(minted, chain, { nonce: order.nonce ?? null, agreedMs: ports.nowMs() });
  }

  const deauthorize: OAuth['deauthorize'] = async (userId, applicationId, facts = []) => {
    const [application, [user]] = await Promise.all([
      ports.applications.get(applicationId),
      ports.users.get([userId]),
    ]);
    const isTaken = await holders.change(userId, (held) => {
      const ended = takeBack(held, userId, applicationId);
      if (!ended) return { value: false, facts: [] };
      const event =
        application && user ? webhookEvent(application, 'APPLICATION_DEAUTHORIZED', { user }, envNow()) : [];
      const all: StoredFact[] = [...ended, ...event, ...facts];
      return { value: true, facts: all };
    });
    if (!isTaken) return false;
    ports.revoked(userId, applicationId);
    await ports.deauthorized(userId, applicationId);
    return true;
  };

  return {
    envNow,
    mint,
    start,
    shown,
    issue,
    deauthorize,
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
