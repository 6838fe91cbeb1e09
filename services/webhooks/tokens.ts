import { createHmac, timingSafeEqual } from 'node:crypto';
import type { WebhookId } from '../../protocol/ids.ts';

/** A client recognises a webhook's URL by the length of its token: 68 characters of base64url. */
const TOKEN_BYTES = 51;

export interface WebhookTokens {
  /** The token of a webhook: a secret, shown only to those who may use it. */
  of(id: WebhookId): string;
  /** Compares in constant time. */
  matches(id: WebhookId, token: string): boolean;
}

/**
 * Tokens of webhooks, derived from their ids with the server's secret: nothing is stored, so no table, fact, record, log
 * or backup holds one. Another secret makes other tokens.
 *
 * @source https://github.com/discordjs/discord.js/blob/main/packages/discord.js/src/util/Util.js; `parseWebhookURL`
 */
export function createWebhookTokens(secret: string): WebhookTokens {
  const of = (id: WebhookId): string =>
    createHmac('sha512', secret)
      .update(`webhook ${id}`)
      .digest()
      .subarray(0, TOKEN_BYTES)
      .toString('base64url');
  return {
    of,
    matches(id, token) {
      const [right, shown] = [Buffer.from(of(id)), Buffer.from(token)];
      return right.length === shown.length && timingSafeEqual(right, shown);
    },
  };
}
