// Goal: what the voice gateway says as it closes a connection fits into a close frame.
import { expect, test } from 'vitest';
import { VOICE_CLOSE } from '../../protocol/voice.ts';

/** RFC 6455, 5.5: a control frame carries at most 125 bytes, two of them the code. */
const REASON_BYTES_MAX = 123;

test('every close reason fits into a close frame', () => {
  for (const { code, reason } of Object.values(VOICE_CLOSE))
    expect([code, Buffer.byteLength(reason) <= REASON_BYTES_MAX]).toEqual([code, true]);
});
