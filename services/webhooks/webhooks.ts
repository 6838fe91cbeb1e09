import type { Guilds } from '../../actors/guild/guilds.ts';
import type { Reply } from '../../engine/kernel/aggregate.ts';
import { type Authority, SYSTEM } from '../../engine/kernel/authority.ts';
import { githubReport } from '../../engine/webhook/github.ts';
import { slackReport } from '../../engine/webhook/slack.ts';
import { WEBHOOK } from '../../engine/webhook/webhook.ts';
import type { GuildId, WebhookId } from '../../protocol/ids.ts';
import { refusal } from '../../protocol/refusal.ts';
import type { WebhookStore } from '../../storage/webhook/port.ts';
import type { TokenMessages, Webhooks } from './ports.ts';
import type { WebhookTokens } from './tokens.ts';

interface WebhookPorts {
  readonly store: Pick<WebhookStore, 'get'>;
  readonly guilds: Pick<Guilds, 'call'>;
  readonly tokens: WebhookTokens;
}

const unknown: Reply<never> = { ok: false, refusal: refusal('UNKNOWN_WEBHOOK') };

/** Looks up the guild of a webhook, one row by its key, and asks the guild's owner. */
export function createWebhooks({ store, guilds, tokens }: WebhookPorts): Webhooks {
  async function atOwner<Value>(
    id: WebhookId,
    ask: (guildId: GuildId) => Promise<Reply<Value>>,
  ): Promise<Reply<Value>> {
    const webhook = await store.get(id);
    if (!webhook) return unknown;
    const reply = await ask(webhook.guild_id);
    // Callers who cannot see the guild must not learn that it exists.
    return !reply.ok && reply.refusal.code === refusal('UNKNOWN_GUILD').code ? unknown : reply;
  }
  const by = (authority: Authority | null): Authority => authority ?? SYSTEM;
  return {
    get: (id, authority) =>
      atOwner(id, (guildId) => guilds.call(guildId, 'getWebhook', { webhookId: id }, authority)),
    update: (id, change, authority) =>
      atOwner(id, (guildId) =>
        guilds.call(guildId, 'updateWebhook', { webhookId: id, ...change }, by(authority)),
      ),
    remove: (id, authority) =>
      atOwner(id, (guildId) => guilds.call(guildId, 'deleteWebhook', { webhookId: id }, by(authority))),
    async authenticate(id, token) {
      const webhook = await store.get(id);
      if (!webhook) return unknown;
      // A channel follower has no token: only the server sends through it.
      const opens = webhook.type === WEBHOOK.INCOMING && tokens.matches(id, token);
      return opens ? { ok: true, value: webhook } : { ok: false, refusal: refusal('INVALID_WEBHOOK_TOKEN') };
    },
    slack: slackReport,
    github: githubReport,
    tokenFor({ id, type, application_id: owner }, caller) {
      const mayUse = caller === null || owner === null || owner === caller.applicationId;
      return type === WEBHOOK.INCOMING && mayUse ? tokens.of(id) : null;
    },
  };
}

/** Messages under tokens of several kinds; the first kind that has the token answers. */
export const anyTokenMessages = (kinds: readonly TokenMessages[]): TokenMessages => ({
  async find(id, token) {
    for (const kind of kinds) {
      const found = await kind.find(id, token);
      if (found) return found;
    }
    return null;
  },
  async knows(id) {
    for (const kind of kinds) if (await kind.knows(id)) return true;
    return false;
  },
});
