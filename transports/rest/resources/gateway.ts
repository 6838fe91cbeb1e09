import { Gateway, GatewayBot } from '../../../protocol/schemas/gateway.ts';
import { op, resource } from '../operation.ts';

export const gateway = resource({
  get_gateway: op({
    method: 'GET',
    path: '/gateway',
    auth: 'none',
    bucket: { per: null, limit: 30, windowMs: 10_000 },
    status: 200,
    reply: Gateway,
    handle: (_call, { gateway }) => ({ ok: true, value: { url: gateway.url } }),
  }),

  get_bot_gateway: op({
    method: 'GET',
    path: '/gateway/bot',
    auth: 'any',
    // All shards of a bot ask at the same time when it starts.
    bucket: { per: null, limit: 30, windowMs: 10_000 },
    status: 200,
    reply: GatewayBot,
    handle: async ({ caller }, { gateway }) => ({
      ok: true,
      // The URL has no query: clients append their own.
      value: { url: gateway.url, session_start_limit: await gateway.sessionStart(caller.userId), shards: 1 },
    }),
  }),
});
