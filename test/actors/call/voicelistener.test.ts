// Goal: what owners of seats say reaches the calls in order, after the owner's turn, and a fault of a call stays with it.
import { expect, it } from 'vitest';
import type { VoiceListener } from '../../../actors/call/ports.ts';
import { inOwnTurn } from '../../../actors/call/voicelistener.ts';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';
import type { UserId } from '../../../protocol/ids.ts';

it('notifies the listener later and in order, whatever fails', () => {
  const clock = new VirtualClock();
  const told: string[] = [];
  const faults: unknown[] = [];
  const calls: VoiceListener = {
    voiceJoined: () => told.push('voiceJoined'),
    voiceLeft(serverId) {
      told.push(`unseated ${serverId}`);
      if (told.length < 4) voiceMembers.ended('said in its turn');
      throw new Error('a bug');
    },
    ended: (callId) => told.push(`ended ${callId}`),
  };
  const voiceMembers = inOwnTurn(
    calls,
    (run) => clock.defer(run),
    (error) => faults.push(error),
  );
  voiceMembers.voiceLeft('1', '2' as UserId);
  voiceMembers.ended('3');
  expect(told).toEqual([]);
  clock.settle();
  expect(told).toEqual(['unseated 1', 'ended 3', 'ended said in its turn']);
  expect(faults).toHaveLength(1);
});
