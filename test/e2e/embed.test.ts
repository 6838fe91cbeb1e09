// Goal: the engine lives inside another program: twice in one process, hooked, called without HTTP, and gone without a trace.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, describe, expect, test } from 'vitest';
import type { Engine, Letter } from '../../embedding.ts';
import { ApiError, createEngine } from '../../main.ts';
import type { GuildId, UserId } from '../../protocol/ids.ts';
import { createTestEngine } from '../../testing.ts';
import { GatewayClient } from '../support/gateway-client.ts';
import { RestClient } from '../support/rest-client.ts';
import { ROOT } from '../support/source.ts';

type Message = { readonly id: string; readonly content: string; readonly timestamp: string };

const engines: Engine[] = [];
afterEach(async () => {
  for (const engine of engines.splice(0)) await engine.close();
});

/** An engine with a guild, its text channel and an administrating bot. */
async function furnished(engine: Engine) {
  engines.push(engine);
  const { user: owner } = await engine.admin.createUser({ username: 'keeper' });
  const ownerId = owner.id as UserId;
  const guild = await engine.admin.createGuild({ name: 'Harbour', ownerId });
  const { bot, botToken: token } = await engine.admin.createApplication({ name: 'Beacon', ownerId });
  const guildId = guild.id as GuildId;
  await engine.admin.addMember({ guildId, userId: bot.id as UserId, permissions: 8n });
  const call = { params: { guild_id: guildId } };
  const channels = (await engine.api.list_guild_channels!(call, { as: bot.id })) as {
    id: string;
    type: number;
  }[];
  const channelId = channels.find(({ type }) => type === 0)!.id;
  const say = (content: string, as: string = bot.id) =>
    engine.api.create_message!(
      { params: { channel_id: channelId }, body: { content } },
      { as },
    ) as Promise<Message>;
  return { engine, owner, guildId, botId: bot.id, token, channelId, say };
}

/** The token of a letter's link. */
const linked = ({ text }: Letter): string => /token=(\S+)/.exec(text)?.[1] ?? '';

const quiet = { config: { log_level: 'silent', listen_port: 0, rate_limits: false } } as const;

describe('two engines in one process', () => {
  test('serve side by side and share no data', async () => {
    const [a, b] = [await furnished(await createEngine(quiet)), await furnished(await createEngine(quiet))];
    const [at, bt] = [await a.engine.listen(), await b.engine.listen()];
    expect(at.api).not.toBe(bt.api);
    const inA = await GatewayClient.ready(at.gateway, { token: a.token });
    const inB = await GatewayClient.ready(bt.gateway, { token: b.token });
    const rest = new RestClient(bt.api, `Bot ${b.token}`);
    const { id } = await rest.call<Message>('create_message', {
      params: { channel_id: b.channelId },
      body: { content: 'In B' },
    });
    await inB.dispatch('MESSAGE_CREATE', (d) => d.id === id);
    await inA.settled(a.guildId);
    expect(inA.names).not.toContain('MESSAGE_CREATE');
    const stranger = new RestClient(at.api, `Bot ${b.token}`);
    expect((await stranger.ask('get_my_user')).status).toBe(401);

    await a.engine.close();
    expect((await inA.closed).code).toBe(1006);
    await b.say('Still here');
    await inB.dispatch('MESSAGE_CREATE', (d) => d.content === 'Still here');
    await inB.close();
  });
});

describe('an operation called without HTTP', () => {
  test('passes the same checks and dispatches on the gateway', async () => {
    const { engine, say, token, owner, channelId } = await furnished(await createEngine(quiet));
    const { gateway } = await engine.listen();
    const client = await GatewayClient.ready(gateway, { token });
    const sent = await say('From inside');
    expect(await client.dispatch('MESSAGE_CREATE')).toMatchObject({ id: sent.id, content: 'From inside' });
    await client.close();

    const { user: guest } = await engine.admin.createUser({ username: 'guest' });
    await expect(say('Not a member', guest.id)).rejects.toBeInstanceOf(ApiError);
    await expect(say('', owner.id)).rejects.toMatchObject({ refusal: { status: 400, code: 50006 } });
    await expect(say('Nobody', null as never)).rejects.toMatchObject({ refusal: { status: 401 } });
    await expect(
      engine.api.get_channel!({ params: { channel_id: 'x' } }, { as: owner.id }),
    ).rejects.toMatchObject({ refusal: { code: 50035 } });
    const read = await engine.api.list_messages!(
      { params: { channel_id: channelId }, query: { limit: 1 } },
      { as: owner.id },
    );
    expect(read).toMatchObject([{ id: sent.id }]);
  });

  test('takes files and the reason for the audit log', async () => {
    const { engine, channelId, botId, guildId } = await furnished(await createEngine(quiet));
    const file = {
      field: 'files[0]',
      filename: 'a.txt',
      contentType: 'text/plain',
      bytes: Buffer.from('abc'),
    };
    const message = await engine.api.create_message!(
      { params: { channel_id: channelId }, body: {}, files: [file] },
      { as: botId },
    );
    expect(message).toMatchObject({ attachments: [{ filename: 'a.txt', size: 3 }] });
    await engine.api.update_guild!(
      { params: { guild_id: guildId }, body: { name: 'Port' } },
      { as: botId, reason: 'Grown' },
    );
    const log = await engine.api.list_guild_audit_log_entries!(
      { params: { guild_id: guildId }, query: { limit: 1 } },
      { as: botId },
    );
    expect(log).toMatchObject({ audit_log_entries: [{ reason: 'Grown', user_id: botId }] });
  });
});

describe('hooks', () => {
  test('rewrite or refuse before an operation, rewrite after it, and can be taken out again; over HTTP too', async () => {
    const { engine, say, token, channelId, botId } = await furnished(await createEngine(quiet));
    const seen: unknown[] = [];
    const removeBefore = engine.before('create_message', ({ body, callerId, operationId }) => {
      seen.push([operationId, callerId]);
      const { content } = body as { content: string };
      if (content === 'no') return { refuse: { status: 403, code: 4242, message: 'No.' } };
      return { body: { content: content.toUpperCase() } };
    });
    const removeAfter = engine.after('create_message', async (_, { status, body }) => ({
      status,
      body: { ...(body as object), seen_by: 'the hook' },
    }));
    expect(await say('loud')).toMatchObject({ content: 'LOUD', seen_by: 'the hook' });
    const { api } = await engine.listen();
    const call = { params: { channel_id: channelId }, body: { content: 'no' } };
    const { status, body } = await new RestClient(api, `Bot ${token}`).ask('create_message', call);
    expect({ status, body }).toEqual({ status: 403, body: { code: 4242, message: 'No.' } });
    expect(seen).toEqual([
      ['create_message', botId],
      ['create_message', botId],
    ]);
    removeBefore();
    removeAfter();
    const plain = await say('quiet');
    expect(plain.content).toBe('quiet');
    expect(plain).not.toHaveProperty('seen_by');
  });

  test('see each dispatch once through on(), with any recipients, and may fail without harm', async () => {
    const { engine, say, guildId, token } = await furnished(await createEngine(quiet));
    const { gateway } = await engine.listen();
    const clients = await Promise.all([1, 2].map(() => GatewayClient.ready(gateway, { token })));
    const heard: unknown[] = [];
    const stop = engine.on('MESSAGE_CREATE', (d, where) =>
      heard.push([(d as Message).content, where.guildId]),
    );
    engine.on('MESSAGE_CREATE', () => {
      throw new Error('A listener that fails.');
    });
    await say('One');
    stop();
    await say('Two');
    expect(heard).toEqual([['One', guildId]]);
    for (const client of clients) {
      await client.dispatch('MESSAGE_CREATE', (d) => d.content === 'Two');
      await client.close();
    }
  });
});

describe('people whom the program makes', () => {
  test('sign in by name and password, and by an address confirmed through the program’s own mailer', async () => {
    const letters: Letter[] = [];
    const mailer = { send: async (letter: Letter) => void letters.push(letter) };
    const { engine } = await furnished(await createEngine({ ...quiet, mailer }));
    const asNobody = { as: null };
    const login = (login: string, password: string) =>
      engine.api.login!({ body: { login, password } }, asNobody);
    const password = 'correct horse battery';
    const given = { globalName: 'Ada', password, email: 'ada@example.org' };
    const { user, token } = await engine.admin.createUser({ username: 'Ada', ...given });
    expect(user).toMatchObject({ username: 'ada', global_name: 'Ada' });
    expect(await login('ada', password)).toMatchObject({ user_id: user.id });
    await engine.drain();
    expect(letters).toMatchObject([{ to: 'ada@example.org' }]);
    await engine.api.verify_email!({ body: { token: linked(letters.at(-1)!) } }, asNobody);
    expect(await login('ada@example.org', password)).toMatchObject({ user_id: user.id });
    const { api } = await engine.listen();
    const me = await new RestClient(api, `Bearer ${token}`).call('get_my_user');
    expect(me).toMatchObject({ id: user.id, email: 'ada@example.org', verified: true });
  });

  test('set a password by e-mail; invalid input is rejected and creates no user', async () => {
    const letters: Letter[] = [];
    const mailer = { send: async (letter: Letter) => void letters.push(letter) };
    const { engine } = await furnished(await createEngine({ ...quiet, mailer }));
    const { createUser, listUsers } = engine.admin;
    const asNobody = { as: null };
    const { user } = await createUser({ username: 'grace', email: 'grace@example.org' });
    await expect(createUser({ username: 'grace', password: 'correct horse' })).rejects.toBeInstanceOf(
      ApiError,
    );
    await expect(createUser({ username: 'G H', password: 'short', email: 'x' })).rejects.toMatchObject({
      refusal: { code: 50035, errors: { username: {}, password: {}, email: {} } },
    });
    expect(await listUsers(user.id as UserId, 10)).toEqual([]);
    await engine.drain();
    await engine.api.verify_email!({ body: { token: linked(letters.at(-1)!) } }, asNobody);
    await engine.api.forgot_password!({ body: { login: 'grace' } }, asNobody);
    await engine.drain();
    const reset = { token: linked(letters.at(-1)!), password: 'a password of her own' };
    expect(await engine.api.reset_password!({ body: reset }, asNobody)).toMatchObject({ user_id: user.id });
  });
});

test('an engine on a virtual clock sees time pass only when the clock is advanced', async () => {
  const { engine, clock } = await createTestEngine();
  const { say } = await furnished(engine);
  const first = await say('Then');
  clock.advance(3_600_000);
  const second = await say('An hour later');
  expect(Date.parse(second.timestamp) - Date.parse(first.timestamp)).toBe(3_600_000);
});

test('an engine that was drained and closed lets its process exit', async () => {
  const main = pathToFileURL(join(ROOT, 'dist/main.js'));
  const program = `
    import { createEngine } from '${main}';
    const engines = [];
    for (let count = 0; count < 2; count += 1) {
      const engine = await createEngine({ config: { listen_port: 0, log_level: 'silent' } });
      const { user } = await engine.admin.createUser({ username: 'keeper' });
      const guild = await engine.admin.createGuild({ name: 'Harbour', ownerId: user.id });
      const { botToken } = await engine.admin.createApplication({ name: 'Beacon', ownerId: user.id });
      const { api, gateway } = await engine.listen();
      await fetch(api + '/v10/users/@me', { headers: { authorization: 'Bot ' + botToken, connection: 'close' } });
      engines.push(engine);
    }
    const signals = process.listenerCount('SIGTERM') + process.listenerCount('SIGINT');
    for (const engine of engines) {
      await engine.drain();
      await engine.close();
    }
    console.log(JSON.stringify({ signals }));
  `;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let out = '';
  child.stdout.on('data', (data) => {
    out += data;
  });
  const timer = setTimeout(() => child.kill('SIGKILL'), 30_000);
  const [code] = await once(child, 'exit');
  clearTimeout(timer);
  expect({ code, out: out.trim() }).toEqual({ code: 0, out: '{"signals":0}' });
});
