import type { UserId } from '../../protocol/ids.ts';
import type { ApplicationStore, UserStore } from '../../storage/ports.ts';
import type { Principal } from '../session/ports.ts';

/** What is known of one user's tokens: the hashes that count, and who each one proves. */
export interface Known {
  readonly hashes: readonly Buffer[];
  readonly principals: readonly Principal[];
}

export interface DirectoryPorts {
  readonly users: Pick<UserStore, 'tokens'>;
  readonly applications: Pick<ApplicationStore, 'byBot'>;
}

export interface DirectoryBounds {
  /** Users whose tokens are kept at hand. */
  readonly users_max: number;
  /** Look-ups in the database at one time; beyond it a look-up faults. */
  readonly lookups_max: number;
}

/** Look-ups in a row that revocations may overtake before the caller is told to come back. */
const ATTEMPTS_MAX = 8;

interface Reading {
  readonly known: Promise<Known>;
  /** A revocation came after the read began: what it read may no longer count. */
  overtaken: boolean;
}

/** The tokens of recently seen users; users that do not exist are kept too, so that guessing costs one read a user. */
export function createDirectory(ports: DirectoryPorts, bounds: DirectoryBounds) {
  /** Least recently used first. */
  const atHand = new Map<UserId, Known>();
  const readings = new Map<UserId, Reading>();

  async function load(userId: UserId): Promise<Known> {
    const tokens = await ports.users.tokens(userId);
    const isBot = tokens.some((token) => token.kind === 'bot');
    const application = isBot ? await ports.applications.byBot(userId) : null;
    return {
      hashes: tokens.map((token) => Buffer.from(token.hash, 'hex')),
      principals: tokens.map((token) => {
        const owner = token.kind === 'bot' ? application : null;
        return {
          userId,
          bot: token.kind === 'bot',
          applicationId: owner?.id ?? null,
          applicationFlags: owner?.flags ?? 0,
          authorization: null,
        };
      }),
    };
  }

  /** One read for all who ask at the same time. */
  function read(userId: UserId): Reading {
    const under = readings.get(userId);
    if (under !== undefined) return under;
    if (readings.size >= bounds.lookups_max) throw new Error('Too many token look-ups are under way.');
    const known = load(userId).finally(() => {
      if (readings.get(userId) === reading) readings.delete(userId);
    });
    const reading: Reading = { known, overtaken: false };
    readings.set(userId, reading);
    return reading;
  }

  function keep(userId: UserId, known: Known): Known {
    atHand.delete(userId);
    atHand.set(userId, known);
    if (atHand.size > bounds.users_max) atHand.delete(atHand.keys().next().value!);
    return known;
  }

  return {
    /** @throws Error when the database fails or too many look-ups are under way. */
    async lookUp(userId: UserId): Promise<Known> {
      const known = atHand.get(userId);
      if (known !== undefined) return keep(userId, known);
      for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
        const reading = read(userId);
        const fresh = await reading.known;
        if (!reading.overtaken) return keep(userId, fresh);
      }
      throw new Error('The tokens of this user change faster than they can be read.');
    },

    /** Drops what is known of a user, and what is being read. */
    forget(userId: UserId): void {
      atHand.delete(userId);
      const reading = readings.get(userId);
      if (reading !== undefined) reading.overtaken = true;
      readings.delete(userId);
    },
  };
}
