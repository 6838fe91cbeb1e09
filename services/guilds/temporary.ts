import type { Guilds } from '../../actors/guild/guilds.ts';
import type { Routing } from '../../actors/placement/routing.ts';
import type { Lifetime, Timer } from '../../actors/runtime/clock.ts';
import type { Wheel } from '../../actors/runtime/wheel.ts';
import type { Users } from '../../actors/user/users.ts';
import { SYSTEM } from '../../engine/kernel/authority.ts';
import { NotServed } from '../../protocol/faults.ts';
import type { UserId } from '../../protocol/ids.ts';
import type { UserStore } from '../../storage/user/port.ts';

interface TemporaryPorts {
  readonly guilds: Pick<Guilds, 'call'>;
  readonly users: Pick<Users, 'sessions'>;
  readonly storage: { readonly users: Pick<UserStore, 'temporaryGuilds' | 'temporaryUsers'> };
  readonly routing: Pick<Routing, 'owns' | 'onMoved'>;
  readonly wheel: Wheel;
  readonly scope: Pick<Lifetime, 'over' | 'own'>;
  /** How long a session without a connection, also one of a lost shard, can be resumed. */
  readonly resumeWindowMs: number;
  readonly onFault: (error: unknown, id: string) => void;
}

/** How long a session that is resumed in time may take until the owner of its user has it. */
const REOPENED_MS = 5_000;
/** The delay before a user is checked again whose guild did not answer. */
const RETRY_MS = 30_000;
/** Users read together. They are checked one after another: each may load guilds. */
const USERS_PAGE = 100;

/**
 * Ends the temporary memberships of users without sessions. Each guild decides for itself.
 *
 * The end of a session is not stored: it is lost when the owner of the user is lost just before or after it, or when the server
 * stops. So users are checked once more after the start and after each change of ownership, when sessions have had time to return.
 */
export class TemporaryMemberships {
  readonly #ports: TemporaryPorts;
  /** The last check of all users that was planned; it may have begun. */
  #planned: Timer | null = null;
  readonly #retrying = new Set<UserId>();

  constructor(ports: TemporaryPorts) {
    this.#ports = ports;
    ports.scope.own(() => this.#planned?.cancel());
    ports.routing.onMoved(() => this.#planCheck());
    this.#planCheck();
  }

  /** The last session of a user of this shard has ended. Guilds may still count it. */
  ended(userId: UserId): void {
    void this.#end(userId, false);
  }

  /** Checks all users once owners have not changed for as long as a session may be away. */
  #planCheck(): void {
    const { wheel, scope, resumeWindowMs } = this.#ports;
    this.#planned?.cancel();
    if (scope.over) return;
    const timer = wheel.add(
      () => void this.#checkAll(() => this.#planned === timer),
      resumeWindowMs + REOPENED_MS,
    );
    this.#planned = timer;
  }

  /** Stops when another check of all users is planned. */
  async #checkAll(isCurrent: () => boolean): Promise<void> {
    const { storage, scope, onFault } = this.#ports;
    try {
      for (let after: UserId | null = null; ; ) {
        const page: UserId[] = await storage.users.temporaryUsers(after, USERS_PAGE);
        for (const userId of page) {
          if (scope.over || !isCurrent()) return;
          await this.#check(userId);
        }
        if (page.length < USERS_PAGE) return;
        after = page.at(-1) ?? null;
      }
    } catch (fault) {
      onFault(fault, 'temporary memberships');
      if (isCurrent()) this.#planCheck();
    }
  }

  async #check(userId: UserId): Promise<void> {
    const { routing, users } = this.#ports;
    if (routing.owns(userId) && users.sessions(userId).length === 0) await this.#end(userId, true);
  }

  /** @param ifOffline A guild in which the user has a session keeps the member: the session is still to be opened here. */
  async #end(userId: UserId, ifOffline: boolean): Promise<void> {
    const { guilds, storage, onFault } = this.#ports;
    try {
      for (const { guildId, joinedAt } of await storage.users.temporaryGuilds(userId)) {
        const input = { userId, joinedAt, ifOffline };
        const reply = await guilds.call(guildId, 'endTemporaryMembership', input, SYSTEM);
        if (!reply.ok && reply.refusal.status >= 500) throw new NotServed(reply.refusal.message);
      }
    } catch (fault) {
      onFault(fault, userId);
      this.#retryLater(userId);
    }
  }

  #retryLater(userId: UserId): void {
    const { wheel, scope } = this.#ports;
    if (this.#retrying.has(userId)) return;
    this.#retrying.add(userId);
    wheel.after(() => {
      this.#retrying.delete(userId);
      if (!scope.over) void this.#check(userId);
    }, RETRY_MS);
  }
}
