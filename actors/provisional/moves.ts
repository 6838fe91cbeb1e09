import type { Move } from '../../engine/provisional/facts.ts';
import type { ApplicationId, UserId } from '../../protocol/ids.ts';
import type { IdentityStore } from '../../storage/ports.identities.ts';
import type { StoredFact, UserStore } from '../../storage/ports.ts';
import type { OAuth } from '../oauth/ports.ts';
import type { Mergeable } from './ports.ts';
import { isProvisionalUser } from './publishers.ts';

export interface MovePorts {
  readonly identities: IdentityStore;
  readonly users: Pick<UserStore, 'get'>;
  /** Resolves when the facts are durable. */
  commit(ownerId: string, facts: readonly StoredFact[]): Promise<void>;
  oauth(): Pick<OAuth, 'deauthorize'>;
  /** The parts of the house that have something of an account. */
  parts(): readonly Mergeable[];
  /** The application, and those that are its children. */
  familyOf(applicationId: ApplicationId): Promise<readonly ApplicationId[]>;
  /** Tells the sessions of a user in an application, and those that are the user's own. */
  tell(userId: UserId, t: 'USER_MERGE_OPERATION_COMPLETED', d: object): void;
  /** Runs later, in milliseconds; not at all once the house is closed. */
  later(run: () => void, delayMs: number): void;
  onFault(error: unknown): void;
}

const RETRY_MS = 1_000;
const RETRY_MS_MAX = 60_000;
/** Identities of an application that is adopted, at one time. */
const ADOPTED_AT_ONCE = 100;

/**
 * Runs what takes several commits: it is written down before it begins, each step may be done twice, and it is begun
 * again after a fault or a crash until it is through. Meanwhile its accounts are held: nothing else moves them.
 */
export function createMoves(ports: MovePorts) {
  /** How often each account is held. */
  const held = new Map<UserId, number>();
  const hold = (userId: UserId) => void held.set(userId, (held.get(userId) ?? 0) + 1);
  const letGo = (userId: UserId) => {
    const left = (held.get(userId) ?? 0) - 1;
    if (left > 0) held.set(userId, left);
    else held.delete(userId);
  };

  const accountsOf = (move: Move): readonly UserId[] =>
    move.kind === 'adoption' ? [] : [move.fromId, move.toId];

  async function merge({ id, fromId, toId, applicationId }: Move & { kind: 'merge' | 'unmerge' }) {
    // First the source falls silent, so that nothing is added to what moves.
    for (const each of await ports.familyOf(applicationId)) await ports.oauth().deauthorize(fromId, each);
    for (const part of ports.parts()) await part.merge(fromId, toId);
    await ports.commit(fromId, [
      { type: 'provisionalDeleted', userId: fromId },
      { type: 'moveEnded', moveId: id },
    ]);
    ports.tell(toId, 'USER_MERGE_OPERATION_COMPLETED', { merge_operation_id: id, source_user_id: fromId });
  }

  async function unmerge({ id, fromId, toId, applicationId }: Move & { kind: 'merge' | 'unmerge' }) {
    const family = await ports.familyOf(applicationId);
    for (const each of family) await ports.oauth().deauthorize(fromId, each);
    for (const each of family) for (const part of ports.parts()) await part.unmerge(fromId, toId, each);
    await ports.commit(fromId, [{ type: 'moveEnded', moveId: id }]);
  }

  async function adopt({ id, childId }: Move & { kind: 'adoption' }): Promise<void> {
    for (;;) {
      const some = await ports.identities.some(childId, ADOPTED_AT_ONCE);
      if (some.length === 0) break;
      for (const { userId } of some) await ports.oauth().deauthorize(userId, childId);
      const users = await ports.users.get(some.map(({ userId }) => userId));
      const facts = some.flatMap((identity): StoredFact[] => [
        { type: 'identityRemoved', applicationId: childId, external: identity },
        ...(users.some((user) => user.id === identity.userId && isProvisionalUser(user))
          ? [{ type: 'provisionalDeleted', userId: identity.userId } as const]
          : []),
      ]);
      await ports.commit(childId, facts);
    }
    await ports.commit(childId, [{ type: 'moveEnded', moveId: id }]);
  }

  const step = (move: Move): Promise<void> =>
    move.kind === 'adoption' ? adopt(move) : move.kind === 'merge' ? merge(move) : unmerge(move);

  async function attempt(move: Move, retryMs: number): Promise<void> {
    try {
      await step(move);
    } catch (error) {
      const nextMs = Math.min(retryMs * 2, RETRY_MS_MAX);
      ports.later(() => void attempt(move, nextMs).catch(() => undefined), retryMs);
      ports.onFault(error);
      throw error;
    }
    for (const userId of accountsOf(move)) letGo(userId);
  }

  /** Begins a move that is durable; rejects when its first attempt fails, and goes on trying all the same. */
  function run(move: Move): Promise<void> {
    for (const userId of accountsOf(move)) hold(userId);
    return attempt(move, RETRY_MS);
  }

  return {
    run,

    /** Takes an account for a while; null when it is taken. Call what it answers to let it go again. */
    claim(userId: UserId): (() => void) | null {
      if (held.has(userId)) return null;
      hold(userId);
      return () => letGo(userId);
    },

    /** Takes up what an earlier run of the server began. */
    async resume(): Promise<void> {
      const moves = await ports.identities.moves();
      await Promise.allSettled(moves.map(run));
    },
  };
}

export type Moves = ReturnType<typeof createMoves>;
