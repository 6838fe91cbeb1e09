import { memberListIn } from '../../../engine/session/memberlists.ts';
import { NotServed } from '../../../protocol/faults.ts';
import type { GuildId } from '../../../protocol/ids.ts';
import type { Ownership, Router, Subscribed } from '../../placement/ports.ts';
import type { Lifetime } from '../../runtime/clock.ts';
import { Semaphore } from '../../runtime/semaphore.ts';
import type { Wheel } from '../../runtime/wheel.ts';
import type { LiveSession } from '../../session/backend.ts';
import {
  type GuildStream,
  type GuildSubscription,
  IDLE,
  RETRY_MS,
  type StreamSource,
  subscriptionOf,
} from './guildstream.ts';
import { ownerShardOf } from './ownershard.ts';
import type { LocalSession, Peer } from './peer.ts';
import type { SessionReference } from './remote.ts';
import { isPending, isWaiting, positionOf } from './subscriptionstate.ts';
import type { SubscriptionEvent } from './subscriptiontransition.ts';

export interface GuildRequestPorts {
  readonly ownership: Ownership;
  readonly router: Pick<Router, 'askShard'>;
  readonly wheel: Wheel;
  /** Nothing is requested after its end. */
  readonly scope: Pick<Lifetime, 'over'>;
  readonly nowMs: () => number;
  readonly peer: (shardId: string, instance: string) => Peer;
  readonly reference: (local: LocalSession, peer: Peer) => SessionReference;
  /**
   * Subscribes sessions to a local guild, with outcomes in their order; `caughtUp` runs for each subscribed session.
   */
  readonly subscribeHere: (
    guildId: GuildId,
    wanted: readonly (GuildSubscription<LiveSession> & { readonly caughtUp: (n: number) => void })[],
  ) => Promise<readonly Subscribed[]>;
  readonly onFault: (error: unknown, id: string) => void;
}

/** The subscriptions, as the requests change them. */
interface Subscriptions {
  readonly changeSource: (stream: GuildStream, source: StreamSource) => void;
  readonly apply: (stream: GuildStream, local: LocalSession, event: SubscriptionEvent) => void;
  /** A local actor answers a request for the session. */
  readonly caughtUpHere: (stream: GuildStream, local: LocalSession, request: number, n: number) => void;
}

/** Upper bounds on the subscriptions of one request, which keeps replies short, and on concurrent requests. */
const BATCH_MAX = 256;
const REQUESTS_MAX = 64;
const ASK_DEADLINE_MS = 30_000;

/** Requests waiting subscriptions from the owner of their guild: one request at a time for each stream. */
export class GuildRequests {
  readonly #ports: GuildRequestPorts;
  readonly #subscriptions: Subscriptions;
  readonly #slots = new Semaphore(REQUESTS_MAX);
  #lastRequest = 0;

  constructor(ports: GuildRequestPorts, subscriptions: Subscriptions) {
    this.#ports = ports;
    this.#subscriptions = subscriptions;
  }

  /** Requests the waiting subscriptions, after the request in flight. */
  request(stream: GuildStream): void {
    if (stream.requests.name === 'requesting' || this.#ports.scope.over) return;
    this.cancelRetry(stream);
    stream.requests = { name: 'requesting' };
    this.#slots
      .run(() => this.#requestWaiting(stream))
      .catch((fault) => this.#ports.onFault(fault, stream.guildId))
      .finally(() => {
        stream.requests = IDLE;
        this.retry(stream);
      });
  }

  /** Requests the waiting subscriptions after a delay. A request in flight has them retried when it ends. */
  retry(stream: GuildStream): void {
    const { scope, wheel } = this.#ports;
    if (scope.over || stream.requests.name !== 'idle') return;
    let isAnyWaiting = false;
    for (const state of stream.pending.values()) isAnyWaiting ||= isWaiting(state);
    if (!isAnyWaiting) return;
    const delayMs = stream.retryMs;
    const timer = wheel.add(() => {
      stream.requests = IDLE;
      this.request(stream);
    }, delayMs);
    stream.requests = { name: 'retrying', timer };
    stream.retryMs = Math.min(delayMs * 2, RETRY_MS.most);
  }

  cancelRetry(stream: GuildStream): void {
    if (stream.requests.name !== 'retrying') return;
    stream.requests.timer.cancel();
    stream.requests = IDLE;
  }

  async #requestWaiting(stream: GuildStream): Promise<void> {
    const { apply, changeSource } = this.#subscriptions;
    for (;;) {
      const source = this.#sourceOf(stream.guildId);
      changeSource(stream, source);
      const locals = this.#waiting(stream);
      if (locals.length === 0) return;
      if (source.from === 'nobody') return this.#failed(stream, null, null);
      this.#lastRequest += 1;
      const request = this.#lastRequest;
      for (const local of locals) apply(stream, local, { type: 'requested', request });
      let answers: readonly Subscribed[] | null = null;
      try {
        answers = await this.#send(stream, source, locals, request);
      } catch (fault) {
        if (!this.#ports.scope.over) this.#failed(stream, request, fault as Error);
        return;
      }
      stream.retryMs = RETRY_MS.first;
      const { from } = source;
      for (const [index, local] of locals.entries())
        apply(stream, local, { type: 'answered', request, from, how: answers[index] ?? 'gone' });
    }
  }

  #sourceOf(guildId: GuildId): StreamSource {
    const { ownership, peer } = this.#ports;
    const shard = ownerShardOf(ownership, guildId);
    if (shard.at === 'nobody') return { from: 'nobody', last: null };
    const { owner } = shard;
    if (shard.at === 'here') return { from: 'here', owner };
    return { from: 'peer', peer: peer(owner.shardId, owner.instance), owner };
  }

  #waiting(stream: GuildStream): LocalSession[] {
    const locals: LocalSession[] = [];
    for (const [local, state] of [...stream.pending]) {
      if (!isWaiting(state)) continue;
      if (local.session.over) this.#subscriptions.apply(stream, local, { type: 'left' });
      else locals.push(local);
      if (locals.length === BATCH_MAX) break;
    }
    return locals;
  }

  #failed(stream: GuildStream, request: number | null, cause: Error | null): void {
    const fault = cause ?? new NotServed(`No shard serves the guild ${stream.guildId}.`);
    const isFatal = !(fault instanceof NotServed) && fault.name !== 'LinkFault';
    const event = { type: 'requestFailed', request, fault, isFatal, nowMs: this.#ports.nowMs() } as const;
    for (const local of [...stream.pending.keys()]) this.#subscriptions.apply(stream, local, event);
  }

  #send(
    stream: GuildStream,
    source: Exclude<StreamSource, { readonly from: 'nobody' }>,
    locals: readonly LocalSession[],
    request: number,
  ): Promise<readonly Subscribed[]> {
    const { router, reference, subscribeHere } = this.#ports;
    const afterOf = (local: LocalSession): number | null => {
      const state = subscriptionOf(stream, local);
      return isPending(state) ? positionOf(state) : null;
    };
    const memberListOf = ({ session }: LocalSession) => memberListIn(session, stream.guildId);
    if (source.from === 'here') {
      const wanted = locals.map((local) => ({
        ...{ session: local.session, after: afterOf(local), memberList: memberListOf(local) },
        caughtUp: (n: number) => this.#subscriptions.caughtUpHere(stream, local, request, n),
      }));
      return subscribeHere(stream.guildId, wanted);
    }
    const { peer, owner } = source;
    const wanted = locals.map((local) => {
      return { session: reference(local, peer), after: afterOf(local), memberList: memberListOf(local) };
    });
    // The owner rejects a request that names another epoch: otherwise it would deliver dispatches that this shard still
    // drops, and count them as received.
    const args = [stream.guildId, wanted, owner.epoch] as const;
    return router.askShard(peer.shardId, 'remoteSessions.subscribe', args, ASK_DEADLINE_MS);
  }
}
