// Goal: the call of a lobby ends for its voice clients with the lobby's actor, whatever of its last change was stored.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../support/instance.ts';
import { type LobbyInstance, openLobbyInstance } from '../support/lobbyinstance.ts';

const log: string[] = [];
let instance: LobbyInstance;

beforeAll(async () => {
  instance = await openLobbyInstance(
    {},
    {
      voiceJoined: ({ callId }) => void log.push(`joined ${callId}`),
      voiceLeft: (serverId) => void log.push(`left ${serverId}`),
      ended: (callId) => void log.push(`ended ${callId}`),
    },
  );
}, 60_000);
afterAll(() => instance.close());

test('a call ends when the removal of its last member could not be stored', async () => {
  const [a, b] = [await instance.player(), await instance.player()];
  const { sink, session } = await a.connect();
  const input = { secret: 'room', lobby: {}, member: {} };
  const [lobby] = [a, b].map(({ authority }) => instance.lobbies.createOrJoin(input, authority));
  const made = await lobby;
  if (!made?.ok) throw new Error('no lobby');
  const { id } = made.value;
  const silent = { selfMute: false, selfDeaf: false, selfVideo: false };
  session.ask({ name: 'lobbyVoice', input: [{ lobbyId: id, ...silent }] });
  await until(() => sink.names.includes('LOBBY_MEMBER_CONNECT'));
  instance.steer.fail = true;
  const removal = instance.lobbies.call(id, 'removeMember', { userId: a.userId }, instance.bot);
  await expect(removal).rejects.toThrow();
  instance.steer.fail = false;
  await until(() => log.at(-1) === `ended ${id}`);
  expect(log).toEqual([`joined ${id}`, `ended ${id}`]);
  // Other tests count the lobbies of the same database.
  expect(await instance.lobbies.call(id, 'deleteLobby', {}, instance.bot)).toMatchObject({ ok: true });
});
