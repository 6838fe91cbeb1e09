import { DispatchBody, type Origin, type Recipient } from '../../engine/fanout/body.ts';
import { type Env, factsOf, type Outcome, type Reply } from '../../engine/kernel/aggregate.ts';
import type { Needs } from '../../engine/kernel/needs.ts';
import { LinkFault, NotServed } from '../../protocol/faults.ts';
import type { AnyId } from '../../protocol/ids.ts';
import { type Refusal, refusal } from '../../protocol/refusal.ts';
import type { CommandRecord, RecordedDispatch } from '../../storage/cluster/port.ts';
import type { Commit } from '../../storage/ports.ts';
import type { AggregatePorts, Ending, Notifications, OutgoingDispatch } from './aggregate.ports.ts';
import type { AggregateOwnership } from './aggregateownership.ts';
import type { Load } from './loadqueue.ts';
import { OwnerEpoch, type RecordedCommand } from './ownerepoch.ts';
import type { RegisteredShell, Send } from './registry.ts';
import type { End, Work, WorkRefusal } from './resident.machine.ts';
import { answeringBugs, asError, OpenWork, OrderedCommits, resumed, rethrow } from './work.ts';

/** The part of an aggregate's rules that the runner needs. */
interface Rules<State, Fact, Dispatch> {
  readonly missing: Refusal;
  applyAndDispatch(state: State, fact: Fact): readonly Dispatch[];
  isDurable(fact: Fact): boolean;
  ends(fact: Fact): boolean;
}

/** A command whose facts are applied and not yet committed. */
interface Decided<State, Fact> extends RecordedCommand {
  readonly work: Work<State>;
  readonly facts: readonly Fact[];
  /** Answers the command. `recorded`: the next owner would give the same answer. */
  readonly settle: (recorded: boolean) => void;
}

type StoredFact = Commit['facts'][number];

/** Most reads of one work, which repeats when rows were evicted or when the rows that it read name more rows. */
const READS_MAX = 16;
const FULL = refusal('API_OVERLOADED');

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
  readonly #rules: Rules<State, Fact, Dispatch>;
  /** Null before the state is read, and after the actor has ended. */
  protected state: State | null = null;
  protected readonly id: Id;
  protected readonly commits: OrderedCommits;
  readonly #ports: AggregatePorts;
  readonly #send: Send<State>;
  readonly #open = new OpenWork<State>();
  /** Called once when no work is open; null without a waiter. */
  #settled: (() => void) | null = null;
  /** Dispatches of the facts that are being applied; empty without a hook. */
  readonly #tapped: { readonly t: string; readonly d: object }[] = [];
  protected readonly ownership: AggregateOwnership | null;
  /** Begun before the state is read. Null in standalone mode. */
  protected epoch: OwnerEpoch | null = null;
  /** Most dispatches kept in memory. */
  protected readonly keptMax: number = Number.POSITIVE_INFINITY;
  /** The position in the load queue. Null before it is requested, after the load, and in standalone mode. */
  #loading: Load<State | null> | null = null;
  #isUrgent = false;
  /** Why it has ended; null before. */
  #endedBy: Error | null = null;

  constructor(id: Id, rules: Rules<State, Fact, Dispatch>, ports: AggregatePorts, send: Send<State>) {
    this.id = id;
    this.#rules = rules;
    this.#ports = ports;
    this.#send = send;
    this.commits = new OrderedCommits(ports.writer, id, () => this.#quiet());
    this.ownership = ports.ownership ?? null;
  }

  /** Reads what earlier owners recorded. Called together with `fetch`, after it. */
  protected recorded(ownership: AggregateOwnership): ReturnType<AggregateOwnership['records']> {
    return ownership.records(this.id);
  }
  /** Reads the state; null when the aggregate does not exist. */
  protected abstract fetch(): Promise<State | null>;
  /** Reads the rows that are absent from the windows; null when none are. */
  protected abstract read(state: State, needs: Needs): Promise<void> | null;
  /** Called with each dispatch of a fact that was just applied; returns the sessions that receive it. */
  protected abstract outgoing(
    state: State,
    dispatch: Dispatch,
    fact: Fact,
    nowMs: number,
  ): readonly OutgoingDispatch[];
  /** Called after a fact is applied and its dispatches are built. */
  protected applied(_state: State, _fact: Fact): void {}
  /**
   * Called with the number of the coming commit before facts are applied, so that windows stamp their entries with it;
   * then called with 0.
   */
  protected abstract number(state: State, commit: number): void;
  /** Called when a commit is settled or a read has ended, so that windows may be trimmed. */
  protected abstract trim(state: State): void;
  /** Notifies listeners of durable facts; called after their dispatches were sent. */
  protected abstract notify(facts: readonly Fact[]): void;
  /**
   * Called when all facts of a command are applied, including ephemeral ones. Returns what to do after their dispatches
   * were sent. Later facts may be applied by then, so read everything that depends on this moment here.
   */
  protected afterwards(_state: State, _facts: readonly Fact[], _nowMs: number): (() => void) | null {
    return null;
  }

  /** All subscribers have the stream up to `n`: older dispatches may be evicted. */
  protected announce(_state: State, _n: number): void {}

  /** True while passivation would lose something beyond open commands. */
  protected abstract occupied(state: State): boolean;
  /** The actor has ended: its dependents must be notified, unless they were, or another owner takes over. */
  protected abstract ended(state: State, ending: Ending): void;

  /** Writes state that no table holds down for the next owner; called when no work is open. */
  protected async writeDown(): Promise<void> {}

  get isBusy(): boolean {
    const { state } = this;
    return state === null || this.#open.size > 0 || this.commits.waits || this.occupied(state);
  }

  /** Waits for pending commits, because those of an actor that has just ended here are part of the state. */
  load(): void {
    const { ownership } = this;
    const reading = this.#ports.writer.flush().then(() => {
      if (this.#endedBy) throw this.#endedBy;
      return ownership ? this.#loadInQueue(ownership) : this.fetch();
    });
    reading
      .finally(() => {
        this.#loading = null;
      })
      .then(
        (state) => this.#send(state ? { type: 'loaded', state } : { type: 'missing' }),
        (fault) => this.#send({ type: 'loadFailed', fault: asError(fault) }),
      );
  }

  /** Waits in the load queue: a shard that gets many aggregates at once reads them with bounded concurrency. */
  #loadInQueue(ownership: AggregateOwnership): Promise<State | null> {
    this.#loading = ownership.loadQueue.begin(() => this.#take(ownership), this.#isUrgent);
    return this.#loading.result;
  }

  prioritize(): void {
    if (this.#isUrgent) return;
    this.#isUrgent = true;
    this.#loading?.prioritize();
  }

  /**
   * Takes the aggregate over from its previous owner. The epoch is raised first, so that the previous owner cannot
   * write after the state is read.
   */
  async #take(ownership: AggregateOwnership): Promise<State | null> {
    const fence = ownership.fenceOf(this.id);
    if (!fence) throw new NotServed('This shard does not own the aggregate.');
    const { stream, keys } = ownership;
    const isLess = this.keptMax < stream.dispatchesMax;
    const bounds = { stream: isLess ? { ...stream, dispatchesMax: this.keptMax } : stream, keys };
    const epoch = new OwnerEpoch(this.id, fence, bounds);
    this.epoch = epoch;
    const [state, recorded] = await Promise.all([this.fetch(), this.recorded(ownership)]);
    // What was read is outdated: the next actor, here or at another owner, may have written since.
    if (this.#endedBy) throw this.#endedBy;
    epoch.restore(recorded);
    if (state) this.recall(state, recorded.records);
    return state;
  }

  /** Called with the recent dispatches and replies of earlier owners, which may contain state that no table holds. */
  protected recall(_state: State, _records: readonly CommandRecord[]): void {}

  adopt(state: State): void {
    this.state = state;
  }

  get refusals(): Readonly<Record<WorkRefusal, Refusal>> {
    return { missing: this.#rules.missing, full: FULL };
  }

  run(state: State, work: Work<State>): void {
    answeringBugs(work, () => this.#attempt(state, work, READS_MAX));
  }

  /**
   * Runs the work when all rows that it needs are loaded. It checks again after every read: other work may have evicted
   * rows meanwhile, and a rule must never mistake an evicted row for a missing one.
   */
  #attempt(state: State, work: Work<State>, readsLeft: number): void {
    const reading = work.needs ? this.read(state, work.needs(state)) : null;
    if (!reading) {
      work.run(state);
      return;
    }
    if (readsLeft === 0) {
      // Nobody waits for this read.
      reading.catch(() => undefined);
      work.fault(
        new Error(`Working set exceeded: rows needed by the command were evicted ${READS_MAX} times.`),
      );
      return;
    }
    this.#open.add(work);
    reading.then(
      () => {
        if (!this.#open.take(work)) return;
        // Through the machine: the aggregate may have been deleted meanwhile.
        this.#send({ type: 'work', work: resumed(work, () => this.#attempt(state, work, readsLeft - 1)) });
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
   * Open work may or may not be done when the aggregate moves or the server closes: a caller may send it to the next
   * owner only under a command key. When the lease had expired before, none of it was done.
   */
  release(end: End): void {
    const { why } = end;
    const sentence =
      why === 'moved' ? 'The aggregate has moved to another shard.' : 'The aggregate was released.';
    const fault = 'fault' in end ? end.fault : new LinkFault('lost', sentence);
    this.#end(fault, endingOf(why));
  }

  crashed(error: Error): void {
    this.#end(error, 'released');
  }

  /**
   * Work that decides a command and answers when its facts are durable. A command repeated under its key is not decided
   * again: it gets the first reply.
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
        const keys = this.epoch?.keys;
        if (keys?.join(commandKey, answer, fault)) return;
        keys?.begin(commandKey, this.#ports.clock.now());
        begun = true;
        this.#decide(state, work, decide, answer, commandKey);
      },
      // The command that deleted the aggregate gets its first reply too.
      refuse: (refusal) => {
        if (!this.epoch?.keys.join(commandKey, answer, fault)) answer({ ok: false, refusal });
      },
      fault: (error) => {
        fault(error);
        if (begun) this.epoch?.keys.fail(commandKey, error);
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
    const env = { nowMs, nextId: this.#ports.nextId, rulesMs: this.#ports.rulesMs ?? nowMs };
    const outcome = decide(state, env);
    const reply: Reply<Value> = outcome.ok
      ? { ok: true, value: outcome.value }
      : { ok: false, refusal: outcome.refusal };
    const facts = factsOf(outcome);
    const settle = (recorded: boolean): void => {
      answer(reply);
      if (commandKey !== null) this.epoch?.keys.settle(commandKey, reply, recorded);
    };
    if (!outcome.ok && facts.length === 0) settle(false);
    else if (facts.length > 0 && this.ownership?.decides(this.id) === false)
      work.fault(new NotServed('Lease not safe; writes are refused until it is renewed.'));
    else if (facts.length === 0) this.#behindCommits(work, () => settle(false));
    else this.#accept(state, { work, facts, nowMs, commandKey, reply, settle });
  }

  /** Passes a dispatch to the embedding program, once, when its fact is durable. */
  protected tap(t: string, d: object): void {
    const { tap } = this.#ports;
    if (tap.listening) this.#tapped.push({ t, d });
  }

  protected body(
    t: string,
    d: object,
    origin: Origin | null = null,
    asOf: Origin | null = null,
  ): DispatchBody {
    return new DispatchBody(t, d, this.#ports.clock.monotonic(), origin, asOf);
  }

  #accept(state: State, decided: Decided<State, Fact>): void {
    const { work, facts, nowMs, settle } = decided;
    const rules = this.#rules;
    this.number(state, this.commits.started + 1);
    const outgoing: OutgoingDispatch[] = [];
    const durable: Fact[] = [];
    for (const fact of facts) {
      for (const dispatch of rules.applyAndDispatch(state, fact))
        outgoing.push(...this.outgoing(state, dispatch, fact, nowMs));
      this.applied(state, fact);
      if (rules.isDurable(fact)) durable.push(fact);
    }
    const ends = facts.some((fact) => rules.ends(fact));
    if (ends) this.#send({ type: 'deleting' });
    this.number(state, 0);
    const afterwards = this.afterwards(state, facts, nowMs);
    const tapped = this.#tapped.splice(0);
    const delivered = this.epoch?.takeNumbered() ?? NOT_DELIVERED;
    const visible = () => {
      for (const { t, d } of tapped) this.#ports.tap.see(t, d, this.id);
      this.#fanOut(outgoing);
      const n = delivered.at(-1)?.n;
      if (n !== undefined && this.epoch?.fannedOut(n)) this.announce(state, n);
      settle(durable.length > 0);
      afterwards?.();
      this.notify(durable);
      if (ends) this.#send({ type: 'deleted' });
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
    const recording = this.epoch?.recording(decided, delivered) ?? NOT_OWNED;
    this.commits.commit(durable as unknown as readonly StoredFact[], done, recording);
  }

  /**
   * A reply without facts may show state that is not durable yet, so it waits for that state's commit and fails with
   * it.
   */
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
    for (const { t, d, to, n, origin, asOf } of outgoing) {
      const body = this.body(t, d, n ? { ownerId: this.id, n } : origin, asOf);
      body.recipients = to.length;
      for (let index = 0; index < to.length; index += 1) (to[index] as Recipient).deliver(body);
    }
  }

  /** Runs code outside the actor's turn; a bug there ends the actor like a bug inside its turn. */
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

  #end(error: Error, ending: Ending, state = this.state): void {
    this.state = null;
    this.#endedBy = error;
    this.#loading?.cancel();
    this.#open.fault(error);
    this.epoch?.keys.end(error);
    if (state) this.ended(state, ending);
  }
}

function endingOf(why: End['why']): Ending {
  if (why === 'gone') return 'deleted';
  if (why === 'moved' || why === 'stale') return 'moved';
  return why === 'failed' ? 'interrupted' : 'released';
}

const NOT_DELIVERED: readonly RecordedDispatch[] = [];
const NOT_OWNED: Pick<Commit, 'fence' | 'record'> = {};

/** Runs the row of each fact, in order. `source`: the aggregate as the rows see it. */
export function notifyListeners<Fact extends { readonly type: string }, Source>(
  rows: Notifications<Fact, Source>,
  facts: readonly Fact[],
  source: Source,
): void {
  for (const fact of facts) {
    const row: ((fact: never, source: Source) => void) | undefined = rows[fact.type as Fact['type']];
    // The row of a type accepts the facts of this type.
    row?.(fact as never, source);
  }
}
