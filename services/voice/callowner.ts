import type { CallOwner } from '../../actors/call/calls.ts';
import type { VoiceMember } from '../../actors/call/ports.ts';
import type { Streams } from '../../actors/call/streams.ts';
import type { Clock } from '../../actors/runtime/clock.ts';
import { DispatchBody } from '../../engine/fanout/body.ts';
import { SYSTEM } from '../../engine/kernel/authority.ts';
import { isChannelId, type UserId } from '../../protocol/ids.ts';
import type { Lobbies } from '../lobbies/ports.ts';
import { type Repeat, served } from '../repeating.ts';
import type { PlacePorts, VoicePlaces } from './places.ts';

interface CallOwnerPorts extends Pick<PlacePorts, 'guilds' | 'inPrivate' | 'notifier' | 'routing'> {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly places: VoicePlaces;
  readonly lobbies: Pick<Lobbies, 'owns' | 'invited' | 'drop'>;
  readonly streams: Streams;
  /** Where clients connect to calls; null before calls are served. */
  readonly endpoint: () => string | null;
  /** The user in the calls of the server now, with the session. */
  readonly voiceMemberOf: (serverId: string, userId: UserId) => VoiceMember | null;
  /** Repeats commands that failed. */
  readonly repeat: Repeat;
  readonly onFault: (error: unknown, where: string) => void;
}

/** Operations of a call on its owner: a guild, a private channel, a lobby or a stream. */
export function createCallOwner(ports: CallOwnerPorts): CallOwner {
  const { lobbies, streams, endpoint, routing, onFault } = ports;
  /** Makes the next owner of a private channel load it, so that its call continues. */
  const wake = routing.tell('calls.wake', (id: string): void => {
    if (!isChannelId(id)) return;
    ports.inPrivate(id, 'getChannel', { channelId: id }, SYSTEM).catch((fault) => onFault(fault, 'voice'));
  });
  return {
    invite(voiceMember, token) {
      const stream = streams.of(voiceMember.callId);
      if (stream) streams.invite(stream, voiceMember, token, endpoint());
      else if (lobbies.owns(voiceMember.callId)) lobbies.invited(voiceMember, token, endpoint());
      else invite(ports, voiceMember, token, endpoint());
    },
    moved(callId, of) {
      // Guilds and lobbies are loaded by the sessions that subscribe to them.
      if (of === 'private') wake(callId);
    },
    dropped(voiceMember) {
      const { callId, groupId, serverId, userId, sessionId } = voiceMember;
      const stream = streams.of(callId);
      if (stream) streams.dropped(stream, voiceMember);
      // A stream that has ended has no voice members to remove.
      else if (callId === groupId) {
        const { drop } = lobbies.owns(callId) ? lobbies : ports.places;
        // The owner shows the user in voice until it has answered. The next owner has a call of its own.
        ports.repeat(serverId, async () => {
          const isBack = ports.voiceMemberOf(serverId, userId)?.sessionId === sessionId;
          if (routing.owns(serverId) && !isBack) served(await drop(voiceMember));
        });
      }
    },
    silent: (voiceMember) => moveToAfk(ports, voiceMember),
  };
}

/**
 * Sends VOICE_SERVER_UPDATE to the one session that is in voice. Without an endpoint clients wait for another update. A
 * session that subscribes to the guild receives it with the guild's dispatches: between shards that route is shorter,
 * and when it breaks the session subscribes again and receives it again.
 */
function invite(
  ports: CallOwnerPorts,
  voiceMember: VoiceMember,
  token: string,
  endpoint: string | null,
): void {
  const { guilds, notifier, clock } = ports;
  const { userId, sessionId, guildId, callId } = voiceMember;
  const t = 'VOICE_SERVER_UPDATE';
  const where = guildId === null ? { channel_id: callId } : { guild_id: guildId };
  const d = { token, ...where, endpoint };
  const session = guildId && guilds.subscriber(guildId, sessionId);
  if (session) session.deliver(new DispatchBody(t, d, clock.monotonic()));
  else notifier.notifySession(userId, sessionId, t, d);
}

function moveToAfk({ guilds, onFault }: CallOwnerPorts, { guildId, userId, callId }: VoiceMember): void {
  if (guildId === null) return;
  guilds
    .call(guildId, 'moveToAfk', { userId, channelId: callId }, SYSTEM)
    .catch((fault) => onFault(fault, 'voice'));
}
