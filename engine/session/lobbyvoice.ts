import { isChannelId } from '../../protocol/ids.ts';
import type { ApplicationPreferences } from './record.ts';

/** A dispatch to the session. Reading `d` may parse JSON. */
interface Received {
  readonly t: string;
  readonly d: unknown;
}

/**
 * What an application wants after a dispatch to its session; the same object when that shows no change. Its client has asked for
 * calls of lobbies, and since then its user may have joined with another session, or have been dropped or removed.
 */
export function preferencesAfter(
  before: ApplicationPreferences,
  { userId, sessionId }: { readonly userId: string; readonly sessionId: string },
  received: Received,
): ApplicationPreferences {
  if (received.t === 'LOBBY_DELETE')
    return before.lobbyVoice ? without(before, objectOf(received).id) : before;
  if (received.t !== 'LOBBY_VOICE_STATE_UPDATE') return before;
  const state = objectOf(received);
  if (state.user_id !== userId) return before;
  const { lobby_id: lobbyId } = state;
  const left = without(before, lobbyId);
  const isIn = state.session_id === sessionId && state.channel_id !== null;
  if (!isIn || !isChannelId(lobbyId)) return left;
  const [selfMute, selfDeaf] = [state.self_mute === true, state.self_deaf === true];
  const joined = { lobbyId, selfMute, selfDeaf, selfVideo: state.self_video === true };
  return { ...left, lobbyVoice: [...(left.lobbyVoice ?? []), joined] };
}

function without(before: ApplicationPreferences, id: unknown): ApplicationPreferences {
  const lobbyVoice = before.lobbyVoice?.filter(({ lobbyId }) => lobbyId !== id) ?? null;
  return lobbyVoice?.length === before.lobbyVoice?.length ? before : { ...before, lobbyVoice };
}

const objectOf = ({ d }: Received): Readonly<Record<string, unknown>> =>
  typeof d === 'object' && d !== null ? { ...d } : {};
