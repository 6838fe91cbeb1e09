// A chat in the terminal, over a lobby: whoever gives the same secret is in the same lobby. Start a server (`npm start`),
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

/** The game's server: vouches for a player whom it knows, and gives their game a token. */
async function tokenOf(playerName: string): Promise<string> {
  const response = await fetch(`${api}/v10/partner-sdk/token/bot`, {
    method: 'POST',
    headers: { authorization: `Bot ${botToken}`, 'content-type': 'application/json' },
    body: JSON.stringify({ external_user_id: playerName, preferred_global_name: playerName }),
  });
  if (!response.ok) throw new Error(`No token: ${response.status} ${await response.text()}`);
  return ((await response.json()) as { access_token: string }).access_token;
}

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

await client.updateToken(AuthorizationTokenType.Bearer, await tokenOf(name));
await client.connect();
const lobbyId = await client.createOrJoinLobby(secret);

for (const message of (await client.getLobbyMessagesWithLimit(lobbyId, 20)).reverse())
  console.log(`${nameOf(message.authorId)}: ${message.content}`);
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
await client.leaveLobby(lobbyId);
client.destroy();
