import type { Reply } from '../../engine/kernel/aggregate.ts';
import { RELATION } from '../../engine/social/facts.ts';
import { type UserId, userPair } from '../../protocol/ids.ts';
import type { Arguments } from './command.ts';
import { type Database, relationKey } from './database.ts';
import type { SimUser } from './founding.ts';
import type { Judge } from './judge.ts';
import type { SimShard } from './shard.ts';
import type { World } from './world.ts';

interface DirectPorts {
  readonly world: World;
  readonly judge: Judge;
  readonly database: Database;
  readonly users: readonly SimUser[];
  readonly mark: (kind: string) => string;
  readonly enqueue: (asked: Arguments) => void;
}

/** Direct messages between two users, requests of friendship, blocks. */
export class DirectWork {
  readonly #ports: DirectPorts;
  /** When each acknowledged block took effect, by blocker and blocked user. */
  readonly #blocks = new Map<string, number>();

  constructor(ports: DirectPorts) {
    this.#ports = ports;
  }

  act(): void {
    const { world } = this.#ports;
    const [a, b] = this.#pair();
    const dice = world.random.below(100);
    if (dice < 70) this.#message(a, b);
    else if (dice < 80) this.#relate(a, b, 'request');
    else if (dice < 90) this.#block(a, b);
    else this.#relate(a, b, 'remove');
  }

  /** Sends a message between each pair of users with a channel. */
  probe(): void {
    for (const { channel } of this.#ports.database.privateChannels.values()) {
      if (channel.group) continue;
      const [from, to] = channel.recipientIds;
      if (from && to) this.#write(from, to);
    }
  }

  #pair(): readonly [SimUser, SimUser] {
    const { world, users } = this.#ports;
    const persons = users.filter(({ bot }) => !bot);
    const first = world.random.pick(persons);
    const second = world.random.pick(persons.filter((each) => each !== first));
    return world.chance(0.5) ? [first, second] : [second, first];
  }

  #channelOf(a: UserId, b: UserId) {
    const pair = userPair(a, b).join();
    return [...this.#ports.database.privateChannels.values()].find(
      ({ channel }) => !channel.group && channel.recipientIds.join() === pair,
    )?.channel;
  }

  #message({ id: from }: SimUser, { id: to }: SimUser): void {
    if (this.#channelOf(from, to)) this.#write(from, to);
    else
      this.#ports.enqueue({
        ...{ what: `open ${from} ${to}`, mark: null, again: true },
        run: (shard) => shard.server.openPrivate(from, to),
      });
  }

  #write(from: UserId, to: UserId): void {
    const channel = this.#channelOf(from, to);
    if (!channel) return;
    const { id: channelId } = channel;
    const mark = this.#ports.mark('d');
    const draft = { content: mark, nonce: mark, enforce_nonce: true };
    const input = { channelId, draft, carried: {}, attachments: [], forward: null };
    const sinceMs = this.#blocks.get(`${to} ${from}`);
    this.#ports.enqueue({
      ...{ what: `direct ${mark} of ${from} to ${to} in ${channelId}`, mark, again: true },
      run: (shard) => shard.server.inPrivate(channelId, 'createMessage', input as never, authorityOf(from)),
      settled: (fate) =>
        this.#ports.judge.expect(
          fate !== 'done' || sinceMs === undefined || this.#blockedSinceMs(to, from) !== sinceMs,
          'blocked',
          () => `${from} writes ${mark} to ${to}, who has blocked them`,
        ),
    });
  }

  #block({ id: by }: SimUser, { id: peer }: SimUser): void {
    this.#ports.enqueue({
      ...{ what: `block of ${peer} by ${by}`, mark: null, again: true },
      run: (shard) => relationships(shard).block(personOf(by), peer),
      settled: (fate) => {
        const sinceMs = this.#blockedSinceMs(by, peer);
        if (fate === 'done' && sinceMs !== null) this.#blocks.set(`${by} ${peer}`, sinceMs);
      },
    });
  }

  #blockedSinceMs(by: UserId, peer: UserId): number | null {
    const relation = this.#ports.database.relations.get(relationKey(by, peer, null));
    return relation?.type === RELATION.BLOCKED ? relation.sinceMs : null;
  }

  #relate({ id: by }: SimUser, { id: peer }: SimUser, wish: 'request' | 'remove'): void {
    this.#ports.enqueue({
      ...{ what: `${wish} of ${peer} by ${by}`, mark: null, again: true },
      run: (shard): Promise<Reply<unknown>> => relationships(shard)[wish](personOf(by), peer, null),
    });
  }
}

const relationships = (shard: SimShard) => shard.server.features.social.relationships;

const personOf = (userId: UserId) => ({ userId, bot: false, authorization: null }) as never;

const authorityOf = (userId: UserId) => ({
  by: { userId, bot: false, applicationId: null, applicationFlags: 0, reason: null },
  requires: 0n,
});
