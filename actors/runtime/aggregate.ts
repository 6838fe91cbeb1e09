import { DispatchBody, type Subscriber } from '../../engine/fanout/body.ts';
import type { Needs } from '../../engine/guild/topic.ts';
import type { Env, Outcome, Reply } from '../../engine/outcome.ts';
import { LinkFault } from '../../protocol/faults.ts';
import type { Splits } from '../../protocol/permissions.ts';
import type { Refusal } from '../../protocol/refusal.ts';
import type { Commit, Writer } from '../../storage/ports.ts';
import type { Clock } from './clock.ts';
import { OrderedCommits } from './ordered.ts';
import type { RegisteredShell, Send } from './registry.ts';
import type { Work } from './resident.machine.ts';

/** What every aggregate's shell needs. */
export interface AggregatePorts {
  readonly writer: Writer;
  readonly clock: Clock;
  readonly nextId: () => string;
  /** Older permission bits that still count at a time, by the setting `permission_split_date`. */
  readonly splitsAt: (nowMs: number) => Splits;
  /** Sees every dispatch once, whoever receives it. `listening` is false while nobody does. */
  readonly tap: Tap;
}

export interface Tap {
  readonly listening: boolean;
  see(t: string, d: object, ownerId: string): void;
}

/** A dispatch, with who gets it as of the moment its fact was applied. */
export interface Outgoing {
  readonly t: string;
  readonly d: object;
  readonly to: readonly Subscriber[];
}

type StoredFact = Commit['facts'][number];

/** How often one work may read again because what it had read was pushed out of a window, or named more to read. */
const READS_MAX = 16;

/**
 * Runs the effects of one aggregate: reads into its windows, group commit, fan-out. Commands are decided and applied
 * in the order they arrive (one that must read first waits without holding up the rest); replies and dispatches leave
 * in the order of their commits, and nothing leaves that is not durable.
 */
export abstract class AggregateShell<State, Fact extends { readonly type: string }>
  implements RegisteredShell<State>
{
  abstract readonly refusals: { readonly missing: Refusal; readonly full: Refusal };
  protected state: State | null = null;
  protected readonly id: string;
  protected readonly commits: OrderedCommits;
  readonly #ports: AggregatePorts;
  readonly #send: Send<State>;
  /** Work that waits for a read or for its commit; made with the first, as most residents are quiet. */
  #open: Set<Work<State>> | null = null;
  #over = false;
  #moved = false;
  /** Dispatches of the facts that are being applied; empty while nobody listens. */
  readonly #tapped: { readonly t: string; readonly d: object }[] = [];

  constructor(id: string, ports: AggregatePorts, send: Send<State>) {
    this.id = id;
    this.#ports = ports;
    this.#send = send;
    this.commits = new OrderedCommits(ports.writer, id);
  }

  /** Reads the state; null when there is no such aggregate. */
  protected abstract fetch(): Promise<State | null>;
  /** Reads what is absent from the windows; null when nothing is. */
  protected abstract read(state: State, needs: Needs): Promise<void> | null;
  /** Applies a fact and says who hears of it. */
  protected abstract apply(state: State, fact: Fact, nowMs: number): readonly Outgoing[];
  /** Facts that are never stored. */
  protected abstract ephemeral(fact: Fact): boolean;
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

  /** True while passivation would lose something beyond open commands. */
  protected abstract occupied(state: State): boolean;
  /** The actor is over: what hung on it must be told, unless it goes on with another owner (`moved`). */
  protected abstract ended(state: State, moved: boolean): void;

  get working(): boolean {
    return !this.state || (this.#open?.size ?? 0) > 0 || this.commits.underWay > 0;
  }

  get busy(): boolean {
    return this.working || (this.state !== null && this.occupied(this.state));
  }

  get over(): boolean {
    return this.#over;
  }

  /** Behind the commits under way: those of an actor that has just ended here are part of the state. */
  load(): void {
    const reading = this.#ports.writer.flush().then(() => this.fetch());
    reading.then(
      (state) => this.#send(state ? { type: 'loaded', state } : { type: 'missing' }),
      (fault) => this.#send({ type: 'loadFailed', fault: asError(fault) }),
    );
  }

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
      work.fault(new Error('What a command needs does not stay in the windows.'));
      return;
    }
    this.#opened(work);
    reading.then(
      () => {
        if (!this.#open?.delete(work)) return;
        this.#guarded(() => answeringBugs(work, () => this.#attempt(state, work, readsLeft - 1)));
        this.trim(state);
      },
      (fault) => {
        if (this.#open?.delete(work)) work.fault(asError(fault));
      },
    );
  }

  depart(): void {
    this.#moved = true;
  }

  /** What is open when it moves may be done or not: only who has a key for it may ask the next owner. */
  release(): void {
    this.#end(
      this.#moved
        ? new LinkFault('lost', 'The aggregate has changed hands.')
        : new Error('The aggregate was released.'),
    );
  }

  crashed(error: Error): void {
    this.#end(error);
  }

  /** Work that decides a command and answers when its facts are durable. */
  protected deciding<Value>(
    needs: (state: State) => Needs,
    decide: (state: State, env: Env) => Outcome<Value, Fact>,
    answer: (reply: Reply<Value>) => void,
    fault: (error: Error) => void,
  ): Work<State> {
    const work: Work<State> = {
      needs,
      run: (state) => {
        const nowMs = this.#ports.clock.now();
        const outcome = decide(state, {
          nowMs,
          nextId: this.#ports.nextId,
          splits: this.#ports.splitsAt(nowMs),
        });
        if (!outcome.ok) answer(outcome);
        else
          this.#accept(state, work, outcome.facts, nowMs, () => answer({ ok: true, value: outcome.value }));
      },
      refuse: (refusal) => answer({ ok: false, refusal }),
      fault,
    };
    return work;
  }

  /** Ends the actor: there is nothing left that it could own. */
  protected leave(): void {
    this.#send({ type: 'drain' });
  }

  /** Shows a dispatch to the embedding program, once, whoever receives it; it hears when the fact is durable. */
  protected tap(t: string, d: object): void {
    const { tap } = this.#ports;
    if (tap.listening) this.#tapped.push({ t, d });
  }

  protected body(t: string, d: object): DispatchBody {
    return new DispatchBody(t, d, this.#ports.clock.monotonic());
  }

  #accept(state: State, work: Work<State>, facts: readonly Fact[], nowMs: number, answer: () => void): void {
    if (facts.length === 0) {
      this.#behindCommits(work, answer);
      return;
    }
    this.number(state, this.commits.started + 1);
    const outgoing: Outgoing[] = [];
    const durable: Fact[] = [];
    for (const fact of facts) {
      outgoing.push(...this.apply(state, fact, nowMs));
      if (!this.ephemeral(fact)) durable.push(fact);
    }
    this.number(state, 0);
    const afterwards = this.afterwards(state, facts, nowMs);
    const tapped = this.#tapped.splice(0);
    const visible = () => {
      for (const { t, d } of tapped) this.#ports.tap.see(t, d, this.id);
      this.#fanOut(outgoing);
      answer();
      afterwards?.();
      this.follow(durable);
    };
    if (durable.length === 0) {
      this.#behindCommits(work, visible);
      return;
    }
    this.#opened(work);
    this.commits.commit(durable as unknown as readonly StoredFact[], (fault) => {
      if (!this.#open?.delete(work)) return;
      if (fault) {
        work.fault(fault);
        this.#send({ type: 'commitFailed', fault });
        return;
      }
      this.#guarded(visible);
      this.trim(state);
    });
  }

  /** An answer that stores nothing may still tell of what is not durable yet, so it waits, and fails, with that. */
  #behindCommits(work: Work<State>, visible: () => void): void {
    if (this.commits.underWay === 0) {
      visible();
      return;
    }
    this.#opened(work);
    this.commits.after((fault) => {
      if (!this.#open?.delete(work)) return;
      if (fault) work.fault(fault);
      else this.#guarded(visible);
    });
  }

  /** The hot path: one body per dispatch, one call per recipient. */
  #fanOut(outgoing: readonly Outgoing[]): void {
    for (const { t, d, to } of outgoing) {
      const body = this.body(t, d);
      for (let index = 0; index < to.length; index += 1) (to[index] as Subscriber).deliver(body);
    }
  }

  #opened(work: Work<State>): void {
    this.#open ??= new Set();
    this.#open.add(work);
  }

  /** Runs what happens outside the actor's turn; a bug there ends the actor as one inside would. */
  #guarded(run: () => void): void {
    if (this.#over) return;
    try {
      run();
    } catch (error) {
      this.#send({ type: 'work', work: rethrow(asError(error)) });
    }
  }

  #end(error: Error): void {
    if (this.#over) return;
    this.#over = true;
    const open = [...(this.#open ?? [])];
    this.#open = null;
    for (const work of open) work.fault(error);
    if (this.state) this.ended(this.state, this.#moved);
  }
}

/** A bug in the work itself: whoever asked is answered before the actor ends. */
function answeringBugs<State>(work: Work<State>, run: () => void): void {
  try {
    run();
  } catch (error) {
    work.fault(asError(error));
    throw error;
  }
}

function rethrow(error: Error): Work<never> {
  return {
    run: () => {
      throw error;
    },
    refuse: () => undefined,
    fault: () => undefined,
  };
}

export const asError = (cause: unknown): Error => (cause instanceof Error ? cause : new Error(String(cause)));
