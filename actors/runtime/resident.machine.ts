import { setup } from 'xstate';
import type { Needs } from '../../engine/kernel/needs.ts';
import { NotServed } from '../../protocol/faults.ts';
import type { Refusal } from '../../protocol/refusal.ts';

/** One thing to do with an aggregate's state, and the ways it can end otherwise. Exactly one of the three runs. */
export interface Work<State> {
  /** What must be in the state's windows first; nothing when absent. */
  needs?(state: State): Needs;
  /** Called with the state, on the actor's turn. */
  run(state: State): void;
  /** The aggregate does not exist, or cannot take more. */
  refuse(refusal: Refusal): void;
  /** The environment failed, or a bug ended the actor. */
  fault(error: Error): void;
}

/** The effects of a resident aggregate's lifecycle; one shell per actor. */
export interface ResidentShell<State> {
  /** Starts reading the state; answers with `loaded`, `missing` or `loadFailed`. */
  load(): void;
  adopt(state: State): void;
  run(state: State, work: Work<State>): void;
  /** What a caller hears when there is no such aggregate, and when too many wait for it. */
  readonly refusals: { readonly missing: Refusal; readonly full: Refusal };
  /** The actor is over: let go of everything. */
  release(): void;
}

export interface ResidentContext<State> {
  readonly shell: ResidentShell<State>;
  readonly backlogMax: number;
  readonly backlog: Work<State>[];
  state: State | null;
}

export type ResidentEvent<State> =
  | { readonly type: 'work'; readonly work: Work<State> }
  | { readonly type: 'loaded'; readonly state: State }
  | { readonly type: 'missing' }
  | { readonly type: 'loadFailed'; readonly fault: Error }
  | { readonly type: 'commitFailed'; readonly fault: Error }
  | { readonly type: 'idle' }
  /** `fault` tells those who still wait why; that the actor was released, without it. */
  | { readonly type: 'drain'; readonly fault?: Error };

/**
 * Lifecycle of one resident aggregate on its owning shard: it is loaded, works, and is released when it is idle,
 * drained or has failed. It holds no rules; they are in `engine/`. The state in its context is mutable and belongs
 * to this actor alone (docs/adr/0001).
 */
export function residentMachine<State>(id: string) {
  return setup({
    types: {
      input: {} as { shell: ResidentShell<State>; backlogMax: number },
      context: {} as ResidentContext<State>,
      events: {} as ResidentEvent<State>,
    },
    guards: { full: ({ context }) => context.backlog.length >= context.backlogMax },
    actions: {
      load: ({ context }) => context.shell.load(),
      hold: ({ context, event }) => void (event.type === 'work' && context.backlog.push(event.work)),
      refuse: ({ context, event }) =>
        void (event.type === 'work' && event.work.refuse(context.shell.refusals.full)),
      adopt: ({ context, event }) => {
        if (event.type !== 'loaded') return;
        context.state = event.state;
        context.shell.adopt(event.state);
      },
      runHeld: ({ context }) => {
        // One at a time off the backlog: when a bug ends the actor here, the rest is still there to be answered.
        for (let work = context.backlog.shift(); work; work = context.backlog.shift())
          context.shell.run(context.state as State, work);
      },
      run: ({ context, event }) => {
        if (event.type === 'work') context.shell.run(context.state as State, event.work);
      },
      refuseHeld: ({ context }) => {
        for (const work of context.backlog.splice(0)) work.refuse(context.shell.refusals.missing);
      },
      faultHeld: ({ context, event }) => {
        const fault = ('fault' in event && event.fault) || new NotServed(`The ${id} was released.`);
        for (const work of context.backlog.splice(0)) work.fault(fault);
      },
      release: ({ context }) => context.shell.release(),
    },
  }).createMachine({
    id,
    context: ({ input }) => ({ ...input, backlog: [], state: null }),
    initial: 'loading',
    states: {
      loading: {
        entry: 'load',
        on: {
          work: [{ guard: 'full', actions: 'refuse' }, { actions: 'hold' }],
          loaded: { target: 'active', actions: ['adopt', 'runHeld'] },
          missing: { target: 'released', actions: 'refuseHeld' },
          loadFailed: { target: 'released', actions: 'faultHeld' },
          drain: { target: 'released', actions: 'faultHeld' },
        },
      },
      active: {
        on: {
          work: { actions: 'run' },
          idle: 'released',
          drain: 'released',
          commitFailed: 'released',
        },
      },
      released: { type: 'final', entry: 'release' },
    },
  });
}
