import type { VoiceListener } from './ports.ts';

/**
 * Forwards notifications of voice owners to the calls, in order but in a later turn: an actor must not start inside the
 * action of another, and a fault in a call must not end a guild.
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
    for (const notify of due)
      try {
        notify();
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
    ended: (...of) => later(() => calls.ended(...of)),
  };
}
