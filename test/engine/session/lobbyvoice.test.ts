// Goal: a session is kept for the calls of lobbies in which it was shown last, and for no call that it has left by whatever way.
import { describe, expect, it } from 'vitest';
import { preferencesAfter } from '../../../engine/session/lobbyvoice.ts';
import { type ApplicationPreferences, NO_PREFERENCES } from '../../../engine/session/record.ts';

const WHO = { userId: '1', sessionId: 's1' };
const state = (lobbyId: string, more: object = {}) => ({
  t: 'LOBBY_VOICE_STATE_UPDATE',
  d: {
    ...{ user_id: '1', session_id: 's1', lobby_id: lobbyId, channel_id: lobbyId },
    ...{ self_mute: true, self_deaf: false, self_video: false, ...more },
  },
});
const after = (...received: { readonly t: string; readonly d: unknown }[]): ApplicationPreferences =>
  received.reduce((before, each) => preferencesAfter(before, WHO, each), NO_PREFERENCES);
const idsAfter = (...received: Parameters<typeof after>) =>
  (after(...received).lobbyVoice ?? []).map(({ lobbyId }) => lobbyId);

describe('the calls of lobbies of a session', () => {
  it('are those of the latest voice states of the session', () => {
    const silent = { selfDeaf: false, selfVideo: false };
    expect(after(state('50'), state('51'), state('50', { self_mute: false }))).toEqual({
      wantsAuthorizeRequests: false,
      lobbyVoice: [
        { lobbyId: '51', selfMute: true, ...silent },
        { lobbyId: '50', selfMute: false, ...silent },
      ],
    });
  });

  it.each([
    ['leaves or is dropped', state('50', { channel_id: null })],
    ['is replaced by another session of its user', state('50', { session_id: 's2' })],
    ['is removed from the lobby, or the lobby ends', { t: 'LOBBY_DELETE', d: { id: '50' } }],
  ])('are without one where it %s', (_how, received) => {
    expect(idsAfter(state('50'), state('51'), received)).toEqual(['51']);
    expect(idsAfter(received)).toEqual([]);
  });

  it('stay the same object after dispatches about others, whose payload is not read', () => {
    const before = after(state('50'));
    const unread = (t: string) =>
      Object.defineProperty({ t, d: null }, 'd', {
        get: () => {
          throw new Error('read');
        },
      });
    for (const received of [
      state('50', { user_id: '2', session_id: 's9', channel_id: null }),
      { t: 'LOBBY_DELETE', d: { id: '52' } },
      unread('LOBBY_MESSAGE_CREATE'),
    ])
      expect(preferencesAfter(before, WHO, received)).toBe(before);
    expect(preferencesAfter(NO_PREFERENCES, WHO, unread('LOBBY_DELETE'))).toBe(NO_PREFERENCES);
  });
});
