// Goal: the rules of a past day apply on that day and not on the next, on a server with a configured day.
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CONTRACT_DATES } from '../../protocol/dates.ts';
import { INTENTS } from '../../protocol/intents.ts';
import { OP } from '../../protocol/opcodes.ts';
import { P } from '../../protocol/permissions.ts';
import { VOICE_OP } from '../../protocol/voice.ts';
import { GatewayClient } from '../support/gateway-client.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { joinChannel, VoiceClient } from '../support/voice-client.ts';

type Rule = keyof typeof CONTRACT_DATES;
const DAY_MS = 86_400_000;

const opened: TestServer[] = [];
afterAll(async () => {
  for (const server of opened) await server.stop();
});

async function on(date: string): Promise<TestServer> {
  const server = await startServer({ relayed: false, set: { contract_date: date } });
  opened.push(server);
  return server;
}

/** Whether the rule is seen to be in force. */
const PROBES: Readonly<Record<Rule, (server: TestServer) => Promise<boolean>>> = {
  async subscriptions_have_no_end(server) {
    const { id: applicationId } = server.info.application;
    const { skus } = await server.admin<{ skus: readonly { id: string }[] }>(
      `/applications/${applicationId}/skus`,
      {
        ...{ name: 'Light', type: 'subscription', owner: 'user' },
      },
    );
    const { entitlements } = await server.admin<{ entitlements: readonly { ends_at: string | null }[] }>(
      `/applications/${applicationId}/grants`,
      { sku_id: skus[0]!.id, user_id: server.info.users[0]!.id, days: 30 },
    );
    return entitlements[0]!.ends_at === null;
  },

  async applications_create_no_guilds(server) {
    const response = await fetch(`${server.info.api}/v10/guilds`, {
      method: 'POST',
      headers: { authorization: `Bot ${server.info.bot.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'Mine' }),
    });
    expect([201, 403]).toContain(response.status);
    return response.status === 403;
  },

  async member_lists_limited(server) {
    const { id } = server.info.guild;
    const bot = await GatewayClient.ready(server.info.gateway, {
      ...{ token: server.info.bot.token, intents: INTENTS.GUILDS | INTENTS.GUILD_MEMBERS },
    });
    for (const nonce of ['first', 'second'])
      bot.send(OP.REQUEST_GUILD_MEMBERS, { guild_id: id, query: '', limit: 0, nonce });
    const limited = bot.dispatch('RATE_LIMITED', (d) => Object(d.meta).nonce === 'second').then(() => true);
    const listed = bot.dispatch('GUILD_MEMBERS_CHUNK', (d) => d.nonce === 'second').then(() => false);
    const isLimited = await Promise.any([limited, listed]);
    bot.close();
    await Promise.allSettled([limited, listed]);
    return isLimited;
  },

  async forwards_need_content(server) {
    const channelId = server.info.guild.text_channel_id;
    const { token } = await server.newBot('Blind', { flags: 0 });
    const { body: theirs } = await server.user().ask<{ id: string }>('create_message', {
      ...{ params: { channel_id: channelId }, body: { content: 'words of a person' } },
    });
    const message_reference = { type: 1, channel_id: channelId, message_id: theirs.id };
    const blind = server.restOf(`Bot ${token}`);
    const { status, body } = await blind.ask<{ code?: number }>('create_message', {
      ...{ params: { channel_id: channelId }, body: { message_reference } },
    });
    expect([200, 400]).toContain(status);
    return body.code === 160_014;
  },

  async permissions_split(server) {
    const { id: guildId, text_channel_id: channelId } = server.info.guild;
    const { body: message } = await server.bot().ask<{ id: string }>('create_message', {
      ...{ params: { channel_id: channelId }, body: { content: 'to be pinned' } },
    });
    const { body: role } = await server.bot().ask<{ id: string }>('create_guild_role', {
      ...{ params: { guild_id: guildId }, body: { permissions: String(P.MANAGE_MESSAGES) } },
    });
    const user = server.info.users[1]!.id;
    await server.bot().ask('add_guild_member_role', {
      params: { guild_id: guildId, user_id: user, role_id: role.id },
    });
    const { status } = await server.user(1).ask('create_pin', {
      params: { channel_id: channelId, message_id: message.id },
    });
    expect([204, 403]).toContain(status);
    return status === 403;
  },

  async calls_encrypted(server) {
    const { gateway: url, bot, guild } = server.info;
    const gateway = await GatewayClient.ready(url, { token: bot.token });
    const ticket = await joinChannel(gateway, guild.id, guild.voice_channel_id);
    const plain = { max_dave_protocol_version: 0 };
    const client = await VoiceClient.connect(ticket.endpoint, { caFile: server.info.ca_file });
    client.identify(ticket, plain);
    const refused = client.closed.then(({ code }) => code === 4017);
    const isRefused = await Promise.race([
      refused,
      client.waitFor(VOICE_OP.READY).then(
        () => false,
        () => true,
      ),
    ]);
    client.close();
    gateway.close();
    return isRefused;
  },
};

const rules = Object.keys(PROBES).filter((each): each is Rule => Object.hasOwn(CONTRACT_DATES, each));
const days = Object.values(CONTRACT_DATES).map(({ from }) => Date.parse(from));
const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

describe('the day before the first rule', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await on(dayOf(Math.min(...days) - DAY_MS));
  });

  test.each(rules)('%s is not in force', async (rule) => {
    expect(await PROBES[rule](server)).toBe(false);
  });
});

describe('the day of the last rule', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await on(dayOf(Math.max(...days)));
  });

  test.each(rules)('%s is in force', async (rule) => {
    expect(await PROBES[rule](server)).toBe(true);
  });
});

test('an invalid date is rejected', async () => {
  await expect(on(`2026-13-${randomBytes(1)[0]}`)).rejects.toThrow();
});
