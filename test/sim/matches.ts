import type { Authority } from '../../engine/kernel/authority.ts';
import type { UserId } from '../../protocol/ids.ts';
import type { TicketObject } from '../../services/matchmaking/ports.ts';
import type { Arguments } from './command.ts';
import type { Database } from './database.ts';
import { inGame, type SimUser } from './founding.ts';
import type { Judge } from './judge.ts';
import type { LobbyTruth } from './lobbytruth.ts';
import { QUEUE, SIZE } from './queue.ts';
import type { SimShard } from './shard.ts';
import type { World } from './world.ts';

interface MatchPorts {
  readonly world: World;
  readonly judge: Judge;
  readonly database: Database;
  readonly lobbyTruth: LobbyTruth;
  readonly users: readonly SimUser[];
  readonly enqueue: (asked: Arguments) => void;
}

/** Players of one game who look for an opponent, give up, and ask what became of their tickets. */
export class MatchWork {
  readonly #ports: MatchPorts;
  /** The latest ticket of each player. */
  readonly #tickets = new Map<UserId, TicketObject>();
  /** The lobbies that tickets were said to have led to. */
  readonly #lobbies = new Map<string, string>();

  constructor(ports: MatchPorts) {
    this.#ports = ports;
  }

  act(): void {
    const { world } = this.#ports;
    const { id } = world.random.pick(this.#players);
    const dice = world.random.below(100);
    if (dice < 55) this.#enter(id);
    else if (dice < 85) this.#ask(id, 'get');
    else this.#ask(id, 'cancel');
  }

  /** All players look for an opponent. */
  probe(): void {
    for (const { id } of this.#players) this.#enter(id);
  }

  get #players(): SimUser[] {
    return this.#ports.users.filter(({ bot }) => !bot);
  }

  #authority(userId: UserId): Authority {
    return inGame(this.#ports.database, userId);
  }

  #enter(userId: UserId): void {
    const draft = { queue: QUEUE, properties: {}, lobbyId: null, userIds: null };
    this.#ports.enqueue({
      ...{ what: `${userId} looks for an opponent`, mark: null, again: true },
      run: (shard) => shard.server.features.matchmaking.enter(draft, this.#authority(userId)),
      settled: (fate, value) => {
        if (fate === 'done') this.#learn(userId, value as TicketObject);
      },
    });
  }

  #ask(userId: UserId, how: 'get' | 'cancel'): void {
    const ticket = this.#tickets.get(userId);
    if (!ticket) return;
    this.#ports.enqueue({
      ...{ what: `${how} of ticket ${ticket.id} by ${userId}`, mark: null, again: true },
      run: (shard) => shard.server.features.matchmaking[how](ticket.id, this.#authority(userId)),
      settled: (fate, value) => {
        if (fate === 'done') this.#learn(userId, value as TicketObject);
      },
    });
  }

  /** Judges what a player is told of a ticket. */
  #learn(userId: UserId, ticket: TicketObject): void {
    const { judge } = this.#ports;
    this.#tickets.set(userId, ticket);
    const isOwn = ticket.user_ids.length === 1 && ticket.user_ids[0] === userId;
    judge.expect(isOwn, 'permission', () => `${userId} is shown the ticket of ${ticket.user_ids}`);
    const isMatched = ticket.status === 'matched';
    judge.expect(
      (ticket.lobby_id !== null) === isMatched,
      'ticket',
      () => `${ticket.id} is ${ticket.status} in ${ticket.lobby_id}`,
    );
    if (ticket.lobby_id !== null) this.#matched(userId, ticket.id, ticket.lobby_id);
  }

  #matched(userId: UserId, ticketId: string, lobbyId: string): void {
    const { judge, lobbyTruth } = this.#ports;
    const wasMember = lobbyTruth.wasEverMember(userId, lobbyId);
    judge.expect(wasMember, 'durable first', () => `${userId} was matched into ${lobbyId} and is no member`);
    const before = this.#lobbies.get(ticketId) ?? lobbyId;
    judge.expect(before === lobbyId, 'ticket', () => `${ticketId} led to ${before} and ${lobbyId}`);
    this.#lobbies.set(ticketId, lobbyId);
  }
}

/** Judges that no two players still wait for each other, after all have been served for a while. */
export function judgeMatches(shards: readonly SimShard[], judge: Judge): void {
  for (const { instance, server } of shards)
    for (const { waiting, making } of server.features.matchmaking.queues(SIZE))
      judge.expect(
        waiting < SIZE && making === 0,
        'matched',
        () => `${instance}: ${waiting} players wait, and ${making} lobbies are being created`,
      );
}
