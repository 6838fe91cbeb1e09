// The rules. They run on the server, in every lobby whose `game` is 'lanterns'; players only say where they want to go.

export const FIELD = { width: 480, height: 320 };
export const SPEED = 120; // Pixels a second.
export const REACH = 16; // A player this close to the lantern takes it.
export const POINTS_TO_WIN = 5;
const TICK_MS = 50;

/** A handler of `engine.lobbies.defineLobby('lanterns', lanterns)`. Handlers are synchronous and run one at a time. */
export const lanterns = {
  tickMs: TICK_MS,
  onCreate: (lobby) => ({ players: new Map(), lantern: somewhere(lobby) }),
  onJoin(lobby, { id }) {
    lobby.state.players.set(id, { ...somewhere(lobby), dx: 0, dy: 0, points: 0 });
  },
  onLeave(lobby, { id }) {
    lobby.state.players.delete(id);
  },
  onMessage(lobby, { from, type, data }) {
    const player = lobby.state.players.get(from);
    // Everything that a client sends may be wrong: take only a direction.
    if (player === undefined || type !== 'steer') return;
    player.dx = directionOf(data?.dx);
    player.dy = directionOf(data?.dy);
  },
  onTick(lobby, { elapsedMs }) {
    const { players } = lobby.state;
    for (const [id, player] of players) {
      player.x = between(0, player.x + (player.dx * SPEED * elapsedMs) / 1_000, FIELD.width);
      player.y = between(0, player.y + (player.dy * SPEED * elapsedMs) / 1_000, FIELD.height);
      if (distance(player, lobby.state.lantern) > REACH) continue;
      player.points += 1;
      lobby.state.lantern = somewhere(lobby);
      if (player.points < POINTS_TO_WIN) continue;
      lobby.broadcast('won', id);
      for (const each of players.values()) each.points = 0;
    }
    lobby.broadcast('state', { lantern: lobby.state.lantern, players: Object.fromEntries(players) });
  },
};

const directionOf = (value) => (value === -1 || value === 1 ? value : 0);
const between = (min, value, max) => Math.min(Math.max(value, min), max);
const distance = (one, other) => Math.hypot(one.x - other.x, one.y - other.y);
const somewhere = (lobby) => ({
  x: Math.round(lobby.random() * FIELD.width),
  y: Math.round(lobby.random() * FIELD.height),
});
