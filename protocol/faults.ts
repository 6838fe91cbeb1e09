/** Why a call over a link got no reply. */
export type LinkFaultKind =
  /** The call was not sent, or was rejected before it began: it may be sent again anywhere. */
  | 'unreachable'
  | 'notOwner'
  | 'overloaded'
  /** The call was sent and its outcome is unknown: it may be sent again only under the same command key. */
  | 'lost'
  | 'timeout'
  /** The other side failed and logged the reason. */
  | 'failed';

export class LinkFault extends Error {
  override readonly name = 'LinkFault';
  readonly kind: LinkFaultKind;

  constructor(kind: LinkFaultKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }
}

/** No shard serves the resource now: answered 503 with Retry-After. */
export class NotServed extends Error {
  override readonly name = 'NotServed';
  readonly retryAfterSec: number;

  constructor(message: string, retryAfterSec = 1, options?: ErrorOptions) {
    super(message, options);
    this.retryAfterSec = retryAfterSec;
  }
}

/** Whether the fault is a mistake in the server. All others come from its environment, and the call may be tried again. */
export const isBug = (fault: unknown): boolean =>
  fault instanceof TypeError ||
  fault instanceof RangeError ||
  (fault instanceof Error && fault.name === 'AssertionError');
