// Goal: sessions are taken from the journals of runs that have ended, and never from the journal of a run that may go on with them.
import { describe, expect, it } from 'vitest';
import type { ShardInfo } from '../../../actors/placement/ports.ts';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';
import { TimerWheel } from '../../../actors/runtime/wheel.ts';
import type { SessionArchive } from '../../../actors/session/journal.ports.ts';
import { Journal } from '../../../actors/session/journal.ts';
import { createSessionPersistence, replayAgeMs } from '../../../actors/session/persistence.ts';
import { plainOf } from '../../../actors/session/record.ts';
import { type Config, parseConfig } from '../../../config/config.ts';
import { LinkFault } from '../../../protocol/faults.ts';
import { MemoryJournals } from '../../support/memoryjournals.ts';
import { arrange, BOT, FakeSink, identifyWith, settled } from './harness.ts';

const SELF = { id: 'shard-0', instance: 'run-0', worker: 0 } as ShardInfo;
const OTHER = { id: 'shard-1', instance: 'run-1', worker: 1 } as ShardInfo;

interface World {
  /** A single process with a journal, which no directory knows. */
  readonly isSolo: boolean;
  /** Whether the other run is a member of the cluster. It answers no questions. */
  readonly isMember: boolean;
  /** Whether the other run's process exists. */
  readonly isWritten: boolean;
}

/** The persistence of one process, with or without journals. */
function persist(
  store: MemoryJournals | null,
  { isSolo, isMember }: Omit<World, 'isWritten'>,
  settings: Partial<Config> = {},
) {
  const clock = new VirtualClock();
  const faults: unknown[] = [];
  const beforeRejoin = new Set<() => Promise<void>>();
  const log = (about: object): void => void faults.push(about);
  const cluster = {
    ownership: {
      self: SELF,
      knowsMembers: true,
      view: { revision: 1, shards: isMember ? [SELF, OTHER] : [SELF], owners: [] },
      onChange: () => () => undefined,
    },
    router: {
      askShard: () => Promise.reject(new LinkFault('unreachable', 'planted')),
      serve: () => undefined,
    },
    journals: store && { store, writer: store.begin(SELF.id, SELF.instance) },
    beforeRejoin,
  };
  const persistence = createSessionPersistence(
    {
      ...{ config: { ...parseConfig([]), ...settings }, clock, wheel: new TimerWheel(clock), isSolo },
      logger: { warn: log, error: log },
      metrics: [],
      onFault: (error) => faults.push(error),
    },
    cluster as never,
    () => arrange().sessions,
  );
  const take = async (claim: Parameters<SessionArchive['take']>[0]) => {
    let kind: string | null = null;
    void persistence.archive?.take(claim).then((result) => (kind = result.kind));
    while (kind === null) {
      await settled();
      clock.advance(500);
    }
    return kind;
  };
  return { clock, faults, beforeRejoin, take };
}

/** A store with the journal of another run, which has one session. */
async function written(isWritten: boolean) {
  const clock = new VirtualClock();
  const store = new MemoryJournals(() => clock.now());
  const journal = new Journal(store.begin(OTHER.id, OTHER.instance), {
    ...{ clock, wheel: new TimerWheel(clock), settings: { bytesMax: 64 << 20, ageMs: 150_000 } },
    onFault: (error) => {
      throw error;
    },
  });
  const outcome = await arrange({}, { journal }, clock).sessions.identify(identifyWith(), new FakeSink());
  await settled();
  if (outcome.kind !== 'open') throw new Error('not open');
  clock.settle();
  if (!isWritten) journal.close();
  return { store, claim: { sessionId: outcome.session.id, principal: plainOf(BOT), seq: 4 } };
}

describe('a session in the journal of another run', () => {
  it.each<[result: string, run: string, world: World]>([
    ['stays', 'a shard that does not answer', { isSolo: false, isMember: true, isWritten: true }],
    ['is taken', 'a shard that has left', { isSolo: false, isMember: false, isWritten: false }],
    ['is taken', 'a suspended shard that has left', { isSolo: false, isMember: false, isWritten: true }],
    ['stays', 'a process that still writes', { isSolo: true, isMember: false, isWritten: true }],
    ['is taken', 'a process that has ended', { isSolo: true, isMember: false, isWritten: false }],
  ])('%s when the run is that of %s', async (result, _run, world) => {
    const { store, claim } = await written(world.isWritten);
    const { take, faults } = persist(store, world);
    expect(await take(claim)).toBe(result === 'stays' ? 'unknown' : 'taken');
    expect(faults).toEqual([]);
  });

  it('is claimed for no longer than the connection of its client may wait', async () => {
    const { store, claim } = await written(true);
    const patient = { identify_timeout_ms: 30_000, command_deadline_ms: 60_000 };
    const { clock, take } = persist(store, { isSolo: false, isMember: true }, patient);
    const beganMs = clock.monotonic();
    expect(await take(claim)).toBe('unknown');
    expect(clock.monotonic() - beganMs).toBeLessThan(patient.identify_timeout_ms);
  });
});

describe('the journal of a run that has ended', () => {
  it('is deleted when none of its sessions can be resumed any longer', async () => {
    const { store } = await written(false);
    const { clock, faults } = persist(store, { isSolo: false, isMember: false });
    const pass = async (ms: number): Promise<string[]> => {
      for (let passed = 0; passed < ms; passed += 10_000) {
        clock.advance(10_000);
        await settled();
      }
      return (await store.folders()).map(({ instance }) => instance);
    };
    expect(await pass(2 * replayAgeMs(parseConfig([])) - 10_000)).toEqual([OTHER.instance, SELF.instance]);
    expect(await pass(20_000)).toEqual([SELF.instance]);
    expect(faults).toEqual([]);
  });
});

describe('a dispatch', () => {
  it('is replayed until the session of a connection that broke unnoticed can no longer be resumed', () => {
    const config = { resume_window_ms: 90_000, heartbeat_interval_ms: 40_000, heartbeat_grace_ms: 20_000 };
    expect(replayAgeMs({ ...parseConfig([]), ...config })).toBe(150_000);
  });
});

describe('a shard without a journal', () => {
  it('may rejoin its cluster, as no other shard has taken its sessions', async () => {
    const { beforeRejoin, faults } = persist(null, { isSolo: false, isMember: true });
    expect(beforeRejoin.size).toBe(1);
    for (const run of beforeRejoin) await run();
    expect(faults).toEqual([]);
  });
});
