// Run with `npm test`. The first tests are of the rules alone; the last plays over real sockets, as a browser does.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AuthorizationTokenType, Client } from 'guildhall/sdk';
import { FIELD, lanterns, POINTS_TO_WIN, SPEED } from './game.js';
import { startGame } from './server.js';

/** A lobby as the rules see it. */
function lobbyOf(...ids) {
  const lobby = {
    state: null,
    sent: [],
    random: () => 0.5,
    broadcast: (...message) => lobby.sent.push(message),
  };
  lobby.state = lanterns.onCreate(lobby);
  for (const id of ids) lanterns.onJoin(lobby, { id });
  return lobby;
}

test('a player walks as fast as the rules say, and not out of the field', () => {
  const lobby = lobbyOf('ann');
  const ann = lobby.state.players.get('ann');
  lobby.state.lantern = { x: 0, y: 0 };
  lanterns.onMessage(lobby, { from: 'ann', type: 'steer', data: { dx: 1, dy: 'a lie' } });
  lanterns.onTick(lobby, { elapsedMs: 1_000 });
  assert.deepEqual([ann.x, ann.y], [FIELD.width / 2 + SPEED, FIELD.height / 2]);
  lanterns.onTick(lobby, { elapsedMs: 60_000 });
  assert.equal(ann.x, FIELD.width);
});

test('the fifth lantern wins, and the count begins again', () => {
  const lobby = lobbyOf('ann', 'ben');
  lobby.state.players.get('ben').x = 0;
  for (let tick = 0; tick < POINTS_TO_WIN; tick++) lanterns.onTick(lobby, { elapsedMs: lanterns.tickMs });
  assert.deepEqual(
    lobby.sent.filter(([type]) => type === 'won'),
    [['won', 'ann']],
  );
  assert.equal(lobby.state.players.get('ann').points, 0);
});

test('a player signs in, joins the bot, walks, and sees the bot take lanterns', async () => {
  const config = { log_level: 'silent', admin_port: 0, voice: false };
  const game = await startGame({ port: 0, enginePort: 0, config });
  const player = await joined(game.url, 'Ann');
  try {
    const ownId = player.client.getCurrentUserV2().id;
    const before = await player.seen((state) => ownId in state.players);
    const { x } = before.players[ownId];
    const dx = x < FIELD.width / 2 ? 1 : -1;
    await player.client.sendLobbyGameMessage(player.lobbyId, 'steer', { dx, dy: 0 });
    await player.seen((state) => state.players[ownId].x !== x);
    await player.seen(({ players }) =>
      Object.entries(players).some(([id, { points }]) => id !== ownId && points > 0),
    );
    assert.match(await (await fetch(game.url)).text(), /Walk to the lantern/);
    assert.match(await (await fetch(`${game.url}sdk.js`)).text(), /Guildhall/);
  } finally {
    player.client.destroy();
    await game.stop();
  }
});

/** A player who joined the arena; `seen` resolves with the first state that `isWanted`. */
async function joined(url, name) {
  const { api, lobbyId, token } = await (await fetch(`${url}play?name=${name}`, { method: 'POST' })).json();
  const client = new Client({ apiBase: api });
  await client.updateToken(AuthorizationTokenType.Bearer, token);
  await client.connect();
  const waiting = new Set();
  client.setLobbyGameMessageCallback((_id, type, state) => {
    if (type === 'state') for (const look of waiting) look(state);
  });
  await client.joinOpenLobby(lobbyId);
  const seen = (isWanted) =>
    new Promise((resolve) => {
      const look = (state) => {
        if (!isWanted(state)) return;
        waiting.delete(look);
        resolve(state);
      };
      waiting.add(look);
    });
  return { client, lobbyId, seen };
}
