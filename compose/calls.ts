import { Calls } from '../actors/call/calls.ts';
import { Streams } from '../actors/call/streams.ts';
import { inOwnTurn } from '../actors/call/voicelistener.ts';
import type { Guilds } from '../actors/guild/guilds.ts';
import { opened } from '../actors/runtime/opened.ts';
import type { Supervisor } from '../actors/runtime/supervisor.ts';
import { isE2eeRequired, rulesMsOf } from '../config/choices.ts';
import { openDaveDelivery } from '../media/dave/group.ts';
import type { MediaPlane } from '../media/plane.ts';
import { isInForce } from '../protocol/dates.ts';
import { createRepeating } from '../services/repeating.ts';
import { createCallOwner } from '../services/voice/callowner.ts';
import type { PlacePorts, VoicePlaces } from '../services/voice/places.ts';
import { askInOwnTurn, ownedIds, showingStreams, streamsThenCalls } from '../services/voice/streams.ts';
import type { Features } from './context.ts';
import type { Foundation } from './foundation.ts';

export interface CallPorts extends Foundation {
  readonly supervisor: Supervisor;
  readonly guilds: Guilds;
  readonly privateChannels: PlacePorts['privateChannels'];
  readonly inPrivate: PlacePorts['inPrivate'];
  readonly notifier: PlacePorts['notifier'];
  readonly routing: PlacePorts['routing'];
  readonly places: VoicePlaces;
  readonly features: Pick<Features, 'lobbies'>;
}

/**
 * The calls of this process and the Go Live streams in them, without sockets.
 *
 * @param plane The media; null while they are closed.
 * @param endpoint Where voice clients connect; null while nothing listens.
 */
export function createCalls(
  ports: CallPorts,
  plane: () => Pick<MediaPlane, 'open'> | null,
  endpoint: () => string | null,
) {
  const streams: Streams = streamsOf(ports, () => calls);
  const calls: Calls = callsOf(ports, () => calls, streams, plane, endpoint);
  return {
    calls,
    streams,
    /** Handles the stream opcodes of a session. */
    ask: askInOwnTurn(streams, ports),
    voiceListener: inOwnTurn(
      streamsThenCalls(streams, calls),
      (run) => ports.clock.defer(run),
      (error) => ports.onFault(error, 'call'),
    ),
  };
}

/** The only voice region; the lists of regions name the same. */
const REGION = 'local';

/** Go Live over the calls. `calls` is a function because the calls are created later. */
function streamsOf(ports: CallPorts, calls: () => Calls): Streams {
  return new Streams({
    get calls() {
      return calls();
    },
    nextId: ownedIds(ports.nextId, ports.routing),
    region: REGION,
    deliver: ({ userId, sessionId }, t, d) => ports.notifier.notifySession(userId, sessionId, t, d),
    show: showingStreams(ports),
  });
}

function callsOf(
  ports: CallPorts,
  calls: () => Calls,
  streams: Streams,
  plane: () => Pick<MediaPlane, 'open'> | null,
  endpoint: () => string | null,
): Calls {
  const { config, clock, wheel, randomBytes, onFault } = ports;
  const { repeat } = createRepeating({ wheel, scope: ports.lifetime, onFault });
  return new Calls({
    settings: {
      callsMax: config.calls_max,
      membersMax: config.call_members_max,
      e2eeRequired: isE2eeRequired(config, isInForce('calls_encrypted', rulesMsOf(config, clock.now()))),
      resumeWindowMs: config.voice_resume_window_ms,
    },
    plane: {
      open(callId, events) {
        return opened(plane(), 'The engine does not listen, so there are no media.').open(callId, events);
      },
    },
    openDave: openDaveDelivery,
    supervisor: ports.supervisor,
    wheel,
    nowMs: () => clock.monotonic(),
    randomBytes,
    owner: createCallOwner({
      ...{ ...ports, ...ports.features, streams, endpoint, repeat },
      voiceMemberOf: (...asked) => calls().voiceMemberOf(...asked),
    }),
    onFault: (error) => onFault(error, 'call'),
    onUnencrypted: ({ userId, serverId }) => ports.logger.warn({ userId, serverId }, UNENCRYPTED),
  });
}

/** Logged for the operator, because the client's own library reports nothing and rejoins forever. */
const UNENCRYPTED =
  'A voice client was refused because it has no end-to-end encryption (close code 4017). Update its voice library: ' +
  '@discordjs/voice 0.19 or newer has DAVE. Or set e2ee_required to false to let it in unencrypted; see docs/clients.md.';
