import type { Routing } from '../../actors/cluster/routing.ts';
import { networkOf } from '../../engine/account/lockout.ts';
import { WindowTable } from '../../engine/ratelimit/table.ts';
import type { Letter, Mailer, Place } from './ports.ts';

const HOUR_MS = 3_600_000;
/** Letters one mailbox gets: nobody can be flooded through this server. */
const PER_MAILBOX = { limit: 5, windowMs: HOUR_MS };
/** Letters one place causes. */
const PER_ADDRESS = { limit: 30, windowMs: HOUR_MS };
const ENTRIES_MAX = 50_000;
/** Jobs that wait for the mail server at one time; beyond it letters are dropped, and that is a fault. */
const UNDER_WAY_MAX = 500;

interface PostPorts {
  readonly mailer: Mailer;
  /** Monotonic milliseconds. */
  readonly monotonic: () => number;
  readonly onFault: (error: unknown) => void;
  readonly routing: Routing;
}

/** The way letters go: behind the answer, so that no answer tells whether one was sent. */
export interface Post {
  /** `write` finds out whether there is anything to send; null: nothing. */
  behind(write: () => Promise<Letter | null>, place: Place): void;
  /** Resolves when nothing is under way. */
  idle(): Promise<void>;
}

export function createPost({ mailer, monotonic, onFault, routing }: PostPorts): Post {
  const mailboxes = new WindowTable(ENTRIES_MAX);
  const addresses = new WindowTable(ENTRIES_MAX);
  /** Whether one more letter may go to a mailbox, or be caused by a place: counted by the owner of its name. */
  const may = routing.asks('post', {
    mailbox: async (key: string): Promise<boolean> => mailboxes.take(key, PER_MAILBOX, monotonic()).allowed,
    address: async (key: string): Promise<boolean> => addresses.take(key, PER_ADDRESS, monotonic()).allowed,
  });
  const underWay = new Set<Promise<void>>();

  async function deliver(write: () => Promise<Letter | null>, { address }: Place): Promise<void> {
    const letter = await write();
    if (letter === null) return;
    if (address !== null && !(await may.address(networkOf(address)))) return;
    if (await may.mailbox(letter.to.toLowerCase())) await mailer.send(letter);
  }

  return {
    behind(write, place) {
      if (underWay.size >= UNDER_WAY_MAX) return onFault(new Error('Too many letters wait to be sent.'));
      const job: Promise<void> = deliver(write, place)
        .catch(onFault)
        .finally(() => underWay.delete(job));
      underWay.add(job);
    },
    async idle() {
      while (underWay.size > 0) await Promise.all(underWay);
    },
  };
}
