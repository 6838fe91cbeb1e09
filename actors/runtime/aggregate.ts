import { DispatchBody, type Origin, type Recipient } from '../../engine/fanout/body.ts';
import { directStream } from '../../engine/fanout/direct.ts';
import type { Needs } from '../../engine/kernel/needs.ts';
import type { Env, Outcome, Reply } from '../../engine/kernel/outcome.ts';
import { LinkFault, NotServed } from '../../protocol/faults.ts';
import type { AnyId, UserId } from '../../protocol/ids.ts';
import { type Refusal, refusal } from '../../protocol/refusal.ts';
import type { CommandRecord, RecordedDispatch } from '../../storage/cluster/port.ts';
import type { Fence } from '../../storage/database/driver.ts';
import type { Commit } from '../../storage/ports.ts';
import type { AggregatePorts, OutgoingDispatch } from './aggregate.ports.ts';
import type { AggregateOwnership } from './aggregateownership.ts';
import { CommandKeys } from './commandkeys.ts';
import type { Load } from './loadqueue.ts';
import { OpenWork } from './openwork.ts';
import { OrderedCommits } from './ordered.ts';
import type { RegisteredShell, Send } from './registry.ts';
import type { End, Work } from './resident.machine.ts';
import { DispatchStream, merged, type StreamDispatch } from './stream.ts';
import { answeringBugs, asError, rethrow } from './work.ts';

/** What the runner needs of an aggregate's rules. */
interface Rules<State, Fact, Dispatch> {
  readonly missing: Refusal;
  happen(state: State, fact: Fact): readonly Dispatch[];
  isDurable(fact: Fact): boolean;
}

/** A command whose facts are applied, and what is to become of it. */
interface Decided<State, Fact> {
  readonly work: Work<State>;
  readonly facts: readonly Fact[];
  readonly nowMs: number;
  /** Under which it was sent; null: it is not sent again. */
  readonly commandKey: string | null;
  readonly reply: Reply<unknown>;
  /** Answers; `recorded`: the next owner would answer alike. */
  readonly settle: (recorded: boolean) => void;
}

type StoredFact = Commit['facts'][number];

/** How often one work may read again because what it had read was pushed out of a window, or named more to read. */
const READS_MAX = 16;

/**
 * Runs the effects of one aggregate: reads into its windows, group commit, fan-out. Commands are decided and applied
 * in the order they arrive (one that must read first waits without holding up the rest); replies and dispatches leave
 * in the order of their commits, and nothing leaves that is not durable.
 */
export abstract class AggregateShell<
  State,
  Fact extends { readonly type: string },
  Dispatch,
  Id extends AnyId = AnyId,
> implements RegisteredShell<State>
{
  readonly refusals: { readonly missing: Refusal; readonly full: Refusal };
  readonly #rules: Rules<State, Fact, Dispatch>;
  /** Null before it is read, and when the actor is over. */
  protected state: State | null = null;
  protected readonly id: Id;
  protected readonly commits: OrderedCommits;
  readonly #ports: AggregatePorts;
  readonly #send: Send<State>;
  readonly #open = new OpenWork<State>();
  /** Called once when no work is open; null without a waiter. */
  #settled: (() => void) | null = null;
  /** Dispatches of the facts that are being applied; empty without a listener. */
  readonly #tapped: { readonly t: string; readonly d: object }[] = [];
  protected readonly ownership: AggregateOwnership | null;
  /** Under which the state was read, and alone may be written. */
  protected fence: Fence | null = null;
  protected stream: DispatchStream | null = null;
  /** Most dispatches kept in memory. */
  protected readonly keptMax: number = Number.POSITIVE_INFINITY;
  protected keys: CommandKeys | null = null;
  // Dispatches of the last owner that no record holds.
  protected unrecorded: readonly StreamDispatch[] = [];
  /** Numbered dispatches of the facts that are being applied. */
  readonly #lastDelivered: RecordedDispatch[] = [];
  /** The number of the dispatch that was fanned out last. */
  protected shown = 0;
  /** Up to where those who hear the stream know that they have it. */
  #announced = 0;
  /** Its turn to be read; null before it asks for one, and while the process is alone. */
  #loading: Load<State | null> | null = null;
  #isUrgent = false;

  constructor(id: Id, rules: Rules<State, Fact, Dispatch>, ports: AggregatePorts, send: Send<State>) {
    this.id = id;
    this.#rules = rules;
    this.refusals = { missing: rules.missing, full: refusal('API_OVERLOADED') };
    this.#ports = ports;
    this.#send = send;
    this.commits = new OrderedCommits(ports.writer, id, () => this.#quiet());
    this.ownership = ports.ownership ?? null;
  }

  /** Reads the state; null when there is no such aggregate. */
  protected abstract fetch(): Promise<State | null>;
  /** Reads what is absent from the windows; null when nothing is. */
  protected abstract read(state: State, needs: Needs): Promise<void> | null;
  /** Called with each dispatch of a fact that was applied just now; answers which sessions receive it. */
  protected abstract outgoing(
    state: State,
    dispatch: Dispatch,
    fact: Fact,
    nowMs: number,
  ): readonly OutgoingDispatch[];
  /** Called when a fact is applied and its dispatches are on their way. */
  protected applied(_state: State, _fact: Fact): void {}
  /** Called before facts are applied, so that windows stamp what is written with the coming commit; then with 0. */
  protected abstract number(state: State, commit: number): void;
  /** Called when a commit is settled or a read has ended: windows may be trimmed. */
  protected abstract trim(state: State): void;
  /** Called after the dispatches of durable facts have left. */
  protected abstract follow(facts: readonly Fact[]): void;
  /**
   * Called when all facts of a command are applied, those that are never stored too: what else is to be done when
   * their dispatches have left. By then later facts may be applied; what hangs on this moment is read here.
   */
  protected afterwards(_state: State, _facts: readonly Fact[], _nowMs: number): (() => void) | null {
    return null;
  }

  /** All subscribers have the stream up to `n`: older dispatches may be evicted. */
  protected announce(_state: State, _n: number): void {}

  /** True while passivation would lose something beyond open commands. */
  protected abstract occupied(state: State): boolean;
  /** The actor has ended: its dependents must be notified, unless another owner takes over (`moved`). */
  protected abstract ended(state: State, moved: boolean): void;

  /** Writes down for the next owner what no table holds; called when no work is open. */
  protected async writeDown(): Promise<void> {}

  get isBusy(): boolean {
    const { state } = this;
    return state === null || this.#open.size > 0 || this.commits.waits || this.occupied(state);
  }

  /** Behind the commits under way: those of an actor that has just ended here are part of the state. */
  load(): void {
    const { ownership } = this;
    const reading = this.#ports.writer
      .flush()
      .then(() => (ownership ? this.#loadInQueue(ownership) : this.fetch()));
    reading.then(
      (state) => this.#send(state ? { type: 'loaded', state } : { type: 'missing' }),
      (fault) => this.#send({ type: 'loadFailed', fault: asError(fault) }),
    );
  }

  /** Shards that get many aggregates at once read them one after the other. */
  #loadInQueue(ownership: AggregateOwnership): Promise<State | null> {
    this.#loading = ownership.loadQueue.begin(() => this.#take(ownership), this.#isUrgent);
    return this.#loading.result;
  }

  prioritize(): void {
    if (this.#isUrgent) return;
    this.#isUrgent = true;
    this.#loading?.prioritize();
  }

  /** Takes the aggregate over from its last owner: the epoch first, so that nothing is written after it is read. */
  async #take(ownership: AggregateOwnership): Promise<State | null> {
    const fence = ownership.fenceOf(this.id);
    if (!fence) throw new NotServed('This shard does not own the aggregate now.');
    this.fence = fence;
    const dispatchesMax = Math.min(ownership.stream.dispatchesMax, this.keptMax);
    this.stream = new DispatchStream(this.id, fence.epoch, { ...ownership.stream, dispatchesMax });
    this.keys = new CommandKeys(ownership.keys);
    const [state, { records, cut }] = await Promise.all([this.fetch(), ownership.records(this.id)]);
    const [oldest] = records;
    const told = records.flatMap(({ dispatches, atMs }) => dispatches.map((each) => ({ ...each, atMs })));
    const floor = cut && oldest ? (oldest.dispatches[0]?.n ?? oldest.n) - 1 : 0;
    this.stream.restore(merged(told, this.unrecorded, floor), floor);
    this.#announced = this.shown = this.stream.last;
    for (const { commandKey: key, reply, atMs } of records)
      if (key !== null) this.keys.restore({ key, reply: reply as Reply<unknown>, atMs }, true);
    if (state) this.recall(state, records);
    return state;
  }

  /** Called with the recent dispatches and replies of earlier owners: some of it may be state that no table holds. */
  protected recall(_state: State, _records: readonly CommandRecord[]): void {}

  adopt(state: State): void {
    this.state = state;
  }

  run(state: State, work: Work<State>): void {
    answeringBugs(work, () => this.#attempt(state, work, READS_MAX));
  }

  /**
   * Runs the work when all it needs is there. After a read it looks again: while it waited, other work may have
   * pushed out what was there before, and a rule must never take a row that was pushed out for one that is not.
   */
  #attempt(state: State, work: Work<State>, readsLeft: number): void {
    const reading = work.needs ? this.read(state, work.needs(state)) : null;
    if (!reading) {
      work.run(state);
      return;
    }
    if (readsLeft === 0) {
      work.fault(
        new Error('Working set exceeded: rows that the command needs were evicted again and again.'),
      );
      return;
    }
    this.#open.add(work);
    reading.then(
      () => {
        if (!this.#open.take(work)) return;
        this.#guarded(() => answeringBugs(work, () => this.#attempt(state, work, readsLeft - 1)));
        this.trim(state);
        this.#quiet();
      },
      (fault) => {
        if (!this.#open.take(work)) return;
        work.fault(asError(fault));
        this.#quiet();
      },
    );
  }

  settle(): void {
    this.#settled = () => this.#send({ type: 'settled' });
    this.#quiet();
  }

  handOver(): void {
    const written = () => this.#send({ type: 'written' });
    this.writeDown().then(written, (error) => {
      this.ownership?.onFault(error);
      written();
    });
  }

  /**
   * Work that is open when the aggregate moves or the server closes may be done or not: a caller may ask the next owner
   * only under a command key. When the right to write had passed before, none of it was done.
   */
  release(end: End): void {
    const { why } = end;
    const sentence =
      why === 'moved' ? 'Another shard owns the aggregate now.' : 'The aggregate was released.';
    const fault = 'fault' in end ? end.fault : new LinkFault('lost', sentence);
    this.#end(fault, why === 'moved' || why === 'stale');
  }

  crashed(error: Error): void {
    this.#end(error, false);
  }

  /**
   * Work that decides a command and answers when its facts are durable. One that is sent again under its key is not
   * decided again, but answered as it was.
   */
  protected deciding<Value>(
    needs: (state: State) => Needs,
    decide: (state: State, env: Env) => Outcome<Value, Fact>,
    answer: (reply: Reply<Value>) => void,
    fault: (error: Error) => void,
    commandKey: string | null = null,
  ): Work<State> {
    if (commandKey !== null && this.ownership !== null)
      return this.#keyed(commandKey, needs, decide, answer, fault);
    const work: Work<State> = {
      needs,
      run: (state) => this.#decide(state, work, decide, answer, null),
      refuse: (refusal) => answer({ ok: false, refusal }),
      fault,
    };
    return work;
  }

  #keyed<Value>(
    commandKey: string,
    needs: (state: State) => Needs,
    decide: (state: State, env: Env) => Outcome<Value, Fact>,
    answer: (reply: Reply<Value>) => void,
    fault: (error: Error) => void,
  ): Work<State> {
    let begun = false;
    const work: Work<State> = {
      needs,
      run: (state) => {
        const { keys } = this;
        if (keys?.join(commandKey, answer, fault)) return;
        keys?.begin(commandKey, this.#ports.clock.now());
        begun = true;
        this.#decide(state, work, decide, answer, commandKey);
      },
      refuse: (refusal) => answer({ ok: false, refusal }),
      fault: (error) => {
        fault(error);
        if (begun) this.keys?.fail(commandKey, error);
      },
    };
    return work;
  }

  #decide<Value>(
    state: State,
    work: Work<State>,
    decide: (state: State, env: Env) => Outcome<Value, Fact>,
    answer: (reply: Reply<Value>) => void,
    commandKey: string | null,
  ): void {
    const nowMs = this.#ports.clock.now();
    const env = { nowMs, nextId: this.#ports.nextId, splits: this.#ports.splitsAt(nowMs) };
    const outcome = decide(state, env);
    const reply: Reply<Value> = outcome.ok ? { ok: true, value: outcome.value } : outcome;
    const settle = (recorded: boolean): void => {
      answer(reply);
      if (commandKey !== null) this.keys?.settle(commandKey, reply, recorded);
    };
    if (!outcome.ok) settle(false);
    else if (outcome.facts.length > 0 && this.ownership?.decides(this.id) === false)
      work.fault(new NotServed('The lease is not safe; writes are refused until it is renewed.'));
    else this.#accept(state, { work, facts: outcome.facts, nowMs, commandKey, reply, settle });
  }

  /** Ends the actor: there is nothing left that it could own. */
  protected leave(): void {
    this.#send({ type: 'deleted' });
  }

  /** Passes a dispatch to the embedding program, once, when the fact is durable. */
  protected tap(t: string, d: object): void {
    const { tap } = this.#ports;
    if (tap.listening) this.#tapped.push({ t, d });
  }

  protected body(t: string, d: object, origin: Origin | null = null): DispatchBody {
    return new DispatchBody(t, d, this.#ports.clock.monotonic(), origin);
  }

  /** The number of a dispatch of a fact that is being applied; 0 while the process is alone. */
  protected numbered(dispatch: Omit<RecordedDispatch, 'n'>, nowMs: number): number {
    if (this.stream === null) return 0;
    const { t, d, to, n, ears } = this.stream.add(dispatch, nowMs);
    this.#lastDelivered.push(ears ? { t, d, to, n, ears } : { t, d, to, n });
    return n;
  }

  /** The same for what is told people by way of their owners; null while alone. `isForAll`: as `toldAll` says. */
  protected direct(
    dispatch: Pick<RecordedDispatch, 't' | 'd' | 'ears'>,
    userIds: readonly UserId[],
    nowMs: number,
    isForAll: boolean,
  ): Origin | null {
    if (this.stream === null) return null;
    const after = this.stream.lastToAll(nowMs);
    const n = this.numbered({ ...dispatch, to: { kind: 'users', userIds } }, nowMs);
    if (isForAll) this.stream.toldAll(n, nowMs);
    return { ownerId: directStream(this.id), n, after };
  }

  #accept(state: State, decided: Decided<State, Fact>): void {
    const { work, facts, nowMs, settle } = decided;
    if (facts.length === 0) {
      this.#behindCommits(work, () => settle(false));
      return;
    }
    const rules = this.#rules;
    this.number(state, this.commits.started + 1);
    const outgoing: OutgoingDispatch[] = [];
    const durable: Fact[] = [];
    for (const fact of facts) {
      for (const dispatch of rules.happen(state, fact))
        outgoing.push(...this.outgoing(state, dispatch, fact, nowMs));
      this.applied(state, fact);
      if (rules.isDurable(fact)) durable.push(fact);
    }
    this.number(state, 0);
    const afterwards = this.afterwards(state, facts, nowMs);
    const tapped = this.#tapped.splice(0);
    const told = this.stream === null ? NOT_DELIVERED : this.#lastDelivered.splice(0);
    const visible = () => {
      for (const { t, d } of tapped) this.#ports.tap.see(t, d, this.id);
      this.#fanOut(outgoing);
      if (told.length > 0) this.#showed(state, told.at(-1)?.n ?? 0);
      settle(durable.length > 0);
      afterwards?.();
      this.follow(durable);
    };
    if (durable.length === 0) {
      this.#behindCommits(work, visible);
      return;
    }
    this.#open.add(work);
    const done = (fault: Error | null): void => {
      if (!this.#open.take(work)) return;
      if (fault) {
        work.fault(fault);
        this.#send({ type: fault instanceof NotServed ? 'fenced' : 'commitFailed', fault });
        return;
      }
      this.#guarded(visible);
      this.trim(state);
    };
    this.commits.commit(durable as unknown as readonly StoredFact[], done, this.#owned(decided, told));
  }

  /** What a commit carries besides its facts, for the next owner; nothing while the process is alone. */
  #owned(
    { nowMs, commandKey, reply }: Decided<State, Fact>,
    dispatches: readonly RecordedDispatch[],
  ): Pick<Commit, 'fence' | 'record'> {
    const { fence, stream } = this;
    if (!fence || !stream) return NOT_OWNED;
    if (dispatches.length === 0 && commandKey === null) return { fence };
    const n = dispatches.at(-1)?.n ?? stream.next();
    const kept = commandKey === null ? null : reply;
    const record: CommandRecord = { n, atMs: nowMs, commandKey, reply: kept, dispatches };
    return { fence, record };
  }

  /** Before a number is beyond what is kept, all who hear the stream are told that they have it up to a later one. */
  #showed(state: State, n: number): void {
    this.shown = n;
    if (this.stream === null || this.stream.floor <= this.#announced) return;
    this.#announced = n;
    this.announce(state, n);
  }

  /** A reply without facts may show state that is not durable yet, so it waits, and fails, with that state. */
  #behindCommits(work: Work<State>, visible: () => void): void {
    if (!this.commits.waits) {
      visible();
      return;
    }
    this.#open.add(work);
    this.commits.after((fault) => {
      if (!this.#open.take(work)) return;
      if (fault) work.fault(fault);
      else this.#guarded(visible);
    });
  }

  /** The hot path: one body per dispatch, one call per recipient. */
  #fanOut(outgoing: readonly OutgoingDispatch[]): void {
    for (const { t, d, to, n, origin } of outgoing) {
      const body = this.body(t, d, n ? { ownerId: this.id, n } : origin);
      for (let index = 0; index < to.length; index += 1) (to[index] as Recipient).deliver(body);
    }
  }

  /** Runs what happens outside the actor's turn; a bug there ends the actor as one inside would. */
  #guarded(run: () => void): void {
    try {
      run();
    } catch (error) {
      this.#send({ type: 'work', work: rethrow(asError(error)) });
    }
  }

  #quiet(): void {
    if (this.#settled === null || this.#open.size > 0 || this.commits.waits) return;
    const settled = this.#settled;
    this.#settled = null;
    settled();
  }

  /** `moved`: another owner takes over, so dependents are not notified of an end. */
  #end(error: Error, moved: boolean): void {
    const { state } = this;
    this.state = null;
    this.#loading?.cancel();
    this.#open.fault(error);
    this.keys?.end(error);
    if (state) this.ended(state, moved);
  }
}

const NOT_DELIVERED: readonly RecordedDispatch[] = [];
const NOT_OWNED: Pick<Commit, 'fence' | 'record'> = {};
