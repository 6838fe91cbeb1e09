// Goal: lobbies beyond the platform work over the wire with our library, and the arena of the examples runs.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ReadyCheck } from '../../sdk/extensions.ts';
import { AuthorizationTokenType, Client, type ClientError } from '../../sdk/node.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { ROOT } from '../support/source.ts';

let server: TestServer;
const clients: Client[] = [];
beforeAll(async () => {
  server = await startServer();
});
afterAll(async () => {
  for (const client of clients) client.destroy();
  await server?.finish();
});

async function player(name: string): Promise<Client> {
  const body = { external_user_id: name, preferred_global_name: name };
  const issued = await server.bot().call<{ access_token: string }>('bot_partner_sdk_token', { body });
  const client = new Client({ apiBase: server.info.api });
  clients.push(client);
  await client.updateToken(AuthorizationTokenType.Bearer, issued.access_token);
  await client.connect();
  return client;
}
const idOf = (client: Client): string => client.getCurrentUserV2()?.id ?? '';
const codeOf = (call: Promise<unknown>): Promise<number> =>
  call.then(
    () => 0,
    (error: ClientError) => error.result.errorCode,
  );

test('a player finds a lobby, comes in by its password, is ready, and becomes host', async () => {
  const [ann, ben] = [await player('ann'), await player('ben')];
  const settings = { listed: true, maxMembers: 2, password: 'open sesame', hostGraceSeconds: 0 };
  const lobbyId = await ann.createOpenLobby(settings, { map: 'dunes', level: '12' });
  const search = {
    filters: [
      { key: 'map', is: 'equal', value: 'dunes' },
      { key: 'level', is: 'range', min: 10, max: 20 },
    ],
    sort: { by: 'metadata', key: 'level' },
  } as const;
  expect(await ben.searchLobbies(search)).toMatchObject([{ id: lobbyId, hasPassword: true, members: 1 }]);
  expect(await codeOf(ben.joinOpenLobby(lobbyId, 'wrong'))).toBe(900_003);
  await ben.joinOpenLobby(lobbyId, 'open sesame');
  expect(await codeOf(ben.updateLobbySettings(lobbyId, { locked: true }))).toBe(900_004);
  await expect.poll(() => ben.getLobbyHostId(lobbyId)).toBe(idOf(ann));

  const seen: ReadyCheck[] = [];
  ben.setReadyCheckCallback((check) => {
    seen.push(check);
    if (check.status === 'open' && check.answers.get(idOf(ben)) === null)
      void ben.answerReadyCheck(lobbyId, true);
  });
  await ann.startReadyCheck(lobbyId);
  await expect.poll(() => seen.at(-1)?.status).toBe('passed');

  const said: unknown[] = [];
  ann.setLobbyGameMessageCallback((...message) => void said.push(message));
  await ben.sendLobbyGameMessage(lobbyId, 'wave', { hand: 'left' });
  await expect.poll(() => said).toEqual([[lobbyId, 'wave', { hand: 'left' }, idOf(ben)]]);

  await ann.leaveLobby(lobbyId);
  await expect.poll(() => ben.getLobbyHostId(lobbyId)).toBe(idOf(ben));
  expect(await codeOf(ann.createMatchTicket('nowhere'))).toBe(900_009);
});

test('the arena that the server referees runs as documented', async () => {
  const arena = spawn(process.execPath, [join(ROOT, 'dist/examples/arena.js')], { cwd: ROOT });
  const [out, complaint] = await Promise.all([text(arena.stdout), text(arena.stderr)]);
  expect([out, complaint]).toEqual(['Bo wins, and both saw it: true\n', '']);
});
