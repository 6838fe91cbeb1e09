import { DispatchBody } from '../../../engine/fanout/body.ts';
import { directStream } from '../../../engine/fanout/direct.ts';
import { NotServed } from '../../../protocol/faults.ts';
import type { ClusterStore, CommandRecord } from '../../../storage/cluster/port.ts';
import type { Fence } from '../../../storage/database/driver.ts';
import type { Commit, Writer } from '../../../storage/ports.ts';
import type { Ownership } from '../../placement/ports.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Announce, Telling, ToldPeople } from '../../user/telling.ts';

interface AnnouncingPorts {
  readonly writer: Writer;
  readonly ownership: Ownership;
  readonly telling: Pick<Telling, 'tellEach' | 'toEach'>;
  readonly store: Pick<ClusterStore, 'records'>;
  readonly clock: Clock;
  /** How long the database keeps what was told. */
  readonly recordAgeMs: number;
}

/** Numbers of one epoch; the upper half is for what is told by who keeps no actor. */
const PER_EPOCH = 2 ** 32;
const FIRST = 2 ** 31;
/** Owners of which is kept at hand what their people were told last, and the records that say so else. */
const OWNERS_MAX = 1_024;
const RECORDS_MAX = 64;

interface Last {
  readonly epoch: number;
  /** By user: the number of what was told last. */
  readonly told: Map<string, number>;
}

/**
 * Makes facts durable with what people are to be told of them, for the parts that keep no actor. Tried once: when the
 * partition has changed hands nothing of it was done. What is of one owner is to be announced in turn.
 */
export function createAnnounce(ports: AnnouncingPorts): Announce {
  const { writer, ownership, telling, clock } = ports;
  const written = (commit: Omit<Commit, 'done'>): Promise<void> =>
    new Promise((resolve, reject) => {
      writer.commit({ ...commit, done: (fault) => (fault ? reject(fault) : resolve()) });
    });
  if (ownership.alone)
    return async (ownerId, facts, told) => {
      await written({ ownerId, facts });
      return () => {
        for (const { userIds, ears, t, d } of told)
          telling.tellEach(
            userIds.map((userId) => [userId, ears]),
            t,
            d,
          );
      };
    };

  const lastOf = lastTold(ports);
  let given = 0;
  return async (ownerId, facts, told) => {
    const fence = ownership.fenceOf(ownerId);
    if (!fence || fence === 'alone') throw new NotServed('This shard may not write it now.');
    const last = await lastOf(ownerId, fence);
    const numbered = told.map((each) => {
      given += 1;
      return { ...each, n: fence.epoch * PER_EPOCH + FIRST + given };
    });
    const record = recordOf(numbered, clock.now());
    await written({ ownerId, facts, fence, ...(record && { record }) });
    return () => {
      for (const { userIds, ears, t, d, n } of numbered)
        for (const userId of userIds) {
          const origin = { ownerId: directStream(ownerId), n, after: last.told.get(userId) ?? 0 };
          last.told.set(userId, n);
          telling.toEach([[userId, ears]]).deliver(new DispatchBody(t, d, clock.monotonic(), origin));
        }
    };
  };
}

function recordOf(
  told: readonly (ToldPeople & { readonly n: number })[],
  atMs: number,
): CommandRecord | null {
  const n = told.at(-1)?.n;
  if (n === undefined) return null;
  const dispatches = told.map(({ userIds, ears, t, d, n: own }) => ({
    ...{ t, d, ears, n: own },
    to: { kind: 'users', userIds } as const,
  }));
  return { n, atMs, commandKey: null, reply: null, dispatches };
}

/** What the people of an owner were told last, by earlier ones too. */
function lastTold({ store, clock, recordAgeMs }: AnnouncingPorts) {
  const known = new Map<string, Last>();
  return async (ownerId: string, { epoch }: Fence): Promise<Last> => {
    const found = known.get(ownerId);
    if (found?.epoch === epoch) return found;
    const told = new Map<string, number>();
    for (const { dispatches } of await store.records(ownerId, clock.now() - recordAgeMs, RECORDS_MAX))
      for (const { ears, to, n } of dispatches)
        if (ears && to.kind === 'users') for (const userId of to.userIds) told.set(userId, n);
    const last = { epoch, told };
    known.delete(ownerId);
    known.set(ownerId, last);
    const [oldest] = known.keys();
    if (known.size > OWNERS_MAX && oldest !== undefined) known.delete(oldest);
    return last;
  };
}
