import { type Client, matchMaker, Room, Server } from '@colyseus/core';
import { type SchemaType, schema, t } from '@colyseus/schema';
import { WebSocketTransport } from '@colyseus/ws-transport';
import { type Contender, textOf } from './contender.ts';
import { MEMBERS_EACH, messagesOf, type Update } from './orders.ts';

const Member = schema({ id: t.string(), metadata: t.map('string') }, 'Member');
const Lobby = schema({ metadata: t.map('string'), members: t.map(Member) }, 'Lobby');

const rooms = new Set<LobbyRoom>();

/** A lobby as its documentation would write one: who is in it, and text about it and each of them. */
class LobbyRoom extends Room<{ state: SchemaType<typeof Lobby> }> {
  override maxClients = MEMBERS_EACH;
  /** Patches are sent when the harness says so, for the cost of a tick is no delivery's. */
  override patchRate = null;
  override state = new Lobby();

  override onCreate(): void {
    rooms.add(this);
    this.state.metadata.set('map', 'dunes');
  }

  override onJoin({ sessionId }: Client): void {
    const member = new Member();
    member.id = sessionId;
    member.metadata.set('team', 'blue');
    this.state.members.set(sessionId, member);
  }

  override onLeave({ sessionId }: Client): void {
    this.state.members.delete(sessionId);
  }

  tell(update: Update, index: number): void {
    const text = textOf(index);
    if (update === 'broadcast' || update === 'burst') {
      for (let said = 0; said < messagesOf(update); said += 1) this.broadcast('update', { text });
      return;
    }
    const [first] = this.state.members.values();
    const metadata = update === 'metadata' ? this.state.metadata : first?.metadata;
    metadata?.set('bench', text);
    this.broadcastPatch();
  }
}

/** As its documentation sets it up; its pings are off, they would be measured too. */
export async function openColyseus(): Promise<Contender> {
  const transport = new WebSocketTransport({ pingInterval: 0 });
  const server = new Server({ transport, greet: false, gracefullyShutdown: false });
  server.define('lobby', LobbyRoom);
  await server.listen(0, '127.0.0.1');
  matchMaker.controller.getCorsHeaders = () => ({});
  const address = transport.server?.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    prepare: async (count) => Array.from({ length: count }, () => ''),
    update: (update, index) => {
      for (const room of rooms) room.tell(update, index);
    },
  };
}
