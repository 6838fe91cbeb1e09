import type { Routing } from '../../actors/placement/routing.ts';
import { networkOf, OF_ADDRESS, OF_EVERYWHERE, OF_FACTOR, OF_LOGIN } from '../../engine/account/lockout.ts';
import type { SecurityTrail } from '../../protocol/security.ts';
import { AttemptLimiter, type AttemptStart } from './attemptlimiter.ts';
import type { ClientInfo } from './ports.ts';

interface AttemptPorts {
  /** Whether attempts are also limited by network address. The limit by account always applies. */
  readonly addressLimits: boolean;
  readonly routing: Routing;
  readonly security: SecurityTrail;
  /** Monotonic milliseconds. */
  monotonic(): number;
}

/** An attempt to prove an identity, before the password or code is checked. */
export interface AttemptRequest {
  readonly kind: 'login' | 'factor';
  /** The login, or the user id for a second-factor code. */
  readonly key: string;
  readonly client: ClientInfo;
  /** Null when no account has this login. */
  readonly userId: string | null;
  /** Whether the account has signed in from this network or with this browser before. */
  readonly known: boolean;
  /** Digest by which the account recognises this browser; null for a browser it does not know. */
  readonly device: string | null;
}

interface Attempt {
  /** Milliseconds to wait. With 0 the attempt may continue; it counts as a failure until `succeed` is called. */
  readonly waitMs: number;
  succeed(): void;
}

export interface Attempts {
  begin(attempt: AttemptRequest): Promise<Attempt>;
  /** Drops the counts for a login after its owner proved their identity another way, so guesses of others do not delay them. */
  forgive(key: string, client: ClientInfo): void;
}

/** The network that attempts from a client count for; null for a client without an address. */
export const networkAt = ({ address }: ClientInfo): string | null =>
  address === null ? null : networkOf(address);

type Kind = 'login' | 'everywhere' | 'factor' | 'address';

interface AttemptCounters {
  /** With `counts` false the attempt counts only after the free failures are used up. */
  begin(key: string, kind: Kind, counts: boolean): Promise<AttemptStart>;
  forget(key: string, kind: Kind): void;
  takeBack(key: string, kind: Kind): void;
}

/** Counts failures by key on the owner shard of each key. */
function countersAtOwners(routing: Routing, monotonic: () => number): AttemptCounters {
  const limiters = {
    login: new AttemptLimiter(OF_LOGIN),
    everywhere: new AttemptLimiter(OF_EVERYWHERE),
    factor: new AttemptLimiter(OF_FACTOR),
    address: new AttemptLimiter(OF_ADDRESS),
  };
  return {
    begin: routing.ask(
      'attempts.begin',
      async (key: string, kind: Kind, counts: boolean): Promise<AttemptStart> =>
        limiters[kind].begin(key, monotonic(), counts),
    ),
    forget: routing.tell('attempts.forget', (key: string, kind: Kind): void => limiters[kind].forget(key)),
    takeBack: routing.tell('attempts.takeBack', (key: string, kind: Kind): void =>
      limiters[kind].takeBack(key),
    ),
  };
}

/**
 * Throttles password guessing. Wrong passwords count per login and network, so an attacker elsewhere cannot lock out the
 * owner of a login. Guesses at one login from many networks also share one count: beyond its bound an attempt waits unless
 * the account knows the network or browser. A known browser has its own count, so guesses by others in its network do not
 * delay it. The owner shard of each key counts its failures.
 */
export function createAttempts({ addressLimits, monotonic, routing, security }: AttemptPorts): Attempts {
  const counters = countersAtOwners(routing, monotonic);
  const networkFor = (client: ClientInfo): string | null => (addressLimits ? networkAt(client) : null);
  const pairKey = ({
    kind,
    key,
    client,
    device,
  }: Pick<AttemptRequest, 'kind' | 'key' | 'client' | 'device'>): string => {
    if (kind === 'factor') return key;
    const from = device ?? networkFor(client);
    return from === null ? key : `${key} ${from}`;
  };

  function reportLock(attempt: AttemptRequest, start: AttemptStart, everywhere: boolean): void {
    if (!start.first) return;
    const whose = { user_id: attempt.userId, network: networkAt(attempt.client) };
    const code = attempt.kind === 'factor';
    security('sign_in_locked', { ...whose, code, everywhere, wait_ms: Math.ceil(start.waitMs) });
  }

  return {
    async begin(attempt) {
      const { kind, key, client, known } = attempt;
      const network = networkFor(client);
      const pair = pairKey(attempt);
      const undo: (() => void)[] = [];
      const refused = (waitMs: number): Attempt => {
        for (const step of undo) step();
        return { waitMs, succeed: () => {} };
      };
      if (network !== null) {
        const address = await counters.begin(network, 'address', true);
        if (address.waitMs > 0 && !known) {
          if (address.first)
            security('address_blocked', { network, reason: 'guesses', wait_ms: Math.ceil(address.waitMs) });
          return refused(address.waitMs);
        }
        if (address.waitMs === 0) undo.push(() => counters.takeBack(network, 'address'));
      }
      const own = await counters.begin(pair, kind, true);
      if (own.waitMs > 0) {
        reportLock(attempt, own, false);
        return refused(own.waitMs);
      }
      if (kind === 'login' && network !== null && !known) {
        undo.push(() => counters.takeBack(pair, kind));
        const all = await counters.begin(key, 'everywhere', own.free);
        if (all.waitMs > 0) {
          reportLock(attempt, all, true);
          return refused(all.waitMs);
        }
        if (all.counted) undo.push(() => counters.takeBack(key, 'everywhere'));
      }
      return {
        waitMs: 0,
        succeed() {
          // Shared counts lose one failure and are not cleared: an attacker's own account must not erase guesses at others.
          for (const step of undo) step();
          counters.forget(pair, kind);
        },
      };
    },

    forgive(key, client) {
      counters.forget(key, 'everywhere');
      counters.forget(pairKey({ kind: 'login', key, client, device: null }), 'login');
    },
  };
}
