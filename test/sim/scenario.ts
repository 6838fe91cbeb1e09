import type { Config } from '../../config/config.ts';
import { LEASE_MS } from './directory.ts';
import { FAULT_NAMES, type FaultName } from './faults.ts';
import type { World } from './world.ts';

export const PARTITIONS = 12;
/** What one seed tries. */
export interface Scenario {
  readonly shards: number;
  readonly users: number;
  readonly guilds: number;
  /** Users with a second client. */
  readonly seconds: number;
  readonly everyMs: number;
  readonly workMs: number;
  readonly faults: readonly FaultName[];
  readonly faultEveryMs: number;
  readonly breaks: number;
  readonly doubles: number;
  readonly config: Partial<Config>;
}

export function scenarioOf(world: World): Scenario {
  const { random } = world;
  const some = FAULT_NAMES.filter(() => world.chance(0.35));
  return {
    shards: 2 + random.below(2),
    users: 4 + random.below(3),
    guilds: 1 + random.below(2),
    seconds: random.below(3),
    everyMs: world.between(60, 200),
    workMs: world.between(8_000, 16_000),
    faults: world.chance(0.1) ? [] : some,
    faultEveryMs: world.between(700, 3_000),
    breaks: world.chance(0.5) ? 0.01 : 0,
    doubles: world.chance(0.5) ? 0.03 : 0,
    config: {
      partitions: PARTITIONS,
      lease_ttl_ms: LEASE_MS,
      handover_timeout_ms: 1_000,
      command_deadline_ms: 5_000,
      resume_window_ms: 15_000,
      guild_idle_ms: 5_000,
      user_idle_ms: 5_000,
    },
  };
}
