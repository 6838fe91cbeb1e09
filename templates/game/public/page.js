// A player's page. `Guildhall` is the client library, from /sdk.js.
const { AuthorizationTokenType, Client } = globalThis.Guildhall;
const byId = (id) => document.getElementById(id);
const news = (text) => {
  byId('news').textContent = text;
};

byId('join').addEventListener('submit', async (event) => {
  event.preventDefault();
  try {
    await play(byId('name').value);
    byId('join').hidden = true;
    byId('game').hidden = false;
  } catch (error) {
    news(`That did not work: ${error.message}`);
  }
});

async function play(name) {
  const answer = await fetch(`/play?name=${encodeURIComponent(name)}`, { method: 'POST' });
  if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
  const { api, lobbyId, token } = await answer.json();
  const client = new Client({ apiBase: api });
  await client.updateToken(AuthorizationTokenType.Bearer, token);
  await client.connect();
  const nameOf = (id) => client.getUser(id)?.displayName ?? 'somebody';
  client.setLobbyGameMessageCallback((_lobbyId, type, data) => {
    if (type === 'won') news(`${nameOf(data)} wins!`);
    if (type === 'state') draw(data, nameOf, client.getCurrentUserV2()?.id);
  });
  await client.joinOpenLobby(lobbyId);
  steerWithKeys((steer) => client.sendLobbyGameMessage(lobbyId, 'steer', steer));
}

const KEYS = { ArrowLeft: ['dx', -1], ArrowRight: ['dx', 1], ArrowUp: ['dy', -1], ArrowDown: ['dy', 1] };

function steerWithKeys(send) {
  const steer = { dx: 0, dy: 0 };
  const press = (event, isDown) => {
    const [axis, direction] = KEYS[event.key] ?? [];
    if (axis === undefined) return;
    event.preventDefault();
    const wanted = isDown ? direction : steer[axis] === direction ? 0 : steer[axis];
    if (wanted === steer[axis]) return;
    steer[axis] = wanted;
    send(steer).catch((error) => news(error.message));
  };
  addEventListener('keydown', (event) => press(event, true));
  addEventListener('keyup', (event) => press(event, false));
}

function draw({ lantern, players }, nameOf, ownId) {
  const canvas = byId('field');
  const pen = canvas.getContext('2d');
  pen.clearRect(0, 0, canvas.width, canvas.height);
  const dot = ({ x, y }, radius, colour) => {
    pen.fillStyle = colour;
    pen.beginPath();
    pen.arc(x, y, radius, 0, 2 * Math.PI);
    pen.fill();
  };
  dot(lantern, 8, '#ffd166');
  for (const [id, player] of Object.entries(players)) dot(player, 10, id === ownId ? '#4cc9f0' : '#f72585');
  const lines = Object.entries(players).map(([id, { points }]) => `${nameOf(id)}: ${points}`);
  const list = byId('points');
  if (list.textContent !== lines.join(''))
    list.replaceChildren(
      ...lines.map((line) => Object.assign(document.createElement('li'), { textContent: line })),
    );
}
