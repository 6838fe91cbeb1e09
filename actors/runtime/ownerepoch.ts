import type { Origin } from '../../engine/fanout/body.ts';
import { directStream } from '../../engine/fanout/direct.ts';
import type { Reply } from '../../engine/kernel/aggregate.ts';
import type { UserId } from '../../protocol/ids.ts';
import type { RecordedDispatch } from '../../storage/cluster/port.ts';
import type { Fence } from '../../storage/database/driver.ts';
import type { Commit } from '../../storage/ports.ts';
import type { AggregateOwnership } from './aggregateownership.ts';
import { CommandKeys, type KeptReply } from './commandkeys.ts';
import { DispatchStream, merged, type StreamDispatch } from './stream.ts';

/** A decided command, as its commit records it for the next owner. */
export interface RecordedCommand {
  readonly nowMs: number;
  /** The key under which the command was sent. Null when the sender does not repeat it. */
  readonly commandKey: string | null;
  readonly reply: Reply<unknown>;
}

/** The number of the epoch; 0 in standalone mode. */
export const epochNumber = (epoch: OwnerEpoch | null): number => epoch?.fence.epoch ?? 0;

/**
 * The state of an aggregate while a shard of a cluster owns it: the fence that every write carries, the stream that
 * numbers its dispatches, and the replies to commands that may be repeated. A standalone process has no such state.
 */
export class OwnerEpoch {
  readonly fence: Fence;
  readonly stream: DispatchStream;
  readonly keys: CommandKeys;
  /** Numbered dispatches of the facts that are being applied. */
  readonly #numbered: RecordedDispatch[] = [];
  /** Dispatches of the previous owner that are in no record. */
  #unrecorded: readonly StreamDispatch[] = [];
  #unrecordedFloor = 0;
  #shown = 0;
  /** All subscribers know that they have the stream up to this number. */
  #announced = 0;

  constructor(ownerId: string, fence: Fence, bounds: Pick<AggregateOwnership, 'stream' | 'keys'>) {
    this.fence = fence;
    this.stream = new DispatchStream(ownerId, fence.epoch, bounds.stream);
    this.keys = new CommandKeys(bounds.keys);
  }

  /** The number of the dispatch that was fanned out last. */
  get shown(): number {
    return this.#shown;
  }

  /**
   * Applies the state that the previous owner handed over besides its records. Call it before `restore`.
   *
   * @param floor The number up to which unrecorded dispatches may be missing.
   */
  handedOver(dispatches: readonly StreamDispatch[], floor: number, replies: readonly KeptReply[]): void {
    this.#unrecorded = dispatches;
    this.#unrecordedFloor = floor;
    for (const kept of replies) this.keys.restore(kept, false);
  }

  /** Continues the stream of earlier owners, and answers the commands that they answered. */
  restore({ records, cut }: Awaited<ReturnType<AggregateOwnership['records']>>): void {
    const [oldest] = records;
    const recorded = records.flatMap(({ dispatches, atMs }) => dispatches.map((each) => ({ ...each, atMs })));
    const floor = cut && oldest ? (oldest.dispatches[0]?.n ?? oldest.n) - 1 : 0;
    const recordedAndNot = merged(recorded, this.#unrecorded, floor);
    this.stream.restore(recordedAndNot, Math.max(floor, this.#unrecordedFloor));
    this.#announced = this.#shown = this.stream.last;
    for (const { commandKey: key, reply, atMs } of records)
      if (key !== null) this.keys.restore({ key, reply: reply as Reply<unknown>, atMs }, true);
  }

  /** Numbers a dispatch of a fact that is being applied, and keeps it. */
  number(dispatch: Omit<RecordedDispatch, 'n'>, nowMs: number): number {
    const { t, d, to, n, filter, keepsSight } = this.stream.add(dispatch, nowMs);
    this.#numbered.push({ t, d, to, n, ...(filter && { filter }), ...(keepsSight && { keepsSight }) });
    return n;
  }

  /** Numbers a direct notification of users. For `isForAll` see `deliveredToAll`. */
  direct(
    dispatch: Pick<RecordedDispatch, 't' | 'd' | 'filter'>,
    userIds: readonly UserId[],
    nowMs: number,
    isForAll: boolean,
  ): Origin {
    const { stream } = this;
    const after = stream.lastToAll(nowMs);
    const n = this.number({ ...dispatch, to: { kind: 'users', userIds } }, nowMs);
    if (isForAll) stream.deliveredToAll(n, nowMs);
    return { ownerId: directStream(stream.ownerId), n, after };
  }

  /** The dispatches of one command: they were numbered since the last call. */
  takeNumbered(): readonly RecordedDispatch[] {
    return this.#numbered.splice(0);
  }

  /** Data of a commit besides its facts, for the next owner. */
  recording(
    { nowMs, commandKey, reply }: RecordedCommand,
    dispatches: readonly RecordedDispatch[],
  ): Pick<Commit, 'fence' | 'record'> {
    const { fence } = this;
    if (dispatches.length === 0 && commandKey === null) return { fence };
    const n = dispatches.at(-1)?.n ?? this.stream.next();
    const kept = commandKey === null ? null : reply;
    return { fence, record: { n, atMs: nowMs, commandKey, reply: kept, dispatches } };
  }

  /**
   * Everything up to `n` was fanned out.
   *
   * @returns Whether all subscribers must receive this position, because the last one that they have is about to be evicted.
   */
  fannedOut(n: number): boolean {
    this.#shown = n;
    if (this.stream.floor <= this.#announced) return false;
    this.#announced = n;
    return true;
  }
}
