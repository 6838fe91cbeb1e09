import type { ApplicationId, UserId } from '../../protocol/ids.ts';
import type { SignedIn } from '../../services/players/ports.ts';
import type { Arguments } from './command.ts';
import type { Database } from './database.ts';
import { gameOf, inGame, type SimUser } from './founding.ts';
import type { Judge } from './judge.ts';
import type { MergeTruth } from './mergetruth.ts';
import type { SimShard } from './shard.ts';
import type { World } from './world.ts';

interface MergePorts {
  readonly world: World;
  readonly judge: Judge;
  readonly database: Database;
  readonly mergeTruth: MergeTruth;
  readonly users: readonly SimUser[];
  readonly enqueue: (asked: Arguments) => void;
}

/** Players as the game knows them. */
const PLAYERS = ['ext1', 'ext2', 'ext3'];
const SECRETS = ['red', 'green', 'blue'];

/** Players with provisional accounts who join lobbies and make friends; their accounts are merged into full ones and parted again. */
export class MergeWork {
  readonly #ports: MergePorts;
  /** The last access token of each player. */
  readonly #tokens = new Map<string, string>();

  constructor(ports: MergePorts) {
    this.#ports = ports;
  }

  act(): void {
    const { world } = this.#ports;
    const player = world.random.pick(PLAYERS);
    const dice = world.random.below(100);
    if (dice < 35) this.#enter(player);
    else if (dice < 55) this.#join(player);
    else if (dice < 65) this.#befriend(player);
    else if (dice < 85) this.#merge(player);
    else this.#part(player);
  }

  probe(): void {
    for (const player of PLAYERS) this.#enter(player);
  }

  get #applicationId(): ApplicationId {
    return gameOf(this.#ports.database);
  }

  get #people(): SimUser[] {
    return this.#ports.users.filter(({ bot }) => !bot);
  }

  #userOf(player: string): UserId | null {
    const { identities } = this.#ports.database;
    const found = [...identities.values()].find((each) => each.providerIssuedUserId === player);
    return found?.userId ?? null;
  }

  #enter(player: string): void {
    this.#ports.enqueue({
      ...{ what: `sign-in of ${player}`, mark: null, again: true },
      run: (shard) => provisional(shard).signInByBot(this.#applicationId, player, player),
      settled: (fate, value) => {
        if (fate !== 'done') return;
        const signedIn = value as SignedIn;
        if (signedIn.kind === 'tokens') this.#tokens.set(player, signedIn.tokens.accessToken.reveal());
        else this.#expectLinked(player, signedIn.identity.userId);
      },
    });
  }

  #join(player: string): void {
    const userId = this.#userOf(player);
    if (!userId) return;
    const secret = this.#ports.world.random.pick(SECRETS);
    const authority = inGame(this.#ports.database, userId);
    const input = { secret, lobby: {}, member: {} };
    this.#ports.enqueue({
      ...{ what: `join ${secret} by ${player}, ${userId}`, mark: null, again: true },
      run: (shard) => shard.server.features.lobbies.createOrJoin(input, authority),
    });
  }

  #befriend(player: string): void {
    const userId = this.#userOf(player);
    const peer = this.#ports.world.random.pick(this.#people).id;
    if (!userId || userId === peer) return;
    const [by, of] = this.#ports.world.chance(0.5) ? [userId, peer] : [peer, userId];
    this.#ports.enqueue({
      ...{ what: `request of friendship by ${by} to ${of}`, mark: null, again: true },
      run: (shard) =>
        shard.server.features.social.relationships.request(
          { userId: by, bot: false, authorization: null } as never,
          of,
          this.#applicationId,
        ),
    });
  }

  #merge(player: string): void {
    const token = this.#tokens.get(player);
    if (token === undefined) return;
    const { id: userId } = this.#ports.world.random.pick(this.#people);
    const proof = { externalAuthType: 'DISCORD_BOT_ISSUED_ACCESS_TOKEN', externalAuthToken: token } as const;
    this.#ports.enqueue({
      ...{ what: `merge of ${player} into ${userId}`, mark: null, again: true },
      run: (shard) => provisional(shard).merge({ applicationId: this.#applicationId, userId, ...proof }),
      settled: (fate) => {
        if (fate === 'done') this.#expectLinked(player, userId);
      },
    });
  }

  #part(player: string): void {
    this.#ports.enqueue({
      ...{ what: `parting of ${player}`, mark: null, again: false },
      run: (shard) => provisional(shard).unmergeByBot(this.#applicationId, player),
    });
  }

  #expectLinked(player: string, userId: UserId): void {
    const { judge, mergeTruth } = this.#ports;
    const isTrue = mergeTruth.wasEverLinked(player, userId);
    judge.expect(isTrue, 'acknowledged', () => `${player} was said to be linked to ${userId}`);
  }
}

const provisional = (shard: SimShard) => shard.server.features.provisional;
