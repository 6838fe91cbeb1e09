import { SPEAKING } from '../../protocol/voice.ts';
import type { Rights } from './audibility.ts';

const KNOWN = SPEAKING.MICROPHONE | SPEAKING.SOUNDSHARE | SPEAKING.PRIORITY;

/** Speaking state of one member. */
export interface Speech {
  /** Flags of the client's last op 5; null before the first. */
  readonly claimed: number | null;
  /** Audio arrives from the member. */
  readonly isReceived: boolean;
}

/**
 * The flags that the others receive. A silenced member never speaks, whatever the client claims; a member who sends
 * audio before its first op 5 counts as using the microphone; priority requires its permission.
 */
export function speakingFlags(speech: Speech, rights: Rights): number {
  if (rights.silenced) return 0;
  const inferred = speech.claimed === null && speech.isReceived ? SPEAKING.MICROPHONE : 0;
  const flags = ((speech.claimed ?? 0) & KNOWN) | inferred;
  return rights.mayPrioritize ? flags : flags & ~SPEAKING.PRIORITY;
}
