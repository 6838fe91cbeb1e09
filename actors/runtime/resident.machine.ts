import { setup } from 'xstate';
import type { Needs } from '../../engine/kernel/needs.ts';
import { NotServed } from '../../protocol/faults.ts';
import type { Refusal } from '../../protocol/refusal.ts';
import { type Hidden, hide } from './resting.ts';

/** Why work is refused: the aggregate does not exist, or its backlog is full. */
export type WorkRefusal = 'missing' | 'full';

/** A piece of work on an aggregate's state. Exactly one of `run`, `refuse` and `fault` is called. */
export interface Work<State> {
  /** Rows that must be in the state's windows before `run`; none when absent. */
  needs?(state: State): Needs;
  /** Called with the state, on the actor's turn. */
  run(state: State): void;
  refuse(refusal: Refusal, why: WorkRefusal): void;
  /** The environment failed, or a bug ended the actor. */
  fault(error: Error): void;
}

/** Why an actor ended. */
export type End =
  /** `missing`: no such aggregate exists. `gone`: it was deleted. `moved`: another owner takes over. */
  | { readonly why: 'missing' | 'gone' | 'idle' | 'closed' | 'moved' }
  /** `failed`: the database did not read or write. `stale`: another owner has the right to write. */
  | { readonly why: 'failed' | 'stale'; readonly fault: Error };

/** The effects of a resident aggregate's lifecycle; one shell per actor. */
export interface ResidentShell<State> {
  /** Starts reading the state; answers with `loaded`, `missing` or `loadFailed`. */
  load(): void;
  adopt(state: State): void;
  run(state: State, work: Work<State>): void;
  /** Answers with `settled` when no work is open. */
  settle(): void;
  /** Stores for the next owner the state that no table contains; answers with `written`. */
  handOver(): void;
  readonly refusals: Readonly<Record<WorkRefusal, Refusal>>;
  /** The actor ended: releases all resources. */
  release(end: End): void;
}

export interface Residence<State> {
  readonly shell: ResidentShell<State>;
  readonly backlogMax: number;
  /** Called first when the actor ends: later work for the aggregate goes to another actor. */
  readonly forget: () => void;
  /** Work that came before all that waits now: each piece is an event, so that one may end what the next one needs. */
  readonly resume: (works: Work<State>[]) => void;
  readonly backlog: Work<State>[];
  state: State | null;
}

export type ResidentEvent<State> =
  | { readonly type: 'work'; readonly work: Work<State> }
  | { readonly type: 'loaded'; readonly state: State }
  | { readonly type: 'missing' }
  | { readonly type: 'loadFailed'; readonly fault: Error }
  | { readonly type: 'commitFailed'; readonly fault: Error }
  /** A commit was rejected because another owner holds the fence. */
  | { readonly type: 'fenced'; readonly fault: Error }
  /** No command has used the aggregate for the idle time. */
  | { readonly type: 'idle' }
  /** The aggregate's deletion is decided; its commit follows. */
  | { readonly type: 'deleting' }
  /** The deletion is durable. */
  | { readonly type: 'deleted' }
  /** Another shard owns the aggregate from now on: finish open work, write the snapshot, end. */
  | { readonly type: 'handOver' }
  | { readonly type: 'settled' }
  | { readonly type: 'written' }
  /** Another shard owns the aggregate from now on: end at once. */
  | { readonly type: 'abandon' }
  /** The process ends. */
  | { readonly type: 'close' };

/** The reason that the final event of an actor stands for. */
function endOf<State>(event: ResidentEvent<State>): End {
  switch (event.type) {
    case 'missing':
    case 'idle':
      return { why: event.type };
    case 'loadFailed':
    case 'commitFailed':
      return { why: 'failed', fault: event.fault };
    case 'fenced':
      return { why: 'stale', fault: event.fault };
    case 'deleted':
      return { why: 'gone' };
    case 'close':
      return { why: 'closed' };
    default:
      return { why: 'moved' };
  }
}

/** Events that end a loaded aggregate in any state. */
const ENDS = {
  deleted: 'released',
  commitFailed: 'released',
  fenced: 'released',
  abandon: 'released',
  close: 'released',
} as const;

/** The end of an aggregate whose work is held. */
const UNLOADED = { target: 'released', actions: 'faultHeld' } as const;

/** Work that waits until the aggregate is loaded, or until its deletion is durable. */
const HOLDS = { work: [{ guard: 'full', actions: 'refuse' }, { actions: 'hold' }] } as const;

/** A loaded aggregate that takes work, and how its deletion ends that. */
const WORKS = { ...ENDS, work: { actions: 'run' }, deleting: 'deleting' } as const;

/**
 * Lifecycle of one resident aggregate on its owner shard: it loads, works, is handed over when another shard becomes
 * its owner, and is released after that, or when it is idle, deleted or failed. Once its deletion is decided it takes no
 * more work, because what that would write would outlive it. The machine holds no rules; they are in
 * `engine/`. The state in its context is mutable and belongs to this actor alone (docs/adr/0001).
 */
export function residentMachine<State>(id: string) {
  return setup({
    types: {} as {
      input: Pick<Residence<State>, 'shell' | 'backlogMax' | 'forget' | 'resume'>;
      context: Hidden<Residence<State>>;
      events: ResidentEvent<State>;
    },
    guards: { full: ({ context: { own } }) => own().backlog.length >= own().backlogMax },
    actions: {
      load: ({ context: { own } }) => own().shell.load(),
      hold: ({ context: { own }, event }) => void (event.type === 'work' && own().backlog.push(event.work)),
      refuse: ({ context: { own }, event }) =>
        void (event.type === 'work' && event.work.refuse(own().shell.refusals.full, 'full')),
      adopt: ({ context: { own }, event }) => {
        if (event.type !== 'loaded') return;
        own().state = event.state;
        own().shell.adopt(event.state);
      },
      resume: ({ context: { own } }) => own().resume(own().backlog.splice(0)),
      run: ({ context: { own }, event }) => {
        if (event.type === 'work') own().shell.run(own().state as State, event.work);
      },
      settle: ({ context: { own } }) => own().shell.settle(),
      handOver: ({ context: { own } }) => own().shell.handOver(),
      refuseHeld: ({ context: { own } }) => {
        const { backlog, shell } = own();
        for (const work of backlog.splice(0)) work.refuse(shell.refusals.missing, 'missing');
      },
      faultHeld: ({ context: { own }, event }) => {
        const end = endOf(event);
        const sentence =
          end.why === 'moved' ? 'The aggregate has moved to another shard.' : `The ${id} was released.`;
        const fault = 'fault' in end ? end.fault : new NotServed(sentence);
        for (const work of own().backlog.splice(0)) work.fault(fault);
      },
      release: ({ context: { own }, event }) => {
        own().forget();
        own().shell.release(endOf(event));
      },
    },
  }).createMachine({
    id,
    context: ({ input }) => hide({ ...input, backlog: [], state: null }),
    initial: 'loading',
    states: {
      loading: {
        entry: 'load',
        on: {
          ...HOLDS,
          loaded: { target: 'active', actions: ['adopt', 'resume'] },
          missing: { target: 'released', actions: 'refuseHeld' },
          ...{ loadFailed: UNLOADED, handOver: UNLOADED, abandon: UNLOADED, close: UNLOADED },
        },
      },
      active: { on: { ...WORKS, idle: 'released', handOver: 'draining' } },
      // From here on only read-only work arrives; open work continues.
      draining: { entry: 'settle', on: { ...WORKS, settled: 'handingOver' } },
      handingOver: { entry: 'handOver', on: { ...ENDS, work: { actions: 'run' }, written: 'released' } },
      // The outcome of the commit ends the actor, so there is nothing to hand over. Until then nobody is answered: it may fail.
      deleting: {
        on: {
          ...HOLDS,
          deleted: { target: 'released', actions: 'refuseHeld' },
          ...{ commitFailed: UNLOADED, fenced: UNLOADED, abandon: UNLOADED, close: UNLOADED },
        },
      },
      released: { type: 'final', entry: 'release' },
    },
  });
}
