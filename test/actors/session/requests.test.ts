// Goal: an owner answers only requests that the session's client may send, and rejects malformed ones of other shards.
import { describe, expect, it } from 'vitest';
import { mayAsk, requestOf } from '../../../actors/session/requests.ts';
import type { ApplicationId } from '../../../protocol/ids.ts';
import type { Scope } from '../../../protocol/scopes.ts';

const EXPIRES_MS = 1_000;
const authorized = (...scopes: Scope[]) => ({
  bot: false,
  authorization: {
    id: '1',
    applicationId: '2' as ApplicationId,
    scopes: new Set(scopes),
    expiresMs: EXPIRES_MS,
  },
});
const PERSON = { bot: false, authorization: null };
const BOT = { bot: true, authorization: null };

describe('a request of a session of another shard', () => {
  it('is read when its name exists and its input is of that name', () => {
    expect(requestOf('soundboard', ['123'])).toEqual({ name: 'soundboard', input: ['123'] });
  });

  it.each([
    ['soundboard', [1]],
    ['soundboard', undefined],
    ['lobbyVoiceServer', ['123']],
    ['unknown', ['123']],
    ['toString', ['123']],
  ])('is rejected as malformed when it is %s with %j', (name, input) => {
    expect(() => requestOf(name, input)).toThrow('Malformed request of a session.');
  });
});

describe('a request of a client', () => {
  it('is allowed for people and bots unless it is for applications', () => {
    for (const session of [PERSON, BOT]) {
      expect(mayAsk('presence', session, 0)).toBe(true);
      expect(mayAsk('lobbyVoice', session, 0)).toBe(false);
    }
  });

  it('is denied to bots when it is for people', () => {
    expect([mayAsk('stream', PERSON, 0), mayAsk('stream', BOT, 0)]).toEqual([true, false]);
  });

  it('is allowed for an application with one of its scopes, until the token expires', () => {
    const session = authorized('lobbies.write', 'presences.write');
    expect([mayAsk('presence', session, 0), mayAsk('lobbyVoice', session, 0)]).toEqual([true, true]);
    expect([mayAsk('voiceState', session, 0), mayAsk('members', session, 0)]).toEqual([false, false]);
    expect([EXPIRES_MS - 1, EXPIRES_MS].map((ms) => mayAsk('presence', session, ms))).toEqual([true, false]);
  });
});
