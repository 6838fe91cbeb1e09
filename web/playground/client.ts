import { INTENTS } from '../../protocol/intents.ts';
import { AuthorizationTokenType, Client, type OpenSocket, Status } from '../../sdk/index.ts';
import { type Link, type LinkEvents, ROOM_INTENTS } from '../session.ts';
import { socketUrl } from '../socket.ts';

const INTENTS_MORE =
  INTENTS.GUILD_MEMBERS |
  INTENTS.GUILD_PRESENCES |
  INTENTS.GUILD_EXPRESSIONS |
  INTENTS.GUILD_MESSAGE_REACTIONS |
  INTENTS.GUILD_MESSAGE_TYPING |
  INTENTS.GUILD_MESSAGE_POLLS;

/** The client library as the signed-in person's client. `openSocket` sees the gateway's frames. */
export const createClient = (openSocket: OpenSocket): Client =>
  new Client({
    ...{ apiBase: `${location.origin}/api`, gatewayUrl: socketUrl('/') },
    ...{ usesApplications: true, intents: ROOM_INTENTS | INTENTS_MORE, openSocket },
  });

/** Connects the client with the person's token, and lets the page's session use its connection. */
export function connectClient(client: Client, token: string, events: LinkEvents): Link {
  let isClosed = false;
  client.addDispatchCallback((name, d) => {
    if (name === 'READY') events.ready(d);
    else events.dispatch(name, d);
  });
  client.setStatusChangedCallback((status, _error, detail) => {
    if (status === Status.Ready) events.online(true);
    else if (status === Status.Reconnecting) events.online(false);
    else if (status === Status.Disconnected && !isClosed) events.ended(detail, '');
  });
  client
    .updateToken(AuthorizationTokenType.User, token)
    .then(() => client.connect())
    // The status reports failures too; an unreachable server is tried again.
    .catch(() => undefined);
  return {
    get sessionId() {
      return client.getSessionId();
    },
    send(op, d) {
      if (client.getStatus() === Status.Ready) client.sendToGateway(op, d);
    },
    close() {
      isClosed = true;
      client.destroy();
    },
  };
}
