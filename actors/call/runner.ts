import type { CallState } from '../../engine/call/call.ts';
import type { CallDispatch } from '../../engine/call/dispatch.ts';
import { type CallCommands, callRules } from '../../engine/call/rules.ts';
import { factsOf } from '../../engine/kernel/aggregate.ts';
import { SYSTEM } from '../../engine/kernel/authority.ts';

interface RunnerHost {
  /** Monotonic milliseconds. */
  nowMs(): number;
  readonly randomBytes: (size: number) => Uint8Array;
}

/**
 * Runs the commands of one call, one after another. The runner of resident aggregates is not used: a call is neither
 * loaded nor stored, so no command waits for rows or for a commit.
 */
export class CallRunner {
  readonly state: CallState;
  readonly #host: RunnerHost;
  readonly #carryOut: (dispatch: CallDispatch) => void;
  #running = false;
  /** Raised by what runs now; at most some steps for each member. */
  readonly #waiting: (() => void)[] = [];

  constructor(state: CallState, host: RunnerHost, carryOut: (dispatch: CallDispatch) => void) {
    this.state = state;
    this.#host = host;
    this.#carryOut = carryOut;
  }

  run<N extends keyof CallCommands>(type: N, input: CallCommands[N]['input']): void {
    this.inOrder(() => this.decide(type, input));
  }

  /**
   * Takes a step now, or after the step that raises it: the frames of one command must not be split by those of the
   * next.
   */
  inOrder(step: () => void): void {
    if (this.#running) {
      this.#waiting.push(step);
      return;
    }
    this.#running = true;
    try {
      step();
    } finally {
      this.#running = false;
      const next = this.#waiting.shift();
      if (next) this.inOrder(next);
    }
  }

  /** Decides a command and carries out its dispatches; called in a step of `inOrder`. */
  decide<N extends keyof CallCommands>(type: N, input: CallCommands[N]['input']): void {
    const env = { nowMs: this.#host.nowMs(), randomBytes: this.#host.randomBytes };
    const outcome = callRules.decide(this.state, type, input, SYSTEM, env);
    for (const fact of factsOf(outcome))
      for (const dispatch of callRules.applyAndDispatch(this.state, fact)) this.#carryOut(dispatch);
  }
}
