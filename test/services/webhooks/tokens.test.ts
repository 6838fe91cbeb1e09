// Goal: a webhook's token is as long as clients expect, and unique.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { WebhookId } from '../../../protocol/ids.ts';
import { createWebhookTokens } from '../../../services/webhooks/tokens.ts';

const tokens = createWebhookTokens('a secret of the server');
const id = fc.bigInt(1n, 2n ** 63n - 1n).map((value) => String(value) as WebhookId);

test('a token has 68 characters that need no escape in a URL, and opens its own webhook', () => {
  fc.assert(
    fc.property(id, (one) => {
      expect(tokens.of(one)).toMatch(/^[\w-]{68}$/);
      expect(tokens.matches(one, tokens.of(one))).toBe(true);
    }),
  );
});

test('a token opens no other webhook, and none of a server with another secret', () => {
  fc.assert(
    fc.property(id, id, (one, other) => {
      fc.pre(one !== other);
      expect(tokens.matches(one, tokens.of(other))).toBe(false);
      expect(createWebhookTokens('another').matches(one, tokens.of(one))).toBe(false);
    }),
  );
});

test.each(['', 'x', '\u{1f600}'.repeat(17), 'x'.repeat(68), 'x'.repeat(10_000)])(
  'the text %j opens nothing',
  (text) => {
    expect(tokens.matches('1' as WebhookId, text)).toBe(false);
  },
);
