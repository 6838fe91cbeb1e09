// Goal: a game without a gateway session shows its activity by the RPC server of the machine, and by its own session once it connects.
import { beforeEach, describe, expect, test } from 'vitest';
import { AuthorizationTokenType, ErrorType } from '../../sdk/enums.ts';
import {
  ACCESS_TOKEN,
  APPLICATION,
  refusal,
  ScriptedServer,
  scriptedClient,
  settle,
} from '../support/sdk.ts';

let server: ScriptedServer;
let shown: unknown[];
let problem: Error | null;

beforeEach(() => {
  [shown, problem] = [[], null];
  server = new ScriptedServer();
  server.openLocal = (applicationId) => ({
    async setActivity(activity, pid) {
      if (problem !== null) throw problem;
      shown.push([applicationId, activity, pid]);
    },
    async user() {
      if (problem !== null) throw problem;
      return { id: applicationId, username: 'ada', globalName: null };
    },
    close: () => void shown.push('closed'),
  });
});

describe('a rich presence without a connection', () => {
  test('is shown by the RPC server with buttons and secrets, and ends there when the client connects', async () => {
    const { client } = scriptedClient({ applicationId: APPLICATION }, server);
    const buttons = [{ label: 'Go', url: 'https://a.example' }];
    await client.updateRichPresence({ state: 'Alone', buttons });
    expect(shown).toMatchObject([[APPLICATION, { state: 'Alone', buttons }, undefined]]);
    expect(shown).not.toMatchObject([[APPLICATION, { name: 'Game' }, undefined]]);
    await client.updateToken(AuthorizationTokenType.Bearer, ACCESS_TOKEN);
    const connecting = client.connect();
    await settle();
    expect(shown.at(-1)).toBe('closed');
    server.welcome();
    await connecting;
    await client.updateRichPresence({ state: 'Online' });
    expect(server.sent(3)).toMatchObject([{ activities: [{ state: 'Online' }] }]);
    client.destroy();
  });

  test('contains the process id of the game window once the game has set it', async () => {
    const { client } = scriptedClient({ applicationId: APPLICATION }, server);
    await client.updateRichPresence({ state: 'Alone' });
    client.setGameWindowPid(4_242);
    await client.updateRichPresence({ state: 'Alone' });
    expect(shown.map((one) => Array.isArray(one) && one[2])).toEqual([undefined, 4_242]);
    for (const pid of [-1, 1.5, Number.NaN]) expect(() => client.setGameWindowPid(pid)).toThrow('pid');
  });

  test('ends when it is cleared', async () => {
    const { client } = scriptedClient({ applicationId: APPLICATION }, server);
    await client.updateRichPresence({ state: 'Alone' });
    client.clearRichPresence();
    expect(shown.at(-1)).toBe('closed');
  });

  test('rejects with RPCError when no RPC server runs', async () => {
    problem = new Error('No RPC server runs on this machine.');
    const { client } = scriptedClient({ applicationId: APPLICATION }, server);
    const { type, message } = await refusal(client.updateRichPresence({ state: 'Alone' }));
    expect([type, message]).toEqual([ErrorType.RPCError, problem.message]);
  });

  test('needs a connection where there are no local sockets', async () => {
    server.openLocal = null;
    const { client } = scriptedClient({ applicationId: APPLICATION }, server);
    expect((await refusal(client.updateRichPresence({ state: 'Alone' }))).type).toBe(
      ErrorType.ClientNotReady,
    );
  });
});

describe('the client of the platform on this machine', () => {
  test('returns the user who is signed in', async () => {
    const { client } = scriptedClient({ applicationId: APPLICATION }, server);
    expect(await client.isPlatformAppInstalled()).toBe(true);
    expect(await client.getPlatformClientConnectedUser('77')).toMatchObject({ id: '77', username: 'ada' });
    problem = new Error('No RPC server runs on this machine.');
    expect(await client.isPlatformAppInstalled()).toBe(false);
    expect(await client.getPlatformClientConnectedUser('77')).toBeNull();
    await expect(client.getPlatformClientConnectedUser('x')).rejects.toThrow('applicationId must be an id');
  });

  test('is not there in a browser', async () => {
    server.openLocal = null;
    const { client } = scriptedClient({ applicationId: APPLICATION }, server);
    expect(await client.isPlatformAppInstalled()).toBe(false);
    expect(client.registerLaunchSteamApplication(APPLICATION, 440)).toBe(false);
    expect(() => client.registerLaunchSteamApplication(APPLICATION, -1)).toThrow('steamAppId');
  });
});

test('a game may report that it shows its chat, which has no effect here', () => {
  const { client } = scriptedClient({ applicationId: APPLICATION }, server);
  expect(client.setShowingChat(true)).toBeUndefined();
  expect(() => client.setShowingChat('yes' as never)).toThrow('isShowing must be true or false.');
});
