// Goal: no user can use a command, a component or a token of another user, and an answer that is refused or removed
// leaves nothing behind.
import { REST } from 'discord.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { InteractionBot } from '../support/interactionbot.ts';
import { Person } from '../support/person.ts';
import { startServer, type TestServer } from '../support/server.ts';

interface Failed {
  readonly code: number;
  readonly status: number;
  readonly rawError: { readonly errors?: unknown };
}

interface Live {
  readonly id: string;
  readonly token: string;
}

let server: TestServer;
let bot: InteractionBot;
let ann: Person;
let bob: Person;
let rest: REST;
let applicationId: string;
let channelId: string;

beforeAll(async () => {
  server = await startServer({ bots: 2 });
  bot = await InteractionBot.of(server);
  [ann, bob] = [await Person.of(server), await Person.of(server, { index: 1 })];
  rest = new REST({ version: '10', api: server.info.api, retries: 0 }).setToken(server.info.bot.token);
  applicationId = server.info.application.id;
  channelId = server.info.guild.text_channel_id;
});

afterAll(async () => {
  ann?.close();
  bob?.close();
  await bot?.close();
  await server?.finish();
});

/** The error of a request that must be refused. */
const refused = (asking: Promise<unknown>): Promise<Failed> =>
  asking.then(
    () => expect.fail('It was not refused.'),
    (error: Failed) => error,
  );
const callback = ({ id, token }: Live, body: object) =>
  rest.post(`/interactions/${id}/${token}/callback`, { body, auth: false });
const hook = (token: string, rest = '') => `/webhooks/${applicationId}/${token}${rest}` as const;
const said = async (content: string, more: object = {}) =>
  (await rest.post(`/channels/${channelId}/messages`, { body: { content, ...more } })) as { id: string };
const button = { type: 1, components: [{ type: 2, style: 1, label: 'Press', custom_id: 'press' }] };

/** Uses a command. Returns the interaction as the bot receives it, not yet answered. */
async function used(ask = () => ann.slash(bot.command('ping'))): Promise<Live> {
  const arrived = new Promise<Live>((resolve) => {
    bot.answers(async ({ id, token }) => resolve({ id, token }));
  });
  await ask();
  return arrived;
}

describe('commands', () => {
  test('are refused to others when they are reserved for administrators', async () => {
    const made = (await rest.post(`/applications/${applicationId}/commands`, {
      body: { name: 'reserved', description: 'r', default_member_permissions: '0' },
    })) as { id: string; version: string; name: string; type: number };
    const data = { id: made.id, version: made.version, name: made.name, type: made.type };
    expect(await bob.ask({ type: 2, data })).toMatchObject({ status: 403, body: { code: 50_013 } });
  });

  test.each([{ toString: 1, valueOf: 1 }, [], null, true])(
    'are refused an option of a strange type (%j)',
    async (type) => {
      const { id, version, name } = bot.command('every');
      const options = [{ type, name: 'text', value: 'hello' }];
      expect((await ann.ask({ type: 2, data: { id, version, name, type: 1, options } })).status).toBe(400);
    },
  );
});

describe('components', () => {
  test('are not found by another application', async () => {
    const { id } = await said('buttons', { components: [button] });
    const data = { component_type: 2, custom_id: 'press' };
    const other = server.info.bots[1]!.application_id;
    const click = { type: 3, message_id: id, data };
    expect((await ann.ask({ ...click, application_id: other })).body.code).toBe(10_008);
    expect((await ann.ask({ ...click, data: { ...data, component_type: { valueOf: 1 } } })).status).toBe(400);
    expect((await ann.ask({ ...click, channel_id: server.info.guild.voice_channel_id })).body.code).toBe(
      10_008,
    );
  });

  test('change the message that a webhook of their application sent', async () => {
    const made = (await rest.post(`/channels/${channelId}/webhooks`, { body: { name: 'Crier' } })) as Live;
    const sent = (await rest.post(`/webhooks/${made.id}/${made.token}?wait=true`, {
      ...{ auth: false, body: { content: 'before', components: [button] } },
    })) as { id: string; channel_id: string };
    const live = await used(() => ann.click({ ...sent, flags: 0 }, 'press'));
    await callback(live, { type: 7, data: { content: 'after' } });
    expect((await ann.update(sent.id)).content).toBe('after');
  });
});

describe('a token', () => {
  test('answers its own interaction only', async () => {
    const [one, two] = [await used(), await used()];
    const swapped = await refused(
      callback({ id: one.id, token: two.token }, { type: 4, data: { content: 'x' } }),
    );
    expect(swapped.code).toBe(10_062);
    const other = server.info.bots[1]!.application_id;
    await callback(one, { type: 4, data: { content: 'mine' } });
    const path = `/webhooks/${other}/${one.token}/messages/@original` as const;
    expect((await refused(rest.get(path, { auth: false }))).code).toBe(50_027);
  });

  test('cannot read, edit or delete messages of others', async () => {
    const live = await used();
    await callback(live, { type: 4, data: { content: 'mine' } });
    const { body: theirs } = await server.user().ask<{ id: string }>('create_message', {
      ...{ params: { channel_id: channelId }, body: { content: 'theirs' } },
    });
    const path = hook(live.token, `/messages/${theirs.id}`);
    expect((await refused(rest.get(path, { auth: false }))).code).toBe(10_008);
    expect((await refused(rest.patch(path, { auth: false, body: { content: 'x' } }))).code).toBe(10_008);
    expect((await refused(rest.delete(path, { auth: false }))).code).toBe(10_008);
  });

  test('sends no messages when it is one of an autocomplete', async () => {
    const { id, version, name, type } = bot.command('colour');
    const options = [{ type: 3, name: 'name', value: 'r', focused: true }];
    const live = await used(() => ann.send({ type: 4, data: { id, version, name, type, options } }));
    await callback(live, { type: 8, data: { choices: [] } });
    expect((await refused(rest.post(hook(live.token), { auth: false, body: { content: 'x' } }))).code).toBe(
      10_015,
    );
  });
});

describe('an answer', () => {
  test('names the wrong fields by their place in the callback', async () => {
    const live = await used();
    const { rawError } = await refused(callback(live, { type: 4, data: { content: 'x'.repeat(2_001) } }));
    expect(rawError.errors).toMatchObject({ data: { content: { _errors: [expect.anything()] } } });
  });

  test('deleted while deferred stays deleted, and a follow-up is a message of its own', async () => {
    const live = await used();
    await callback(live, { type: 5 });
    await rest.delete(hook(live.token, '/messages/@original'), { auth: false });
    const sent = await rest.post(hook(live.token), { auth: false, body: { content: 'instead' } });
    expect(sent).toMatchObject({ content: 'instead', flags: 0 });
    const original = hook(live.token, '/messages/@original');
    expect((await refused(rest.get(original, { auth: false }))).code).toBe(10_008);
  });

  test('is not completed by an empty edit', async () => {
    const live = await used();
    await callback(live, { type: 5 });
    const original = hook(live.token, '/messages/@original');
    expect((await refused(rest.patch(original, { auth: false, body: {} }))).code).toBe(50_006);
    expect(await rest.patch(original, { auth: false, body: { content: 'done' } })).toMatchObject({
      flags: 0,
    });
  });

  test('carries a file as large as other messages may', async () => {
    const live = await used();
    const form = new FormData();
    form.set('payload_json', JSON.stringify({ type: 4, data: { content: 'large' } }));
    form.set('files[0]', new Blob([new Uint8Array(9 << 20)]), 'large.bin');
    const url = `${server.info.api}/v10/interactions/${live.id}/${live.token}/callback`;
    expect((await fetch(url, { method: 'POST', body: form })).status).toBe(204);
  });
});

test('the files of a follow-up are stored in its own channel, whatever thread the request names', async () => {
  const live = await used();
  await callback(live, { type: 4, data: { content: 'first' } });
  const form = new FormData();
  form.set('payload_json', JSON.stringify({ content: 'more', thread_name: 'elsewhere' }));
  form.set('files[0]', new Blob(['text']), 'note.txt');
  const { voice_channel_id: other } = server.info.guild;
  const url = `${server.info.api}/v10${hook(live.token)}?thread_id=${other}`;
  const sent = (await (await fetch(url, { method: 'POST', body: form })).json()) as {
    readonly channel_id: string;
    readonly attachments: readonly { readonly url: string }[];
  };
  expect(sent.channel_id).toBe(channelId);
  expect(new URL(sent.attachments[0]!.url).pathname).toContain(`/attachments/${channelId}/`);
});

test('the files of a form are named by their stored ids', async () => {
  const live = await used();
  const upload = { type: 19, custom_id: 'files', min_values: 1, max_values: 2 };
  const form = {
    custom_id: 'form',
    title: 'Form',
    components: [{ type: 18, label: 'Files', component: upload }],
  };
  await callback(live, { type: 9, data: form });
  const arrived = new Promise<Record<string, unknown>>((resolve) => {
    bot.client.ws.on(
      'INTERACTION_CREATE' as never,
      ((d: { type: number; data: Record<string, unknown> }) => {
        if (d.type === 5) resolve(d.data);
      }) as never,
    );
  });
  bot.answers(async () => undefined);
  const components = [{ type: 18, component: { type: 19, custom_id: 'files', values: ['0', '1'] } }];
  const data = { id: live.id, custom_id: 'form', components, attachments: [{ id: '0' }, { id: '1' }] };
  await ann.send({ type: 5, data }, { 0: 'one.txt', 1: 'two.txt' });
  const { components: sent, resolved } = (await arrived) as {
    components: { component: { values: string[] } }[];
    resolved: { attachments: Record<string, unknown> };
  };
  expect(sent[0]?.component.values.sort()).toEqual(Object.keys(resolved.attachments).sort());
  expect(sent[0]?.component.values).toHaveLength(2);
});
