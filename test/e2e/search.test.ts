// Goal: messages are found by their words and by all that they have, by those who may read them, as soon as they are sent.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startServer, type TestServer } from '../support/server.ts';

interface Found {
  readonly messages: readonly (readonly {
    readonly id: string;
    readonly hit: boolean;
    readonly content: string;
  }[])[];
  readonly total_results: number;
  readonly threads: readonly { readonly id: string }[];
  readonly members: readonly { readonly id: string; readonly user_id: string }[];
}

let server: TestServer;
let textId: string;
const ids: Record<string, string> = {};
const [ANN, BOB] = [0, 1];

const say = async (person: number, name: string, body: object, channelId = textId, files?: object) => {
  const call = { params: { channel_id: channelId }, body, ...(files && { files }) };
  const made = await server.user(person).call<{ id: string }>('create_message', call as never);
  ids[name] = made.id;
  return made.id;
};
const search = async (query: object, person = ANN): Promise<Found> => {
  const parts = Object.entries(query).flatMap(([key, value]: [string, unknown]) =>
    (Array.isArray(value) ? value : [value]).map((one) => `${key}=${encodeURIComponent(String(one))}`),
  );
  const url = `${server.info.api}/v10/guilds/${server.info.guild.id}/messages/search?${parts.join('&')}`;
  const { token } = server.info.users[person]!;
  const response = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
  const body = (await response.json()) as Found;
  if (response.status !== 200) expect.fail(JSON.stringify(body));
  return body;
};
/** Names of the found messages; that somebody has joined is none of the test's. */
const names = ({ messages }: Found): string[] =>
  messages.flatMap(([hit]) => Object.keys(ids).find((name) => ids[name] === hit?.id) ?? []);

beforeAll(async () => {
  server = await startServer();
  textId = server.info.guild.text_channel_id;
  const { id: bobId } = server.info.users[BOB]!;
  await say(ANN, 'plain', { content: 'The quick brown fox' });
  await say(BOB, 'other', { content: 'a quick answer' });
  await say(ANN, 'link', { content: 'see https://Example.org/page quick' });
  await say(ANN, 'mention', { content: `<@${bobId}> look` });
  await say(BOB, 'reply', { content: 'I do', message_reference: { message_id: ids.mention } });
  const poll = { question: { text: 'Yes?' }, answers: [{ poll_media: { text: 'a' } }] };
  await say(ANN, 'poll', { poll });
  const form = new FormData();
  form.set('payload_json', JSON.stringify({ content: 'picture' }));
  form.set('files[0]', new Blob(['x'], { type: 'text/plain' }), 'Notes.TXT');
  const sent = await fetch(`${server.info.api}/v10/channels/${textId}/messages`, {
    ...{ method: 'POST', body: form },
    headers: { authorization: `Bearer ${server.info.users[ANN]!.token}` },
  });
  ids.file = ((await sent.json()) as { id: string }).id;
});
afterAll(() => server?.finish());

describe('a search', () => {
  test.each<[object, string[]]>([
    [{ content: 'quick' }, ['link', 'other', 'plain']],
    [{ content: 'QUICK fox' }, ['plain']],
    [{ content: 'fox quick' }, []],
    [{ content: 'The fox' }, ['plain']],
    [{ content: 'The fox', slop: 1 }, []],
    [{ content: 'quick fox', slop: 0 }, []],
    [{ content: 'brown fox', slop: 0 }, ['plain']],
    [{ content: 'quick', sort_by: 'relevance', sort_order: 'asc', limit: 1 }, ['link']],
    [{ content: 'quic' }, []],
    [{ content: 'quick', sort_order: 'asc', limit: 2 }, ['plain', 'other']],
    [{ content: 'quick', limit: 1, offset: 1 }, ['other']],
    [{ has: ['link'] }, ['link']],
    [{ link_hostname: ['example.org'] }, ['link']],
    [{ content: 'quick', has: ['-link'] }, ['other', 'plain']],
    [{ has: ['poll'] }, ['poll']],
    [{ has: ['file'], attachment_extension: ['txt'] }, ['file']],
    [{ attachment_filename: ['notes.txt'] }, ['file']],
    [{ has: ['image'] }, []],
    [{ content: "' | !x & ) \\" }, []],
  ])('finds for %j: %j', async (query, expected) => {
    expect(names(await search(query))).toEqual(expected);
  });

  test('knows authors, mentions and replies', async () => {
    const [ann, bob] = server.info.users.map(({ id }) => id) as [string, string];
    expect(names(await search({ author_id: [bob] }))).toEqual(['reply', 'other']);
    expect(names(await search({ mentions: [bob] }))).toEqual(['mention']);
    expect(names(await search({ replied_to_message_id: [ids.mention] }))).toEqual(['reply']);
    expect(names(await search({ replied_to_user_id: [ann] }))).toEqual(['reply']);
    expect(names(await search({ author_type: ['bot'] }))).toEqual([]);
    expect(names(await search({ author_type: ['-bot'] }))).toHaveLength(7);
    expect(names(await search({ min_id: ids.link, max_id: ids.reply }))).toEqual(['mention']);
  });

  test('follows edits, deletions and pins', async () => {
    const params = { channel_id: textId, message_id: ids.plain! };
    await server.user(ANN).call('update_message', { params, body: { content: 'The slow brown fox' } });
    expect(names(await search({ content: 'quick' }))).toEqual(['link', 'other']);
    expect(names(await search({ content: 'slow' }))).toEqual(['plain']);
    await server.bot().call('create_pin', { params });
    expect(names(await search({ pinned: true }))).toEqual(['plain']);
    expect(names(await search({ pinned: true, content: 'quick' }))).toEqual([]);
    await server.bot().call('delete_message', { params: { channel_id: textId, message_id: ids.other! } });
    expect(names(await search({ content: 'quick' }))).toEqual(['link']);
  });

  test('returns only readable messages, and their threads', async () => {
    const guildId = server.info.guild.id;
    const deny = String(1 << 10);
    const hidden = await server.bot().call<{ id: string }>('create_guild_channel', {
      params: { guild_id: guildId },
      body: { name: 'hidden', type: 0, permission_overwrites: [{ id: guildId, type: 0, deny }] },
    });
    const body = { content: 'secretword' };
    await server.bot().call('create_message', { params: { channel_id: hidden.id }, body });
    expect(await search(body)).toMatchObject({ messages: [], total_results: 0 });
    expect((await search({ ...body, channel_id: [hidden.id] })).total_results).toBe(0);
    const thread = (type: number) =>
      server.user(ANN).call<{ id: string }>('create_thread', {
        params: { channel_id: textId },
        body: { name: 'Talk', type },
      });
    const [open, closed] = [await thread(11), await thread(12)];
    await say(ANN, 'open', body, open.id);
    await say(ANN, 'closed', body, closed.id);
    const found = await search(body);
    expect(names(found)).toEqual(['closed', 'open']);
    expect(found.threads.map(({ id }) => id)).toEqual([closed.id, open.id]);
    expect(found.members.map(({ id }) => id)).toEqual([closed.id, open.id]);
    expect(names(await search(body, BOB))).toEqual(['open']);
    expect(names(await search({ ...body, channel_id: [closed.id] }))).toEqual(['closed']);
    await server
      .user(ANN)
      .call('update_channel', { params: { channel_id: open.id }, body: { archived: true } });
    expect(names(await search({ ...body, channel_id: [textId] }, BOB))).toEqual(['open']);
  });

  test('is rejected for strangers and bots without the intent, and by field for a value out of bounds', async () => {
    const guildId = server.info.guild.id;
    const blind = await server.newBot('Blind', { flags: 0 });
    const ask = (token: string, query: object) =>
      server.restOf(token).ask('guild_search', { params: { guild_id: guildId }, query: { ...query } });
    expect((await ask(`Bot ${blind.token}`, { content: 'x' })).body.code).toBe(50_001);
    expect((await ask(`Bot ${server.info.bot.token}`, { content: 'fox' })).status).toBe(200);
    const { user } = await server.admin<{ user: { id: string }; token: string }>('/users', {
      username: 'stranger',
    });
    expect(user.id).toBeDefined();
    const own = `Bearer ${server.info.users[ANN]!.token}`;
    for (const [field, value] of [
      ['limit', 26],
      ['offset', 9_976],
      ['content', 'x'.repeat(1_025)],
      ['has', 'dog'],
    ])
      expect(await ask(own, { [String(field)]: value })).toMatchObject({
        status: 400,
        body: { code: 50_035, errors: { [String(field)]: expect.anything() } },
      });
  });
});
