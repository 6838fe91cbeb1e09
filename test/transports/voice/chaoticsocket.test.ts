// Goal: injected failures apply to a voice connection of their user, whether it identified or resumed.
import { describe, expect, test } from 'vitest';
import { Chaos } from '../../../engine/chaos/chaos.ts';
import { ChaoticVoiceSocket } from '../../../transports/voice/chaoticsocket.ts';
import { arrange, IDENTIFY } from './harness.ts';

const RESUME = { server_id: '5', session_id: 'abc', token: 'ticket', seq_ack: 1 };

function chaotic() {
  let nowMs = 0;
  const chaos = new Chaos({}, () => nowMs);
  const given = arrange({
    open: (version, host) => new ChaoticVoiceSocket('127.0.0.1', version, host, chaos),
  });
  const later = () => {
    nowMs += 1000;
    given.pass(1000);
  };
  return { ...given, chaos, later };
}

describe('a voice connection with injected failures', () => {
  test.each([
    ['identified', 0, IDENTIFY],
    ['resumed', 7, RESUME],
  ])('is closed by a rule for its user after it has %s', (_, op, d) => {
    const { say, chaos, later, closeCode } = chaotic();
    say(op, d);
    chaos.add({ on: 'voice', do: 'close', code: 4014, at: 1, user: '7' });
    later();
    expect(closeCode()).toBe(4014);
  });

  test('is not affected by a rule for another user', () => {
    const { say, chaos, later, closeCode } = chaotic();
    say(7, RESUME);
    chaos.add({ on: 'voice', do: 'close', code: 4014, at: 1, user: '8' });
    later();
    expect(closeCode()).toBeNull();
  });
});
