import type { Seats } from '../actors/call/ports.ts';
import { createAnnounce } from '../actors/cluster/delivery/announce.ts';
import type { Membership } from '../actors/cluster/delivery/membership.ts';
import { committing, committingAsOwner, fencedWriter } from '../actors/cluster/membership/commits.ts';
import { keepCalls } from '../actors/cluster/membership/keptcalls.ts';
import type { Signing } from '../actors/runtime/signing.ts';
import type { Supervisor } from '../actors/runtime/supervisor.ts';
import type { Config } from '../config/config.ts';
import { nearest } from '../config/nearest.ts';
import { splitsAt } from '../protocol/permissions.ts';
import type { Storage } from '../storage/ports.ts';
import { createHooks } from '../transports/rest/hooks.ts';
import type { Cluster } from './cluster.ts';
import type { Foundation } from './foundation.ts';
import { createResidents } from './residents.ts';
import { createTenure, SNAPSHOT_FRESH_MS } from './tenure.ts';
import { createWays } from './ways.ts';

interface OwnerPorts {
  readonly storage: Storage;
  readonly cluster: Cluster;
  readonly supervisor: Supervisor;
  readonly membership: Membership;
  readonly seats: () => Seats;
  readonly sign?: Signing['sign'];
}

/** The actors that decide, what they write through, and the ways to those of other shards. */
export function createOwners(foundation: Foundation, ports: OwnerPorts) {
  const { config, lifetime, clock, wheel, nextId, logger, onFault } = foundation;
  const { storage, cluster, supervisor, membership, seats, sign } = ports;
  const hooks = createHooks({
    guildOf: (ownerId) => (residents.registries.guild.peek(ownerId) ? ownerId : null),
    nearest,
    onBug: (error) => onFault(error, 'listener'),
  });
  const { ownership } = cluster;
  const writer = fencedWriter(storage.writer, ownership, (error) => onFault(error, 'commit'));
  const tenure = createTenure(foundation, storage.cluster, ownership);
  const aggregate = {
    ...{ writer, tenure, clock, nextId, tap: hooks.tap },
    splitsAt: (nowMs: number) => splitsAt(rulesMsOf(config, nowMs)),
    ...(sign && { sign }),
  };
  const residents = createResidents({
    ...{ supervisor, cluster, config, storage, wheel, aggregate, seats },
    guildListener: membership,
    userListener: membership,
    listeners: (userId) => ways.telling.listeners(userId),
    onBug: (kind, id, error) => logger.error({ err: error, kind, id }, 'A bug ended an actor.'),
  });
  const commit = committing(writer, ownership, clock);
  const ways = createWays({
    ...{ ...residents, clock, wheel, cluster, storage, hooks, nextId, commit, onFault },
    recordAgeMs: config.record_age_ms,
    contactPolicy: config.direct_messages_from,
  });
  if (!ownership.alone)
    keepCalls({
      ...{ ...residents, ownership, store: storage.cluster, freshMs: SNAPSHOT_FRESH_MS },
      ...{ clock, wheel, lifetime, onFault },
    });
  const announce = createAnnounce({
    ...{ writer, ownership, clock, telling: ways.telling, store: storage.cluster },
    recordAgeMs: config.record_age_ms,
  });
  const commits = { commit, commitAsOwner: committingAsOwner(writer), announce };
  return { ...residents, ...ways, ...commits, hooks, aggregate };
}

export type Owners = ReturnType<typeof createOwners>;

/** The day whose dated rules apply: the one that the setting names, or today. Unix milliseconds. */
export const rulesMsOf = ({ permission_split_date: date }: Config, nowMs: number): number =>
  date === null ? nowMs : Date.parse(date);
