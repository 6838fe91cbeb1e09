import { VOICE_OP } from '../../protocol/voice.ts';

/** How far the encryption between the members of a call is. */
export type DavePhase =
  /** Members speak without it. */
  | 'plain'
  /** There is no group yet, or it is made anew. */
  | 'negotiating'
  /** A change of epoch or version is announced and not executed. */
  | 'transitioning'
  /** Everyone is in one epoch. */
  | 'secure';

/** The phase, of what the delivery service knows and of whether a transition is open. */
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
 * The transition that a frame of the delivery service opens or, negative, closes; 0: none. Transition 0 executes at once
 * and is never open.
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
