// Goal: a recording of a development server holds no secret, plays again with the same answers, and shows what changed.
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ReplayConnection } from '../../cli/replayconnection.ts';
import { ReplayMapping } from '../../cli/replaymapping.ts';
import { createEngine } from '../../main.ts';
import { run } from './arrange.ts';

let folder: string;
let lines: string[];
const secrets: string[] = [];

interface Started {
  readonly api: string;
  readonly gateway: string;
  readonly bots: readonly { readonly id: string; readonly token: string }[];
  readonly users: readonly { readonly token: string }[];
  readonly guild: { readonly id: string; readonly text_channel_id: string };
}

/** Calls an operation; what it answers. */
async function call(api: string, method: string, path: string, token: string, body?: object) {
  const response = await fetch(api + path, {
    method,
    headers: { authorization: token, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return text === '' ? {} : JSON.parse(text);
}

/** A bot that answers `!ping`; resolves when it has answered. */
async function pingBot({ api, gateway }: { api: string; gateway: string }, token: string, answer: string) {
  const connection = new ReplayConnection(gateway);
  await connection.send(2, { token, intents: 1 | (1 << 9) | (1 << 15), properties: {} });
  await connection.take('READY', 10_000);
  const answered = connection.take('MESSAGE_CREATE', 20_000).then(async (message) => {
    const { channel_id: channelId } = message!.d as { channel_id: string };
    await call(api, 'POST', `/channels/${channelId}/messages`, `Bot ${token}`, { content: answer });
    await connection.take('MESSAGE_CREATE', 5_000);
  });
  return { answered, close: () => connection.close() };
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'guildhall-replay-'));
  const argv = ['dev', '--json', '--port', '0', '--record', 'run.jsonl', '--set', 'voice=false'];
  await run([...argv, '--log-level', 'silent'], {
    ...{ cwd: folder, createEngine },
    whileRunning: async ([first]) => {
      const { api, gateway, bots, users, guild } = JSON.parse(first!) as Started;
      const [{ token }, person] = [bots[0]!, `Bearer ${users[0]!.token}`];
      secrets.push(token, users[0]!.token);
      const bot = await pingBot({ api, gateway }, token, 'pong');
      const channel = guild.text_channel_id;
      const sent = await call(api, 'POST', `/channels/${channel}/messages`, person, { content: '!ping' });
      await bot.answered;
      const hook = await call(api, 'POST', `/channels/${channel}/webhooks`, `Bot ${token}`, { name: 'Hook' });
      secrets.push(hook.token);
      await call(api, 'POST', `/webhooks/${hook.id}/${hook.token}`, '', { content: 'from outside' });
      await call(api, 'PATCH', `/channels/${channel}/messages/${sent.id}`, person, { content: 'edited' });
      await call(
        api,
        'PUT',
        `/channels/${channel}/messages/${sent.id}/reactions/%F0%9F%91%8D/@me`,
        `Bot ${token}`,
      );
      await call(api, 'DELETE', `/channels/${channel}/messages/${sent.id}`, person);
      await call(api, 'GET', `/channels/${channel}/messages?limit=5`, person);
      bot.close();
    },
  });
  lines = (await readFile(join(folder, 'run.jsonl'), 'utf8')).trimEnd().split('\n');
});
afterAll(() => rm(folder, { recursive: true }));

const replay = (argv: readonly string[], whileRunning?: () => Promise<void>) =>
  run(['replay', ...argv], {
    ...{ cwd: folder, createEngine, stop: new Promise<void>(() => {}) },
    ...(whileRunning && { whileRunning }),
  });

describe('a recording', () => {
  test('contains calls, frames and dispatches in lines, readable by its owner only', async () => {
    const kinds = lines.map((text) => JSON.parse(text).kind);
    expect(kinds.slice(0, 2)).toEqual(['begin', 'demo']);
    expect(kinds.filter((kind) => kind === 'call').length).toBe(8);
    expect(kinds).toEqual(expect.arrayContaining(['open', 'frame', 'dispatch', 'shut']));
    expect(kinds.at(-1)).toBe('end');
    expect((await stat(join(folder, 'run.jsonl'))).mode & 0o077).toBe(0);
  });

  test('contains no token that was used', () => {
    expect(secrets).toHaveLength(3);
    for (const secret of secrets) expect(lines.join('\n')).not.toContain(secret);
    expect(lines.join('\n')).toContain('"authorization":"Bot ⟨secret:');
  });

  test('overwrites no file', async () => {
    const { exitCode, err } = await run(['dev', '--record', 'run.jsonl'], { cwd: folder });
    expect([exitCode, err.join('\n')]).toEqual([1, expect.stringContaining('does not exist yet')]);
  });
});

describe('replay', () => {
  test('finds equal responses of a running server', async () => {
    let ran: Awaited<ReturnType<typeof run>> | undefined;
    await run(['dev', '--json', '--port', '0', '--set', 'voice=false', '--log-level', 'silent'], {
      createEngine,
      whileRunning: async ([first]) => {
        await writeFile(join(folder, 'dev.json'), first!);
        const { api } = JSON.parse(first!) as Started;
        ran = await replay(['run.jsonl', '--against', api, '--demo', 'dev.json']);
      },
    });
    expect(ran!.out).toEqual([
      expect.stringMatching(/^Played 8 calls and 1 gateway frames, .* all answers are the same\.$/),
    ]);
    expect(ran!.exitCode).toBe(0);
  });

  test('prints the one different response of a new server, and exits with 1', async () => {
    const changed = lines.map((text) => text.replace('"name":"Hook","avatar"', '"name":"Look","avatar"'));
    await writeFile(join(folder, 'changed.jsonl'), changed.join('\n'));
    const { exitCode, out } = await replay(['changed.jsonl', '--json']);
    const { departures } = JSON.parse(out[0]!);
    expect(exitCode).toBe(1);
    expect(departures).toEqual([
      {
        ...{ line: expect.any(Number), what: 'create_webhook (200)' },
        differences: [{ path: 'name', recorded: 'Look', replayed: 'Hook' }],
      },
    ]);
  });

  test('compares the requests of a bot', async () => {
    let bot: ReturnType<typeof pingBot> | null = null;
    const argv = ['replay', 'run.jsonl', '--bot', '1', '--json', '--timeout', '1000'];
    const { exitCode, out } = await run(argv, {
      ...{ cwd: folder, createEngine, stop: new Promise<void>(() => {}) },
      onErr(text) {
        const [, api, token] = /API +(\S+)\s+Token +(\S+)/.exec(text) ?? [];
        if (api === undefined || token === undefined) return;
        bot = pingBot({ api, gateway: api.replace(/^http/, 'ws').replace('/api', '') }, token, 'ping-pong');
      },
    });
    (await bot!).close();
    const { departures } = JSON.parse(out[0]!) as {
      departures: { what: string; differences: { path: string; replayed: unknown }[] }[];
    };
    const differing = departures.filter(({ differences }) => differences[0]?.path.startsWith('body'));
    expect(differing).toMatchObject([
      {
        what: 'create_message (200)',
        differences: [{ path: 'body.content', recorded: 'pong', replayed: 'ping-pong' }],
      },
    ]);
    // This bot makes no webhook.
    expect(departures).toContainEqual({
      ...{ line: expect.any(Number), what: 'create_webhook (200)' },
      differences: [{ path: '', recorded: 'called', replayed: 'not called' }],
    });
    expect(exitCode).toBe(1);
  });

  test.each([
    [['none.jsonl'], 'cannot be read'],
    [['run.jsonl', '--against', 'http://127.0.0.1:1'], 'needs the tokens'],
    [['run.jsonl', '--bot', 'nobody'], 'has no bot nobody'],
  ])('%j is refused with a reason', async (argv, why) => {
    const { exitCode, err } = await replay(argv);
    expect([exitCode, err.join('\n')]).toEqual([1, expect.stringContaining(why)]);
  });
});

describe('the mapping of a replay', () => {
  test('learns ids and secrets by their field, and applies them', () => {
    const mapping = new ReplayMapping();
    const [one, other] = ['111111111111111111', '222222222222222222'];
    expect(mapping.compare({ id: one, token: '⟨secret:1⟩' }, { id: other, token: 'mine' })).toEqual([]);
    expect(mapping.value({ url: `/x/${one}/⟨secret:1⟩`, [one]: 1 })).toEqual({
      url: `/x/${other}/mine`,
      [other]: 1,
    });
    expect(mapping.compare({ id: one }, { id: '333333333333333333' })).toHaveLength(1);
  });

  test('learns the secret within a URL', () => {
    const mapping = new ReplayMapping();
    const recorded = { location: 'https://game.example/back?code=⟨secret:4⟩&state=7' };
    const replayed = { location: 'https://game.example/back?code=mine&state=7' };
    expect(mapping.compare(recorded, replayed)).toEqual([]);
    expect(mapping.value({ code: '⟨secret:4⟩' })).toEqual({ code: 'mine' });
  });

  test('ignores times and addresses, and nothing else', () => {
    const mapping = new ReplayMapping();
    const recorded = {
      at: '2026-01-01T00:00:00.000000+00:00',
      url: 'http://127.0.0.1:3000/x',
      count: 1,
      list: [1],
    };
    const replayed = {
      at: '2026-02-02T00:00:00.000000+00:00',
      url: 'http://127.0.0.1:4000/x',
      count: 2,
      list: [],
    };
    expect(mapping.compare(recorded, replayed).map(({ path }) => path)).toEqual(['count', 'list.length']);
  });
});
