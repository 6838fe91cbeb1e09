import type { Calls } from '../actors/call/calls.ts';
import type { Seats } from '../actors/call/ports.ts';
import { Streams } from '../actors/call/streams.ts';
import type { SessionBackend } from '../actors/session/backend.ts';
import type { Users } from '../actors/user/users.ts';
import { SYSTEM } from '../engine/authority.ts';
import type { Stream } from '../engine/call/stream.ts';
import { DispatchBody } from '../engine/fanout/body.ts';
import type { UserId } from '../protocol/ids.ts';
import type { Foundation } from './foundation.ts';
import { type PlacePorts, privateCommands } from './places.ts';

export type StreamWiring = Pick<Foundation, 'clock' | 'nextId' | 'onFault'> &
  Pick<PlacePorts, 'guilds' | 'privateChannels'> & { readonly users: Users };

/** The one region there is; the same that the lists of regions name. */
const REGION = 'local';

/** Go Live over the calls, which are asked for when the first stream begins. */
export function createStreams(ports: StreamWiring, calls: () => Calls): Streams {
  const { users, clock, nextId } = ports;
  return new Streams({
    get calls() {
      return calls();
    },
    nextId,
    region: REGION,
    tell({ userId, sessionId }, t, d) {
      const body = new DispatchBody(t, d, clock.monotonic());
      for (const session of users.sessions(userId))
        if (session.sessionId === sessionId) session.deliver(body);
    },
    show: (stream, live) => show(stream, live, ports),
  });
}

/** Who is gone from memory shows nothing any more. */
function show(stream: Stream, live: boolean, { guilds, privateChannels, onFault }: StreamWiring): void {
  const { guildId, channelId, ownerId: userId, sessionId } = stream;
  const input = { userId, sessionId, live };
  if (guildId === null ? !privateChannels.peek(channelId) : !guilds.isResident(guildId)) return;
  const shown =
    guildId === null
      ? privateCommands(privateChannels)(channelId, 'showStreaming', input, SYSTEM)
      : guilds.call(guildId, 'showStreaming', { ...input, channelId }, SYSTEM);
  shown.catch((fault) => onFault(fault, 'stream'));
}

/** What owners of seats say goes to both; who leaves a channel leaves its streams first. */
export const streamsThenCalls = (streams: Streams, calls: Calls): Seats => ({
  seated(seat) {
    streams.seated(seat);
    calls.seated(seat);
  },
  unseated(serverId, userId) {
    streams.unseated(serverId, userId);
    calls.unseated(serverId, userId);
  },
  ended(callId) {
    streams.ended(callId);
    calls.ended(callId);
  },
});

/** What sessions ask of streams, each in a turn of its own: what goes wrong there must not end a connection. */
export const askInOwnTurn =
  (streams: Streams, { clock, onFault }: Pick<StreamWiring, 'clock' | 'onFault'>): SessionBackend['stream'] =>
  (session, request) =>
    clock.defer(() => {
      const { sessionId, over } = session;
      if (over) return;
      try {
        streams.ask({ userId: session.userId as UserId, sessionId }, request);
      } catch (error) {
        onFault(error, 'stream');
      }
    });
