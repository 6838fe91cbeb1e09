import { createShard } from '../../actors/cluster/shard.ts';
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
  const { lifetime, clock, wheel, config, randomBytes, onFault } = foundation;
  const links = new SimLinks(self, host, createCodec(), network);
  let nextId = snowflakeSource(clock, { number: 0 });
  const cluster = createShard({
    ...{ self, directory, links, store: storage.cluster, lifetime, clock, wheel, randomBytes, onFault },
    random: () => network.world.random.next(),
    handoverTimeoutMs: config.handover_timeout_ms,
    deadlineMs: config.command_deadline_ms,
    numbered: (worker) => {
      nextId = snowflakeSource(clock, { number: worker });
    },
  });
  const { ownership, router } = cluster;
  links.handler = router.handler;
  return { cluster, ownership, router, links, nextId: () => nextId() };
}
