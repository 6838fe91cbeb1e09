import type { Routing } from '../../actors/placement/routing.ts';
import type { Tap } from '../../actors/runtime/aggregate.ports.ts';
import type { CommitAndNotify } from '../../actors/user/notifier.ts';
import { ALL_SESSIONS } from '../../engine/fanout/direct.ts';
import type { Move } from '../../engine/provisional/facts.ts';
import type { ApplicationId, UserId } from '../../protocol/ids.ts';
import type { IdentityStore } from '../../storage/identity/port.ts';
import type { StoredFact } from '../../storage/ports.ts';
import type { UserStore } from '../../storage/user/port.ts';
import type { OAuth } from '../oauth/ports.ts';
import type { Mergeable } from './ports.ts';
import { isProvisionalUser } from './publishers.ts';

interface AccountMergePorts {
  readonly identities: Pick<IdentityStore, 'merges' | 'some' | 'bannedUntil'>;
  readonly users: Pick<UserStore, 'get'>;
  readonly routing: Pick<Routing, 'owns' | 'onMoved' | 'inFlightMs'>;
  /** Resolves when the facts are durable. */
  commit(ownerId: string, facts: readonly StoredFact[]): Promise<void>;
  oauth(): Pick<OAuth, 'deauthorize' | 'grantors'>;
  /** The services that store data of accounts. */
  mergeables(): readonly Mergeable[];
  /** The application and its children. */
  familyOf(applicationId: ApplicationId): Promise<readonly ApplicationId[]>;
  /** Signs a banned user out and unlinks all identities. @throws AccountHeldError while another move holds the account. */
  applyBan(userId: UserId): Promise<void>;
  /** Unix milliseconds. */
  nowMs(): number;
  /** Commits facts with the dispatches about them; see `CommitAndNotify`. */
  readonly commitAndNotify: CommitAndNotify;
  readonly tap: Pick<Tap, 'see'>;
  /** Runs after `delayMs`, unless the server is closed by then. */
  schedule(run: () => void, delayMs: number): void;
  onFault(error: unknown): void;
}

/** Delays before the checks whether a move was stored although its commit failed: the database may finish it after the connection broke. */
const CHECK_DELAYS_MS: readonly number[] = [1_000, 9_000, 50_000];
const RETRY_MS = 1_000;
const RETRY_MS_MAX = 60_000;
/** Identities of an adopted application that are processed at a time. */
const ADOPTED_AT_ONCE = 100;

/** Another move holds an account that a ban concerns. It is retried, and a fault only when that lasts. */
export class AccountHeldError extends Error {}

type PairMove = Extract<Move, { readonly fromId: UserId }>;
type Adoption = Extract<Move, { readonly kind: 'adoption' }>;
type BanMove = Extract<Move, { readonly kind: 'ban' }>;

/**
 * The id whose owner shard runs a move and commits all its facts: the publisher's application, the adopted application or the
 * banned user.
 */
function ownerOf(move: Move): string {
  if (move.kind === 'adoption') return move.childId;
  return move.kind === 'ban' ? move.userId : move.applicationId;
}

const accountsOf = (move: Move): readonly UserId[] => ('fromId' in move ? [move.fromId, move.toId] : []);

/**
 * Runs moves of accounts, which take several commits. A move is stored before it begins, its steps are idempotent, and it
 * is retried after a fault or a crash until it completes. Until then it holds its accounts, so no other move changes them.
 */
export class AccountMerges {
  readonly #ports: AccountMergePorts;
  /** Number of holds per account. */
  readonly #held = new Map<UserId, number>();
  readonly #running = new Set<string>();

  constructor(ports: AccountMergePorts) {
    this.#ports = ports;
    ports.routing.onMoved((moved) => void this.#takeOver(moved, RETRY_MS));
  }

  /**
   * Stores a move together with the facts that it follows from, and calls `onStored`. The commit may be durable although it failed, so
   * the database is checked for the move after a fault, and the move is run if it is found. It holds its accounts until the first check.
   */
  async store(move: Move, facts: readonly StoredFact[], onStored: () => void): Promise<void> {
    try {
      await this.#ports.commit(ownerOf(move), [...facts, { type: 'moveBegun', move }]);
    } catch (error) {
      for (const userId of accountsOf(move)) this.#hold(userId);
      const release = (): void => {
        for (const userId of accountsOf(move)) this.#letGo(userId);
      };
      this.#checkLater(move, onStored, CHECK_DELAYS_MS, release);
      throw error;
    }
    onStored();
  }

  /** @param release Called after the first check; a check whose read fails is repeated. */
  #checkLater(move: Move, onStored: () => void, delaysMs: readonly number[], release: () => void): void {
    const { schedule, onFault } = this.#ports;
    const [delayMs, ...laterMs] = delaysMs;
    if (delayMs === undefined) return;
    const check = async (): Promise<void> => {
      const isFound = await this.#isStored(move);
      release();
      if (!isFound) {
        this.#checkLater(move, onStored, laterMs, () => undefined);
        return;
      }
      onStored();
      if (!this.#running.has(move.id)) this.run(move).catch(() => undefined);
    };
    const run = (): void => {
      check().catch((error) => {
        this.#checkLater(move, onStored, delaysMs, release);
        onFault(error);
      });
    };
    schedule(run, delayMs);
  }

  /** False also when another shard owns the move by now, which continues it. */
  async #isStored(move: Move): Promise<boolean> {
    const { identities, routing } = this.#ports;
    const stored = await identities.merges();
    return routing.owns(ownerOf(move)) && stored.some(({ id }) => id === move.id);
  }

  /** Begins a stored move. Rejects when the first attempt fails, and keeps retrying in the background. */
  run(move: Move): Promise<void> {
    this.#running.add(move.id);
    for (const userId of accountsOf(move)) this.#hold(userId);
    return this.#attempt(move, RETRY_MS);
  }

  /** Holds an account and returns the function that releases it; null when it is held already. */
  claim(userId: UserId): (() => void) | null {
    if (this.#held.has(userId)) return null;
    this.#hold(userId);
    return () => this.#letGo(userId);
  }

  /** Continues the moves that an earlier process began. */
  resume(): Promise<void> {
    return this.#resume(() => true);
  }

  /** Repeats a read that fails, because nobody else continues the moves. */
  async #takeOver(moved: (id: string) => boolean, retryMs: number): Promise<void> {
    try {
      await this.#resume(moved);
    } catch (error) {
      const { onFault, schedule } = this.#ports;
      const nextMs = Math.min(retryMs * 2, RETRY_MS_MAX);
      schedule(() => void this.#takeOver(moved, nextMs), retryMs);
      onFault(error);
    }
  }

  /** Continues moves of ids that this shard now owns. */
  async #resume(moved: (id: string) => boolean): Promise<void> {
    const { identities, routing } = this.#ports;
    const isOurs = (move: Move): boolean => moved(ownerOf(move)) && routing.owns(ownerOf(move));
    const found = await identities.merges();
    const taken = found.filter((move) => isOurs(move) && !this.#running.has(move.id));
    await Promise.allSettled(taken.map((move) => this.run(move)));
  }

  async #attempt(move: Move, retryMs: number): Promise<void> {
    try {
      if (!this.#ports.routing.owns(ownerOf(move))) return this.#ended(move);
      await this.#step(move);
    } catch (error) {
      const nextMs = Math.min(retryMs * 2, RETRY_MS_MAX);
      this.#ports.schedule(() => void this.#attempt(move, nextMs).catch(() => undefined), retryMs);
      if (!(error instanceof AccountHeldError) || retryMs === RETRY_MS_MAX) this.#ports.onFault(error);
      throw error;
    }
    this.#ended(move);
  }

  #ended(move: Move): void {
    this.#running.delete(move.id);
    for (const userId of accountsOf(move)) this.#letGo(userId);
  }

  #step(move: Move): Promise<void> {
    if (move.kind === 'adoption') return this.#adopt(move);
    if (move.kind === 'ban') return this.#applyBan(move);
    return move.kind === 'merge' ? this.#merge(move) : this.#unmerge(move);
  }

  async #merge(move: PairMove): Promise<void> {
    const { id, fromId, toId, applicationId } = move;
    // Revokes the grants of the source first, so that it writes nothing during the merge. Silent, because no user revoked them.
    await this.#revokeGrants(fromId, await this.#ports.familyOf(applicationId), { silent: true });
    const mergeAll = async (): Promise<void> => {
      for (const part of this.#ports.mergeables()) await part.merge(fromId, toId);
    };
    await mergeAll();
    const { routing, schedule, commit, users } = this.#ports;
    const ended = { type: 'moveEnded', moveId: id } as const;
    const { inFlightMs } = routing;
    // An earlier owner may have deleted the account. The same commit notified the user.
    const [source] = await users.get([fromId]);
    if (source) await this.#complete(move, inFlightMs > 0 ? [] : [ended]);
    if (inFlightMs === 0) return;
    // Requests that other shards authorized before the grants were revoked may have written meanwhile.
    await new Promise<void>((resolve) => schedule(resolve, inFlightMs));
    await mergeAll();
    await commit(ownerOf(move), [ended]);
  }

  /** Deletes the source, whose data the other account has, and notifies the user of it once. */
  async #complete(move: PairMove, facts: readonly StoredFact[]): Promise<void> {
    const { id, fromId, toId } = move;
    const deleted = { type: 'provisionalDeleted', userId: fromId } as const;
    const t = 'USER_MERGE_OPERATION_COMPLETED';
    const d = { merge_operation_id: id, source_user_id: fromId };
    const dispatch = { userIds: [toId], filter: ALL_SESSIONS, t, d } as const;
    const notify = await this.#ports.commitAndNotify(ownerOf(move), [deleted, ...facts], [dispatch]);
    notify();
    this.#ports.tap.see(t, d, toId);
  }

  async #unmerge(move: PairMove): Promise<void> {
    const { id, fromId, toId, applicationId } = move;
    const family = await this.#ports.familyOf(applicationId);
    await this.#revokeGrants(fromId, family);
    for (const each of family)
      for (const part of this.#ports.mergeables()) await part.unmerge(fromId, toId, each);
    await this.#ports.commit(ownerOf(move), [{ type: 'moveEnded', moveId: id }]);
  }

  async #applyBan({ id, userId }: BanMove): Promise<void> {
    const { identities, nowMs, applyBan: expel, commit } = this.#ports;
    // The ban may have expired or been lifted while the server was down.
    if ((await identities.bannedUntil(userId, nowMs())) !== undefined) await expel(userId);
    await commit(userId, [{ type: 'moveEnded', moveId: id }]);
  }

  async #revokeGrants(
    userId: UserId,
    applications: readonly ApplicationId[],
    how?: { readonly silent: boolean },
  ): Promise<void> {
    for (const each of applications) await this.#ports.oauth().deauthorize(userId, each, how);
  }

  async #adopt({ id, childId }: Adoption): Promise<void> {
    const { identities, users, commit, oauth, mergeables: parts } = this.#ports;
    for (;;) {
      const some = await identities.some(childId, ADOPTED_AT_ONCE);
      if (some.length === 0) break;
      for (const { userId } of some) await this.#revokeGrants(userId, [childId]);
      const accounts = await users.get(some.map(({ userId }) => userId));
      const provisional = new Set(accounts.filter(isProvisionalUser).map((user) => user.id));
      const facts = some.flatMap((identity): StoredFact[] => {
        const { userId } = identity;
        const removed = { type: 'identityRemoved', applicationId: childId, external: identity } as const;
        return provisional.has(userId) ? [removed, { type: 'provisionalDeleted', userId }] : [removed];
      });
      await commit(childId, facts);
    }
    for (;;) {
      const some = await oauth().grantors(childId, ADOPTED_AT_ONCE);
      if (some.length === 0) break;
      for (const userId of some) await this.#revokeGrants(userId, [childId]);
    }
    for (const part of parts()) await part.forgetGame(childId);
    await commit(childId, [{ type: 'moveEnded', moveId: id }]);
  }

  #hold(userId: UserId): void {
    this.#held.set(userId, (this.#held.get(userId) ?? 0) + 1);
  }

  #letGo(userId: UserId): void {
    const left = (this.#held.get(userId) ?? 0) - 1;
    if (left > 0) this.#held.set(userId, left);
    else this.#held.delete(userId);
  }
}
