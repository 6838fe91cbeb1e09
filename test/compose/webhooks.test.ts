// Goal: a webhook is made, used and removed through the interface as the platform's clients do, with its limits and errors.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createEngine } from '../../compose/engine.ts';
import { dataUri, pngPixel } from '../support/media.ts';
import { validateResponse } from '../support/openapi.ts';

type Engine = Awaited<ReturnType<typeof createEngine>>;
let engine: Engine;
let api: string;
let guildId: string;
let owner: string;
let stranger: string;
let bot: string;
let channelId: string;

const ask = async (method: string, path: string, authorization: string | null, body?: object | FormData) => {
  const isForm = body instanceof FormData;
  const response = await fetch(`${api}${path}`, {
    method,
    headers: {
      ...(authorization !== null && { authorization }),
      ...(body && !isForm && { 'content-type': 'application/json' }),
    },
    ...(body && { body: isForm ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === '' ? null : JSON.parse(text) };
};

type ReceivedRequest = Awaited<ReturnType<typeof ask>>;

const valid = (operationId: string, { status, body }: ReceivedRequest): void => {
  expect(validateResponse(operationId, status, body)).toEqual([]);
};

/** A new webhook, by its path with the token. */
async function hook(name = 'Herald', by = owner) {
  const made = await ask('POST', `/channels/${channelId}/webhooks`, by, { name });
  expect(made.status).toBe(200);
  valid('create_webhook', made);
  return { ...made.body, path: `/webhooks/${made.body.id}/${made.body.token}` };
}

beforeAll(async () => {
  engine = await createEngine({
    config: { listen_port: 0, voice: false, log_level: 'silent', rate_limits: false },
  });
  const { api: url } = await engine.listen();
  api = `${url}/v10`;
  const anna = await engine.admin.createUser({ username: 'anna' });
  const bert = await engine.admin.createUser({ username: 'bert' });
  const lantern = await engine.admin.createApplication({ name: 'Lantern' });
  owner = `Bearer ${anna.token}`;
  stranger = `Bearer ${bert.token}`;
  bot = `Bot ${lantern.botToken}`;
  guildId = (await engine.admin.createGuild({ name: 'Harbour', ownerId: anna.user.id as never })).id;
  await engine.admin.addMember({ guildId: guildId as never, userId: lantern.bot.id as never });
  const roles = await ask('GET', `/guilds/${guildId}/roles`, owner);
  const everyone = roles.body.find(({ id }: { id: string }) => id === guildId);
  const permissions = String(BigInt(everyone.permissions) | (1n << 29n));
  await ask('PATCH', `/guilds/${guildId}/roles/${guildId}`, owner, { permissions });
}, 60_000);
afterAll(() => engine.close());

beforeEach(async () => {
  channelId = (await ask('POST', `/guilds/${guildId}/channels`, owner, { name: 'talk' })).body.id;
});

describe('a webhook', () => {
  test('shows its token and URL to those who manage it', async () => {
    const made = await hook();
    expect(made.token).toMatch(/^[\w-]{68}$/);
    expect(made.url).toMatch(new RegExp(`/api/webhooks/${made.id}/${made.token}$`));
    const lists = await Promise.all([
      ask('GET', `/channels/${channelId}/webhooks`, owner),
      ask('GET', `/webhooks/${made.id}`, owner),
      ask('GET', made.path, null),
    ]);
    const [list, one, byToken] = lists as [ReceivedRequest, ReceivedRequest, ReceivedRequest];
    expect(list.body[0].token).toBe(made.token);
    expect(one.body).toMatchObject({ token: made.token, user: { username: 'anna' } });
    expect(byToken.body.token).toBe(made.token);
    expect(byToken.body.user).toBeUndefined();
    valid('list_channel_webhooks', list);
    valid('get_webhook', one);
    valid('get_webhook_by_token', byToken);
    const guild = await ask('GET', `/guilds/${guildId}/webhooks`, owner);
    expect(guild.body.some(({ id }: { id: string }) => id === made.id)).toBe(true);
    valid('get_guild_webhooks', guild);
  });

  test('shows its token only to its application when an application created it', async () => {
    const made = await hook('Beacon', bot);
    expect(made.application_id).not.toBeNull();
    expect((await ask('GET', `/webhooks/${made.id}`, owner)).body.token).toBeUndefined();
    expect((await ask('GET', `/webhooks/${made.id}`, bot)).body.token).toBe(made.token);
  });

  test('answers 10015 to strangers, 401 without a token and 50027 with a wrong token', async () => {
    const made = await hook();
    expect((await ask('GET', `/webhooks/${made.id}`, stranger)).body.code).toBe(10015);
    expect((await ask('GET', `/webhooks/${made.id}`, null)).status).toBe(401);
    const wrong = await ask('POST', `/webhooks/${made.id}/${'x'.repeat(68)}`, null, { content: 'hi' });
    expect([wrong.status, wrong.body.code]).toEqual([401, 50027]);
    const unknown = await ask('POST', `/webhooks/123/${made.token}`, null, { content: 'hi' });
    expect([unknown.status, unknown.body.code]).toEqual([404, 10015]);
  });

  test('is changed and removed by managers and by its token', async () => {
    const made = await hook();
    const renamed = await ask('PATCH', `/webhooks/${made.id}`, owner, { name: 'Crier' });
    expect(renamed.body.name).toBe('Crier');
    valid('update_webhook', renamed);
    const avatar = dataUri(pngPixel());
    const painted = await ask('PATCH', made.path, null, { name: 'Bell', avatar });
    expect(painted.body).toMatchObject({ name: 'Bell', avatar: expect.stringMatching(/^[0-9a-f]{32}$/) });
    valid('update_webhook_by_token', painted);
    expect((await ask('DELETE', made.path, null)).status).toBe(204);
    expect((await ask('GET', made.path, null)).body.code).toBe(10015);
    const other = await hook();
    expect((await ask('DELETE', `/webhooks/${other.id}`, owner)).status).toBe(204);
    const changes = await ask('GET', `/guilds/${guildId}/audit-logs?action_type=51`, owner);
    expect(changes.body.webhooks.some(({ id }: { id: string }) => id === made.id)).toBe(false);
    const created = await ask('GET', `/guilds/${guildId}/audit-logs?action_type=50`, owner);
    valid('list_guild_audit_log_entries', created);
    const log = await ask('GET', `/guilds/${guildId}/audit-logs?action_type=52`, owner);
    expect(log.body.audit_log_entries[1]).toMatchObject({ target_id: made.id, user_id: null });
    expect(JSON.stringify(log.body)).not.toContain(made.token);
  });

  test('is deleted with its channel', async () => {
    const made = await hook();
    await ask('DELETE', `/channels/${channelId}`, owner);
    expect((await ask('GET', made.path, null)).body.code).toBe(10015);
  });

  test('is rejected with 30007 when its channel has 15', async () => {
    for (let index = 0; index < 15; index += 1) await hook();
    const over = await ask('POST', `/channels/${channelId}/webhooks`, owner, { name: 'one too many' });
    expect([over.status, over.body.code]).toEqual([400, 30007]);
  });
});

describe('a message of a webhook', () => {
  test('is answered with 204, or with its object when wait is set', async () => {
    const made = await hook();
    const silent = await ask('POST', made.path, null, { content: 'one' });
    expect([silent.status, silent.body]).toEqual([204, null]);
    const sent = await ask('POST', `${made.path}?wait=true`, null, { content: 'two' });
    expect(sent.status).toBe(200);
    valid('execute_webhook', sent);
    expect(sent.body).toMatchObject({
      content: 'two',
      webhook_id: made.id,
      channel_id: channelId,
      author: { id: made.id, username: 'Herald', discriminator: '0000', bot: true, avatar: null },
    });
    const list = await ask('GET', `/channels/${channelId}/messages`, owner);
    expect(list.body.map(({ content }: { content: string }) => content)).toEqual(['two', 'one']);
    valid('list_messages', list);
  });

  test('is read, edited and removed by its own webhook only', async () => {
    const [mine, other] = [await hook(), await hook('Other')];
    const sent = await ask('POST', `${mine.path}?wait=true`, null, { content: 'one', username: 'Guest' });
    expect(sent.body.author.username).toBe('Guest');
    const at = `/messages/${sent.body.id}`;
    const found = await ask('GET', `${mine.path}${at}`, null);
    expect(found.body.content).toBe('one');
    valid('get_webhook_message', found);
    const edited = await ask('PATCH', `${mine.path}${at}`, null, { content: 'two' });
    expect(edited.body).toMatchObject({ content: 'two', author: { username: 'Guest' } });
    valid('update_webhook_message', edited);
    for (const [method, body] of [['GET'], ['PATCH', { content: 'x' }], ['DELETE']] as const)
      expect((await ask(method, `${other.path}${at}`, null, body)).body.code).toBe(10008);
    const spoken = await ask('POST', `/channels/${channelId}/messages`, owner, { content: 'mine' });
    expect((await ask('DELETE', `${mine.path}/messages/${spoken.body.id}`, null)).body.code).toBe(10008);
    expect((await ask('DELETE', `${mine.path}${at}`, null)).status).toBe(204);
    expect((await ask('GET', `${mine.path}${at}`, null)).body.code).toBe(10008);
    expect((await ask('GET', `${mine.path}/messages/@original`, null)).body.code).toBe(10008);
  });

  test('contains files, and an edit that omits a file deletes it', async () => {
    const made = await hook();
    const form = new FormData();
    form.append(
      'payload_json',
      JSON.stringify({ content: 'with', attachments: [{ id: 0, description: 'a' }] }),
    );
    form.append('files[0]', new Blob(['hello'], { type: 'text/plain' }), 'note.txt');
    const sent = await ask('POST', `${made.path}?wait=true`, null, form);
    expect(sent.body.attachments[0]).toMatchObject({ filename: 'note.txt', description: 'a', size: 5 });
    expect(await (await fetch(sent.body.attachments[0].url)).text()).toBe('hello');
    const path = `${made.path}/messages/${sent.body.id}`;
    expect((await ask('PATCH', path, null, { attachments: [] })).body.attachments).toEqual([]);
    expect((await fetch(sent.body.attachments[0].url)).status).toBe(404);
  });

  test('mentions everyone only when allowed_mentions allows it', async () => {
    const made = await hook();
    const send = (body: object) => ask('POST', `${made.path}?wait=true`, null, body);
    expect((await send({ content: '@everyone' })).body.mention_everyone).toBe(false);
    const loud = await send({ content: '@everyone', allowed_mentions: { parse: ['everyone'] } });
    expect(loud.body.mention_everyone).toBe(true);
  });

  test('is not limited by slow mode', async () => {
    const made = await hook();
    await ask('PATCH', `/channels/${channelId}`, owner, { rate_limit_per_user: 600 });
    for (const content of ['one', 'two'])
      expect((await ask('POST', made.path, null, { content })).status).toBe(204);
  });

  const LINK = { type: 2, style: 5, label: 'more', url: 'https://example.com' };
  const PRESS = { type: 2, style: 1, label: 'press', custom_id: 'press' };
  const row = (...components: object[]) => [{ type: 1, components }];

  test.each([
    ['loses its components without with_components', 'person', '', row(LINK), 0],
    [
      'shows passive components with with_components, from a webhook of a person',
      'person',
      '&with_components=true',
      row(LINK),
      1,
    ],
    [
      'is rejected with interactive components, from a webhook of a person',
      'person',
      '&with_components=true',
      row(PRESS),
      50035,
    ],
    ['shows all components of an application', 'application', '', row(PRESS), 1],
  ])('%s', async (_, maker, query, components, expected) => {
    const made = await hook('Herald', maker === 'person' ? owner : bot);
    const sent = await ask('POST', `${made.path}?wait=true${query}`, null, { content: 'x', components });
    expect(sent.body.code ?? sent.body.components.length).toBe(expected);
    if (sent.status === 200) valid('execute_webhook', sent);
  });

  test('may consist of components only, also from a webhook of a person', async () => {
    const made = await hook();
    const body = { flags: 1 << 15, components: [{ type: 10, content: 'text' }] };
    const sent = await ask('POST', `${made.path}?wait=true&with_components=true`, null, body);
    expect(sent.body.components[0]).toMatchObject({ type: 10, content: 'text' });
    valid('execute_webhook', sent);
  });

  test.each([
    ['nothing', {}, '', 50006],
    ['2001 characters', { content: 'x'.repeat(2001) }, '', 50035],
    ['eleven embeds', { embeds: Array.from({ length: 11 }, () => ({ title: 'x' })) }, '', 50035],
    ['a reserved name', { content: 'x', username: 'Clyde' }, '', 50035],
    ['a name of 81 characters', { content: 'x', username: 'x'.repeat(81) }, '', 50035],
    ['an avatar that is no link', { content: 'x', avatar_url: 'nowhere' }, '', 50035],
    ['an unknown thread', { content: 'x' }, '?thread_id=123', 10003],
    ['a thread name outside of a forum', { content: 'x', thread_name: 'news' }, '', 220003],
  ])('is rejected with its own code for %s', async (_, body, query, code) => {
    const made = await hook();
    expect((await ask('POST', `${made.path}${query}`, null, body)).body.code).toBe(code);
  });

  test('is found in a thread only with thread_id, and unarchives the thread', async () => {
    const made = await hook();
    const threads = `/channels/${channelId}/threads`;
    const { id: threadId } = (await ask('POST', threads, owner, { name: 'side', type: 11 })).body;
    await ask('PATCH', `/channels/${threadId}`, owner, { archived: true });
    const sent = await ask('POST', `${made.path}?wait=true&thread_id=${threadId}`, null, {
      content: 'aside',
    });
    expect(sent.body).toMatchObject({ channel_id: threadId, content: 'aside' });
    valid('execute_webhook', sent);
    const { thread_metadata: rest } = (await ask('GET', `/channels/${threadId}`, owner)).body;
    expect(rest.archived).toBe(false);
    const at = `${made.path}/messages/${sent.body.id}`;
    expect((await ask('GET', at, null)).body.code).toBe(10008);
    expect((await ask('GET', `${at}?thread_id=${threadId}`, null)).body.content).toBe('aside');
    const edited = await ask('PATCH', `${at}?thread_id=${threadId}`, null, { content: 'changed' });
    expect(edited.body).toMatchObject({ channel_id: threadId, content: 'changed' });
    expect((await ask('DELETE', at, null)).body.code).toBe(10008);
    expect((await ask('DELETE', `${at}?thread_id=${threadId}`, null)).status).toBe(204);
  });

  test('is rejected with 10003 in a thread of another channel', async () => {
    const made = await hook();
    const elsewhere = (await ask('POST', `/guilds/${guildId}/channels`, owner, { name: 'other' })).body.id;
    const threads = `/channels/${elsewhere}/threads`;
    const { id: threadId } = (await ask('POST', threads, owner, { name: 'side', type: 11 })).body;
    for (const id of [threadId, elsewhere])
      expect((await ask('POST', `${made.path}?thread_id=${id}`, null, { content: 'x' })).body.code).toBe(
        10003,
      );
  });

  test('creates a post with a name and tags in a forum, or continues an existing post', async () => {
    const forum = { name: 'posts', type: 15, available_tags: [{ name: 'news' }] };
    const { id, available_tags: tags } = (await ask('POST', `/guilds/${guildId}/channels`, owner, forum))
      .body;
    channelId = id;
    const made = await hook();
    expect((await ask('POST', made.path, null, { content: 'x' })).body.code).toBe(220001);
    const post = { content: 'first', thread_name: 'High tide', applied_tags: [tags[0].id] };
    const sent = await ask('POST', `${made.path}?wait=true`, null, post);
    valid('execute_webhook', sent);
    const threadId = sent.body.channel_id;
    const thread = (await ask('GET', `/channels/${threadId}`, owner)).body;
    expect(thread).toMatchObject({ name: 'High tide', parent_id: id, applied_tags: [tags[0].id] });
    const second = await ask('POST', `${made.path}?wait=true&thread_id=${threadId}`, null, {
      content: 'second',
    });
    expect(second.body).toMatchObject({ channel_id: threadId, content: 'second' });
    const both = `${made.path}?thread_id=${threadId}`;
    expect((await ask('POST', both, null, { content: 'x', thread_name: 'more' })).body.code).toBe(220002);
  });
});

describe('a webhook body of another service', () => {
  const send = async (path: string, body: string, type = 'application/json') => {
    const response = await fetch(`${api}${path}`, {
      method: 'POST',
      headers: { 'content-type': type },
      body,
    });
    return { status: response.status, text: await response.text() };
  };
  const newest = async () => (await ask('GET', `/channels/${channelId}/messages?limit=1`, owner)).body[0];

  test('is answered with ok in the format of Slack, as JSON and as a form', async () => {
    const made = await hook();
    const body = JSON.stringify({ text: '<https://example.com|news>', username: 'desk' });
    expect(await send(`${made.path}/slack`, body)).toEqual({ status: 200, text: 'ok' });
    expect(await newest()).toMatchObject({
      content: '[news](https://example.com)',
      author: { username: 'desk' },
    });
    const form = new URLSearchParams({ payload: JSON.stringify({ text: 'by form' }) }).toString();
    const sent = await send(`${made.path}/slack`, form, 'application/x-www-form-urlencoded');
    expect(sent).toEqual({ status: 200, text: 'ok' });
    expect((await newest()).content).toBe('by form');
  });

  test('sent by GitHub is answered with 204, whether or not it becomes a message', async () => {
    const made = await hook();
    const sender = {
      id: 1,
      login: 'octo',
      html_url: 'https://github.com/octo',
      avatar_url: 'https://github.com/o.png',
    };
    const repository = {
      id: 2,
      name: 'reef',
      full_name: 'octo/reef',
      html_url: 'https://github.com/octo/reef',
    };
    const issue = {
      id: 3,
      number: 4,
      title: 'Coral',
      html_url: 'https://github.com/octo/reef/issues/4',
      user: sender,
    };
    const opened = JSON.stringify({ action: 'opened', sender, repository, issue, installation: { id: 9 } });
    expect(await send(`${made.path}/github`, opened)).toEqual({ status: 204, text: '' });
    expect((await newest()).embeds[0].title).toBe('[octo/reef] Issue opened: #4 Coral');
    const ping = JSON.stringify({ zen: 'Keep it logically awesome.', hook_id: 5, sender, repository });
    expect((await send(`${made.path}/github`, ping)).status).toBe(204);
    expect((await newest()).embeds[0].title).toContain('Coral');
  });

  test('is rejected with a wrong token, without content, and in a forum', async () => {
    const made = await hook();
    const wrong = `/webhooks/${made.id}/${'x'.repeat(68)}`;
    expect((await send(`${wrong}/slack`, '{"text":"x"}')).status).toBe(401);
    expect((await ask('POST', `${wrong}/github`, null, { sender: { login: 'x' } })).body.code).toBe(50027);
    expect((await ask('POST', `${made.path}/slack`, null, {})).body.code).toBe(50006);
    channelId = (await ask('POST', `/guilds/${guildId}/channels`, owner, { name: 'posts', type: 15 })).body
      .id;
    const posts = await hook();
    expect((await ask('POST', `${posts.path}/slack`, null, { text: 'x' })).body.code).toBe(220004);
  });

  const NESTED = Array.from({ length: 200 }).reduce<unknown>((inner) => [inner], 1);
  test.each<[string, 'slack' | 'github', unknown]>([
    ['a text that is a number', 'slack', { text: 5 }],
    ['attachments that are no list', 'slack', { text: 'x', attachments: { 0: {} } }],
    ['attachments of no objects', 'slack', { attachments: [null, 3, 'x', []] }],
    [
      'fields of other types',
      'slack',
      { attachments: [{ fields: [{ title: [], value: {}, short: 'no' }] }] },
    ],
    ['a colour and a time of other types', 'slack', { attachments: [{ color: 7, ts: 'NaN', text: {} }] }],
    ['a time beyond all dates', 'slack', { attachments: [{ text: 'x', ts: Number.MAX_SAFE_INTEGER }] }],
    [
      'a link that is a script',
      'slack',
      { attachments: [{ title: 'x', title_link: 'javascript:alert(1)' }] },
    ],
    ['a deep nest', 'slack', { text: 'x', attachments: NESTED }],
    ['a list instead of an object', 'slack', [1]],
    ['a list instead of an object', 'github', [1]],
    ['nothing', 'github', null],
    ['a sender that is a text', 'github', { sender: 'octo' }],
    ['commits that are a number', 'github', { sender: { login: 'o' }, ref: 'refs/heads/x', commits: 5 }],
    ['commits of no objects', 'github', { sender: { login: 'o' }, ref: 'refs/heads/x', commits: [null, []] }],
    ['an issue that is a list', 'github', { sender: { login: 'o' }, action: 'opened', issue: [] }],
    [
      'names of the prototype',
      'github',
      { sender: { login: '__proto__' }, action: 'constructor', ref: '__proto__' },
    ],
    ['a deep nest', 'github', { sender: { login: 'o' }, action: 'opened', pull_request: NESTED }],
  ])('is answered, with %s, with 200, 204 or 400 (%s)', async (_, service, body) => {
    const made = await hook();
    const { status } = await send(`${made.path}/${service}`, JSON.stringify(body));
    expect([200, 204, 400]).toContain(status);
  });

  test('sent as a form executes a webhook too', async () => {
    const made = await hook();
    const form = new URLSearchParams({ content: 'plain fields', username: 'Form' }).toString();
    expect((await send(made.path, form, 'application/x-www-form-urlencoded')).status).toBe(204);
    expect(await newest()).toMatchObject({ content: 'plain fields', author: { username: 'Form' } });
  });
});

describe('a followed channel', () => {
  const newsIn = async (guild: string, name: string, type: number) =>
    (await ask('POST', `/guilds/${guild}/channels`, owner, { name, type })).body.id;
  const listOf = async (id: string) => (await ask('GET', `/channels/${id}/messages`, owner)).body;
  const until = async (id: string, isSo: (messages: { flags: number }[]) => boolean) => {
    for (;;) {
      const messages = await listOf(id);
      if (isSo(messages)) return messages;
    }
  };
  const follow = (from: string, to: string, by = owner) =>
    ask('POST', `/channels/${from}/followers`, by, { webhook_channel_id: to });

  test('sends each published message, its edits and its deletion to every follower once', async () => {
    const elsewhere = (await ask('POST', '/guilds', owner, { name: 'Elsewhere' })).body.id;
    const news = await newsIn(guildId, 'news', 5);
    const [here, there] = [await newsIn(guildId, 'here', 0), await newsIn(elsewhere, 'there', 0)];
    for (const target of [here, there]) {
      const made = await follow(news, target);
      expect(made.body).toMatchObject({ channel_id: news });
      valid('follow_channel', made);
      expect((await follow(news, target)).body.webhook_id).toBe(made.body.webhook_id);
    }
    const hooks = await ask('GET', `/channels/${there}/webhooks`, owner);
    expect(hooks.body).toMatchObject([
      {
        type: 2,
        name: 'Harbour #news',
        source_guild: { id: guildId },
        source_channel: { id: news, name: 'news' },
      },
    ]);
    expect(hooks.body[0].token).toBeUndefined();
    valid('list_channel_webhooks', hooks);
    expect((await listOf(there))[0]).toMatchObject({ type: 12, content: 'Harbour #news' });

    const said = await ask('POST', `/channels/${news}/messages`, owner, { content: '@everyone first' });
    const at = `/channels/${news}/messages/${said.body.id}`;
    expect((await ask('POST', `${at}/crosspost`, owner)).body.flags).toBe(1);
    for (const target of [here, there]) {
      const [copy] = await until(target, (messages) => messages.length === 2);
      expect(copy).toMatchObject({
        content: '@everyone first',
        flags: 2,
        mention_everyone: false,
        author: { username: 'Harbour #news', bot: true },
        message_reference: { channel_id: news, message_id: said.body.id, guild_id: guildId },
      });
    }
    expect((await ask('POST', `${at}/crosspost`, owner)).body.code).toBe(40033);

    await ask('PATCH', at, owner, { content: 'second' });
    await until(there, (messages) => JSON.stringify(messages).includes('second'));
    await ask('DELETE', at, owner);
    const [ended] = await until(there, (messages) => messages[0]?.flags === 10);
    expect(ended).toMatchObject({ content: '[Original Message Deleted]' });
    expect(await listOf(there)).toHaveLength(2);
  });

  test('must be an announcement channel, and needs a follower in which the caller manages webhooks', async () => {
    const news = await newsIn(guildId, 'news', 5);
    expect((await follow(channelId, news)).body.code).toBe(50024);
    expect((await follow(news, '123')).body.code).toBe(10003);
    const elsewhere = (await ask('POST', '/guilds', stranger, { name: 'Away' })).body.id;
    const [theirs] = (await ask('GET', `/guilds/${elsewhere}/channels`, stranger)).body.filter(
      ({ type }: { type: number }) => type === 0,
    );
    expect((await follow(news, theirs.id)).body.code).toBe(50001);
    expect((await follow(news, theirs.id, stranger)).body.code).toBe(50001);
  });
});
