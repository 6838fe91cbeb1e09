import type { Guilds } from '../../actors/guild/guilds.ts';
import type { Clock } from '../../actors/runtime/clock.ts';
import type { Wheel } from '../../actors/runtime/wheel.ts';
import type { LiveSession } from '../../actors/session/backend.ts';
import type { Reply } from '../../engine/kernel/aggregate.ts';
import { type Authority, authorityOf } from '../../engine/kernel/authority.ts';
import { isBug } from '../../protocol/faults.ts';
import type { ChannelId, GuildId } from '../../protocol/ids.ts';
import type { VoiceStateRequest } from '../../protocol/sessionrequests.ts';
import type { InPrivate } from '../privatechannels/privatechannels.ts';

/** A place for voice: a guild, in one of its channels at a time, or a private channel. */
export type VoicePlace =
  | { readonly kind: 'guild'; readonly id: GuildId }
  | { readonly kind: 'private'; readonly id: ChannelId };

export type VoiceChangeRequest = Omit<VoiceStateRequest, 'guildId'>;

export const NOWHERE: VoiceChangeRequest = {
  ...{ channelId: null, selfMute: false, selfDeaf: false, selfVideo: false },
};

/** How often, and for how long, a request is repeated that its owner could not answer. */
const REPEAT_MS = { every: 1_000, most: 60_000 };

export interface AskPorts {
  readonly guilds: Guilds;
  readonly inPrivate: InPrivate;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly wheel: Wheel;
}

/** Sends a voice request to the owner of the place. */
export const askingIn =
  ({ guilds, inPrivate }: Pick<AskPorts, 'guilds' | 'inPrivate'>) =>
  (
    place: VoicePlace,
    wish: VoiceChangeRequest & { readonly sessionId: string },
    authority: Authority,
  ): Promise<Reply<object | null>> => {
    if (place.kind === 'guild') return guilds.call(place.id, 'setVoiceState', wish, authority);
    const { channelId, ...own } = wish;
    const input = { ...own, join: channelId !== null };
    return inPrivate(place.id, 'setCallState', input, authority);
  };

/** @returns The reply of the place. Rejects when the request was given up, and then may have taken effect. */
type AskRepeatedly = (
  session: LiveSession,
  place: VoicePlace,
  request: VoiceChangeRequest,
  isWanted?: () => boolean,
) => Promise<Reply<object | null>>;

/**
 * Sends voice requests to the owners of places, and repeats those that the environment fails, for example because the database is
 * away: clients do not ask again. A request is given up after a minute, when its session has ended or has made another one to the
 * same place, or when it is no longer wanted.
 */
export function askingRepeatedly(ports: AskPorts): AskRepeatedly {
  const askIn = askingIn(ports);
  /** The last request of each session to each place that has no reply yet. */
  const unanswered = new WeakMap<LiveSession, Map<string, object>>();
  return async (session, place, request, isWanted = () => true) => {
    const wish = { ...request, sessionId: session.sessionId };
    const ofSession = unanswered.get(session) ?? new Map<string, object>();
    unanswered.set(session, ofSession.set(place.id, wish));
    const isDue = () => !session.over && ofSession.get(place.id) === wish && isWanted();
    const untilMs = ports.clock.monotonic() + REPEAT_MS.most;
    try {
      for (;;) {
        try {
          return await askIn(place, wish, authorityOf(session.principal));
        } catch (fault) {
          const mayRepeat = !isBug(fault) && ports.clock.monotonic() < untilMs;
          if (!mayRepeat || !(await ports.wheel.pause(REPEAT_MS.every)) || !isDue()) throw fault;
        }
      }
    } finally {
      if (ofSession.get(place.id) === wish) ofSession.delete(place.id);
    }
  };
}
