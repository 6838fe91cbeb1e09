// A chat in the terminal, over a lobby: users with the same secret join the same lobby. Start a server (`npm start`),
// build (`npm run build`), and run this once for each player:
//
//   BOT_TOKEN=… node dist/examples/lobby-chat.js "our secret" Ada
//
// The server prints the bot token. What needs it here is the work of a game's server; a game never holds it.
import { createInterface } from 'node:readline';
import { AuthorizationTokenType, Client, ClientError, Status } from '../sdk/node.ts'; // Elsewhere: from 'guildhall/sdk'.

const [secret, name] = process.argv.slice(2);
const { BOT_TOKEN: botToken, API: api = 'http://127.0.0.1:3000/api' } = process.env;
if (secret === undefined || name === undefined || botToken === undefined) {
  console.error('Usage: BOT_TOKEN=… node dist/examples/lobby-chat.js <secret> <name>');
  process.exit(2);
}

/** Ends with a sentence instead of a stack. */
function stop(sentence: string): never {
  console.error(sentence);
  process.exit(1);
}

/** The game's server: authenticates a player, and gives their game a token. */
async function tokenOf(playerName: string): Promise<string> {
  const response = await fetch(`${api}/v10/partner-sdk/token/bot`, {
    method: 'POST',
    headers: { authorization: `Bot ${botToken}`, 'content-type': 'application/json' },
    body: JSON.stringify({ external_user_id: playerName, preferred_global_name: playerName }),
  }).catch(() =>
    stop(
      `No server answers at ${api}. Start one with \`npm start\`, or give its address: API=http://<host>:<port>/api.`,
    ),
  );
  if (response.status === 401)
    stop(`The server at ${api} does not know BOT_TOKEN. Pass the bot token that it prints when it starts.`);
  const answer = await response.text();
  if (!response.ok || !answer.includes('access_token'))
    stop(
      `The server at ${api} gave no token (${response.status}). Check API, the address of the server's API.`,
    );
  return (JSON.parse(answer) as { access_token: string }).access_token;
}

if (!URL.canParse(api))
  stop(`API is "${api}"; it must be the address of a server's API, such as http://127.0.0.1:3000/api.`);

// The game.
const client = new Client({ apiBase: api });
const nameOf = (userId: string): string => client.getUser(userId)?.displayName ?? 'someone';

client.setStatusChangedCallback((status) => {
  if (status === Status.Reconnecting) console.log('… the connection broke; it is being made again');
});
client.setLobbyMemberAddedCallback((_, memberId) => console.log(`→ ${nameOf(memberId)} is here`));
client.setLobbyMemberRemovedCallback((_, memberId) => console.log(`← ${nameOf(memberId)} has left`));
client.setLobbyDeletedCallback(() => {
  console.log('The lobby is no more.');
  client.disconnect();
  process.exit(0);
});
client.setMessageCreatedCallback((messageId) => {
  const message = client.getMessageHandle(messageId);
  if (message !== null && message.authorId !== client.getCurrentUserV2()?.id)
    console.log(`${nameOf(message.authorId)}: ${message.content}`);
});

async function enter(lobbySecret: string, token: string): Promise<string> {
  await client.updateToken(AuthorizationTokenType.Bearer, token);
  await client.connect();
  const id = await client.createOrJoinLobby(lobbySecret);
  for (const message of (await client.getLobbyMessagesWithLimit(id, 20)).reverse())
    console.log(`${nameOf(message.authorId)}: ${message.content}`);
  return id;
}

const lobbyId = await enter(secret, await tokenOf(name)).catch((error: unknown) => {
  if (!(error instanceof ClientError)) throw error;
  return stop(`The lobby cannot be entered: ${error.message}`);
});
const others = client.getLobbyHandle(lobbyId)?.lobbyMemberIds.map(nameOf) ?? [];
console.log(`You are in, with ${others.join(', ')}. Write, or end with Ctrl+D.`);

for await (const line of createInterface({ input: process.stdin })) {
  if (line.trim() === '') continue;
  try {
    await client.sendLobbyMessage(lobbyId, line);
  } catch (error) {
    if (!(error instanceof ClientError)) throw error;
    const { retryAfter } = error.result;
    console.log(`It was not sent: ${error.message}${retryAfter > 0 ? ` Try again in ${retryAfter} s.` : ''}`);
  }
}
client.setLobbyDeletedCallback(() => {});
// A server that has ended meanwhile needs no goodbye.
await client.leaveLobby(lobbyId).catch(() => undefined);
client.destroy();
