import { DispatchBody } from '../../../engine/fanout/body.ts';
import { directStream } from '../../../engine/fanout/direct.ts';
import { NotServed } from '../../../protocol/faults.ts';
import type { UserId } from '../../../protocol/ids.ts';
import { dropOldest } from '../../../protocol/oldest.ts';
import type { ClusterStore, CommandRecord } from '../../../storage/cluster/port.ts';
import type { Fence } from '../../../storage/database/driver.ts';
import type { Commit, Writer } from '../../../storage/ports.ts';
import type { Ownership } from '../../placement/ports.ts';
import type { Clock } from '../../runtime/clock.ts';
import { baseOf } from '../../runtime/stream.ts';
import type { Wheel } from '../../runtime/wheel.ts';
import type { CommitNotifier, DirectDispatch, Notifier } from '../../user/notifier.ts';

interface CommitAndNotifyPorts {
  readonly writer: Writer;
  readonly ownership: Ownership;
  readonly notifier: Pick<Notifier, 'notifyEach' | 'recipientOf'>;
  readonly store: Pick<ClusterStore, 'records'>;
  readonly clock: Clock;
  readonly wheel: Wheel;
  /** How long the database keeps records of notifications. */
  readonly recordAgeMs: number;
}

/** The upper half of an epoch's numbers is for notifications by services that keep no actor. */
const FIRST_NUMBER = 2 ** 31;
/**
 * Upper bounds on the owners whose last notifications are cached, on the users of each, as an application notifies everyone who
 * buys something, and on the records read to rebuild one of them.
 */
const OWNERS_MAX = 1_024;
const USERS_MAX = 4_096;
const RECORDS_MAX = 64;
/** How soon, and how often, the database is read after a commit whose outcome is unknown. */
const AGAIN_MS = 1_000;

interface LastNotified {
  readonly epoch: number;
  /** By user: the number of the last notification. */
  readonly byUser: Map<string, number>;
}

const written = (writer: Writer, commit: Omit<Commit, 'done'>): Promise<void> =>
  new Promise((resolve, reject) => {
    writer.commit({ ...commit, done: (fault) => (fault ? reject(fault) : resolve()) });
  });

/** Commits facts and notifies users of a standalone process: the notifications need no record, and nothing is repeated. */
export const commitNotifierHere = ({
  writer,
  notifier,
}: Pick<CommitAndNotifyPorts, 'writer' | 'notifier'>): CommitNotifier => ({
  async commitAndNotify(ownerId, facts, notifications) {
    await written(writer, { ownerId, facts });
    return () => {
      for (const { userIds, filter, t, d } of notifications)
        notifier.notifyEach(
          userIds.map((userId) => [userId, filter]),
          t,
          d,
        );
    };
  },
  notifyAgain: async () => undefined,
});

/**
 * Commits facts together with the notifications about them, for services that keep no actor. Tried once: when the
 * partition changed owners, nothing was written. A caller must serialize its notifications of one owner. Several callers may have
 * owners of the same id: an application and its bot.
 */
export function createCommitNotifier(ports: CommitAndNotifyPorts): CommitNotifier {
  const { writer, ownership, notifier, clock, store, recordAgeMs } = ports;
  const lastNotified = lastNotifiedOf(ports);
  let lastNumber = 0;
  const send = (
    ownerId: string,
    userId: UserId,
    { filter, t, d, n }: NumberedDispatch,
    after: number,
  ): void => {
    const origin = { ownerId: directStream(ownerId), n, after };
    notifier.recipientOf([[userId, filter]]).deliver(new DispatchBody(t, d, clock.monotonic(), origin));
  };
  const commitAndNotify: CommitNotifier['commitAndNotify'] = async (
    ownerId,
    facts,
    notifications,
    stream = 'owner',
  ) => {
    // A commit for an id of another shard would carry the epoch of that shard, and a number that it may have assigned too.
    const fence = ownership.owns(ownerId) ? ownership.fenceOf(ownerId) : null;
    if (!fence) throw new NotServed('Write refused: this shard does not own the aggregate.');
    const streamOwnerId = stream === 'owner' ? ownerId : `${fence.partition}`;
    const last = await lastNotified.of(streamOwnerId, fence);
    const numbered = notifications.map((each) => {
      lastNumber += 1;
      const n = baseOf(fence.epoch) + FIRST_NUMBER + lastNumber;
      // Named before the commit: another service whose owner has the same id may commit, and send, before these are sent.
      const to = each.userIds.map((userId) => [userId, last.byUser.get(userId) ?? 0] as const);
      for (const userId of each.userIds) {
        // Most recently used last; eviction takes the front.
        last.byUser.delete(userId);
        last.byUser.set(userId, n);
      }
      dropOldest(last.byUser, USERS_MAX);
      return { ...each, n, to };
    });
    const record = recordOf(streamOwnerId, numbered, clock.now());
    const sendAll = (): void => {
      for (const each of numbered)
        for (const [userId, after] of each.to) send(streamOwnerId, userId, each, after);
    };
    try {
      await written(writer, { ownerId, facts, fence, ...(record && { record }) });
    } catch (fault) {
      // Whether it was stored is unknown. If it was, the next notification has to name it as the one before.
      lastNotified.forget(streamOwnerId);
      if (record && !(fault instanceof NotServed)) void sendIfStored(ports, streamOwnerId, record, sendAll);
      throw fault;
    }
    return sendAll;
  };
  return {
    commitAndNotify,
    async notifyAgain(ownerId) {
      const [first, later] = await store.records(ownerId, clock.now() - recordAgeMs, 2);
      if (!first || later) return;
      // The owner of a user who has not received the one before it reads both from the database.
      for (const { filter, to, ...rest } of first.dispatches)
        if (filter && to.kind === 'users')
          for (const userId of to.userIds) send(ownerId, userId, { ...rest, filter }, rest.n - 1);
    },
  };
}

/** The outcome of a commit is unknown: its notifications are sent if it was stored, as soon as the database says so. */
async function sendIfStored(
  { writer, store, clock, wheel, recordAgeMs }: CommitAndNotifyPorts,
  streamOwnerId: string,
  record: CommandRecord,
  sendAll: () => void,
): Promise<void> {
  let isDue = await wheel.pause(AGAIN_MS);
  while (isDue) {
    try {
      // Until then it may be stored late.
      await writer.flush();
      const records = await store.records(streamOwnerId, record.atMs, RECORDS_MAX);
      if (records.some(({ n }) => n === record.n)) sendAll();
      return;
    } catch {
      isDue = clock.now() - record.atMs < recordAgeMs && (await wheel.pause(AGAIN_MS));
    }
  }
}

type NumberedDispatch = Pick<DirectDispatch, 'filter' | 'd'> & { readonly t: string; readonly n: number };

function recordOf(
  streamOwnerId: string,
  notifications: readonly (DirectDispatch & { readonly n: number })[],
  atMs: number,
): CommandRecord | null {
  const n = notifications.at(-1)?.n;
  if (n === undefined) return null;
  const dispatches = notifications.map(({ userIds, filter, t, d, n: own }) => ({
    ...{ t, d, filter, n: own },
    to: { kind: 'users', userIds } as const,
  }));
  return { streamOwnerId, n, atMs, commandKey: null, reply: null, dispatches };
}

/** The last notifications of an owner to each user, including those by previous owners of the partition. */
function lastNotifiedOf({ store, clock, recordAgeMs }: CommitAndNotifyPorts) {
  const known = new Map<string, LastNotified>();
  return {
    forget: (ownerId: string): void => void known.delete(ownerId),
    async of(ownerId: string, { epoch }: Fence): Promise<LastNotified> {
      const found = known.get(ownerId);
      if (found?.epoch === epoch) return found;
      const byUser = new Map<string, number>();
      for (const { dispatches } of await store.records(ownerId, clock.now() - recordAgeMs, RECORDS_MAX))
        for (const { filter, to, n } of dispatches)
          if (filter && to.kind === 'users') for (const userId of to.userIds) byUser.set(userId, n);
      // A call that read at the same time may have numbered notifications since.
      const meanwhile = known.get(ownerId);
      if (meanwhile?.epoch === epoch) return meanwhile;
      const last = { epoch, byUser };
      known.delete(ownerId);
      known.set(ownerId, last);
      dropOldest(known, OWNERS_MAX);
      return last;
    },
  };
}
