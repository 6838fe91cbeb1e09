// Goal: a webhook's token opens that webhook alone, and a channel follower has none that opens it.
import { expect, test } from 'vitest';
import { WEBHOOK } from '../../../engine/webhook/webhook.ts';
import type { WebhookId } from '../../../protocol/ids.ts';
import { createWebhookTokens } from '../../../services/webhooks/tokens.ts';
import { createWebhooks } from '../../../services/webhooks/webhooks.ts';

const tokens = createWebhookTokens('secret');
const types = new Map([
  ['1', WEBHOOK.INCOMING],
  ['2', WEBHOOK.CHANNEL_FOLLOWER],
  ['3', WEBHOOK.INCOMING],
]);
const webhooks = createWebhooks({
  store: {
    get: async (id) => (types.has(id) ? ({ id, guild_id: '9', type: types.get(id) } as never) : null),
  },
  guilds: { call: async () => ({ ok: true, value: null }) as never },
  tokens,
});

test.each([
  ['the right token of an incoming webhook', null, '1', '1'],
  ['the token of another webhook', 50_027, '1', '3'],
  ['the token that a channel follower would have', 50_027, '2', '2'],
  ['a webhook that does not exist', 10_015, '4', '4'],
] as const)('%s is answered with the code %s', async (_what, code, id, of) => {
  const reply = await webhooks.authenticate(id as WebhookId, tokens.of(of as WebhookId));
  expect(reply.ok ? null : reply.refusal.code).toBe(code);
});
