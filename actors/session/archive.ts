import type { SessionClaim } from '../../engine/session/record.ts';
import { workerOf } from '../../engine/session/sessionid.ts';
import { NotServed } from '../../protocol/faults.ts';
import { dropOldest } from '../../protocol/oldest.ts';
import type { Ownership, Router, ShardInfo } from '../placement/ports.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Wheel } from '../runtime/wheel.ts';
import type { CrashedJournals } from './crashedjournals.ts';
import type { SessionArchive, TakeResult } from './journal.ports.ts';

interface ArchivePorts {
  readonly ownership: Pick<Ownership, 'self' | 'knowsMembers' | 'view' | 'onChange'>;
  readonly router: Pick<Router, 'askShard' | 'serve'>;
  /** Null without a journal store. */
  readonly journals: Pick<CrashedJournals, 'take'> | null;
  /** Transfers a local session out, under the key of the claim. */
  readonly transferOut: (claim: SessionClaim, key: string) => Answer;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly wheel: Wheel;
  /** How long `take` waits for a shard that does not answer. */
  readonly deadlineMs: number;
  /** Receives failures to read journals. */
  readonly onFault: (error: unknown) => void;
}

/** `busy`: the shard may have the session but cannot release it yet; the claim has to be repeated. */
type Answer = TakeResult | { readonly kind: 'busy' };

/**
 * A claim sent to other shards. A repeated request has the same key, because the reply to the first one may be lost. The journal
 * of the shard that answered keeps the key, so the repetition succeeds also when that shard has ended.
 */
interface ClaimRequest {
  readonly claim: SessionClaim;
  readonly key: string;
}

const UNKNOWN: Answer = { kind: 'unknown' };
const BUSY: Answer = { kind: 'busy' };
/** Upper bounds on the number and age of cached replies, for callers that lost theirs. */
const ANSWERS_MAX = 256;
const ANSWER_AGE_MS = 15_000;
/** Handed over sessions whose next shard is remembered. */
const HANDED_MAX = 10_000;
const RETRY_MS = 500;
/** So long after a shard has left the cluster, other shards may not know it yet. */
const UNSETTLED_MS = 1000;
const ASK_DEADLINE_MS = 5000;

/**
 * Finds sessions that are not on this shard. The session id encodes the shard where the session started, which is asked
 * first. Next are the journals of crashed shards in this shard's store, then all other shards, each of which searches
 * the same way. Replicas of journals are last, because they may lack the end.
 */
export class ClusterArchive implements SessionArchive {
  readonly #ports: ArchivePorts;
  readonly #answers = new Map<string, { readonly answer: Promise<Answer>; readonly atMs: number }>();
  /** The instance that each handed over session went to, by session id; the oldest first. */
  readonly #handedTo = new Map<string, string>();
  #claims = 0;
  #closed = false;
  /** When a shard left the cluster last, in monotonic milliseconds. */
  #lastLeftMs = Number.NEGATIVE_INFINITY;
  readonly #stopListening: () => void;

  constructor(ports: ArchivePorts) {
    this.#ports = ports;
    this.#stopListening = ports.ownership.onChange(({ gone }) => {
      if (gone.length > 0) this.#lastLeftMs = ports.clock.monotonic();
    });
    ports.router.serve('sessions.take', ([request]) =>
      this.#answerOnce(request, () => this.#takeLocal(request)),
    );
    ports.router.serve('sessions.takeCopy', ([request]) =>
      this.#answerOnce(request, () => this.#takeFromJournals(request, true)),
    );
  }

  get keepsSessions(): boolean {
    return this.#ports.ownership.knowsMembers;
  }

  close(): void {
    this.#closed = true;
    this.#stopListening();
  }

  async take(wanted: SessionClaim): Promise<TakeResult> {
    const { clock, deadlineMs, ownership } = this.#ports;
    const { sessionId, principal, seq } = wanted;
    this.#claims += 1;
    const request = {
      claim: { sessionId, principal, seq },
      key: `${ownership.self?.instance}:${this.#claims}`,
    };
    const untilMs = clock.monotonic() + deadlineMs;
    /** Instances that answered that they do not have the session. */
    const without = new Set<string>();
    for (;;) {
      const answer = await this.#search(request, without);
      // A shard that leaves during a search is asked no more, and its journal was not read before it had left.
      const isUnsettled = clock.monotonic() - this.#lastLeftMs < UNSETTLED_MS;
      if (answer.kind !== 'busy' && !(answer.kind === 'unknown' && isUnsettled)) return answer;
      if (clock.monotonic() >= untilMs) {
        if (!ownership.knowsMembers) throw new NotServed('This shard does not know which shards have ended.');
        // The shard that has the session neither answers nor has left the cluster.
        return { kind: 'unknown' };
      }
      // Another shard that has ended may have left its journal with one that had nothing before.
      if ((await this.#viewChanges()) || isUnsettled) without.clear();
    }
  }

  /** `busy` when a shard that may have the session has not denied it. */
  async #search(request: ClaimRequest, without: Set<string>): Promise<Answer> {
    const { claim } = request;
    const hinted = this.#peers().find(({ worker }) => worker === workerOf(claim.sessionId));
    let answer = hinted ? await this.#ask(hinted, 'sessions.take', request, without) : UNKNOWN;
    if (isDecisive(answer)) return answer;
    answer = bestAnswer([await this.#takeFromJournals(request, false), answer]);
    if (isDecisive(answer)) return answer;
    const others = this.#peers().filter(({ id }) => id !== hinted?.id);
    answer = bestAnswer([answer, ...(await this.#askAll(others, 'sessions.take', request, without))]);
    if (answer.kind !== 'unknown') return answer;
    const replicated = await this.#takeFromJournals(request, true);
    if (replicated.kind !== 'unknown') return replicated;
    const copied = bestAnswer(await this.#askAll(this.#peers(), 'sessions.takeCopy', request, null));
    return copied.kind === 'unknown' && this.#isAway(claim.sessionId) ? BUSY : copied;
  }

  /** Whether this shard has handed the session to a shard that is not in the cluster now, and may come back with it. */
  #isAway(sessionId: string): boolean {
    const instance = this.#handedTo.get(sessionId);
    return (
      instance !== undefined && !this.#ports.ownership.view.shards.some((each) => each.instance === instance)
    );
  }

  #handed(sessionId: string, key: string): void {
    this.#handedTo.delete(sessionId);
    this.#handedTo.set(sessionId, key.slice(0, key.lastIndexOf(':')));
    dropOldest(this.#handedTo, HANDED_MAX);
  }

  #askAll(
    peers: readonly ShardInfo[],
    method: 'sessions.take' | 'sessions.takeCopy',
    request: ClaimRequest,
    without: Set<string> | null,
  ): Promise<Answer[]> {
    return Promise.all(peers.map((peer) => this.#ask(peer, method, request, without)));
  }

  async #ask(
    { id, instance }: ShardInfo,
    method: 'sessions.take' | 'sessions.takeCopy',
    request: ClaimRequest,
    without: Set<string> | null,
  ): Promise<Answer> {
    if (without?.has(instance)) return UNKNOWN;
    try {
      const answer = await this.#ports.router.askShard(id, method, [request], ASK_DEADLINE_MS);
      if (answer.kind === 'unknown') without?.add(instance);
      return answer;
    } catch {
      return BUSY;
    }
  }

  /** Repeats the reply to a repeated request, unless that was `unknown` or `busy`. */
  async #answerOnce({ key }: ClaimRequest, find: () => Promise<Answer>): Promise<Answer> {
    const nowMs = this.#ports.clock.monotonic();
    for (const [old, { atMs }] of this.#answers)
      if (nowMs - atMs > ANSWER_AGE_MS || this.#answers.size > ANSWERS_MAX) this.#answers.delete(old);
      else break;
    const known = this.#answers.get(key);
    if (known) return known.answer;
    const answer = find();
    this.#answers.set(key, { answer, atMs: nowMs });
    const { kind } = await answer;
    if (kind === 'unknown' || kind === 'busy') this.#answers.delete(key);
    return answer;
  }

  async #takeLocal(request: ClaimRequest): Promise<Answer> {
    // The journal of this shard has the session, and no other shard can claim it yet.
    if (this.#closed) return BUSY;
    const { claim, key } = request;
    const answer = this.#ports.transferOut(claim, key);
    if (answer.kind === 'taken') this.#handed(claim.sessionId, key);
    if (answer.kind !== 'unknown') return answer;
    const found = await this.#takeFromJournals(request, false);
    return found.kind === 'unknown' && this.#isAway(claim.sessionId) ? BUSY : found;
  }

  /** `busy` while this shard does not know which runs have ended. */
  async #takeFromJournals({ claim, key }: ClaimRequest, copy: boolean): Promise<Answer> {
    if (!this.#ports.ownership.knowsMembers) return BUSY;
    try {
      return (await this.#ports.journals?.take(claim, key, copy)) ?? { kind: 'unknown' };
    } catch (error) {
      this.#ports.onFault(error);
      return { kind: 'unknown' };
    }
  }

  #peers(): readonly ShardInfo[] {
    const { self, view } = this.#ports.ownership;
    return view.shards.filter(({ instance }) => instance !== self?.instance);
  }

  /** Resolves with true on the next ownership change, or with false after `RETRY_MS`. */
  #viewChanges(): Promise<boolean> {
    return new Promise((resolve) => {
      const end = (changes: boolean): void => {
        timer.cancel();
        stop();
        resolve(changes);
      };
      const timer = this.#ports.wheel.add(() => end(false), RETRY_MS);
      const stop = this.#ports.ownership.onChange(() => end(true));
    });
  }
}

/** A shard whose copy is behind the client may have lost the session: another shard continued it from the journal. */
const isDecisive = ({ kind }: Answer): boolean => kind === 'taken' || kind === 'seqTooOld';

/** A decisive answer if there is one, otherwise `busy`, `seqUnknown` or `unknown`. */
function bestAnswer(answers: readonly Answer[]): Answer {
  const of = (wanted: Answer['kind']) => answers.find(({ kind }) => kind === wanted);
  return answers.find(isDecisive) ?? of('busy') ?? of('seqUnknown') ?? UNKNOWN;
}
