// Goal: unmodified eris and oceanic.js call every method by which a bot asks the server for something, and each one works; the tables in
// docs/compatibility.md say which they are, and why some are not called.
import http from 'node:http';
import Eris from 'eris';
import { Client } from 'oceanic.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startServer, type TestServer } from '../support/server.ts';
import { ERIS_PARTS } from '../support/sweep/eris.ts';
import { ERIS_LEFT_OUT, ERIS_WITHOUT_REQUEST, OCEANIC_LEFT_OUT } from '../support/sweep/leftout.libraries.ts';
import { OCEANIC_PARTS } from '../support/sweep/oceanic.ts';
import { methodsOf, runParts, Sweep, tableInPage, tableOf, writeTable } from '../support/sweep/record.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server?.finish());

/** Place that both sweeps work on; each has a guest of its own, and removes it. */
async function place(guestName: string) {
  const { guild, users } = server.info;
  return {
    ...{ guildId: guild.id, textId: guild.text_channel_id, voiceId: guild.voice_channel_id },
    guestId: (await server.newBot(guestName)).id,
    userIds: users.map(({ id }) => id),
  };
}

/** Checks what a sweep found, and the table of the page. */
function found(
  library: string,
  sweep: Sweep,
  all: readonly string[],
  leftOut: Readonly<Record<string, string>>,
) {
  expect(sweep.failed).toEqual([]);
  const known = new Set([...sweep.worked, ...Object.keys(leftOut)]);
  expect(all.filter((name) => !known.has(name))).toEqual([]);
  const table = tableOf([...sweep.worked].sort(), leftOut);
  if (process.env.WRITE_COMPATIBILITY !== undefined) writeTable(table, library);
  expect(tableInPage(library)).toBe(table);
}

describe('every method that asks the server for something', () => {
  test('works in oceanic.js', async () => {
    const client = new Client({
      auth: `Bot ${server.info.bot.token}`,
      gateway: { intents: ['GUILDS', 'GUILD_MEMBERS'] },
      rest: { baseURL: `${server.info.api}/v10` },
    });
    client.on('error', () => undefined);
    const ready = new Promise((resolve) => client.once('ready', () => resolve(null)));
    await client.connect();
    await ready;
    const sweep = new Sweep();
    const at = { client, ...(await place('Guest of oceanic')) };
    await runParts(OCEANIC_PARTS.map((part) => () => part(at, sweep.did)));
    client.disconnect(false);
    const { applications, channels, guilds, misc, users, webhooks } = client.rest;
    const all = [applications, channels, guilds, misc, users, webhooks].flatMap(({ constructor: type }) =>
      methodsOf(type as unknown as { prototype: object }).map((name) => `${type.name}.${name}`),
    );
    found('oceanic.js', sweep, all, OCEANIC_LEFT_OUT);
  }, 60_000);

  test('works in eris', async () => {
    const { hostname, port, pathname } = new URL(server.info.api);
    const agent = Object.assign(new http.Agent(), { protocol: 'https:', defaultPort: Number(port) });
    const client = Eris(`Bot ${server.info.bot.token}`, {
      intents: ['guilds', 'guildMembers'],
      restMode: true,
      rest: {
        ...{ domain: hostname, baseURL: `${pathname}/v10` },
        agent: agent as unknown as import('node:https').Agent,
      },
    });
    client.on('error', () => undefined);
    const ready = new Promise((resolve) => client.once('ready', () => resolve(null)));
    await client.connect();
    await ready;
    const sweep = new Sweep();
    const at = { client, ...(await place('Guest of eris')) };
    await runParts(ERIS_PARTS.map((part) => () => part(at, sweep.did)));
    client.disconnect({ reconnect: false });
    const all = methodsOf(client.constructor as unknown as { prototype: object })
      .filter((name) => !ERIS_WITHOUT_REQUEST.has(name))
      .map((name) => `Client.${name}`);
    found('eris', sweep, all, ERIS_LEFT_OUT);
  }, 60_000);
});
