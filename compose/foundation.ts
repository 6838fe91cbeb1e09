import { randomBytes } from 'node:crypto';
import { type Logger, pino } from 'pino';
import { type Clock, Lifetime, systemClock } from '../actors/runtime/clock.ts';
import { createFaults } from '../actors/runtime/faults.ts';
import { keepHeapCompact, processHeap } from '../actors/runtime/idleheap.ts';
import { type SnowflakeSource, snowflakeSource } from '../actors/runtime/snowflakes.ts';
import { TimerWheel } from '../actors/runtime/wheel.ts';
import { checkSettings, withFreePorts } from '../config/choices.ts';
import { type Config, DEFAULTS } from '../config/config.ts';
import { checkNames } from '../config/names.ts';
import type { EngineOptions } from '../embedding.ts';
import { Chaos } from '../engine/chaos/chaos.ts';
import { releaseMemory } from '../media/io/addon.ts';
import { type FreshId, snowflakeOf } from '../protocol/ids.ts';
import type { Metric } from '../protocol/metrics.ts';
import type { SecurityTrail } from '../protocol/security.ts';
import type { Mailer } from '../services/accounts/ports.ts';
import { REDACTION } from '../services/identity/redaction.ts';
import { withoutValues } from '../storage/database/loggederror.ts';
import { loggedTrail } from '../transports/admin/securitytrail.ts';
import { OpenFiles, openFilesCount, openFilesMax } from '../transports/http/openfiles.ts';
import type { Recorder } from '../transports/recording/recorder.ts';

/** The base of all other parts: settings, time, randomness, ids, and fault reporting. */
export interface Foundation {
  readonly config: Config;
  /** Scope of all background work above the stores: it ends, and is awaited, before the stores close. */
  readonly lifetime: Lifetime;
  /** Its timers end with the lifetime. */
  readonly clock: Clock;
  readonly openFiles: OpenFiles;
  readonly wheel: TimerWheel;
  readonly randomBytes: (size: number) => Uint8Array;
  readonly nextId: () => FreshId;
  /** Source of the ids of `nextId`; null when the embedding program generates them. */
  readonly ids: SnowflakeSource | null;
  /** Worker number in generated ids. A shard gets it from the directory, and it may change. */
  readonly worker: { number: number };
  readonly logger: Logger;
  /** Injects failures; null elsewhere than in development. */
  readonly chaos: Chaos | null;
  readonly recorder: Recorder | null;
  /** The mailer of the embedding program; null selects the configured one. */
  readonly mailer: Mailer | null;
  /** Metrics that the services register. */
  readonly metrics: Metric[];
  /** Number of faults by place, for metrics. */
  readonly faults: Map<string, number>;
  /** Logs and counts security events. */
  readonly security: SecurityTrail;
  /** Reports a fault of work that no caller awaits; `details` are added to the log line. */
  readonly onFault: (error: unknown, where: string, details?: object) => void;
}

export function foundationOf(options: EngineOptions): Foundation {
  const config = configOf(options.config);
  const lifetime = new Lifetime(options.clock ?? systemClock);
  const clock: Clock = lifetime;
  const wheel = new TimerWheel(clock);
  lifetime.own(() => wheel.stop());
  const logger =
    options.logger ??
    pino({ level: config.log_level, redact: REDACTION, serializers: { err: withoutValues } });
  const { faults, onFault } = createFaults(logger, lifetime, clock);
  keepHeapCompact({
    ...{ isEnabled: config.compact_heap, scope: lifetime, heap: processHeap() },
    onCompacted: ({ beforeBytes, afterBytes, pauseMs }) => {
      releaseMemory();
      logger.info({ beforeBytes, afterBytes, pauseMs }, 'Compacted the heap of the idle process.');
    },
    onFault: (error) => onFault(error, 'compacting the heap'),
  });
  const openFiles = new OpenFiles({
    ...{ max: openFilesMax(), count: openFilesCount },
    nowMs: () => systemClock.monotonic(),
  });
  const metrics: Metric[] = [];
  const worker = { number: options.workerId ?? 0 };
  const ids = snowflakeSource(clock, worker);
  const given = options.nextId;
  return {
    config,
    ...{ lifetime, clock, wheel, openFiles },
    randomBytes: options.randomBytes ?? randomBytes,
    nextId: given ? () => snowflakeOf(BigInt(given())) : ids,
    ids: given ? null : ids,
    worker,
    logger,
    chaos: options.chaos ? new Chaos(options.chaos, () => clock.monotonic()) : null,
    recorder: options.recorder ?? null,
    mailer: options.mailer ?? null,
    metrics,
    security: loggedTrail(logger, metrics, () => clock.monotonic()),
    ...{ faults, onFault },
  };
}

const configOf = (given: Partial<Config> = {}): Config => ({
  ...DEFAULTS,
  ...withFreePorts(Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))),
});

const OPTIONS: Readonly<Record<keyof EngineOptions, true>> = {
  config: true,
  clock: true,
  randomBytes: true,
  workerId: true,
  directory: true,
  sharedPort: true,
  nextId: true,
  storage: true,
  blobs: true,
  logger: true,
  mailer: true,
  isExplicit: true,
  chaos: true,
  recorder: true,
};

/**
 * Checks for mistakes that TypeScript would find and JavaScript does not: an ignored misspelt option or setting would
 * leave a default in place unnoticed.
 *
 * @throws RangeError for an option that does not exist. @throws ConfigError for invalid settings, all of them at once.
 */
export function checkOptions(options: EngineOptions): void {
  checkNames(options, Object.keys(OPTIONS), 'createEngine');
  checkSettings(options.config, 'createEngine');
}
