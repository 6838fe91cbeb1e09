// A player that is a program. It opens the arena, stays in it, and walks to the lantern.
import { AuthorizationTokenType, Client } from 'guildhall/sdk';

const NEAR = 6;

/** @param options `api` of the server, and a player's `token`. */
export async function startBot({ api, token }) {
  const client = new Client({ apiBase: api });
  await client.updateToken(AuthorizationTokenType.Bearer, token);
  await client.connect();
  const ownId = client.getCurrentUserV2().id;
  const settings = { game: 'lanterns', listed: true, maxMembers: 8 };
  let lobbyId = await client.createOpenLobby(settings);
  client.setLobbyDeletedCallback(async (id) => {
    if (id === lobbyId) lobbyId = await client.createOpenLobby(settings);
  });
  let last = '';
  client.setLobbyGameMessageCallback((id, type, state) => {
    if (id !== lobbyId || type !== 'state') return;
    const steer = towards(state.players[ownId], state.lantern);
    if (JSON.stringify(steer) === last) return;
    last = JSON.stringify(steer);
    client.sendLobbyGameMessage(id, 'steer', steer).catch((error) => console.error(error.message));
  });
  return { lobbyId: () => lobbyId, stop: () => client.destroy() };
}

/** The direction from one place to another, along each axis. */
export function towards(from, to) {
  const along = (distance) => (Math.abs(distance) < NEAR ? 0 : Math.sign(distance));
  return from === undefined ? { dx: 0, dy: 0 } : { dx: along(to.x - from.x), dy: along(to.y - from.y) };
}
