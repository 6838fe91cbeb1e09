import type { HandoverParticipant } from '../actors/cluster/membership/handover.ts';
import type { Directory, Links } from '../actors/cluster/ports.ts';
import type { Placement } from '../actors/placement/ports.ts';
import { standalone } from '../actors/placement/standalone.ts';
import type { Journals } from '../storage/journal/port.ts';

/** What makes this process one of many. Alone, every question is answered "here". */
export interface Cluster extends Placement {
  /** Null while this process is alone. */
  readonly links: Links | null;
  readonly directory: Directory | null;
  /** The actors of this shard, by kind: each part of the house enters its own. */
  readonly participants: Map<string, HandoverParticipant>;
  /** Whether this shard may work on an aggregate now; null while it is alone, and always may. */
  readonly admits: ((id: string) => boolean) | null;
  /** What is done before this shard enters again, having been no member for a while. */
  readonly beforeRejoin?: Set<() => Promise<void>>;
  /** Where sessions are written down; null or absent: nowhere. */
  readonly journals?: Journals | null;
}

/** One process: it owns everything, and nobody else is there to be told. */
export const standaloneCluster = (): Cluster => ({
  ...standalone(),
  links: null,
  directory: null,
  participants: new Map(),
  admits: null,
});
