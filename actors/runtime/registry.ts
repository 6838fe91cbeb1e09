import { createActor, type SnapshotFrom } from 'xstate';
import { NotServed } from '../../protocol/faults.ts';
import type { Clock } from './clock.ts';
import type { Residence, ResidentEvent, ResidentShell, residentMachine, Work } from './resident.machine.ts';
import { type ActorOwner, type Hidden, type RestartState, RestingActor } from './resting.ts';
import type { Supervisor } from './supervisor.ts';
import type { TimerWheel } from './wheel.ts';
import { asError, rethrow } from './work.ts';

type Machine<State> = ReturnType<typeof residentMachine<State>>;

/** Members of a shell that the registry needs beyond its lifecycle. */
export interface RegisteredShell<State> extends ResidentShell<State> {
  /** True while passivation would lose something: open commands, sessions, voice states. */
  readonly isBusy: boolean;
  /** A bug ended the actor: faults all open work. */
  crashed(error: Error): void;
  /** A caller waits for a reply: the aggregate is read before those that can wait. Used in clusters only. */
  prioritize?(): void;
}

/** Sends an event to the shell's own actor. */
export type Send<State> = (event: ResidentEvent<State>) => void;

interface RegistryOptions<State, Shell extends RegisteredShell<State>> {
  readonly machine: Machine<State>;
  readonly makeShell: (id: string, send: Send<State>) => Shell;
  readonly backlogMax: number;
  readonly idleMs: number;
  readonly supervisor: Supervisor;
  readonly clock: Clock;
  readonly wheel: TimerWheel;
  /** Called for each actor that a bug ended. */
  readonly onBug: (id: string, error: Error) => void;
  /** Whether this shard may work on the aggregate now. Null or absent: always. */
  readonly admits?: ((id: string) => boolean) | null;
}

/** Most concurrent handovers. */
const HANDOVERS_MAX = 64;

type Value = SnapshotFrom<Machine<unknown>>['value'];
type Context<State> = Hidden<Residence<State>>;

/** The states in which work runs at once, as the action `run` of the machine would, without a transition. */
const RUNS_WORK: Readonly<Record<Value, boolean>> = {
  ...{ active: true, draining: true, handingOver: true },
  ...{ loading: false, deleting: false, released: false },
};

/** An aggregate's actor, which gets one event at a time, in their order. */
class Cell<State, Shell extends RegisteredShell<State>>
  implements ActorOwner<ResidentEvent<State>, Value, Context<State>>
{
  readonly id: string;
  readonly shell: Shell;
  usedMs: number;
  readonly #registry: Registry<State, Shell>;
  readonly #actor: RestingActor<ResidentEvent<State>, Value, Context<State>>;
  /** Events that arrived while the actor was at work on another one; null without any. */
  #waiting: ResidentEvent<State>[] | null = null;
  #isWorking = false;
  readonly #onEnd: (() => void)[] = [];

  constructor(id: string, registry: Registry<State, Shell>) {
    const { makeShell, supervisor, clock } = registry.options;
    this.id = id;
    this.#registry = registry;
    this.shell = makeShell(id, (event) => this.tell(event));
    this.usedMs = clock.monotonic();
    this.#actor = new RestingActor(this, supervisor);
  }

  start(): void {
    this.#actor.start();
  }

  rest(): void {
    this.#actor.rest();
  }

  get isResting(): boolean {
    return this.#actor.isResting;
  }

  createActor(kept: RestartState<Value, Context<State>> | null) {
    const { machine, backlogMax, supervisor } = this.#registry.options;
    const input = {
      ...{ shell: this.shell, backlogMax, forget: () => this.#registry.forget(this) },
      resume: (works: Work<State>[]) => this.#putFirst(works.map((work) => ({ type: 'work', work }))),
    };
    const options = { input, parent: supervisor };
    return kept === null
      ? createActor(machine, options)
      : createActor(machine, { ...options, snapshot: machine.resolveState(kept) });
  }

  actorEnded(): void {
    for (const run of this.#onEnd.splice(0)) run();
  }

  actorFailed(error: unknown): void {
    this.#registry.crashed(this, asError(error), this.#actor.snapshot.context.own().backlog);
    for (const run of this.#onEnd.splice(0)) run();
  }

  /** Resolves when the actor has ended. */
  ended(): Promise<void> {
    if (this.#actor.snapshot.status !== 'active') return Promise.resolve();
    return new Promise((resolve) => this.#onEnd.push(resolve));
  }

  tell(event: ResidentEvent<State>): void {
    // Nothing that waits may run once the deletion of the aggregate is decided.
    if (event.type === 'deleting') this.#putFirst([event]);
    else if (this.#isWorking || this.#waiting !== null) {
      this.#waiting ??= [];
      this.#waiting.push(event);
    }
    if (this.#isWorking) return;
    this.#isWorking = true;
    try {
      if (this.#waiting === null) this.#take(event);
      for (let next = this.#waiting?.shift(); next; next = this.#waiting?.shift()) this.#take(next);
    } finally {
      this.#isWorking = false;
      if (this.#waiting?.length === 0) this.#waiting = null;
    }
  }

  #putFirst(events: readonly ResidentEvent<State>[]): void {
    this.#waiting = [...events, ...(this.#waiting ?? [])];
  }

  /**
   * One turn. Work that changes no state of the machine runs without a transition, which would cost more than most rules,
   * and does not wake an actor at rest; a bug in it ends the actor through the machine. A read or commit may end after
   * its actor: its event is ignored.
   */
  #take(event: ResidentEvent<State>): void {
    const { status, value, context } = this.#actor.snapshot;
    if (status !== 'active') {
      if (event.type === 'work') event.work.fault(new NotServed('The aggregate was released.'));
      return;
    }
    const { state } = context.own();
    if (event.type !== 'work' || state === null || !RUNS_WORK[value]) {
      this.#actor.send(event);
      return;
    }
    try {
      this.shell.run(state, event.work);
    } catch (error) {
      this.#actor.send({ type: 'work', work: rethrow(asError(error)) });
    }
  }
}

/**
 * The resident actors of one kind on this shard, by id. Each is a child of the supervisor, which keeps no list of them,
 * because spawning from a parent costs more the more children the parent has. The first work spawns an actor; it is
 * passivated after `idleMs` without work. An actor that a bug ended is forgotten, and the next work loads the aggregate
 * again from the database.
 */
export class Registry<State, Shell extends RegisteredShell<State>> {
  readonly #cells = new Map<string, Cell<State, Shell>>();
  readonly options: RegistryOptions<State, Shell>;
  readonly #admits: ((id: string) => boolean) | null;
  #sweeping = false;
  #isClosed = false;
  bugs = 0;

  constructor(options: RegistryOptions<State, Shell>) {
    this.options = options;
    this.#admits = options.admits ?? null;
  }

  get size(): number {
    return this.#cells.size;
  }

  /** Number of actors at rest. */
  get resting(): number {
    let count = 0;
    for (const cell of this.#cells.values()) if (cell.isResting) count += 1;
    return count;
  }

  /** Hands work to the aggregate and loads the aggregate if it is not resident. */
  work(id: string, work: Work<State>): void {
    this.workWith(id, () => work);
  }

  /**
   * Like `work`, for work that the aggregate's shell creates. Read-only work (`reads`) is also admitted for an
   * aggregate in memory while this shard may not decide. For `background` work the aggregate is loaded in the line without
   * priority.
   */
  workWith(
    id: string,
    make: (shell: Shell) => Work<State>,
    { reads = false, background = false }: { readonly reads?: boolean; readonly background?: boolean } = {},
  ): void {
    const resident = this.#cells.get(id);
    const isAtHand = reads && resident !== undefined;
    if (this.#isClosed || (this.#admits !== null && !isAtHand && !this.#admits(id))) {
      const shell = resident?.shell ?? this.options.makeShell(id, () => undefined);
      make(shell).fault(new NotServed('This shard does not own the aggregate.'));
      return;
    }
    const cell = resident ?? this.#spawn(id);
    cell.usedMs = this.options.clock.monotonic();
    if (this.#admits !== null && !background) cell.shell.prioritize?.();
    cell.tell({ type: 'work', work: make(cell.shell) });
  }

  /** The shell of a resident aggregate; undefined when it is not resident. */
  peek(id: string): Shell | undefined {
    return this.#cells.get(id)?.shell;
  }

  *shells(): Iterable<Shell> {
    for (const cell of this.#cells.values()) yield cell.shell;
  }

  /** Releases every actor. */
  drain(): void {
    for (const cell of [...this.#cells.values()]) cell.tell({ type: 'close' });
  }

  /** Releases every actor for good; no actor is spawned afterwards. */
  close(): void {
    this.#isClosed = true;
    this.drain();
  }

  /**
   * Ends the actors that another shard owns from now on (`admits` already refuses their work), each when its work is
   * done and its snapshot is written. Actors that are not done after `deadlineMs` are ended as they are. Never rejects.
   */
  async handOver(moves: (id: string) => boolean, deadlineMs: number): Promise<void> {
    const leaving = this.#cellsOf(moves);
    const waiting = [...leaving];
    const handOverAll = async () => {
      for (let cell = waiting.pop(); cell; cell = waiting.pop()) {
        cell.tell({ type: 'handOver' });
        await cell.ended();
      }
    };
    const abandonAll = () => {
      for (const cell of leaving) cell.tell({ type: 'abandon' });
    };
    const late = this.options.clock.setTimer(abandonAll, deadlineMs);
    await Promise.all(Array.from({ length: Math.min(HANDOVERS_MAX, leaving.length) }, handOverAll));
    late.cancel();
  }

  /** Ends actors that another shard owns now, at once and without notifications: the aggregates continue there. */
  abandon(moves: (id: string) => boolean): void {
    for (const cell of this.#cellsOf(moves)) cell.tell({ type: 'abandon' });
  }

  #cellsOf(moves: (id: string) => boolean): Cell<State, Shell>[] {
    return [...this.#cells].filter(([id]) => moves(id)).map(([, cell]) => cell);
  }

  #spawn(id: string): Cell<State, Shell> {
    const cell = new Cell(id, this);
    this.#cells.set(id, cell);
    cell.start();
    this.#sweep();
    return cell;
  }

  forget(cell: Cell<State, Shell>): void {
    if (this.#cells.get(cell.id) === cell) this.#cells.delete(cell.id);
  }

  /** A bug ended the actor, which leaves the work that it had not begun. */
  crashed(cell: Cell<State, Shell>, error: Error, backlog: Work<State>[]): void {
    this.bugs += 1;
    this.forget(cell);
    this.options.onBug(cell.id, error);
    for (const work of backlog.splice(0)) work.fault(error);
    cell.shell.crashed(error);
  }

  /** One timer on the wheel sweeps all cells; no timer runs while there are no cells. */
  #sweep(): void {
    if (this.#sweeping) return;
    this.#sweeping = true;
    const { idleMs, clock, wheel } = this.options;
    const intervalMs = Math.max(1_000, idleMs / 8);
    wheel.after(() => {
      this.#sweeping = false;
      const nowMs = clock.monotonic();
      for (const cell of [...this.#cells.values()]) {
        const unusedMs = nowMs - cell.usedMs;
        if (unusedMs >= idleMs && !cell.shell.isBusy) cell.tell({ type: 'idle' });
        else if (unusedMs >= intervalMs) cell.rest();
      }
      if (this.#cells.size > 0) this.#sweep();
    }, intervalMs);
  }
}
