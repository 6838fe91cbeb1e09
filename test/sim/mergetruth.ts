import type { Move } from '../../engine/provisional/facts.ts';
import type { Accepted, Database } from './database.ts';
import type { Judge } from './judge.ts';
import type { LobbyTruth } from './lobbytruth.ts';

/** Accounts that have been merged and parted, from the history of the database. Judges each end of a move. */
export class MergeTruth {
  readonly #database: Database;
  readonly #lobbyTruth: LobbyTruth;
  readonly #judge: Judge;
  /** The users that each identity has belonged to, by the player's id at the game. */
  readonly #linked = new Map<string, Set<string>>();
  /** Lobbies of the source of each merge under way, by move. */
  readonly #lobbies = new Map<string, { readonly move: Move; readonly ids: readonly string[] }>();

  constructor(database: Database, lobbyTruth: LobbyTruth, judge: Judge) {
    this.#database = database;
    this.#lobbyTruth = lobbyTruth;
    this.#judge = judge;
  }

  note({ facts }: Accepted): void {
    for (const fact of facts) {
      if (fact.type === 'identityWritten') {
        const { providerIssuedUserId: player, userId } = fact.identity;
        this.#linked.set(player, (this.#linked.get(player) ?? new Set()).add(userId));
      } else if (fact.type === 'moveBegun' && fact.move.kind === 'merge')
        this.#lobbies.set(fact.move.id, { move: fact.move, ids: this.#lobbiesOf(fact.move.fromId) });
      else if (fact.type === 'moveEnded') this.#ended(fact.moveId);
    }
  }

  wasEverLinked(player: string, userId: string): boolean {
    return this.#linked.get(player)?.has(userId) ?? false;
  }

  /** Judges that every move has ended, and that nothing is left of merged accounts. */
  judgeEnd(): void {
    const { users, moves, relations, lobbies, identities } = this.#database;
    this.#judge.expect(moves.size === 0, 'merged', () => `${moves.size} moves of accounts have not ended`);
    for (const { userId, peerId } of relations.values())
      for (const id of [userId, peerId])
        this.#judge.expect(users.has(id), 'merged', () => `${id} is gone and has a relation`);
    for (const [lobbyId, { members }] of lobbies)
      for (const id of members.keys())
        this.#judge.expect(users.has(id), 'merged', () => `${id} is gone and a member of ${lobbyId}`);
    const linked = new Map<string, string>();
    for (const { providerIssuedUserId: player, userId } of identities.values()) {
      this.#judge.expect(users.has(userId), 'merged', () => `${player} belongs to ${userId}, who is gone`);
      const other = linked.get(userId);
      this.#judge.expect(other === undefined, 'one identity', () => `${userId} is ${player} and ${other}`);
      linked.set(userId, player);
    }
  }

  #lobbiesOf(userId: string): string[] {
    return [...this.#database.lobbies].flatMap(([id, { members }]) =>
      members.has(userId as never) ? [id] : [],
    );
  }

  #ended(moveId: string): void {
    const begun = this.#lobbies.get(moveId);
    if (!begun || !('fromId' in begun.move)) return;
    this.#lobbies.delete(moveId);
    const { fromId, toId } = begun.move;
    const left = this.#lobbiesOf(fromId);
    this.#judge.expect(left.length === 0, 'merged', () => `${fromId} is merged and a member of ${left}`);
    for (const id of begun.ids)
      this.#judge.expect(
        !this.#lobbyTruth.exists(id) || this.#lobbyTruth.wasEverMember(toId, id),
        'merged',
        () => `${toId} has taken over ${fromId} and is no member of ${id}`,
      );
  }
}
