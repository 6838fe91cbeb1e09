import type { AnyActorRef } from 'xstate';
import type { Supervisor } from './supervisor.ts';

/** The parts of an XState snapshot from which the actor can be started again. */
export interface RestartState<Value, Context> {
  readonly value: Value;
  readonly context: Context;
}

interface Snapshot<Value, Context> extends RestartState<Value, Context> {
  readonly status: string;
}

/** The members of an XState actor that are used here. */
interface RunningActor<Event, Value, Context> extends AnyActorRef {
  getSnapshot(): Snapshot<Value, Context>;
  send(event: Event): void;
}

export interface ActorOwner<Event, Value, Context> {
  /** A child of the supervisor, from what was kept of it or, with null, new. */
  createActor(kept: RestartState<Value, Context> | null): RunningActor<Event, Value, Context>;
  actorEnded(): void;
  actorFailed(error: unknown): void;
}

/**
 * The context of a machine whose actors may rest. XState searches the properties of a kept context, and of all objects
 * that they lead to, for actors; behind a function it finds none.
 */
export interface Hidden<Own> {
  readonly own: () => Own;
}

export const hide = <Own>(own: Own): Hidden<Own> => ({ own: () => own });

/**
 * An XState actor that can rest. At rest it is the value and the context of its last snapshot, which takes a tenth of the
 * memory; the next event makes it an actor again, at three times the cost of an event.
 */
export class RestingActor<Event, Value, Context> {
  readonly #owner: ActorOwner<Event, Value, Context>;
  readonly #supervisor: Supervisor;
  /** Null at rest. */
  #actor: RunningActor<Event, Value, Context> | null = null;
  #kept: Snapshot<Value, Context> | null = null;

  /** Nothing happens before `start`. */
  constructor(owner: ActorOwner<Event, Value, Context>, supervisor: Supervisor) {
    this.#owner = owner;
    this.#supervisor = supervisor;
  }

  get snapshot(): Snapshot<Value, Context> {
    return this.#kept ?? this.#running().getSnapshot();
  }

  get isResting(): boolean {
    return this.#kept !== null;
  }

  start(): void {
    this.#begin(null);
  }

  send(event: Event): void {
    this.#running().send(event);
  }

  /** Between two events only. */
  rest(): void {
    const actor = this.#actor;
    if (actor === null) return;
    const { status, value, context } = actor.getSnapshot();
    if (status !== 'active') return;
    this.#kept = { status, value, context };
    this.#actor = null;
    this.#supervisor.send({ type: 'rest', actor });
  }

  #running(): RunningActor<Event, Value, Context> {
    return this.#actor ?? this.#begin(this.#kept);
  }

  #begin(kept: RestartState<Value, Context> | null): RunningActor<Event, Value, Context> {
    const actor = this.#owner.createActor(kept);
    this.#actor = actor;
    this.#kept = null;
    actor.subscribe({
      complete: () => {
        if (this.#actor === actor) this.#owner.actorEnded();
      },
      error: (error: unknown) => this.#owner.actorFailed(error),
    });
    actor.start();
    return actor;
  }
}
