import { VOICE_OP } from '../../protocol/voice.ts';

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

/** The phase, from the delivery service's state and whether a transition is open. */
export function davePhase(
  { version, epoch }: { readonly version: number; readonly epoch: bigint | null },
  transitioning: boolean,
): DavePhase {
  if (transitioning) return 'transitioning';
  if (version === 0) return 'plain';
  return epoch === null ? 'negotiating' : 'secure';
}

const numberIn = (d: unknown, key: string): number | null => {
  const value = (d as Readonly<Record<string, unknown>> | null)?.[key];
  return typeof value === 'number' ? value : null;
};

/**
 * The transition that a frame of the delivery service opens or executes; null for neither. Transition 0 executes at
 * once and is never open.
 */
export function transitionOpened(
  frame: { readonly op: number } & ({ readonly d: object } | { readonly payload: Uint8Array }),
): { readonly opened: number } | { readonly executed: number } | null {
  if ('payload' in frame) {
    const carries =
      frame.op === VOICE_OP.DAVE_MLS_ANNOUNCE_COMMIT_TRANSITION || frame.op === VOICE_OP.DAVE_MLS_WELCOME;
    const id = carries ? ((frame.payload[0] ?? 0) << 8) | (frame.payload[1] ?? 0) : 0;
    return id === 0 ? null : { opened: id };
  }
  const id = numberIn(frame.d, 'transition_id');
  if (id === null || id === 0) return null;
  if (frame.op === VOICE_OP.DAVE_PREPARE_TRANSITION) return { opened: id };
  return frame.op === VOICE_OP.DAVE_EXECUTE_TRANSITION ? { executed: id } : null;
}
