import type { Authority } from '../../engine/kernel/authority.ts';
import type { LobbyCommands } from '../../engine/lobby/rules.ts';
import type { ChannelId, UserId } from '../../protocol/ids.ts';
import type { Arguments } from './command.ts';
import type { Database } from './database.ts';
import { gameOf, inGame, type SimUser } from './founding.ts';
import type { Judge } from './judge.ts';
import type { LobbyTruth } from './lobbytruth.ts';
import type { SimShard } from './shard.ts';
import type { World } from './world.ts';

interface LobbyPorts {
  readonly world: World;
  readonly judge: Judge;
  readonly database: Database;
  readonly lobbyTruth: LobbyTruth;
  readonly users: readonly SimUser[];
  readonly mark: (kind: string) => string;
  readonly enqueue: (asked: Arguments) => void;
}

const SECRETS = ['red', 'green', 'blue'];
const IDLE_SEC = 5;

/** Players of one game: lobbies that they join by secret, talk in and leave, hosts, ready checks, and lobbies of the game's server. */
export class LobbyWork {
  readonly #ports: LobbyPorts;
  /** The last known lobby of each secret. */
  readonly #named = new Map<string, ChannelId>();

  constructor(ports: LobbyPorts) {
    this.#ports = ports;
  }

  act(): void {
    const { world } = this.#ports;
    const player = world.random.pick(this.#players);
    const dice = world.random.below(100);
    if (dice < 30) this.#join(player);
    else if (dice < 65) this.#say(player);
    else if (dice < 75) this.#leave(player);
    else if (dice < 82) this.#change(player);
    else if (dice < 90) this.#host(player);
    else if (dice < 96) this.#ready(player);
    else this.#create();
  }

  /** Sends a message to each lobby by one of its members. */
  probe(): void {
    for (const [id, { members }] of this.#ports.database.lobbies) {
      const [member] = members.keys();
      if (member) this.#write(id as ChannelId, member);
    }
  }

  get #players(): SimUser[] {
    return this.#ports.users.filter(({ bot }) => !bot);
  }

  #authority(userId: UserId, bot = false): Authority {
    return inGame(this.#ports.database, userId, bot);
  }

  #lobbyOf({ id }: SimUser): ChannelId | null {
    const { world, database } = this.#ports;
    const mine = [...database.lobbies].flatMap(([lobbyId, { members }]) =>
      members.has(id) ? [lobbyId] : [],
    );
    return mine.length === 0 ? null : (world.random.pick(mine) as ChannelId);
  }

  #join({ id }: SimUser): void {
    const { world, judge, lobbyTruth, mark, enqueue } = this.#ports;
    const secret = world.random.pick(SECRETS);
    const metadata = world.chance(0.5) ? { metadata: { said: mark('l') } } : {};
    const input = { secret, lobby: metadata, member: world.chance(0.5) ? metadata : {} };
    enqueue({
      ...{ what: `join ${secret} by ${id}`, mark: null, again: true },
      run: (shard) => lobbies(shard).createOrJoin(input, this.#authority(id)),
      settled: (fate, value) => {
        if (fate !== 'done') return;
        const { id: lobbyId } = value as { readonly id: ChannelId };
        const wasMember = lobbyTruth.wasEverMember(id, lobbyId);
        judge.expect(wasMember, 'acknowledged', () => `${id} was told to be in ${lobbyId}`);
        const before = this.#named.get(secret);
        const isOne = before === undefined || before === lobbyId || !bothLive(lobbyTruth, before, lobbyId);
        judge.expect(isOne, 'one lobby', () => `${secret} names ${before} and ${lobbyId}`);
        this.#named.set(secret, lobbyId);
      },
    });
  }

  #say(player: SimUser): void {
    const lobbyId = this.#lobbyOf(player);
    if (lobbyId) this.#write(lobbyId, player.id);
  }

  #write(lobbyId: ChannelId, userId: UserId): void {
    const mark = this.#ports.mark('w');
    const draft = { content: mark, metadata: null, flags: 0 };
    this.#ports.enqueue({
      ...{ what: `lobby message ${mark} of ${userId} in ${lobbyId}`, mark, again: false },
      run: (shard) => lobbies(shard).send(lobbyId, draft, this.#authority(userId)),
    });
  }

  #leave(player: SimUser): void {
    this.#command(player, 'leaveLobby', {}, true);
  }

  #change(player: SimUser): void {
    const metadata = { said: this.#ports.mark('c') };
    const lobbyId = this.#lobbyOf(player);
    if (!lobbyId) return;
    const bot = this.#bot;
    this.#ports.enqueue({
      ...{ what: `update of ${lobbyId}`, mark: null, again: true },
      run: (shard) =>
        lobbies(shard).update(lobbyId, { change: { metadata }, members: null }, this.#authority(bot, true)),
    });
  }

  #host(player: SimUser): void {
    const { world } = this.#ports;
    const others = this.#players;
    if (world.chance(0.6))
      this.#command(
        player,
        'setSettings',
        { change: { host_grace_seconds: 1 + world.random.below(4) } },
        true,
      );
    else this.#command(player, 'setHost', { userId: world.random.pick(others).id }, true);
  }

  #ready(player: SimUser): void {
    if (this.#ports.world.chance(0.4)) this.#command(player, 'startReadyCheck', { timeoutMs: 3_000 }, false);
    else this.#command(player, 'answerReadyCheck', { ready: true }, true);
  }

  /** The game's server creates a lobby, which ends soon after its last member has left. */
  #create(): void {
    const { world, enqueue } = this.#ports;
    const members = this.#players
      .filter(() => world.chance(0.6))
      .map(({ id: userId }) => ({ userId, draft: {} }));
    const change = { idle_timeout_seconds: IDLE_SEC };
    enqueue({
      ...{ what: 'create a lobby', mark: null, again: false },
      run: (shard) => lobbies(shard).create({ change, members }, this.#authority(this.#bot, true)),
    });
  }

  get #bot(): UserId {
    const application = this.#ports.database.applications.get(gameOf(this.#ports.database));
    return application?.bot_id as UserId;
  }

  #command<K extends keyof LobbyCommands>(
    player: SimUser,
    type: K,
    input: LobbyCommands[K]['input'],
    again: boolean,
  ): void {
    const lobbyId = this.#lobbyOf(player);
    if (!lobbyId) return;
    this.#ports.enqueue({
      ...{ what: `${String(type)} by ${player.id} in ${lobbyId}`, mark: null, again },
      run: (shard) => lobbies(shard).call(lobbyId, type, input, this.#authority(player.id)),
    });
  }
}

const lobbies = (shard: SimShard) => shard.server.features.lobbies;

const bothLive = (truth: LobbyTruth, a: string, b: string): boolean => truth.exists(a) && truth.exists(b);
