/** Counts what goes on after its end: every timer, handle and promise that was begun in a scope, or by one of those. */
import { AsyncResource, createHook, executionAsyncId } from 'node:async_hooks';

/** Types of async resources that run by themselves. Other resources (a request, a hash) end with their answer. */
const HANDLES = new Set([
  ...['Timeout', 'Immediate', 'TCPWRAP', 'TCPSERVERWRAP', 'PIPEWRAP', 'PIPESERVERWRAP', 'UDPWRAP'],
  ...['FSEVENTWRAP', 'STATWATCHER', 'WORKER', 'MESSAGEPORT', 'PROCESSWRAP', 'SIGNALWRAP'],
  ...['GETADDRINFOREQWRAP', 'HTTP2SESSION', 'HTTP2STREAM'],
]);
/**
 * Timers of packages that outlive their end by a little and have no way to be stopped: @grpc/grpc-js never clears the
 * one (of 250 ms, unreferenced) that tries a further address when a channel is closed while it connects.
 */
const LIBRARIES_OWN = /^Timeout .*PickFirstLoadBalancer\.startConnecting /;
/**
 * What ends when the other side of a connection has answered: HTTP/2 sessions of links, and the timers of idle connections that the
 * client in Node.js itself (`fetch`) keeps.
 */
const ENDS_WITH_PEER = /^(HTTP2SESSION |Timeout setTimeout \(node:timers:[\d:]+\)$)/;
/** The context of callbacks of native code, such as the HTTP server's. */
const NATIVE = 0;

interface Begun {
  readonly type: string;
  readonly where: string;
}

/** One life, from its first step to whatever comes after its end. */
export class Scope {
  readonly #watch: LeakWatch;
  readonly #resource: AsyncResource;
  readonly handles = new Map<number, Begun>();
  /** Callbacks that ran after the end. */
  readonly late: string[] = [];
  isOver = false;

  constructor(watch: LeakWatch) {
    this.#watch = watch;
    this.#resource = new AsyncResource('LIFE', { requireManualDestroy: true });
    watch.adopt(this.#resource.asyncId(), this);
  }

  /** Runs a step of it. */
  step<T>(run: () => T): T {
    return this.#resource.runInAsyncScope(run);
  }

  /** Handles that are still there. */
  get left(): string[] {
    return [...this.handles.values()].map(({ type, where }) => `${type} ${where}`);
  }

  /** Whether the other sides of connections have not answered their ends yet. */
  get isDisconnecting(): boolean {
    return this.left.some((handle) => ENDS_WITH_PEER.test(handle));
  }

  /** From now on nothing of it may run. */
  over(): void {
    this.isOver = true;
    this.#watch.leave(this);
  }
}

/** Watches over lives; what the test does for itself is none of them. */
export async function watchingLeaks(test: (watch: LeakWatch) => Promise<void>): Promise<void> {
  const watch = new LeakWatch();
  try {
    await watch.outside(() => test(watch));
  } finally {
    watch.stop();
  }
}

class LeakWatch {
  /** By asynchronous context; null: the test's own. */
  readonly #lives = new Map<number, Scope | null>();
  readonly #begun = new Map<number, Begun>();
  /** The life that owns the callbacks of native code. */
  #present: Scope | null = null;
  readonly #hook;

  constructor() {
    this.#hook = createHook({
      init: (id, type) => this.#init(id, type),
      before: (id) => this.#before(id),
      destroy: (id) => this.#destroy(id),
    }).enable();
  }

  outside<T>(run: () => T): T {
    const resource = new AsyncResource('TEST');
    this.#lives.set(resource.asyncId(), null);
    return resource.runInAsyncScope(run);
  }

  /** Begins a life; while it lasts, what native code calls is its own. */
  begin(): Scope {
    const life = new Scope(this);
    this.#present = life;
    return life;
  }

  stop(): void {
    this.#hook.disable();
  }

  adopt(id: number, life: Scope): void {
    this.#lives.set(id, life);
  }

  leave(life: Scope): void {
    if (this.#present === life) this.#present = null;
  }

  #init(id: number, type: string): void {
    const context = executionAsyncId();
    const life = context === NATIVE ? this.#present : this.#lives.get(context);
    if (life === undefined) return;
    this.#lives.set(id, life);
    if (life === null) return;
    const isHandle = HANDLES.has(type);
    if (!isHandle && !life.isOver) return;
    const begun = { type, where: isHandle ? whereFrom() : '' };
    if (LIBRARIES_OWN.test(`${type} ${begun.where} `)) {
      // Work that a library starts for itself belongs to no life.
      this.#lives.set(id, null);
      return;
    }
    if (isHandle) life.handles.set(id, begun);
    this.#begun.set(id, begun);
  }

  #before(id: number): void {
    const life = this.#lives.get(id);
    if (!life?.isOver) return;
    const { type, where } = this.#begun.get(id) ?? { type: 'a promise', where: '' };
    life.late.push(`${type} ${where}`);
  }

  #destroy(id: number): void {
    this.#lives.get(id)?.handles.delete(id);
    this.#lives.delete(id);
    this.#begun.delete(id);
  }
}

/** The nearest lines of the instance, or of a package, that led here. */
function whereFrom(): string {
  const lines = (new Error('here').stack ?? '').split('\n').slice(1);
  const own = lines.filter((line) => !/leakwatch|AsyncHook|node:internal/.test(line));
  return own
    .slice(0, 4)
    .map((line) => line.trim().replace(/^at /, ''))
    .join(' < ');
}
