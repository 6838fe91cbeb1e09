import { InterceptingCall, type Interceptor } from '@grpc/grpc-js';
import type { Etcd3, IWatchResponse } from 'etcd3';
import type { Clock } from '../../actors/runtime/clock.ts';

type Watch = Awaited<ReturnType<Etcd3['watchClient']['watch']>>;
type KeepAlive = Awaited<ReturnType<Etcd3['leaseClient']['leaseKeepAlive']>>;

interface Waiting {
  resolve(ttlSec: number): void;
  reject(error: Error): void;
}

/**
 * Renews a lease over one stream, one renewal at a time, so that each answer belongs to the latest request. A renewal that
 * fails closes the stream, so that a late answer is never taken for the next one's.
 */
export class Renewals {
  readonly #etcd: Etcd3;
  readonly #clock: Pick<Clock, 'setTimer'>;
  #stream: KeepAlive | null = null;
  #waiting: Waiting | null = null;

  constructor(etcd: Etcd3, clock: Pick<Clock, 'setTimer'>) {
    this.#etcd = etcd;
    this.#clock = clock;
  }

  /**
   * @returns Seconds that the lease lasts from when etcd received the renewal; 0 when it has expired.
   * @throws when there is no answer in time; the lease may or may not have been renewed.
   */
  renew(lease: string, timeoutMs: number): Promise<number> {
    return new Promise((resolve, reject) => {
      const settle = (): void => {
        timer.cancel();
        if (this.#waiting === waiting) this.#waiting = null;
      };
      const waiting: Waiting = {
        resolve(ttlSec) {
          settle();
          resolve(ttlSec);
        },
        reject: (error) => {
          // If this renewal was abandoned with its lease, the stream may already belong to another renewal.
          if (this.#waiting === waiting) this.close();
          settle();
          reject(error);
        },
      };
      const timer = this.#clock.setTimer(
        () => waiting.reject(new Error(`etcd did not renew the lease within ${timeoutMs} ms.`)),
        timeoutMs,
      );
      this.#waiting = waiting;
      if (this.#stream) this.#stream.write({ ID: lease });
      else this.#open(lease, waiting);
    });
  }

  close(): void {
    this.#stream?.cancel();
    this.#stream = null;
  }

  #open(lease: string, waiting: Waiting): void {
    this.#etcd.leaseClient.leaseKeepAlive().then((stream) => {
      const isOurs = () => this.#stream === stream;
      // A cancelled stream emits an error, which needs a listener.
      stream.on('error', (error) => isOurs() && this.#ended(error));
      stream.on('end', () => isOurs() && this.#ended(new Error('etcd has ended the stream.')));
      if (this.#waiting !== waiting) return stream.cancel();
      stream.on('data', ({ TTL }) => isOurs() && this.#waiting?.resolve(Number(TTL)));
      this.#stream = stream;
      stream.write({ ID: lease });
    }, waiting.reject);
  }

  #ended(error: Error): void {
    this.#stream = null;
    this.#waiting?.reject(error);
  }
}

/** Makes etcd end the watch when its member loses the leader; otherwise the watch would stay open without events. */
const askingForLeader: Interceptor = (options, next) =>
  new InterceptingCall(next(options), {
    start(metadata, listener, begin) {
      metadata.set('hasleader', 'true');
      begin(metadata, listener);
    },
  });

/** Reports every change of the keys from a revision on; calls `ended` once when the watch ends. */
export function watchKeys(
  etcd: Etcd3,
  range: { readonly key: Buffer; readonly range_end: Buffer },
  fromRevision: number,
  onResponse: (response: IWatchResponse) => void,
  ended: (reason: Error) => void,
): () => void {
  let stream: Watch | null = null;
  let over = false;
  const end = (reason: Error): void => {
    if (over) return;
    over = true;
    stream?.cancel();
    ended(reason);
  };
  etcd.watchClient.watch({ interceptors: [askingForLeader] }).then((opened) => {
    stream = opened;
    // A cancelled stream emits an error, which needs a listener.
    opened.on('error', end);
    opened.on('end', () => end(new Error('etcd has ended the watch.')));
    if (over) return opened.cancel();
    opened.on('data', (response) => {
      if (over) return;
      if (response.canceled)
        end(new Error(`The watch was cancelled: ${response.cancel_reason || 'compacted'}.`));
      // The creation response carries etcd's current revision, although the changes up to it have not been sent.
      else if (!response.created) onResponse(response);
    });
    opened.write({ create_request: { ...range, start_revision: fromRevision, progress_notify: true } });
  }, end);
  return () => {
    over = true;
    stream?.cancel();
  };
}
