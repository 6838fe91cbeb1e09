import type { Guilds } from '../actors/guild/guilds.ts';
import type { Clock } from '../actors/runtime/clock.ts';
import type { UserState } from '../actors/user/user.shell.ts';
import type { Users } from '../actors/user/users.ts';
import { SYSTEM } from '../engine/authority.ts';
import { mergePresences, type Presence } from '../engine/presence/merge.ts';
import type { GuildId, UserId } from '../protocol/ids.ts';
import type { Cluster } from './cluster.ts';

/** Tells guilds how a user appears now, null: offline. */
export type Present = (userId: string, guildIds: readonly GuildId[], presence: Presence | null) => void;

export interface PresencePorts {
  readonly guilds: Pick<Guilds, 'call'>;
  readonly users: Pick<Users, 'resident'>;
  readonly clock: Clock;
  readonly cluster: Cluster;
  readonly onFault: (error: unknown, id: string) => void;
}

type Entry = readonly [userId: string, presence: Presence | null, guildIds: readonly GuildId[]];

/** Users in one turn when all are told anew. */
const SLICE = 500;

/** Tells guilds how the users of this shard appear; other shards hear of all of a tick at once, in order. */
export function createPresent(ports: PresencePorts): Present {
  const { guilds, clock, cluster, onFault } = ports;
  const { ownership, router, links } = cluster;
  const here: Present = (userId, guildIds, presence) => {
    for (const guildId of guildIds)
      guilds
        .call(guildId, 'setPresence', { userId: userId as UserId, presence }, SYSTEM)
        .catch((fault) => onFault(fault, guildId));
  };
  if (ownership.alone || links === null) return here;

  let leaving = new Map<string, Entry[]>();
  const flush = (): void => {
    const told = leaving;
    leaving = new Map();
    for (const [shardId, entries] of told)
      links.tell(shardId, { kind: 'tell', method: 'guilds.present', key: '', args: [entries] });
  };
  function put(shardId: string, entry: Entry): void {
    if (leaving.size === 0) clock.defer(flush);
    const entries = leaving.get(shardId);
    if (entries) entries.push(entry);
    else leaving.set(shardId, [entry]);
  }
  const present: Present = (userId, guildIds, presence) => {
    const byShard = new Map<string, GuildId[]>();
    for (const guildId of guildIds) {
      // Guilds that nobody owns now are told when somebody does.
      const shardId = ownership.ownerOf(guildId)?.shardId;
      if (shardId === undefined) continue;
      const group = byShard.get(shardId);
      if (group) group.push(guildId);
      else byShard.set(shardId, [guildId]);
    }
    for (const [shardId, group] of byShard)
      if (shardId === ownership.self?.id) here(userId, group, presence);
      else put(shardId, [userId, presence, group]);
  };
  router.handle('guilds.present', ([entries]: [Entry[]]) => {
    for (const [userId, presence, guildIds] of entries) present(userId, guildIds, presence);
  });
  const again = presentingAgain(ports, present);
  ownership.onChange(({ moved }) => {
    const partitions = new Set(moved);
    if (partitions.size > 0) again((guildId) => partitions.has(ownership.partitionOf(guildId)));
  });
  links.onBroken((shardId) => again((guildId) => ownership.ownerOf(guildId)?.shardId === shardId));
  return present;
}

/** Tells guilds anew of everyone here who is online, a few at a time: for most nothing changes by it. */
function presentingAgain({ users, clock }: PresencePorts, present: Present) {
  function slice(waiting: UserState[], concerns: (guildId: string) => boolean): void {
    for (const { user, guildIds, presences } of waiting.splice(-SLICE)) {
      const presence = mergePresences(presences.values());
      const concerned = presence ? [...guildIds].filter(concerns) : [];
      if (concerned.length > 0) present(user.id, concerned, presence);
    }
    if (waiting.length > 0) clock.defer(() => slice(waiting, concerns));
  }
  return (concerns: (guildId: string) => boolean): void =>
    slice(
      [...users.resident()].filter(({ presences }) => presences.size > 0),
      concerns,
    );
}
