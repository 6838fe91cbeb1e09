// An arena that the server referees: two players meet through the matchmaker, steer, and the server alone moves them,
// twenty times a second. Run it with `node dist/examples/arena.js`.
import { createEngine } from '../main.ts'; // In a program of your own: from 'guildhall'.
import { AuthorizationTokenType, Client } from '../sdk/node.ts'; // From 'guildhall/sdk'.

interface Runner {
  x: number;
  /** Metres a second, as the player last asked. */
  speed: number;
}
const FINISH_X = 3;
const SPEED_MAX = 5;

const engine = await createEngine({ config: { log_level: 'warn', listen_port: 0, voice: false } });

engine.lobbies.defineLobby<Map<string, Runner>>('arena', {
  tickMs: 50,
  onCreate: () => new Map(),
  onJoin: (lobby, { id }) => void lobby.state.set(id, { x: 0, speed: 0 }),
  onLeave: (lobby, { id }) => void lobby.state.delete(id),
  onMessage(lobby, { from, type, data }) {
    const runner = lobby.state.get(from);
    // Players send only a wished speed; the server decides where they are.
    if (runner && type === 'run' && typeof data === 'number' && data >= 0)
      runner.speed = Math.min(data, SPEED_MAX);
  },
  onTick(lobby, { elapsedMs }) {
    for (const runner of lobby.state.values()) runner.x += (runner.speed * elapsedMs) / 1_000;
    lobby.broadcast('positions', Object.fromEntries([...lobby.state].map(([id, { x }]) => [id, x])));
    const winner = [...lobby.state].find(([, { x }]) => x >= FINISH_X);
    if (!winner) return;
    lobby.broadcast('won', winner[0]);
    void lobby.close();
  },
});
engine.lobbies.defineQueue('race', {
  size: 2,
  widen: { rating: { start: 50, perSecond: 25 } },
  lobby: () => ({ metadata: { track: 'straight' }, game: 'arena' }),
});

const { api } = await engine.listen();
const { bot } = await engine.admin.createApplication({ name: 'Arena' });

/** A player authenticated by the game's server, with a client of the library. */
async function player(name: string, rating: number, speed: number): Promise<string> {
  const body = { external_user_id: name, preferred_global_name: name };
  const issued = await engine.api.bot_partner_sdk_token!({ body }, { as: bot.id });
  const client = new Client({ apiBase: api });
  await client.updateToken(AuthorizationTokenType.Bearer, (issued as { access_token: string }).access_token);
  await client.connect();
  const won = new Promise<string>((resolve) => {
    client.setMatchTicketCallback(({ lobbyId }) => {
      if (lobbyId !== null) void client.sendLobbyGameMessage(lobbyId, 'run', speed);
    });
    client.setLobbyGameMessageCallback((_, type, data) => {
      if (type === 'won') resolve(client.getUser(String(data))?.displayName ?? 'somebody');
    });
  });
  await client.createMatchTicket('race', { rating });
  const winner = await won;
  await client.disconnect();
  return winner;
}

const winners = await Promise.all([player('Ada', 1_000, 2), player('Bo', 1_040, 4)]);
console.log(`${winners[0]} wins, and both saw it: ${winners[0] === winners[1]}`);
await engine.close();
