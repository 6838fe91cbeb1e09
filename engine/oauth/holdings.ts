import type { ApplicationId, UserId } from '../../protocol/ids.ts';
import { expandScopes, type Scope } from '../../protocol/scopes.ts';
import type { Env } from '../kernel/aggregate.ts';
import type { Chain, Code, Grant, OAuthFact } from './facts.ts';
import { PLACING } from './scopes.ts';

/** All grants, tokens and codes of one user: a few rows. */
export interface Holdings {
  readonly grants: readonly Grant[];
  readonly chains: readonly Chain[];
  readonly codes: readonly Code[];
}

/** Token chains of one user and application; one more ends the oldest. */
export const CHAINS_PER_GRANT_MAX = 25;
/** Applications that one user may authorize. */
const GRANTS_PER_USER_MAX = 1_000;
/** Used refresh tokens that a chain remembers; older ones are unknown. */
const SPENT_HASHES_MAX = 32;
/**
 * @source https://docs.discord.com/developers/topics/oauth2#authorization-code-grant-access-token-response; seven days
 */
export const TOKEN_LIFE_SEC = 604_800;
export const CODE_LIFE_MS = 600_000;
/** Codes of one user and application, waiting for their exchange or remembered after it. */
const CODES_PER_GRANT_MAX = 25;

/** Hashes of the new tokens; `refreshHash` is null without a refresh token. */
interface NewTokens {
  readonly accessHash: string;
  readonly refreshHash: string | null;
}

export const grantOf = (held: Holdings, applicationId: ApplicationId): Grant | null =>
  held.grants.find((grant) => grant.applicationId === applicationId) ?? null;

/** Whether a token of the chain is still valid. */
const isAlive = (chain: Chain, nowMs: number): boolean =>
  chain.refreshHash !== null || chain.expiresMs > nowMs;

/** Ends expired chains and codes. */
function swept(held: Holdings, nowMs: number): OAuthFact[] {
  const chains = held.chains.filter((chain) => !isAlive(chain, nowMs));
  const codes = held.codes.filter((code) => code.expiresMs <= nowMs);
  return [
    ...chains.map(({ userId, id }): OAuthFact => ({ type: 'chainEnded', userId, chainId: id })),
    ...codes.map(({ userId, id }): OAuthFact => ({ type: 'codeEnded', userId, codeId: id })),
  ];
}

/** The oldest of `rows` that must end to leave room for one more. */
function oldest<Row extends { readonly id: string }>(rows: readonly Row[], max: number): readonly Row[] {
  const ordered = [...rows].sort((a, b) => (BigInt(a.id) < BigInt(b.id) ? -1 : 1));
  return ordered.slice(0, Math.max(0, rows.length - max + 1));
}

/**
 * Creates or widens the grant of an application, leaving out scopes of single placements (`PLACING`). No facts when
 * nothing changes; null when the user has authorized too many applications.
 */
export function agree(
  held: Holdings,
  asked: {
    readonly userId: UserId;
    readonly applicationId: ApplicationId;
    readonly scopes: Iterable<Scope>;
    readonly userInstall?: boolean;
  },
  env: Env,
): { readonly grant: Grant; readonly facts: readonly OAuthFact[] } | null {
  const { userId, applicationId } = asked;
  const before = grantOf(held, applicationId);
  if (!before && held.grants.length >= GRANTS_PER_USER_MAX) return null;
  const userInstall = before?.userInstall === true || asked.userInstall === true;
  const lasting = [...expandScopes(asked.scopes)].filter(
    (scope) => !PLACING.has(scope) || (asked.userInstall === true && scope === 'applications.commands'),
  );
  const scopes = new Set([...(before?.scopes ?? []), ...lasting]);
  if (before && before.scopes.length === scopes.size && before.userInstall === userInstall)
    return { grant: before, facts: [] };
  const id = before?.id ?? env.nextId();
  const grant: Grant = { id, userId, applicationId, scopes: [...scopes].sort(), userInstall };
  return { grant, facts: [{ type: 'grantWritten', grant }] };
}

/** Starts a chain and ends the oldest ones beyond the bound. */
export function begin(
  held: Holdings,
  asked: {
    readonly userId: UserId;
    readonly applicationId: ApplicationId;
    readonly scopes: Iterable<Scope>;
    readonly tokens: NewTokens;
    readonly expiresMs: number;
  },
  env: Env,
): { readonly chain: Chain; readonly facts: readonly OAuthFact[] } {
  const { userId, applicationId, tokens, expiresMs } = asked;
  const alive = held.chains.filter(
    (chain) => chain.applicationId === applicationId && isAlive(chain, env.nowMs),
  );
  const scopes = [...expandScopes(asked.scopes)].sort();
  const chain: Chain = {
    id: env.nextId(),
    ...{ userId, applicationId, scopes, expiresMs },
    ...tokens,
    spentHashes: [],
  };
  const crowded = oldest(alive, CHAINS_PER_GRANT_MAX);
  return {
    chain,
    facts: [
      ...swept(held, env.nowMs),
      ...crowded.map(({ id }): OAuthFact => ({ type: 'chainEnded', userId, chainId: id })),
      { type: 'chainWritten', chain },
    ],
  };
}

type Refreshed =
  | { readonly kind: 'refreshed'; readonly chain: Chain; readonly facts: readonly OAuthFact[] }
  /** The token was used before: its chain ends, which also revokes the newer tokens. */
  | { readonly kind: 'stolen'; readonly chain: Chain; readonly facts: readonly OAuthFact[] }
  | { readonly kind: 'unknown' };

/**
 * Exchanges a refresh token.
 *
 * @param found The chain of the token's hash, and whether the token was used before; null for an unknown token.
 */
export function refresh(
  found: { readonly chain: Chain; readonly spent: boolean } | null,
  applicationId: ApplicationId,
  tokens: NewTokens,
  nowMs: number,
): Refreshed {
  // A token presented by another application does not prove theft, so the chain stays valid.
  if (!found || found.chain.applicationId !== applicationId) return { kind: 'unknown' };
  const before = found.chain;
  if (found.spent)
    return {
      kind: 'stolen',
      chain: before,
      facts: [{ type: 'chainEnded', userId: before.userId, chainId: before.id }],
    };
  const spentHashes = [...before.spentHashes, before.refreshHash!].slice(-SPENT_HASHES_MAX);
  const chain = { ...before, ...tokens, spentHashes, expiresMs: nowMs + TOKEN_LIFE_SEC * 1000 };
  return { kind: 'refreshed', chain, facts: [{ type: 'chainWritten', chain }] };
}

/** Issues a code and ends the oldest ones beyond the bound. */
export function issueCode(
  held: Holdings,
  asked: Omit<Code, 'id' | 'chainId' | 'agreedMs' | 'expiresMs'>,
  env: Env,
): readonly OAuthFact[] {
  const { nowMs } = env;
  const waiting = held.codes.filter(
    (code) => code.applicationId === asked.applicationId && code.expiresMs > nowMs,
  );
  const times = { agreedMs: nowMs, expiresMs: nowMs + CODE_LIFE_MS };
  const code: Code = { ...asked, ...times, id: env.nextId(), chainId: null };
  return [
    ...swept(held, nowMs),
    ...oldest(waiting, CODES_PER_GRANT_MAX).map(
      ({ userId, id }): OAuthFact => ({ type: 'codeEnded', userId, codeId: id }),
    ),
    { type: 'codeWritten', code },
  ];
}

/** The parameters that a client sends with a code. */
interface Exchange {
  readonly applicationId: ApplicationId;
  readonly redirectUri: string | null;
  /** Whether `redirectUri` is one of the application's. */
  readonly isRegistered?: boolean;
  /** S256 of the verifier; null without a verifier. */
  readonly challenge: string | null;
}

export type Judged = 'ok' | 'used' | 'unknown' | 'wrongRedirect' | 'wrongVerifier';

/** Whether a code may be exchanged now, by the client it was issued to only. */
export function judgeCode(code: Code | null, shown: Exchange, nowMs: number): Judged {
  if (!code || code.applicationId !== shown.applicationId || code.expiresMs <= nowMs) return 'unknown';
  if (code.chainId !== null) return 'used';
  // An authorization that named no redirect URI used a registered one, which the client may repeat.
  const isRepeated = code.redirectUri === null && shown.isRegistered === true;
  if (code.redirectUri !== shown.redirectUri && !isRepeated) return 'wrongRedirect';
  // Both directions: a verifier for a code without a challenge means that an attacker removed the challenge.
  return code.challenge === shown.challenge ? 'ok' : 'wrongVerifier';
}

/** Revokes everything of one application; null when there is nothing. */
export function revokeGrant(
  held: Holdings,
  userId: UserId,
  applicationId: ApplicationId,
): OAuthFact[] | null {
  const rows = [...held.grants, ...held.chains, ...held.codes];
  if (!rows.some((row) => row.applicationId === applicationId)) return null;
  return [{ type: 'grantEnded', userId, applicationId }];
}
