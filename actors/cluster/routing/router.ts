import { LinkFault, NotServed } from '../../../protocol/faults.ts';
import {
  type ArgsOf,
  type Broadcast,
  CATALOGUE,
  type Catalogue,
  type LinkMethod,
  type OwnerTell,
  type ReplyOf,
  type ShardAsk,
  type ShardTell,
} from '../../../protocol/link.ts';
import { malformedReply } from '../../../protocol/linkcheck.ts';
import type {
  AskContext,
  AskOptions,
  LinkFrame,
  OwnerRouter,
  Ownership,
  Router,
  ServedContext,
  SessionFrame,
  SessionFrames,
} from '../../placement/ports.ts';
import type { Clock, Lifetime } from '../../runtime/clock.ts';
import type { TimerWheel } from '../../runtime/wheel.ts';
import type { LinkHandler, Links } from '../ports.ts';
import { isLost, OwnerRetries, type RetryEnd } from './ownerretries.ts';
import { OwnerTells, type Tell } from './ownertells.ts';
import { ServedMethods } from './served.ts';

/** First and longest delay before a call without an owner is retried, unless ownership changes earlier. */
const RETRY_MS = { first: 50, most: 1000 };
/** How often shards forward a message whose key they no longer own. */
const HOPS_MAX = 3;
const WAITING_MAX = 20_000;

interface RouterDeps {
  readonly ownership: Ownership;
  readonly links: Links;
  readonly clock: Clock;
  readonly wheel: TimerWheel;
  /** Ends all waiting: calls are rejected, and held messages are dropped. */
  readonly scope: Pick<Lifetime, 'over' | 'own'>;
  readonly randomBytes: (size: number) => Uint8Array;
  /** The methods between shards; tests provide their own. */
  readonly catalogue?: Catalogue;
  /** Default deadline of a call. */
  readonly deadlineMs: number;
  /**
   * Whether this shard may answer reads of a key that it may not write now; false at once when it has no state of the
   * key.
   */
  readonly answers?: (key: string) => false | Promise<boolean>;
  /** Upper bound on waiting calls, and on held messages. */
  readonly waitingMax?: number;
  /** Receives faults without a caller: a failed message handler, or a message dropped without an owner. */
  readonly onFault: (where: string, fault: unknown) => void;
}

interface RouterMetrics {
  /** Calls that wait for an owner. */
  readonly waiting: number;
  /** Messages held for an owner. */
  readonly held: number;
  readonly waitingMax: number;
  /** Calls that this shard rejected with NotServed. */
  readonly notServed: number;
  /** Messages dropped without an owner. */
  readonly lost: number;
}

/** The router of a shard in a cluster. */
export interface ClusterRouter extends Router, OwnerRouter {
  /** The handler of this shard's links. */
  readonly handler: LinkHandler;
  /** Registers the receiver of frames for local sessions. */
  sessions(frames: SessionFrames): void;
  readonly metrics: RouterMetrics;
}

/** Routes calls to the owner of their key and retries them across ownership changes. */
export function createRouter(deps: RouterDeps): ClusterRouter {
  return new LinkRouter(deps);
}

class LinkRouter implements ClusterRouter {
  readonly handler: LinkHandler;
  readonly onBroken: Router['onBroken'];
  readonly #deps: RouterDeps;
  readonly #waitingMax: number;
  readonly #served: ServedMethods;
  readonly #run: string;
  readonly #retries: OwnerRetries;
  readonly #tells: OwnerTells;
  #sessions: SessionFrames | null = null;
  #calls = 0;
  #notServed = 0;

  constructor(deps: RouterDeps) {
    this.#deps = deps;
    this.#waitingMax = deps.waitingMax ?? WAITING_MAX;
    const bounds = { waitingMax: this.#waitingMax, retryMs: RETRY_MS };
    this.#retries = new OwnerRetries({
      ...{ ...deps, ...bounds },
      random: () => (deps.randomBytes(1)[0] ?? 0) / 255,
      refusal: (...why) => this.#refusal(...why),
    });
    this.#tells = new OwnerTells({
      ...deps,
      ...bounds,
      send: (frame, here) => this.#sent(frame, here),
    });
    this.#served = new ServedMethods(deps.catalogue ?? CATALOGUE);
    this.#run = Buffer.from(deps.randomBytes(12)).toString('base64url');
    deps.scope.own(deps.ownership.onChange(() => this.#changed()));
    const broken: ((shardId: string) => void)[] = [];
    this.onBroken = (run) => void broken.push(run);
    this.handler = {
      ask: (from, method, args, context) => this.#asked(from, method, args, context),
      notified: (from, frames) => this.#receiveNotifications(from, frames),
      broken: (from) => {
        this.#sessions?.broken(from);
        for (const run of broken) this.#safely('broken link', () => run(from));
      },
    };
  }

  get metrics(): RouterMetrics {
    return {
      waiting: this.#retries.waiting,
      held: this.#tells.held,
      waitingMax: this.#waitingMax,
      notServed: this.#notServed,
      lost: this.#tells.lost,
    };
  }

  async askOwner<T>(
    method: LinkMethod,
    key: string,
    args: readonly unknown[],
    here: (commandKey: string | null) => Promise<T>,
    options: AskOptions = {},
  ): Promise<T> {
    const { ownership, clock } = this.#deps;
    const { repeat, reads } = this.#served.row(method);
    const untilMs = clock.monotonic() + (options.deadlineMs ?? this.#deps.deadlineMs);
    const resends = options.repeatable === true || repeat !== 'once';
    const commandKey = repeat === 'keyed' && !options.repeatable ? this.#name() : null;
    return this.#retries.run(untilMs, async () => {
      const isHere = ownership.owns(key) || (reads && (await this.#answers(key)));
      try {
        if (isHere) return { value: await here(commandKey) };
        const deadlineMs = Math.ceil(untilMs - clock.monotonic());
        const owner = deadlineMs > 0 ? this.#elsewhere(key) : null;
        if (owner === null) return { fault: null };
        const context = { key, deadlineMs, commandKey, trace: commandKey ?? this.#name() };
        return { value: (await this.#askOther(owner, method, args, context)) as T };
      } catch (fault) {
        if (isUndone(fault) || (!isHere && wasRefused(fault)) || (resends && isLost(fault))) return { fault };
        throw fault;
      }
    });
  }

  tellOwner<M extends OwnerTell>(method: M, key: string, args: ArgsOf<M>, here: () => void): void {
    this.#tells.send({ kind: 'tell', method, key, args }, here);
  }

  tellShard<M extends ShardTell>(shardId: string, method: M, args: ArgsOf<M>): void {
    this.#deps.links.tell(shardId, { kind: 'tell', method, key: '', args });
  }

  tellAll<M extends Broadcast>(method: M, args: ArgsOf<M>): void {
    const { ownership, links } = this.#deps;
    const frame: Tell = { kind: 'tell', method, key: '', args };
    for (const { id } of ownership.view.shards) if (id !== ownership.self?.id) links.tell(id, frame);
  }

  async askShard<M extends ShardAsk>(
    shardId: string,
    method: M,
    args: ArgsOf<M>,
    deadlineMs = this.#deps.deadlineMs,
  ): Promise<ReplyOf<M>> {
    const context = { key: '', deadlineMs, commandKey: null, trace: this.#name() };
    const answer =
      shardId === this.#deps.ownership.self?.id
        ? await this.#asked(shardId, method, args, context)
        : await this.#askOther(shardId, method, args, context);
    return answer as ReplyOf<M>;
  }

  /** @throws LinkFault, also for a reply that violates the catalogue: the method has run in that case. */
  async #askOther(
    shardId: string,
    method: string,
    args: readonly unknown[],
    context: AskContext,
  ): Promise<unknown> {
    const answer = await this.#deps.links.ask(shardId, method, args, context);
    const malformed = malformedReply(method, this.#served.row(method), answer);
    if (malformed !== null) throw new LinkFault('failed', malformed);
    return answer;
  }

  serve<M extends LinkMethod>(
    method: M,
    run: (args: ArgsOf<M>, context: ServedContext) => ReplyOf<M> | Promise<ReplyOf<M>>,
  ): void {
    this.#served.add(method, run);
  }

  receive<M extends OwnerTell | Broadcast>(method: M, run: (args: ArgsOf<M>) => void): void {
    this.#served.add(method, run);
  }

  sessions(frames: SessionFrames): void {
    this.#sessions = frames;
  }

  /** An id for one call, unique across all runs of all shards. */
  #name(): string {
    this.#calls += 1;
    return `${this.#run}.${this.#calls.toString(36)}`;
  }

  /** A rejected check, as when the database is unavailable, counts as false. */
  #answers(key: string): false | Promise<boolean> {
    const answers = this.#deps.answers?.(key) ?? false;
    return answers ? answers.catch(() => false) : false;
  }

  /** The other shard that owns the key; null when the key has no owner, or when this shard is the owner. */
  #elsewhere(key: string): string | null {
    const owner = this.#deps.ownership.ownerOf(key);
    return owner === null || owner.shardId === this.#deps.ownership.self?.id ? null : owner.shardId;
  }

  /** The cause forbids a retry by this shard's caller: the command may be partly done. */
  #refusal(message: string, kind: RetryEnd, last: unknown): NotServed {
    this.#notServed += 1;
    const cause = isLost(last) ? last : new LinkFault(kind, message, { cause: last });
    return new NotServed(message, 1, { cause });
  }

  #changed(): void {
    this.#tells.retry();
    this.#retries.changed();
  }

  /** False while the key has no owner. */
  #sent(frame: Tell, here: () => void): boolean {
    const { ownership, links } = this.#deps;
    if (ownership.owns(frame.key)) {
      this.#safely(frame.method, here);
      return true;
    }
    const owner = this.#elsewhere(frame.key);
    if (owner !== null) links.tell(owner, frame);
    return owner !== null;
  }

  async #asked(
    from: string,
    method: string,
    args: readonly unknown[],
    context: AskContext,
  ): Promise<unknown> {
    const run = this.#served.forCall(method, args);
    const { key } = context;
    const isServed = key === '' || this.#deps.ownership.owns(key);
    if (!isServed && !(this.#served.row(method).reads && (await this.#answers(key))))
      throw new LinkFault('notOwner', `The owner of ${context.key} is another shard.`);
    try {
      return await run({ ...context, from });
    } catch (fault) {
      throw outward(fault);
    }
  }

  #receiveNotifications(from: string, frames: readonly LinkFrame[]): void {
    for (let index = 0; index < frames.length; ) {
      const frame = frames[index] as LinkFrame;
      if (frame.kind === 'tell') {
        this.#receiveTell(from, frame);
        index += 1;
        continue;
      }
      let end = index + 1;
      while (end < frames.length && frames[end]?.kind !== 'tell') end += 1;
      const run = index === 0 && end === frames.length ? frames : frames.slice(index, end);
      this.#safely('sessions', () => this.#sessions?.frames(from, run as readonly SessionFrame[]));
      index = end;
    }
  }

  #receiveTell(from: string, frame: Tell): void {
    const { method, key, args, hops = 0 } = frame;
    const { ownership, deadlineMs, onFault } = this.#deps;
    let run: ReturnType<ServedMethods['forCall']>;
    try {
      run = this.#served.forCall(method, args);
    } catch (fault) {
      onFault(method, fault);
      return;
    }
    const here = () => run({ key, deadlineMs, commandKey: null, trace: '', from });
    if (key === '' || ownership.owns(key)) this.#safely(method, here);
    // The key changed owners while the message was in flight.
    else if (hops < HOPS_MAX) this.#tells.send({ ...frame, hops: hops + 1 }, here);
    else this.#tells.lose(frame);
  }

  /** Reports faults here, because a message has no caller. */
  #safely(method: string, run: () => unknown): void {
    try {
      const result = run();
      if (result instanceof Promise) result.catch((fault: unknown) => this.#deps.onFault(method, fault));
    } catch (fault) {
      this.#deps.onFault(method, fault);
    }
  }
}

/**
 * Whether nothing of the command was written: its aggregate changed owners, or the database rejected its commit as
 * fenced. A NotServed caused by a LinkFault is different: it ended a wait inside a command that may be partly done.
 */
function isUndone(fault: unknown): boolean {
  if (fault instanceof NotServed) return !(fault.cause instanceof LinkFault);
  return fault instanceof Error && fault.name === 'StaleEpoch';
}

/** The command did not start on the other shard, or was not sent at all. */
const wasRefused = (fault: unknown): boolean =>
  fault instanceof LinkFault &&
  (fault.kind === 'unreachable' || fault.kind === 'notOwner' || fault.kind === 'overloaded');

const PASSED_ON: readonly string[] = ['notOwner', 'overloaded', 'lost'];

/**
 * Turns link faults inside a method into `failed`, because they do not say whether the method itself started.
 * `PASSED_ON` kinds are also true of the method: its aggregate changed owners, or its outcome is unknown.
 */
function outward(fault: unknown): unknown {
  if (!(fault instanceof LinkFault) || PASSED_ON.includes(fault.kind)) return fault;
  return new LinkFault('failed', fault.message, { cause: fault });
}
