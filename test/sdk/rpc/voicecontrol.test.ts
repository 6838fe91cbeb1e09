// Goal: the volumes that applications set for people are bounded in number.
import { expect, test } from 'vitest';
import { VoiceControl } from '../../../sdk/rpc/voicecontrol.ts';

test('volumes are kept for the latest 500 users', () => {
  const nothing = () => undefined;
  const control = new VoiceControl({
    ...{ changed: nothing, apply: nothing, changedUser: nothing, hold: () => false },
  });
  for (let n = 0; n < 501; n += 1) control.changeUser(String(n), { volume: 50 });
  expect([control.of('0').volume, control.of('1').volume, control.of('500').volume]).toEqual([100, 50, 50]);
});
