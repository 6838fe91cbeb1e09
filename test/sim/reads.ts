import type { Authority } from '../../engine/kernel/authority.ts';
import type { GuildId, UserId } from '../../protocol/ids.ts';
import type { Arguments } from './command.ts';
import type { SimGuild } from './founding.ts';
import type { Judge } from './judge.ts';
import type { Truth } from './truth.ts';
import type { World } from './world.ts';

interface ReadPorts {
  readonly world: World;
  readonly judge: Judge;
  readonly truth: Truth;
  readonly guilds: readonly SimGuild[];
  readonly mark: (kind: string) => string;
  readonly enqueue: (asked: Arguments) => void;
}

/**
 * Renames guilds and reads their names, each at any shard. A read never returns a name older than the last name acknowledged before the
 * read began, whichever shard answers: a shard whose lease has ended must not answer.
 */
export class ReadWork {
  readonly #ports: ReadPorts;
  /** By guild: the commit of the last acknowledged name. */
  readonly #acknowledged = new Map<GuildId, number>();

  constructor(ports: ReadPorts) {
    this.#ports = ports;
  }

  act(): void {
    const { world, guilds } = this.#ports;
    const guild = world.random.pick(guilds);
    if (world.chance(0.3)) this.#rename(guild);
    else this.#read(guild);
  }

  probe(): void {
    for (const guild of this.#ports.guilds) this.#read(guild);
  }

  #rename({ id, ownerId }: SimGuild): void {
    const { truth, mark, enqueue } = this.#ports;
    const name = mark('n');
    enqueue({
      ...{ what: `rename of ${id} to ${name}`, mark: name, again: false },
      run: (shard) => shard.server.guilds.call(id, 'updateGuild', { draft: { name } }, authorityOf(ownerId)),
      settled: (fate) => {
        const at = truth.namedAt.get(name) ?? -1;
        if (fate === 'done') this.#acknowledged.set(id, Math.max(at, this.#acknowledged.get(id) ?? -1));
      },
    });
  }

  #read({ id, ownerId }: SimGuild): void {
    const { judge, truth, enqueue } = this.#ports;
    const sinceAt = this.#acknowledged.get(id) ?? -1;
    enqueue({
      ...{ what: `read of ${id}`, mark: null, again: true },
      run: (shard) => shard.server.guilds.call(id, 'getGuild', { withCounts: false }, authorityOf(ownerId)),
      settled: (fate, value) => {
        if (fate !== 'done') return;
        const { name } = value as { readonly name: string };
        const at = truth.namedAt.get(name) ?? -1;
        judge.expect(
          at >= sinceAt,
          'fresh read',
          () => `${id} is read as ${name} of ${at}, after ${sinceAt}`,
        );
      },
    });
  }
}

const authorityOf = (userId: UserId): Authority => ({
  by: { userId, bot: false, applicationId: null, applicationFlags: 0, reason: null },
  requires: 0n,
});
