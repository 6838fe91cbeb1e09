import type { Calls } from '../../actors/call/calls.ts';
import type { VoiceListener } from '../../actors/call/ports.ts';
import type { Streamer, Streams } from '../../actors/call/streams.ts';
import type { Clock } from '../../actors/runtime/clock.ts';
import type { RequestHandlers } from '../../actors/session/backend.ts';
import type { GoLiveStream } from '../../engine/call/stream.ts';
import { SYSTEM } from '../../engine/kernel/authority.ts';
import { type FreshId, isSnowflake } from '../../protocol/ids.ts';
import type { StreamRequest } from '../../protocol/sessionrequests.ts';
import type { PlacePorts } from './places.ts';

interface StreamPorts extends Pick<PlacePorts, 'guilds' | 'privateChannels' | 'inPrivate' | 'routing'> {
  readonly clock: Pick<Clock, 'defer'>;
  readonly onFault: (error: unknown, where: string) => void;
}

/** Most ids that are tried: a shard may own nothing for a moment. */
const TRIES_MAX = 64;

/** Ids that this shard owns: other shards find a stream here by its id. */
export const ownedIds =
  (nextId: () => FreshId, { owns }: Pick<PlacePorts['routing'], 'owns'>) =>
  (): FreshId => {
    let id = nextId();
    for (let tries = 1; tries < TRIES_MAX && !owns(id); tries += 1) id = nextId();
    return id;
  };

/** Updates `self_stream` in voice states; aggregates that are not resident are skipped. */
export const showingStreams =
  ({ guilds, privateChannels, inPrivate, onFault }: Omit<StreamPorts, 'clock' | 'routing'>) =>
  (stream: GoLiveStream, live: boolean): void => {
    const { guildId, channelId, ownerId: userId, sessionId } = stream;
    const input = { userId, sessionId, live };
    if (guildId === null ? !privateChannels.peek(channelId) : !guilds.isResident(guildId)) return;
    const shown =
      guildId === null
        ? inPrivate(channelId, 'showStreaming', input, SYSTEM)
        : guilds.call(guildId, 'showStreaming', { ...input, channelId }, SYSTEM);
    shown.catch((fault) => onFault(fault, 'stream'));
  };

/**
 * Forwards notifications of voice owners to streams and calls; a user who leaves a channel leaves its streams first.
 */
export const streamsThenCalls = (streams: Streams, calls: Calls): VoiceListener => ({
  voiceJoined(voiceMember) {
    streams.voiceJoined(voiceMember);
    calls.voiceJoined(voiceMember);
  },
  voiceLeft(serverId, userId) {
    streams.voiceLeft(serverId, userId);
    calls.voiceLeft(serverId, userId);
  },
  ended(callId, ...how) {
    streams.ended(callId);
    calls.ended(callId, ...how);
  },
});

/** The guild or private channel of a stream request; null for a malformed stream key. */
function serverOf(request: StreamRequest): string | null {
  if (request.type === 'create') return request.place.guildId ?? request.place.channelId;
  const [, server = ''] = request.streamKey.split(':', 2);
  return isSnowflake(server) ? server : null;
}

/**
 * Handles stream requests of sessions, each in a turn of its own, so that a fault does not end a connection. Streams
 * run on the shard of the call that they belong to.
 */
export function askInOwnTurn(
  streams: Streams,
  { clock, routing, onFault }: Pick<StreamPorts, 'clock' | 'routing' | 'onFault'>,
): RequestHandlers['stream'] {
  const guarded = (by: Streamer, request: StreamRequest): void => {
    try {
      streams.ask(by, request);
    } catch (error) {
      onFault(error, 'stream');
    }
  };
  const askOwner = routing.tell(
    'streams.ask',
    (_server: string, by: Streamer, request: StreamRequest): void => guarded(by, request),
  );
  return (session, request) =>
    clock.defer(() => {
      const { sessionId, over } = session;
      if (over) return;
      const by = { userId: session.userId, sessionId };
      const server = serverOf(request);
      if (server === null) guarded(by, request);
      else askOwner(server, by, request);
    });
}
