import type { Routing } from '../../actors/cluster/routing.ts';
import { networkOf, OF_ADDRESS, OF_EVERYWHERE, OF_FACTOR, OF_LOGIN } from '../../engine/account/lockout.ts';
import type { SecurityTrail } from '../../protocol/security.ts';
import { AttemptLimiter, type AttemptStart } from './attemptlimiter.ts';
import type { ClientInfo } from './ports.ts';

interface AttemptPorts {
  /** Whether attempts are limited by address; by account they always are. */
  readonly addressLimits: boolean;
  readonly routing: Routing;
  readonly security: SecurityTrail;
  /** Monotonic milliseconds. */
  monotonic(): number;
}

/** Somebody who is about to prove who they are. */
export interface AttemptRequest {
  readonly kind: 'login' | 'factor';
  /** The login, or the user whose code is asked for. */
  readonly key: string;
  readonly client: ClientInfo;
  /** Null where there is no such account. */
  readonly userId: string | null;
  /** Whether this account has signed in from this network or with this browser before. */
  readonly known: boolean;
  /** What the account knows this browser by; null when it has not signed in with it before. */
  readonly device: string | null;
}

interface Attempt {
  /** Milliseconds to wait; 0: the attempt may go on and counts as failed until it was right. */
  readonly waitMs: number;
  succeed(): void;
}

export interface Attempts {
  begin(attempt: AttemptRequest): Promise<Attempt>;
  /** The owner has shown otherwise who they are: what others guessed is no reason to make them wait. */
  forgive(key: string, client: ClientInfo): void;
}

/** The network that attempts from a client count for; null where there is none. */
export const networkAt = ({ address }: ClientInfo): string | null =>
  address === null ? null : networkOf(address);

type Kind = 'login' | 'everywhere' | 'factor' | 'address';

interface AttemptCounters {
  /** With `counts` false the attempt counts only where the free failures are used up. */
  begin(key: string, kind: Kind, counts: boolean): Promise<AttemptStart>;
  forget(key: string, kind: Kind): void;
  takeBack(key: string, kind: Kind): void;
}

/** What the method `patience.begin` takes as its third argument since there is a count over all networks. */
interface BeginOptions {
  readonly everywhere: boolean;
  readonly counts: boolean;
}

/**
 * Failures by key, counted by each key's owner. Shards of the version before ask without the last argument and expect
 * milliseconds; owners of that version ignore it and answer milliseconds, having counted by login alone.
 */
function countersAtOwners(routing: Routing, monotonic: () => number): AttemptCounters {
  const limiters = {
    login: new AttemptLimiter(OF_LOGIN),
    everywhere: new AttemptLimiter(OF_EVERYWHERE),
    factor: new AttemptLimiter(OF_FACTOR),
    address: new AttemptLimiter(OF_ADDRESS),
  };
  type WireKind = Exclude<Kind, 'everywhere'>;
  const limiterOf = (kind: WireKind, everywhere = false) => limiters[everywhere ? 'everywhere' : kind];
  const wireKind = (kind: Kind): [WireKind, boolean] =>
    kind === 'everywhere' ? ['login', true] : [kind, false];
  const queries = routing.asks('patience', {
    async begin(key: string, kind: WireKind, as?: BeginOptions): Promise<AttemptStart | number> {
      const begun = limiterOf(kind, as?.everywhere).begin(key, monotonic(), as?.counts ?? true);
      return as ? begun : begun.waitMs;
    },
  });
  const notifications = routing.tells('patience', {
    forget: (key: string, kind: WireKind, everywhere?: boolean): void =>
      limiterOf(kind, everywhere).forget(key),
    takeBack: (key: string, kind: WireKind, everywhere?: boolean): void =>
      limiterOf(kind, everywhere).takeBack(key),
  });
  return {
    async begin(key, kind, counts) {
      const [as, everywhere] = wireKind(kind);
      const begun = await queries.begin(key, as, { everywhere, counts });
      if (typeof begun !== 'number') return begun;
      return { waitMs: begun, first: false, free: true, counted: begun === 0 };
    },
    forget: (key, kind) => notifications.forget(key, ...wireKind(kind)),
    takeBack: (key, kind) => notifications.takeBack(key, ...wireKind(kind)),
  };
}

/**
 * Slows guessing down. Wrong passwords count by login and network together, so that nobody can lock the owner of a name
 * out from elsewhere. Guesses at one login from many networks count together too: beyond their bound an attempt waits
 * unless the account knows its network or browser. A browser that the account knows has a count of its own, so that
 * guesses of others in its network do not make it wait. The owner shard of each key counts its failures.
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
          // The counts over many are taken back, not forgotten: an account of one's own must not pay for guesses at others.
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
