/** State of the encryption between the members of a call. */
export type DavePhase =
  /** Media is not end-to-end encrypted. */
  | 'plain'
  /** The group does not exist yet, or is created again. */
  | 'negotiating'
  /** A change of epoch or version is announced and not executed. */
  | 'transitioning'
  /** All members are in one epoch. */
  | 'secure';

/** The phase, from the state of the delivery service. */
export function davePhase({
  version,
  epoch,
  transitions,
}: {
  readonly version: number;
  readonly epoch: bigint | null;
  /** `deadlineMs` is null when no transition is open. */
  readonly transitions: { readonly deadlineMs: number | null };
}): DavePhase {
  if (transitions.deadlineMs !== null) return 'transitioning';
  if (version === 0) return 'plain';
  return epoch === null ? 'negotiating' : 'secure';
}
