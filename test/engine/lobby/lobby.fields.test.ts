// Goal: each field of a lobby starts, changes and is shown as its row says, and a lobby that was stored before a field existed gets it.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  changedLobby,
  INITIAL_FIELDS,
  type Lobby,
  NO_SETTINGS,
  newLobbyState,
} from '../../../engine/lobby/lobby.ts';
import { gatewayLobby, lobbyObject } from '../../../engine/lobby/objects.ts';
import { LOBBY_FIELDS, LOBBY_SETTINGS, type LobbyChange } from '../../../protocol/schemas/lobbyfields.ts';
import { lobbyWith } from './arrange.ts';

const names = Object.keys(INITIAL_FIELDS);
const changes: fc.Arbitrary<LobbyChange> = fc.record(
  {
    metadata: fc.option(fc.dictionary(fc.string(), fc.string(), { maxKeys: 3 })),
    flags: fc.option(fc.constantFrom(0, 1)),
    override_event_webhooks_url: fc.option(fc.constantFrom('https://a.test/', 'https://b.test/')),
    idle_timeout_seconds: fc.option(fc.integer({ min: 5, max: 604_800 })),
  },
  { requiredKeys: [] },
);

describe('the fields of a lobby', () => {
  test('start as their rows say, also in a lobby that was stored without them', () => {
    expect(INITIAL_FIELDS).toEqual({
      ...{ metadata: null, flags: 0, override_event_webhooks_url: null, idle_timeout_seconds: 300 },
    });
    const stored = { id: '1', flags: 1 } as unknown as Lobby;
    expect(newLobbyState(stored).lobby).toEqual({ id: '1', ...INITIAL_FIELDS, flags: 1 });
  });

  test('start with values that their own schemas accept', () => {
    for (const { value, initial } of Object.values({ ...LOBBY_FIELDS, ...LOBBY_SETTINGS }))
      expect(initial === null || value.link.accepts(initial)).toBe(true);
  });

  test('change only where a change names them, and a change without effect returns the same lobby', () => {
    fc.assert(
      fc.property(changes, changes, (first, second) => {
        const lobby = changedLobby({ ...INITIAL_FIELDS, id: '1' }, first);
        const next = changedLobby(lobby, second);
        for (const name of names)
          if (!Object.hasOwn(second, name)) expect(next).toHaveProperty(name, lobby[name as 'flags']);
        expect(changedLobby(next, second)).toBe(next);
        expect(changedLobby(next, {})).toBe(next);
      }),
    );
  });

  test('return to their first value with null, except the flags, which stay', () => {
    const set = { metadata: { a: '1' }, flags: 1, override_event_webhooks_url: 'https://a.test/' };
    const lobby = changedLobby(INITIAL_FIELDS, { ...set, idle_timeout_seconds: 60 });
    const none = {
      metadata: null,
      flags: null,
      override_event_webhooks_url: null,
      idle_timeout_seconds: null,
    };
    expect(changedLobby(lobby, none)).toEqual({ ...INITIAL_FIELDS, flags: 1 });
  });

  test('are shown to everyone, to the application alone, or to no client', () => {
    const isField = (name: string) => names.includes(name);
    const shown = (object: object) => Object.keys(object).filter(isField);
    const state = lobbyWith([]);
    expect(shown(lobbyObject(state, false))).toEqual(['flags', 'metadata']);
    expect(shown(gatewayLobby(state))).toEqual(['flags', 'metadata']);
    expect(shown(lobbyObject(state, true))).toEqual(['flags', 'metadata', 'override_event_webhooks_url']);
  });
});

describe('the settings of a lobby', () => {
  test('start as their rows say, also in a lobby that was stored without them', () => {
    expect(NO_SETTINGS).toEqual({
      ...{ listed: false, max_members: null, locked: false, password_hash: null, invited: null },
      ...{ host_grace_seconds: null, game: null },
    });
    const stored = { id: '1', settings: { listed: true } } as unknown as Lobby;
    expect(newLobbyState(stored).lobby.settings).toEqual({ ...NO_SETTINGS, listed: true });
    expect(newLobbyState({ ...stored, settings: NO_SETTINGS }).lobby.settings).toEqual(NO_SETTINGS);
    const { settings: _, ...without } = stored;
    expect(newLobbyState(without).lobby).not.toHaveProperty('settings');
  });
});
