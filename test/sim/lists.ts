import type { RowRange } from '../../engine/guild/memberlist.changes.ts';
import { listScope, MemberList, wireRow } from '../../engine/guild/memberlist.ts';
import type { ChannelId, UserId } from '../../protocol/ids.ts';
import type { SimClient } from './client.ts';
import type { Database } from './database.ts';
import type { SimUser } from './founding.ts';
import type { Judge } from './judge.ts';
import { shownRow } from './listview.ts';
import type { Truth } from './truth.ts';
import type { World } from './world.ts';

interface ListPorts {
  readonly world: World;
  readonly database: Database;
  readonly users: readonly SimUser[];
  readonly clients: readonly SimClient[];
}

const RANGES: readonly (readonly RowRange[])[] = [
  [[0, 99]],
  [[0, 1]],
  [
    [0, 1],
    [2, 3],
  ],
  [[1, 4]],
  [
    [0, 0],
    [3, 9],
  ],
  [],
];

/** People's clients subscribe to rows of member lists, to others, and to none. */
export class ListWork {
  readonly #ports: ListPorts;

  constructor(ports: ListPorts) {
    this.#ports = ports;
  }

  act(): void {
    const { world } = this.#ports;
    const clients = this.#clients;
    if (clients.length > 0) this.#ask(world.random.pick(clients), world.random.pick(RANGES), false);
  }

  /** Clients that were sent no rows since their last request ask once more. */
  probe(): void {
    for (const client of this.#clients) {
      const wishes = [...client.life.lists.wishes.values()];
      if (wishes.length === 0 || wishes.some(({ id }) => id === null))
        this.#ask(client, RANGES[0] ?? [], true);
    }
  }

  /** Connected clients of people. */
  get #clients(): SimClient[] {
    const people = new Set<string>(this.#ports.users.flatMap(({ id, bot }) => (bot ? [] : [id])));
    return this.#ports.clients.filter(({ up, userId, life }) => up && !life.lobbies && people.has(userId));
  }

  #ask(client: SimClient, ranges: readonly RowRange[], isProbe: boolean): void {
    const { world, database } = this.#ports;
    const known = [...client.life.guilds].flatMap(([guildId, replica]) =>
      [...(replica?.channels.keys() ?? [])].flatMap((channelId) =>
        database.guilds.get(guildId)?.channels.get(channelId as ChannelId)?.type === 0
          ? [{ guildId, channelId }]
          : [],
      ),
    );
    if (known.length === 0) return;
    const { guildId, channelId } = world.random.pick(known);
    client.watch(guildId, channelId, ranges, isProbe);
  }
}

/** A client that was sent rows of a list holds them as they are now; one that asked after all faults was sent them. */
export function judgeLists(
  { life }: SimClient,
  {
    judge,
    database,
    truth,
    statusOf,
  }: {
    readonly judge: Judge;
    readonly database: Database;
    readonly truth: Truth;
    readonly statusOf: (userId: string) => string;
  },
): void {
  const { name, userId } = life;
  for (const [guildId, { channelId, ranges, isProbe, id, held }] of life.lists.wishes) {
    const guild = database.guilds.get(guildId);
    const isSeen = truth.visible(guildId, userId).includes(channelId);
    const scope = guild && isSeen ? listScope(guild, channelId as ChannelId) : null;
    if (!guild || !scope) continue;
    judge.expect(id !== null || !isProbe, 'lists', () => `${name} is sent no rows of ${channelId}`);
    if (id === null) continue;
    judge.expect(
      id === scope.id,
      'lists',
      () => `${name} holds the list ${id} of ${channelId}, not ${scope.id}`,
    );
    const members = [...guild.members].flatMap(([userId, member]) => (member ? [userId] : []));
    const online = members.flatMap((id): [UserId, object][] => {
      const status = statusOf(id);
      return status === 'offline' ? [] : [[id, { status }]];
    });
    const list = new MemberList({ ...guild, presences: new Map(online) as never }, scope, 0);
    for (const [first, last] of ranges) {
      const wanted = list.slice(first, last + 1).map((row) => shownRow(wireRow(row)));
      const got = wanted.map((_, at) => shownRow(held[first + at]));
      const isLast = held[first + wanted.length] === undefined || wanted.length > last - first;
      judge.expect(
        isLast && got.join() === wanted.join(),
        'lists',
        () => `${name} has the rows from ${first} of ${channelId} as ${got}, not ${wanted}`,
      );
    }
  }
}
