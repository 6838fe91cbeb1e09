// Goal: files of messages may be as large as the guild's premium tier or the person's premium type allows, and a larger one is refused with 40005.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createEngine } from '../../compose/engine.ts';
import type { Engine } from '../../embedding.ts';
import { uploadBytesMax } from '../../engine/channel/files.ts';
import type { GuildId, UserId } from '../../protocol/ids.ts';
import { SignedApp } from '../support/signedapp.ts';

const MIB = 1 << 20;

test.each([
  [0, 0, 10],
  [1, 0, 10],
  [2, 0, 50],
  [3, 0, 100],
  [0, 1, 50],
  [0, 2, 500],
  [0, 3, 50],
  [3, 1, 100],
  [3, 2, 500],
])('a guild of tier %i lets a person of premium type %i send %i MiB', (tier, premiumType, expected) => {
  expect(uploadBytesMax(tier, premiumType)).toBe(expected * MIB);
});

let engine: Engine;
let api: string;
let owner: { readonly id: UserId; readonly token: string };
let guildId: GuildId;
let channelId: string;

beforeAll(async () => {
  engine = await createEngine({
    config: { listen_port: 0, voice: false, log_level: 'silent', rate_limits: false },
  });
  api = `${(await engine.listen()).api}/v10`;
  const { user, token } = await engine.admin.createUser({ username: 'ada' });
  owner = { id: user.id as UserId, token };
  guildId = (await engine.admin.createGuild({ name: 'Hall', ownerId: owner.id })).id as GuildId;
  const [channel] = await engine.api.list_guild_channels({ params: { guild_id: guildId } }, { as: owner.id });
  const made = await engine.api.create_guild_channel(
    { params: { guild_id: guildId }, body: { name: 'files' } },
    { as: owner.id },
  );
  channelId = made.id ?? channel?.id ?? '';
}, 60_000);
afterAll(() => engine?.close());

/** The code of the answer, or its status. */
async function send(
  bytes: number,
  path = `/channels/${channelId}/messages`,
  token: string | null = owner.token,
) {
  const form = new FormData();
  form.set('files[0]', new Blob([new Uint8Array(bytes)]), 'file.bin');
  const headers = token === null ? {} : { authorization: `Bearer ${token}` };
  const response = await fetch(`${api}${path}`, { method: 'POST', headers, body: form });
  const body = response.status === 204 ? {} : await response.json();
  return (body as { code?: number }).code ?? response.status;
}
const setTier = (tier: 0 | 1 | 2 | 3) => engine.admin.setPremiumTier({ guildId, tier });

describe('a file', () => {
  test('needs a guild of the second tier above 10 MiB', async () => {
    expect([await send(10 * MIB), await send(10 * MIB + 1)]).toEqual([200, 40_005]);
    await setTier(1);
    expect(await send(11 * MIB)).toBe(40_005);
    await setTier(2);
    expect(await send(11 * MIB)).toBe(200);
    await setTier(0);
  });

  test('sent by a webhook has the limit of the guild’s tier', async () => {
    const { id, token } = await engine.api.create_webhook(
      { params: { channel_id: channelId }, body: { name: 'Herald' } },
      { as: owner.id },
    );
    const path = `/webhooks/${id}/${token}`;
    expect(await send(11 * MIB, path, null)).toBe(40_005);
    await setTier(2);
    expect(await send(11 * MIB, path, null)).toBe(204);
    await setTier(0);
  });

  test('has the limit of its sender’s premium type in a private channel', async () => {
    const friend = (await engine.admin.createUser({ username: 'bert' })).user.id as UserId;
    await engine.admin.addMember({ guildId, userId: friend });
    const dm = await engine.api.create_dm({ body: { recipient_id: friend } }, { as: owner.id });
    const path = `/channels/${dm.id}/messages`;
    expect(await send(11 * MIB, path)).toBe(40_005);
    const { application } = await engine.admin.createApplication({ name: 'Patrons', ownerId: owner.id });
    const run = (command: Parameters<Engine['admin']['premium']>[1]) =>
      engine.admin.premium(application.id, command);
    const { skus } = await run({ kind: 'createSku', name: 'Patron', type: 'durable', owner: 'user' });
    const skuId = skus[0]!.id;
    await run({ kind: 'setPerks', skuId, perks: { guildTier: 0, premiumType: 3 } });
    await run({ kind: 'grant', skuId, to: { userId: owner.id, guildId: null }, gifterId: null, days: 30 });
    expect(await send(11 * MIB, path)).toBe(200);
  });

  test('has the limit of the invoker’s premium type in answers to an interaction', async () => {
    const { application, botToken } = await engine.admin.createApplication({ name: 'Archive', guildId });
    const app = await SignedApp.of(application.verify_key);
    const ask = async (authorization: string, path: string, body: object, method = 'POST') => {
      const headers = { authorization, 'content-type': 'application/json' };
      return fetch(`${api}${path}`, { method, headers, body: JSON.stringify(body) });
    };
    const bot = `Bot ${botToken}`;
    const registered = await ask(bot, `/applications/${application.id}/commands`, {
      ...{ name: 'archive', description: 'Sends.' },
    });
    const command = (await registered.json()) as { readonly id: string; readonly version: string };
    const url = { interactions_endpoint_url: app.url };
    expect((await ask(bot, '/applications/@me', url, 'PATCH')).status).toBe(200);
    const use = async () => {
      const data = { id: command.id, version: command.version, name: 'archive', type: 1 };
      const place = { guild_id: guildId, channel_id: channelId };
      const body = { type: 2, application_id: application.id, ...place, data };
      expect((await ask(`Bearer ${owner.token}`, '/interactions', body)).status).toBe(204);
      await expect.poll(() => app.received.length).toBeGreaterThan(0);
      return app.received.pop()!;
    };
    // The test before granted the owner a premium type.
    const whole = new FormData();
    whole.set('payload_json', JSON.stringify({ type: 4, data: { content: 'whole' } }));
    whole.set('files[0]', new Blob([new Uint8Array(11 * MIB)]), 'file.bin');
    app.answer = whole;
    const answered = await use();
    expect(answered.attachment_size_limit).toBe(25 * MIB);
    const original = `/webhooks/${application.id}/${answered.token}/messages/@original`;
    await expect.poll(async () => (await fetch(`${api}${original}`)).status).toBe(200);
    expect(await (await fetch(`${api}${original}`)).json()).toMatchObject({
      attachments: [{ size: 11 * MIB }],
    });
    app.answer = null;
    const { id, token } = await use();
    const callback = `${api}/interactions/${id}/${token}/callback`;
    expect((await fetch(callback, { method: 'POST', body: whole })).status).toBe(204);
    expect(await send(11 * MIB, `/webhooks/${application.id}/${token}`, null)).toBe(200);
    await app.close();
  });

  test('keeps the limit of stickers when it is one, whatever the tier', async () => {
    await setTier(3);
    expect(await send(11 * MIB, `/guilds/${guildId}/stickers`)).toBe(40_005);
  });
});
