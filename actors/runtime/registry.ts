import { type ActorRefFrom, createActor } from 'xstate';
import { NotServed } from '../../protocol/faults.ts';
import type { Clock } from './clock.ts';
import type { ResidentEvent, ResidentShell, residentMachine, Work } from './resident.machine.ts';
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

interface Cell<State, Shell> {
  readonly actor: ActorRefFrom<Machine<State>>;
  readonly shell: Shell;
  /** Events that arrived while the actor was at work on another one. */
  readonly waiting: ResidentEvent<State>[];
  isWorking: boolean;
  usedMs: number;
}

/**
 * The resident actors of one kind on this shard, by id. Each is a child of the supervisor, which keeps no list of them,
 * because spawning from a parent costs more the more children the parent has. The first work spawns an actor; it is
 * passivated after `idleMs` without work. An actor that a bug ended is forgotten, and the next work loads the aggregate
 * again from the database.
 */
export class Registry<State, Shell extends RegisteredShell<State>> {
  readonly #cells = new Map<string, Cell<State, Shell>>();
  readonly #options: RegistryOptions<State, Shell>;
  readonly #admits: ((id: string) => boolean) | null;
  #sweeping = false;
  #isClosed = false;
  bugs = 0;

  constructor(options: RegistryOptions<State, Shell>) {
    this.#options = options;
    this.#admits = options.admits ?? null;
  }

  get size(): number {
    return this.#cells.size;
  }

  /** Hands work to the aggregate and loads the aggregate if it is not resident. */
  work(id: string, work: Work<State>): void {
    this.workWith(id, () => work);
  }

  /**
   * Like `work`, for work that the aggregate's shell creates. Read-only work (`reads`) is also admitted for an
   * aggregate in memory while this shard may not decide. For `patient` work the aggregate is loaded in the line without
   * priority.
   */
  workWith(
    id: string,
    make: (shell: Shell) => Work<State>,
    { reads = false, patient = false }: { readonly reads?: boolean; readonly patient?: boolean } = {},
  ): void {
    const resident = this.#cells.get(id);
    const isAtHand = reads && resident !== undefined;
    if (this.#isClosed || (this.#admits !== null && !isAtHand && !this.#admits(id))) {
      const shell = resident?.shell ?? this.#options.makeShell(id, () => undefined);
      make(shell).fault(new NotServed('This shard does not own the aggregate now.'));
      return;
    }
    const cell = resident ?? this.#spawn(id);
    cell.usedMs = this.#options.clock.monotonic();
    if (this.#admits !== null && !patient) cell.shell.prioritize?.();
    tell(cell, { type: 'work', work: make(cell.shell) });
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
    for (const cell of [...this.#cells.values()]) tell(cell, { type: 'close' });
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
        tell(cell, { type: 'handOver' });
        await ended(cell);
      }
    };
    const abandonAll = () => {
      for (const cell of leaving) tell(cell, { type: 'abandon' });
    };
    const late = this.#options.clock.setTimer(abandonAll, deadlineMs);
    await Promise.all(Array.from({ length: Math.min(HANDOVERS_MAX, leaving.length) }, handOverAll));
    late.cancel();
  }

  /** Ends actors that another shard owns now, at once and without notifications: the aggregates continue there. */
  abandon(moves: (id: string) => boolean): void {
    for (const cell of this.#cellsOf(moves)) tell(cell, { type: 'abandon' });
  }

  #cellsOf(moves: (id: string) => boolean): Cell<State, Shell>[] {
    return [...this.#cells].filter(([id]) => moves(id)).map(([, cell]) => cell);
  }

  #spawn(id: string): Cell<State, Shell> {
    const { machine, makeShell, backlogMax, clock, supervisor } = this.#options;
    const shell = makeShell(id, (event) => tell(cell, event));
    const forget = () => this.#forget(id, cell);
    const actor = createActor(machine, { input: { shell, backlogMax, forget }, parent: supervisor });
    const cell: Cell<State, Shell> = {
      ...{ actor, shell, waiting: [], isWorking: false, usedMs: clock.monotonic() },
    };
    this.#cells.set(id, cell);
    actor.subscribe({
      error: (error) => this.#crashed(id, cell, error instanceof Error ? error : new Error(String(error))),
    });
    actor.start();
    this.#sweep();
    return cell;
  }

  #forget(id: string, cell: Cell<State, Shell>): void {
    if (this.#cells.get(id) === cell) this.#cells.delete(id);
  }

  #crashed(id: string, cell: Cell<State, Shell>, error: Error): void {
    this.bugs += 1;
    this.#forget(id, cell);
    this.#options.onBug(id, error);
    for (const work of cell.actor.getSnapshot().context.backlog.splice(0)) work.fault(error);
    cell.shell.crashed(error);
  }

  /** One timer on the wheel sweeps all cells; no timer runs while there are no cells. */
  #sweep(): void {
    if (this.#sweeping) return;
    this.#sweeping = true;
    const { idleMs, clock, wheel } = this.#options;
    wheel.after(
      () => {
        this.#sweeping = false;
        const beforeMs = clock.monotonic() - idleMs;
        for (const cell of [...this.#cells.values()])
          if (cell.usedMs <= beforeMs && !cell.shell.isBusy) tell(cell, { type: 'idle' });
        if (this.#cells.size > 0) this.#sweep();
      },
      Math.max(1_000, idleMs / 4),
    );
  }
}

/** Gives an actor one event at a time, in their order: those that arrive meanwhile wait for the end of its turn. */
function tell<State, Shell extends RegisteredShell<State>>(
  cell: Cell<State, Shell>,
  event: ResidentEvent<State>,
): void {
  cell.waiting.push(event);
  if (cell.isWorking) return;
  cell.isWorking = true;
  try {
    for (let next = cell.waiting.shift(); next; next = cell.waiting.shift()) take(cell, next);
  } finally {
    cell.isWorking = false;
  }
}

/**
 * One turn. Work that changes no state of the machine runs without a transition, which would cost more than most rules; a
 * bug in it ends the actor through the machine. A read or commit may end after its actor: its event is ignored.
 */
function take<State, Shell extends RegisteredShell<State>>(
  { actor, shell }: Cell<State, Shell>,
  event: ResidentEvent<State>,
): void {
  const snapshot = actor.getSnapshot();
  if (snapshot.status !== 'active') {
    if (event.type === 'work') event.work.fault(new NotServed('The aggregate was released.'));
    return;
  }
  const { state } = snapshot.context;
  if (event.type !== 'work' || state === null || !runsWork(snapshot)) {
    actor.send(event);
    return;
  }
  try {
    shell.run(state, event.work);
  } catch (error) {
    actor.send({ type: 'work', work: rethrow(asError(error)) });
  }
}

/** Whether work runs at once, without a transition: in every state after `loading` until the end. */
const runsWork = ({ value }: { readonly value: string }): boolean =>
  value === 'active' || value === 'draining' || value === 'handingOver';

const ended = <State, Shell>({ actor }: Cell<State, Shell>): Promise<void> =>
  new Promise((resolve) => actor.subscribe({ complete: resolve, error: () => resolve() }));
