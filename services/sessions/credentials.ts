import type { Lifetime } from '../../actors/runtime/clock.ts';
import type { Wheel } from '../../actors/runtime/wheel.ts';
import type { LiveSession } from '../../actors/session/backend.ts';
import type { Identity, TokenInUse } from '../identity/identity.ts';
import type { GrantInUse, OAuth } from '../oauth/ports.ts';

interface CredentialPorts {
  readonly identity: Pick<Identity, 'endRevoked'>;
  readonly features: () => { readonly oauth: Pick<OAuth, 'endRevoked'> };
  readonly wheel: Wheel;
  readonly scope: Pick<Lifetime, 'over'>;
  readonly onFault: (error: unknown, id: string) => void;
}

type CheckedSession = Pick<LiveSession, 'principal' | 'over'>;

/** Sessions that are reopened within this time are checked together. */
const GATHER_MS = 1_000;
/** The delay before sessions are checked again whose tokens could not be read. */
const RETRY_MS = 5_000;
/** Sessions whose tokens are read together. */
const SESSIONS_PAGE = 500;

/**
 * Ends sessions whose token or grant was revoked. A revocation is stored first and then sent to all shards: it is not sent when
 * its shard dies in between. The sessions of that shard's users are opened at another owner then.
 */
export class CredentialCheck {
  readonly #ports: CredentialPorts;
  /** They are checked next. */
  readonly #waiting = new Set<CheckedSession>();
  #isPlanned = false;

  constructor(ports: CredentialPorts) {
    this.#ports = ports;
  }

  /** The session was open at another owner of its user before. */
  reopened(session: CheckedSession): void {
    this.#waiting.add(session);
    this.#plan(GATHER_MS);
  }

  #plan(delayMs: number): void {
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    this.#ports.wheel.after(() => void this.#checkAll(), delayMs);
  }

  async #checkAll(): Promise<void> {
    const { scope, onFault } = this.#ports;
    this.#isPlanned = false;
    const sessions = [...this.#waiting];
    this.#waiting.clear();
    for (let at = 0; at < sessions.length && !scope.over; at += SESSIONS_PAGE)
      try {
        await this.#check(sessions.slice(at, at + SESSIONS_PAGE));
      } catch (fault) {
        onFault(fault, 'credentials');
        for (const session of sessions.slice(at)) this.#waiting.add(session);
        this.#plan(RETRY_MS);
        return;
      }
  }

  async #check(sessions: readonly CheckedSession[]): Promise<void> {
    const { identity, features } = this.#ports;
    // Many sessions share a token.
    const tokens = new Map<string, TokenInUse>();
    const grants = new Map<string, GrantInUse>();
    for (const { principal, over } of sessions) {
      const { userId, tokenId, authorization } = principal;
      if (over) continue;
      if (tokenId !== undefined) tokens.set(tokenId, { userId, tokenId });
      if (authorization) grants.set(authorization.id, { userId, authorization });
    }
    if (tokens.size > 0) await identity.endRevoked([...tokens.values()]);
    if (grants.size > 0) await features().oauth.endRevoked([...grants.values()]);
  }
}
