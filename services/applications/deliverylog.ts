import type { ApplicationId } from '../../protocol/ids.ts';
import type { EndpointAnswer, EndpointFailure } from './endpoint.ts';

/** One attempt to send an event to a URL. */
export interface DeliveryAttempt {
  /** Ascends with each attempt of this process, from 1. */
  readonly number: number;
  readonly eventId: string;
  readonly applicationId: ApplicationId;
  readonly type: string;
  /** Origin of the URL, without its path, which may contain a secret. */
  readonly origin: string;
  /** Unix milliseconds at which it began. */
  readonly atMs: number;
  readonly tookMs: number;
  /** 1 for the first attempt in a row for the application. */
  readonly attempt: number;
  /** Status of the answer; null when there was none. */
  readonly status: number | null;
  /** Why there was no answer; null when there was one. */
  readonly failure: EndpointFailure | null;
}

/** Attempts kept; the oldest is dropped. One takes about 300 bytes. */
const ATTEMPTS_MAX = 1_000;

/** The newest attempts of this process to send webhook events, for its operator. */
export class DeliveryLog {
  readonly #kept: DeliveryAttempt[] = [];
  #count = 0;

  add(
    attempt: Omit<DeliveryAttempt, 'number' | 'origin' | 'status' | 'failure'>,
    url: string,
    answer: EndpointAnswer,
  ): void {
    this.#count += 1;
    this.#kept.push({
      ...{ ...attempt, number: this.#count, origin: new URL(url).origin },
      status: answer.ok ? answer.status : null,
      failure: answer.ok ? null : answer.reason,
    });
    if (this.#kept.length > ATTEMPTS_MAX) this.#kept.shift();
  }

  /** At most `limit` attempts with numbers below `before`, newest first; null: from the newest on. */
  page(before: number | null, limit: number): readonly DeliveryAttempt[] {
    const end = before === null ? this.#count : Math.min(this.#count, before - 1);
    const dropped = this.#count - this.#kept.length;
    return this.#kept.slice(Math.max(0, end - limit - dropped), Math.max(0, end - dropped)).toReversed();
  }
}
