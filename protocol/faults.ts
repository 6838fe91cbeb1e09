/** Why a link did not bring an answer. */
export type LinkFaultKind =
  /** It was not sent, or refused before it was begun: it may be sent again, anywhere. */
  | 'unreachable'
  | 'notOwner'
  | 'overloaded'
  /** It was sent, and whether it was done is not known: to be sent again only under the same command key. */
  | 'lost'
  | 'timeout'
  /** The other side failed; its log says why. */
  | 'failed';

export class LinkFault extends Error {
  override readonly name = 'LinkFault';
  readonly kind: LinkFaultKind;

  constructor(kind: LinkFaultKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }
}

/** Nobody serves this now: answered 503 with Retry-After. */
export class NotServed extends Error {
  override readonly name = 'NotServed';
  readonly retryAfterSec: number;

  constructor(message: string, retryAfterSec = 1, options?: ErrorOptions) {
    super(message, options);
    this.retryAfterSec = retryAfterSec;
  }
}
