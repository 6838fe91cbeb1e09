import type { Routing } from '../../actors/cluster/routing.ts';
import { networkOf, OF_ADDRESS, OF_EVERYWHERE, OF_FACTOR, OF_LOGIN } from '../../engine/account/lockout.ts';
import type { SecurityTrail } from '../../protocol/security.ts';
import { type Begun, FailureBook } from './patience.ts';
import type { Place } from './ports.ts';

interface AttemptPorts {
  /** Whether attempts are limited by address; by account they always are. */
  readonly addressLimits: boolean;
  readonly routing: Routing;
  readonly security: SecurityTrail;
  /** Monotonic milliseconds. */
  monotonic(): number;
}

/** Somebody who is about to prove who they are. */
export interface Try {
  readonly kind: 'login' | 'factor';
  /** The login, or the user whose code is asked for. */
  readonly key: string;
  readonly place: Place;
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
  right(): void;
}

export interface Attempts {
  begin(attempt: Try): Promise<Attempt>;
  /** The owner has shown otherwise who they are: what others guessed is no reason to make them wait. */
  forgive(key: string, place: Place): void;
}

/** The network that attempts from a place count for; null where there is none. */
export const networkAt = ({ address }: Place): string | null =>
  address === null ? null : networkOf(address);

type Kind = 'login' | 'everywhere' | 'factor' | 'address';

interface Counts {
  /** With `counts` false the attempt counts only where the free failures are used up. */
  begin(key: string, kind: Kind, counts: boolean): Promise<Begun>;
  forget(key: string, kind: Kind): void;
  takeBack(key: string, kind: Kind): void;
}

/** What the method `patience.begin` takes as its third argument since there is a count over all networks. */
interface BeginsAs {
  readonly everywhere: boolean;
  readonly counts: boolean;
}

/**
 * Failures by key, counted by each key's owner. Shards of the version before ask without the last argument and expect
 * milliseconds; owners of that version ignore it and answer milliseconds, having counted by login alone.
 */
function countedByOwners(routing: Routing, monotonic: () => number): Counts {
  const books = {
    login: new FailureBook(OF_LOGIN),
    everywhere: new FailureBook(OF_EVERYWHERE),
    factor: new FailureBook(OF_FACTOR),
    address: new FailureBook(OF_ADDRESS),
  };
  type Sent = Exclude<Kind, 'everywhere'>;
  const bookOf = (kind: Sent, everywhere = false) => books[everywhere ? 'everywhere' : kind];
  const sent = (kind: Kind): [Sent, boolean] => (kind === 'everywhere' ? ['login', true] : [kind, false]);
  const asked = routing.asks('patience', {
    async begin(key: string, kind: Sent, as?: BeginsAs): Promise<Begun | number> {
      const begun = bookOf(kind, as?.everywhere).begin(key, monotonic(), as?.counts ?? true);
      return as ? begun : begun.waitMs;
    },
  });
  const told = routing.tells('patience', {
    forget: (key: string, kind: Sent, everywhere?: boolean): void => bookOf(kind, everywhere).forget(key),
    takeBack: (key: string, kind: Sent, everywhere?: boolean): void => bookOf(kind, everywhere).takeBack(key),
  });
  return {
    async begin(key, kind, counts) {
      const [as, everywhere] = sent(kind);
      const begun = await asked.begin(key, as, { everywhere, counts });
      if (typeof begun !== 'number') return begun;
      return { waitMs: begun, first: false, free: true, counted: begun === 0 };
    },
    forget: (key, kind) => told.forget(key, ...sent(kind)),
    takeBack: (key, kind) => told.takeBack(key, ...sent(kind)),
  };
}

/**
 * Slows guessing down. Wrong passwords count by login and network together, so that nobody can lock the owner of a name
 * out from elsewhere. Guesses at one login from many networks count together too: beyond their bound an attempt waits
 * unless the account knows its network or browser. A browser that the account knows has a count of its own, so that
 * guesses of others in its network do not make it wait. The owner shard of each key counts its failures.
 */
export function createAttempts({ addressLimits, monotonic, routing, security }: AttemptPorts): Attempts {
  const owners = countedByOwners(routing, monotonic);
  const networkFor = (place: Place): string | null => (addressLimits ? networkAt(place) : null);
  const pairOf = ({ kind, key, place, device }: Pick<Try, 'kind' | 'key' | 'place' | 'device'>): string => {
    if (kind === 'factor') return key;
    const from = device ?? networkFor(place);
    return from === null ? key : `${key} ${from}`;
  };

  function locked({ kind, userId, place }: Try, { waitMs, first }: Begun, everywhere: boolean): void {
    if (!first) return;
    const whose = { user_id: userId, network: networkAt(place) };
    security('sign_in_locked', { ...whose, code: kind === 'factor', everywhere, wait_ms: Math.ceil(waitMs) });
  }

  return {
    async begin(attempt) {
      const { kind, key, place, known } = attempt;
      const network = networkFor(place);
      const pair = pairOf(attempt);
      const undo: (() => void)[] = [];
      const refused = (waitMs: number): Attempt => {
        for (const step of undo) step();
        return { waitMs, right: () => {} };
      };
      if (network !== null) {
        const address = await owners.begin(network, 'address', true);
        if (address.waitMs > 0 && !known) {
          if (address.first)
            security('address_blocked', { network, reason: 'guesses', wait_ms: Math.ceil(address.waitMs) });
          return refused(address.waitMs);
        }
        if (address.waitMs === 0) undo.push(() => owners.takeBack(network, 'address'));
      }
      const own = await owners.begin(pair, kind, true);
      if (own.waitMs > 0) {
        locked(attempt, own, false);
        return refused(own.waitMs);
      }
      if (kind === 'login' && network !== null && !known) {
        undo.push(() => owners.takeBack(pair, kind));
        const all = await owners.begin(key, 'everywhere', own.free);
        if (all.waitMs > 0) {
          locked(attempt, all, true);
          return refused(all.waitMs);
        }
        if (all.counted) undo.push(() => owners.takeBack(key, 'everywhere'));
      }
      return {
        waitMs: 0,
        right() {
          // The counts over many are taken back, not forgotten: an account of one's own must not pay for guesses at others.
          for (const step of undo) step();
          owners.forget(pair, kind);
        },
      };
    },

    forgive(key, place) {
      owners.forget(key, 'everywhere');
      owners.forget(pairOf({ kind: 'login', key, place, device: null }), 'login');
    },
  };
}
