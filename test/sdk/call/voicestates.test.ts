// Goal: who is in a lobby's call is known from dispatches alone, whatever is in them.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { VoiceStates } from '../../../sdk/call/voicestates.ts';

const LOBBY = '700';
const state = (userId: string, more: object = {}) => ({
  lobby_id: LOBBY,
  channel_id: LOBBY,
  user_id: userId,
  session_id: `of ${userId}`,
  self_mute: false,
  self_deaf: false,
  ...more,
});

describe('voice states', () => {
  test('are added with the lobby, changed and removed', () => {
    const states = new VoiceStates();
    expect(states.apply('LOBBY_CREATE', { id: LOBBY, voice_states: [state('1')] })).toEqual([
      { lobbyId: LOBBY, userId: '1', change: 'added', sessionId: 'of 1' },
    ]);
    states.apply('LOBBY_VOICE_STATE_UPDATE', state('2'));
    expect(states.apply('LOBBY_VOICE_STATE_UPDATE', state('2', { self_mute: true }))).toMatchObject([
      { userId: '2', change: 'changed' },
    ]);
    expect(states.participants(LOBBY)).toEqual(['1', '2']);
    expect(states.state(LOBBY, '2')).toEqual({ selfMute: true, selfDeaf: false });
    expect(states.apply('LOBBY_VOICE_STATE_UPDATE', state('1', { channel_id: null }))).toEqual([
      { lobbyId: LOBBY, userId: '1', change: 'removed', sessionId: 'of 1' },
    ]);
    expect(states.apply('LOBBY_VOICE_STATE_UPDATE', state('1', { channel_id: null }))).toEqual([]);
    expect([states.participants(LOBBY), states.state(LOBBY, '1')]).toEqual([['2'], null]);
  });

  test('are replaced by a lobby update with voice states, and kept by one without them', () => {
    const states = new VoiceStates();
    states.apply('LOBBY_CREATE', { id: LOBBY, voice_states: [state('1'), state('2')] });
    const news = states.apply('LOBBY_UPDATE', { id: LOBBY, voice_states: [state('2'), state('3')] });
    expect(news.map(({ userId, change }) => `${userId} ${change}`)).toEqual([
      '1 removed',
      '2 changed',
      '3 added',
    ]);
    expect(states.apply('LOBBY_UPDATE', { id: LOBBY })).toEqual([]);
    expect(states.participants(LOBBY)).toEqual(['2', '3']);
  });

  test('end with the member, the lobby, and the session', () => {
    const states = new VoiceStates();
    const voiceStates = [state('1'), state('2')];
    states.apply('LOBBY_CREATE', { id: LOBBY, voice_states: voiceStates });
    expect(
      states.apply('LOBBY_MEMBER_REMOVE', { lobby_id: LOBBY, member: { user: { id: '1' } } }),
    ).toHaveLength(1);
    expect(states.apply('LOBBY_DELETE', { id: LOBBY, reason: 'deleted' })).toHaveLength(1);
    states.apply('LOBBY_CREATE', { id: LOBBY, voice_states: voiceStates });
    expect(states.apply('READY', { lobbies: [{ id: '701', voice_states: [state('9')] }] })).toHaveLength(3);
    expect(states.participants(LOBBY)).toEqual([]);
    expect(states.participants('701')).toEqual(['9']);
  });

  test('are not thrown off by any dispatch', () => {
    const name = fc.constantFrom(
      ...['READY', 'LOBBY_CREATE', 'LOBBY_UPDATE', 'LOBBY_DELETE'],
      ...['LOBBY_MEMBER_REMOVE', 'LOBBY_VOICE_STATE_UPDATE'],
    );
    const d = fc.dictionary(
      fc.constantFrom('id', 'lobby_id', 'lobbies', 'voice_states', 'user_id', 'user', 'member', 'channel_id'),
      fc.anything(),
    );
    fc.assert(
      fc.property(fc.array(fc.tuple(name, d)), (dispatches) => {
        const states = new VoiceStates();
        for (const [each, body] of dispatches) states.apply(each, body);
      }),
    );
  });
});
