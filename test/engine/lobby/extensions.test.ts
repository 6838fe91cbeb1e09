// Goal: passwords, hosts, ready checks and listings of a lobby follow their rules, whichever members join, leave and
// call.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { extensionDueMs } from '../../../engine/lobby/extensions.ts';
import { electedHost } from '../../../engine/lobby/host.ts';
import { type LobbyState, NO_SETTINGS } from '../../../engine/lobby/lobby.ts';
import { listingUpdates, numberOf } from '../../../engine/lobby/settings.ts';
import type { LobbyOutcomeFact } from '../../../engine/lobby/topic.ts';
import type { UserId } from '../../../protocol/ids.ts';
import type { SettingsChange } from '../../../protocol/schemas/lobbyfields.ts';
import { envAt, NOW_MS } from '../../support/people.ts';
import { as, BOT, lobbyWith, member, person, run, STRANGER, SYSTEM, session } from './arrange.ts';

const withSettings = (settings: SettingsChange, ids: readonly string[], online = ids): LobbyState =>
  lobbyWith(
    ids.map((id) => member(id)),
    { settings: { ...NO_SETTINGS, ...settings } },
    online.map((id) => session(id)),
  );
const HOSTED = { host_grace_seconds: 10 };
const GRACE_MS = 10_000;

const enter = (state: LobbyState, id: string, passwordHash: string | null = null) =>
  run(state, 'enterLobby', { person: person(id), member: {}, passwordHash }, as(id));
const settle = (state: LobbyState, nowMs = NOW_MS) => run(state, 'settleExtensions', {}, SYSTEM, nowMs);
const detach = (state: LobbyState, id: string) =>
  run(state, 'detachSession', { userId: id as UserId, sessionId: `s${id}` }, SYSTEM);
const attach = (state: LobbyState, id: string) =>
  run(state, 'attachSessions', { userId: id as UserId, sessions: [session(id)], announce: false }, SYSTEM);

describe('the settings that restrict joining a lobby', () => {
  test.each<[string, SettingsChange, number | undefined]>([
    ['a lobby that is not listed is not there', {}, 10_031],
    ['a listed one is open', { listed: true }, undefined],
    ['one with a lock is not', { listed: true, locked: true }, 900_001],
    ['a list lets in whom it names', { invited: ['12' as UserId] }, undefined],
    ['and nobody else', { listed: true, invited: ['13' as UserId] }, 900_002],
    ['a password is asked for', { listed: true, password_hash: 'aa' }, 900_003],
    ['it holds only so many', { listed: true, max_members: 1 }, 0],
  ])('%s', (_, settings, code) => {
    expect(enter(withSettings(settings, ['11']), '12').code).toBe(code);
  });

  test('the right password admits a user, and members need none', () => {
    const state = withSettings({ listed: true, password_hash: 'aa', locked: false }, ['11']);
    expect(enter(state, '12', 'bb').code).toBe(900_003);
    expect(enter(state, '12', 'aa').types).toEqual(['lobbyMemberAdded', 'lobbyListed']);
    expect(enter(state, '12').code).toBeUndefined();
  });

  test('apply to joins by secret; of the lock, members that the game server adds are exempt', () => {
    const state = withSettings({ locked: true, max_members: 2 }, ['11']);
    const join = { person: person('12'), lobby: {}, member: {} };
    expect(run(state, 'joinLobby', join, as('12')).code).toBe(900_001);
    const bring = (id: string) => run(state, 'setMember', { person: person(id), draft: {} }, BOT);
    expect(bring('12').code).toBeUndefined();
    expect(bring('13').code).toBe(0);
  });

  test('a full replacement of members keeps the capacity and every present member that it names', () => {
    const state = withSettings({ max_members: 2 }, ['11', '12']);
    const members = ['13', '12', '14'].map((id) => ({ person: person(id), draft: {} }));
    run(state, 'updateLobby', { change: {}, members }, BOT);
    expect([...state.members.keys()]).toEqual(['12', '13']);
  });

  test('are set by the server of the game and the host, or by the first while there is no host', () => {
    const change = (by: Parameters<typeof run>[3], state: LobbyState) =>
      run(state, 'setSettings', { change: { locked: true } }, by).code;
    expect(change(as('11'), withSettings({}, ['11', '12']))).toBeUndefined();
    expect(change(as('12'), withSettings({}, ['11', '12']))).toBe(900_004);
    expect(change(BOT, withSettings({}, ['11', '12']))).toBeUndefined();
    expect(change(STRANGER, withSettings({}, ['11', '12']))).toBe(10_031);
    const hosted = withSettings(HOSTED, ['11', '12']);
    settle(hosted);
    run(hosted, 'setHost', { userId: '12' as UserId }, as('11'));
    expect(change(as('11'), hosted)).toBe(900_004);
    expect(change(as('12'), hosted)).toBeUndefined();
    expect(run(withSettings({}, ['11', '12']), 'setSettings', { change: { max_members: 1 } }, BOT).code).toBe(
      50_035,
    );
  });
});

describe('the host', () => {
  test('is the first connected member, and is dispatched to all connected members', () => {
    const state = withSettings(HOSTED, ['11', '12', '13'], ['12', '13']);
    expect(settle(state).told).toEqual([
      {
        t: 'GUILDHALL_LOBBY_HOST',
        d: { lobby_id: '900', host_id: '12', previous_host_id: null },
        to: ['s12', 's13'],
      },
    ]);
    expect(settle(state).types).toEqual([]);
  });

  test('stays host during the grace period after a disconnect, and is replaced when it ends', () => {
    const state = withSettings(HOSTED, ['11', '12']);
    settle(state);
    detach(state, '11');
    settle(state);
    expect(extensionDueMs(state)).toBe(NOW_MS + GRACE_MS);
    settle(state, NOW_MS + GRACE_MS - 1);
    expect(state.lobby.host_id).toBe('11');
    settle(state, NOW_MS + GRACE_MS);
    expect(state.lobby.host_id).toBe('12');
    attach(state, '11');
    settle(state, NOW_MS + GRACE_MS);
    expect([state.lobby.host_id, state.hostAwayMs]).toEqual(['12', null]);
  });

  test('stays the host after coming back in time', () => {
    const state = withSettings(HOSTED, ['11', '12']);
    settle(state);
    detach(state, '11');
    settle(state);
    attach(state, '11');
    settle(state, NOW_MS + 5_000);
    expect(extensionDueMs(state)).toBeNull();
    settle(state, NOW_MS + GRACE_MS * 2);
    expect(state.lobby.host_id).toBe('11');
  });

  test('is replaced at once after leaving, and stays host while no member is connected', () => {
    const state = withSettings(HOSTED, ['11', '12'], ['11', '12']);
    settle(state);
    run(state, 'leaveLobby', {}, as('11'));
    settle(state);
    expect(state.lobby.host_id).toBe('12');
    detach(state, '12');
    settle(state, NOW_MS + GRACE_MS * 9);
    settle(state, NOW_MS + GRACE_MS * 99);
    expect(state.lobby.host_id).toBe('12');
  });

  test('is one member, connected if any member is and the grace is over, after any steps', () => {
    const step = fc.tuple(
      fc.constantFrom('attach', 'detach', 'leave', 'enter'),
      fc.integer({ min: 11, max: 15 }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const state = withSettings({ ...HOSTED, listed: true }, ['11', '12'], []);
        let nowMs = NOW_MS;
        for (const [kind, number] of steps) {
          const id = `${number}`;
          if (kind === 'attach') attach(state, id);
          else if (kind === 'detach') detach(state, id);
          else if (kind === 'leave') {
            if (state.members.has(id as UserId)) run(state, 'leaveLobby', {}, as(id));
          } else enter(state, id);
          nowMs += 3_000;
          settle(state, nowMs);
        }
        settle(state, nowMs + GRACE_MS);
        const hostId = state.lobby.host_id ?? null;
        const connected = new Set([...state.sessions.values()].map(({ userId }) => userId));
        if (connected.size > 0) expect(hostId !== null && connected.has(hostId)).toBe(true);
        if (hostId !== null) expect(state.members.has(hostId)).toBe(true);
        expect(electedHost(state, nowMs + GRACE_MS)).toBe(hostId);
      }),
    );
  });
});

describe('a ready check', () => {
  const start = (state: LobbyState, id = '11') => run(state, 'startReadyCheck', { timeoutMs: 5_000 }, as(id));
  const reply = (state: LobbyState, id: string, ready: boolean, nowMs = NOW_MS) =>
    run(state, 'answerReadyCheck', { ready }, as(id), nowMs);

  test('waits for the connected members, and passes with the last acceptance', () => {
    const state = withSettings({}, ['11', '12', '13', '14'], ['11', '12', '13']);
    expect(start(state).value).toMatchObject({ status: 'open', started_by: '11' });
    expect(start(state, '12').code).toBe(900_005);
    expect(reply(state, '14', true).code).toBe(900_006);
    expect(reply(state, '12', true).value).toMatchObject({ status: 'open' });
    expect(reply(state, '13', true).value).toMatchObject({ status: 'passed' });
    expect(reply(state, '13', false).code).toBe(900_006);
  });

  test('ends when a member declines, it times out or is cancelled, and does not wait for members who left', () => {
    const state = withSettings({}, ['11', '12', '13']);
    start(state);
    expect(reply(state, '12', false).value).toMatchObject({ status: 'declined' });
    start(state);
    expect(extensionDueMs(state)).toBe(NOW_MS + 5_000);
    expect(reply(state, '12', true, NOW_MS + 5_000).code).toBe(900_006);
    expect(settle(state, NOW_MS + 5_000).told[0]?.d).toMatchObject({ status: 'timed_out' });
    start(state);
    expect(run(state, 'cancelReadyCheck', {}, as('12')).code).toBe(900_004);
    expect(run(state, 'cancelReadyCheck', {}, as('11')).value).toMatchObject({ status: 'cancelled' });
    start(state);
    reply(state, '12', true);
    run(state, 'leaveLobby', {}, as('13'));
    expect(settle(state).told[0]?.d).toMatchObject({ status: 'passed' });
  });

  test('is started by the host, where there is one', () => {
    const state = withSettings(HOSTED, ['11', '12']);
    settle(state);
    expect(start(state, '12').code).toBe(900_004);
    expect(start(state, '11').code).toBeUndefined();
  });
});

describe('a listing', () => {
  const told = (state: LobbyState, ...facts: LobbyOutcomeFact[]) =>
    listingUpdates
      .add(state, facts, { by: SYSTEM, requires: 0n }, envAt())
      .map(({ type }) => type)
      .slice(facts.length);

  test('is updated when its contents change, and only for listed lobbies', () => {
    const [listed, hidden] = [withSettings({ listed: true }, ['11']), withSettings({}, ['11'])];
    const added = (state: LobbyState): LobbyOutcomeFact => ({
      type: 'lobbyMemberAdded',
      ...{ lobbyId: state.lobby.id, applicationId: state.lobby.application_id },
      ...{ member: member('12'), sessions: [] },
    });
    expect(told(listed, added(listed))).toEqual(['lobbyListed']);
    expect(told(hidden, added(hidden))).toEqual([]);
    expect(told(hidden, { type: 'lobbyUpdated', lobby: listed.lobby })).toEqual(['lobbyListed']);
    expect(told(listed, { type: 'lobbyUpdated', lobby: hidden.lobby })).toEqual(['lobbyUnlisted']);
    expect(told(listed, { type: 'lobbyHostAway', sinceMs: 1 })).toEqual([]);
    expect(told(listed, { type: 'lobbyDeleted', lobby: listed.lobby, memberIds: [] })).toEqual([]);
  });

  test('knows a number by its form', () => {
    for (const text of ['', ' 1', '1 ', '0x10', '1e5', '--1', '01', '.5', '5.', 'NaN', 'Infinity', '٣'])
      expect(numberOf(text)).toBeNull();
    expect(['0', '-2.5', '999999999999999'].map(numberOf)).toEqual([0, -2.5, 999_999_999_999_999]);
    fc.assert(fc.property(fc.string(), (text) => [null, Number(text)].includes(numberOf(text))));
  });
});
