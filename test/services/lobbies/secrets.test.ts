// Goal: a secret leads to its lobby until it expires.
import { expect, test } from 'vitest';
import type { ApplicationId, ChannelId } from '../../../protocol/ids.ts';
import { LIMITS } from '../../../protocol/limits.ts';
import { LobbySecrets } from '../../../services/lobbies/secrets.ts';

test('a secret leads to its lobby until it expires, then to a new one', async () => {
  const clock = { nowMs: 1_000_000 };
  const secrets = new LobbySecrets({ bySecret: async () => [] }, () => clock.nowMs);
  let made = 900;
  const lobby = () => secrets.lobby('1001' as ApplicationId, 'hash', async () => String(made++) as ChannelId);
  expect(await lobby()).toBe('900');
  clock.nowMs += LIMITS.lobby_secret_ms - 1;
  expect(await lobby()).toBe('900');
  clock.nowMs += 1;
  expect(await lobby()).toBe('901');
});
