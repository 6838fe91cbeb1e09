import { SPEAKING } from '../../protocol/voice.ts';
import type { Rights } from './audibility.ts';

const KNOWN = SPEAKING.MICROPHONE | SPEAKING.SOUNDSHARE | SPEAKING.PRIORITY;

/** What is known of one member's speaking. */
export interface Speech {
  /** Flags of the client's last op 5; null before the first. */
  readonly claimed: number | null;
  /** Audio is coming in. */
  readonly heard: boolean;
}

/**
 * The flags that the others are told. Who is silenced speaks not, whatever the client says; who sends audio without
 * ever having said so uses the microphone; and priority needs its permission.
 */
export function speakingFlags(speech: Speech, rights: Rights): number {
  if (rights.silenced) return 0;
  const inferred = speech.claimed === null && speech.heard ? SPEAKING.MICROPHONE : 0;
  const flags = ((speech.claimed ?? 0) & KNOWN) | inferred;
  return rights.mayPrioritize ? flags : flags & ~SPEAKING.PRIORITY;
}
