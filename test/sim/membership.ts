import { type HandoverParticipant, handoverOf } from '../../actors/cluster/membership/handover.ts';
import { createOwnership } from '../../actors/cluster/membership/ownership.ts';
import { routingOver } from '../../actors/cluster/routing/routed.ts';
import { createRouter } from '../../actors/cluster/routing/router.ts';
import type { ShardInfo } from '../../actors/placement/ports.ts';
import { snowflakeSource } from '../../actors/runtime/snowflakes.ts';
import type { Foundation } from '../../compose/foundation.ts';
import type { Storage } from '../../storage/ports.ts';
import { createCodec } from '../../transports/cluster/codec.ts';
import type { SimDirectory } from './directory.ts';
import { SimLinks, type SimNetwork } from './network.ts';
import type { Host } from './world.ts';

interface MembershipPorts {
  readonly foundation: Foundation;
  readonly storage: Storage;
  readonly directory: SimDirectory;
  readonly network: SimNetwork;
  readonly host: Host;
}

/** Makes a process one shard of the cluster: real ownership and routing over the simulated directory and links. */
export function joined(self: Omit<ShardInfo, 'worker' | 'draining'>, ports: MembershipPorts) {
  const { foundation, storage, directory, network, host } = ports;
  const { clock, wheel, config, randomBytes, onFault } = foundation;
  const links = new SimLinks(self, host, createCodec(), network);
  const participants = new Map<string, HandoverParticipant>();
  const beforeRejoin = new Set<() => Promise<void>>();
  let nextId = snowflakeSource(clock, { number: 0 });
  const ownership = createOwnership({
    ...{ self, directory, store: storage.cluster, handover: handoverOf(participants), clock, wheel },
    random: () => network.world.random.next(),
    handoverTimeoutMs: config.handover_timeout_ms,
    numbered: (worker) => {
      nextId = snowflakeSource(clock, { number: worker });
    },
    async beforeRejoin() {
      await Promise.all([...beforeRejoin].map((run) => run()));
    },
    onFault: (error, what) => onFault(error, what),
  });
  const router = createRouter({
    ...{ ownership, links, clock, wheel, randomBytes },
    deadlineMs: config.command_deadline_ms,
    answers: (key) => {
      const fence = ownership.heldUnder(key);
      return fence !== null && storage.cluster.isLast(fence);
    },
    onFault: (where, fault) => onFault(fault, where),
  });
  links.handler = router.handler;
  ownership.onChange(() => links.follow(ownership.view.shards));
  const cluster = {
    ...{ ownership, router, links, directory, participants, beforeRejoin },
    routing: routingOver({ ownership, router }),
    admits: (id: string) => ownership.owns(id),
  };
  return { cluster, ownership, router, links, nextId: () => nextId() };
}
