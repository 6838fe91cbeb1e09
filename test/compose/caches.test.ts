// Goal: what the server answers from memory is never older than the last change: messages, permissions, tokens, accounts.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createEngine } from '../../compose/engine.ts';
import { P } from '../../protocol/permissions.ts';

type Engine = Awaited<ReturnType<typeof createEngine>>;
let engine: Engine;
let api: string;
let guildId: string;
let owner: string;
let bot: string;
let person: string;
let personId: string;
let channelId: string;

const ask = async (method: string, path: string, authorization: string, body?: object) => {
  const response = await fetch(`${api}${path}`, {
    method,
    headers: { authorization, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, body: text === '' ? null : JSON.parse(text) };
};

const messages = () => `/channels/${channelId}/messages`;
const list = async (as: string, query = '') => (await ask('GET', `${messages()}${query}`, as)).body;
const write = async (as: string, body: object): Promise<{ id: string }> =>
  (await ask('POST', messages(), as, body)).body;
const contents = async (as: string, query = '') =>
  (await list(as, query)).map(({ content }: { content: string }) => content);

/** Each message of the list, as the database has it. */
const stored = async (as: string) => {
  const found: { id: string }[] = await list(as);
  return Promise.all(found.map(async ({ id }) => (await ask('GET', `${messages()}/${id}`, as)).body));
};

beforeAll(async () => {
  engine = await createEngine({
    config: { listen_port: 0, voice: false, log_level: 'silent', rate_limits: false },
  });
  const { api: url } = await engine.listen();
  api = `${url}/v10`;
  const anna = await engine.admin.createUser({ username: 'anna' });
  const bert = await engine.admin.createUser({ username: 'bert' });
  const lantern = await engine.admin.createApplication({ name: 'Lantern', flags: 0 });
  [owner, person, bot] = [`Bearer ${anna.token}`, `Bearer ${bert.token}`, `Bot ${lantern.botToken}`];
  personId = bert.user.id;
  guildId = (await engine.admin.createGuild({ name: 'Harbour', ownerId: anna.user.id as never })).id;
  for (const userId of [personId, lantern.bot.id])
    await engine.admin.addMember({ guildId: guildId as never, userId: userId as never });
  channelId = (await ask('POST', `/guilds/${guildId}/channels`, owner, { name: 'talk' })).body.id;
}, 60_000);
afterAll(() => engine.close());

describe('a cached list of messages', () => {
  test('shows each new message, edit, pin, reaction and deletion at once', async () => {
    const [first, second, third] = [
      await write(owner, { content: 'first' }),
      await write(owner, { content: 'second' }),
      await write(person, { content: 'third' }),
    ];
    expect(await contents(person)).toEqual(['third', 'second', 'first']);
    await ask('PATCH', `${messages()}/${second.id}`, owner, { content: 'edited' });
    expect(await contents(person)).toEqual(['third', 'edited', 'first']);
    await ask('PUT', `${messages()}/${first.id}/reactions/%F0%9F%91%8D/@me`, person);
    const mineOf = async (as: string) => (await list(as)).at(-1).reactions[0].me;
    expect([await mineOf(person), await mineOf(owner)]).toEqual([true, false]);
    await ask('PUT', `${messages()}/pins/${third.id}`, owner);
    const pinned = (await list(person)).find(({ id }: { id: string }) => id === third.id);
    expect(pinned.pinned).toBe(true);
    expect(await list(person)).toEqual(await stored(person));
    expect(await list(owner)).toEqual(await stored(owner));
    await ask('DELETE', `${messages()}/${third.id}`, owner);
    // The notice of the pin comes last, and has no text.
    expect(await contents(person)).toEqual(['', 'edited', 'first']);
    await ask('POST', `${messages()}/bulk-delete`, owner, { messages: [first.id, second.id] });
    expect(await contents(person)).toEqual(['']);
  });

  test('shows a reply with the current content of the message that it answers', async () => {
    const first = await write(owner, { content: 'question' });
    await write(person, { content: 'answer', message_reference: { message_id: first.id } });
    await ask('PATCH', `${messages()}/${first.id}`, owner, { content: 'another question' });
    expect((await list(person))[0].referenced_message.content).toBe('another question');
    expect(await list(person)).toEqual(await stored(person));
  });

  test('continues without a gap in the database where the cached messages end', async () => {
    for (let at = 0; at < 120; at += 1) await write(owner, { content: `${at}` });
    const pages = [await contents(person, '?limit=100')];
    for (const oldest = (await list(person, '?limit=100')).at(-1).id; pages.length < 2; )
      pages.push(await contents(person, `?limit=100&before=${oldest}`));
    expect(pages.flat().slice(0, 120)).toEqual(Array.from({ length: 120 }, (_, at) => `${119 - at}`));
  });

  test('hides the content of others from a bot without the intent, and not from a person', async () => {
    await write(person, { content: 'secret' });
    expect((await list(person))[0].content).toBe('secret');
    expect((await list(bot))[0].content).toBe('');
    await write(bot, { content: 'own' });
    expect((await contents(bot)).slice(0, 2)).toEqual(['own', '']);
  });

  test('is empty without READ_MESSAGE_HISTORY, and rejected without VIEW_CHANNEL', async () => {
    const deny = (bits: bigint) =>
      ask('PUT', `/channels/${channelId}/permissions/${personId}`, owner, { type: 1, deny: String(bits) });
    await deny(P.READ_MESSAGE_HISTORY);
    expect(await list(person)).toEqual([]);
    await deny(P.VIEW_CHANNEL);
    expect((await ask('GET', messages(), person)).status).toBe(403);
    await deny(0n);
    expect((await list(person)).length).toBeGreaterThan(0);
  });

  test('does not change when an embedding program modifies the objects that it received', async () => {
    const by = { as: personId, params: { channel_id: channelId } };
    const [given] = (await engine.api.listMessages(by as never)) as { content: string }[];
    const before = given?.content;
    if (given) given.content = 'changed by the program';
    expect((await contents(person))[0]).toBe(before);
  });
});

describe('a cached caller', () => {
  test('has the new name as soon as it is renamed', async () => {
    expect((await ask('GET', '/users/@me', bot)).body.username).toBe('Lantern');
    await ask('PATCH', '/users/@me', bot, { username: 'Lighthouse' });
    expect((await ask('GET', '/users/@me', bot)).body.username).toBe('Lighthouse');
  });

  test('is rejected as soon as the token is revoked', async () => {
    const { user, token } = await engine.admin.createUser({ username: 'carl' });
    const carl = `Bearer ${token}`;
    for (let call = 0; call < 2; call += 1) expect((await ask('GET', '/users/@me', carl)).status).toBe(200);
    await engine.admin.revokeTokens(user.id as never);
    expect((await ask('GET', '/users/@me', carl)).status).toBe(401);
  });
});
