import type { VoiceListener } from './ports.ts';

/**
 * Tells calls what owners of seats say, in order, but not within the owner's turn: an actor must not begin inside the
 * action of another, nor may what goes wrong in a call end a guild.
 */
export function inOwnTurn(
  calls: VoiceListener,
  defer: (run: () => void) => void,
  onFault: (error: unknown) => void,
): VoiceListener {
  let waiting: (() => void)[] = [];
  const run = (): void => {
    const due = waiting;
    waiting = [];
    for (const tell of due)
      try {
        tell();
      } catch (error) {
        onFault(error);
      }
  };
  const later = (tell: () => void): void => {
    if (waiting.push(tell) === 1) defer(run);
  };
  return {
    voiceJoined: (voiceMember) => later(() => calls.voiceJoined(voiceMember)),
    voiceLeft: (serverId, userId) => later(() => calls.voiceLeft(serverId, userId)),
    ended: (callId, moved) => later(() => calls.ended(callId, moved)),
  };
}
