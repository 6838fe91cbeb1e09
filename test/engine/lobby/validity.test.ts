// Goal: whether a request for a lobby is valid is decided by the command that carries it out, and by the founding of a new
// lobby, each naming the invalid field; what is refused changes nothing.
import { describe, expect, test } from 'vitest';
import { NO_SETTINGS } from '../../../engine/lobby/lobby.ts';
import { type Founding, foundingRefusal, foundLobby } from '../../../engine/lobby/members.ts';
import type { LobbyCommands } from '../../../engine/lobby/rules.ts';
import { fieldMessages } from '../../../protocol/refusal.ts';
import { envAt, NOW_MS } from '../../support/people.ts';
import { APPLICATION_ID, as, BOT, lobbyWith, member, person, run } from './arrange.ts';

const TOO_LONG = { note: 'x'.repeat(1_000) };
const LONG_MESSAGE = 'Must be 1000 or fewer in length, keys and values together.';
const NAMELESS = { additional_name: '  ' };
const p = person('12');

const badLobby = { lobby: { metadata: TOO_LONG }, member: {} };
const badMember = { lobby: {}, member: { metadata: TOO_LONG } };
const entry = (draft: object) => ({ person: p, draft, remove: false });

describe('a command', () => {
  test.each<[keyof LobbyCommands, object, string]>([
    ['joinLobby', { person: p, ...badLobby }, `lobby_metadata: ${LONG_MESSAGE}`],
    ['joinLobby', { person: p, ...badMember }, `member_metadata: ${LONG_MESSAGE}`],
    ['enterLobby', { person: p, ...badMember, passwordHash: null }, `member_metadata: ${LONG_MESSAGE}`],
    ['updateLobby', { change: { metadata: TOO_LONG }, members: null }, `metadata: ${LONG_MESSAGE}`],
    [
      'updateLobby',
      { change: {}, members: [entry({}), entry({ metadata: TOO_LONG })] },
      `members.1.metadata: ${LONG_MESSAGE}`,
    ],
    ['setMember', { person: p, draft: { metadata: TOO_LONG } }, `metadata: ${LONG_MESSAGE}`],
    ['setMember', { person: p, draft: NAMELESS }, 'additional_name: This field is required'],
    ['setMembers', { entries: [entry({}), entry(NAMELESS)] }, '1.additional_name: This field is required'],
  ])('%s is refused with the invalid field: %#', (type, input, message) => {
    const state = lobbyWith([member('11')], { settings: { ...open } });
    const { errors, types } = run(state, type, input as never, type.startsWith('s') ? BOT : as('12'));
    expect(fieldMessages(errors ?? {})).toEqual([message]);
    expect(types).toEqual([]);
  });

  const open = { ...NO_SETTINGS, listed: true };
});

describe('a founding', () => {
  const founding: Founding = {
    ...{ applicationId: APPLICATION_ID, change: {}, metadataKey: 'metadata', byClient: true },
  };
  const env = envAt(NOW_MS);

  test('makes an empty, idle lobby, together with its secret', () => {
    const secret = { hash: 'ab', nowMs: NOW_MS, expiresMs: NOW_MS + 1 };
    const made = foundLobby({ ...founding, change: { metadata: { a: '1' } }, secret }, env);
    if (!made.ok) throw new Error('refused');
    const { value: lobby, facts } = made;
    expect(lobby).toMatchObject({
      ...{ application_id: APPLICATION_ID, metadata: { a: '1' }, flags: 0 },
      ...{ by_secret: true, idle_since_ms: NOW_MS, linked: null },
    });
    expect(facts).toEqual([
      { type: 'lobbyCreated', lobby },
      { type: 'lobbySecretKept', applicationId: APPLICATION_ID, lobbyId: lobby.id, ...secret },
    ]);
    expect(foundLobby({ ...founding, byClient: false }, env)).toMatchObject({
      value: { by_secret: false },
      facts: [{ type: 'lobbyCreated' }],
    });
  });

  test.each<[string, Partial<Founding>, string]>([
    ['its metadata', { change: { metadata: TOO_LONG } }, `metadata: ${LONG_MESSAGE}`],
    [
      'its metadata in a join',
      { change: { metadata: TOO_LONG }, metadataKey: 'lobby_metadata' },
      `lobby_metadata: ${LONG_MESSAGE}`,
    ],
    [
      'metadata of its founder',
      { founder: { draft: { metadata: TOO_LONG }, full: false } },
      `member_metadata: ${LONG_MESSAGE}`,
    ],
    ['a first member', { drafts: [{}, NAMELESS] }, 'members.1.additional_name: This field is required'],
  ])('is refused for %s, before anything exists', (_, more, message) => {
    const no = foundingRefusal({ ...founding, ...more });
    expect(fieldMessages(no?.errors ?? {})).toEqual([message]);
    expect(foundLobby({ ...founding, ...more }, env)).toEqual({ ok: false, refusal: no });
  });

  test('is refused to a founder in as many lobbies as allowed', () => {
    const founder = { draft: {}, full: true };
    expect(foundingRefusal({ ...founding, founder })?.message).toContain('100');
  });
});
