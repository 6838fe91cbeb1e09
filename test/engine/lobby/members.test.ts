// Goal: who is in a lobby and what is said of them follows from what its application asks, within the published bounds.
import { describe, expect, test } from 'vitest';
import { gatewayLobby } from '../../../engine/lobby/objects.ts';
import { lobbyRules } from '../../../engine/lobby/rules.ts';
import type { UserId } from '../../../protocol/ids.ts';
import { NOW_MS } from '../../support/people.ts';
import {
  APPLICATION_ID,
  as,
  BOT,
  LOBBY_ID,
  lobbyWith,
  member,
  person,
  run,
  STRANGER,
  SYSTEM,
  session,
} from './arrange.ts';

const ids = (value: unknown): string[] =>
  (value as { members: { id: string }[] }).members.map(({ id }) => id);
const full = Array.from({ length: 1_000 }, (_, index) => member(String(10_000 + index)));

describe('joining', () => {
  test('adds the caller, overwrites the given fields, and keeps the others', () => {
    const state = lobbyWith([member('11')], { metadata: { map: 'dunes' }, idle_timeout_seconds: 60 });
    const joined = run(
      state,
      'joinLobby',
      { person: person('12'), lobby: {}, member: { metadata: { side: 'b' } } },
      as('12'),
    );
    expect(joined.types).toEqual(['lobbyMemberAdded']);
    expect(joined.value).toEqual({
      id: LOBBY_ID,
      application_id: APPLICATION_ID,
      metadata: { map: 'dunes' },
      flags: 0,
      members: [
        { id: '11', metadata: null, flags: 0 },
        { id: '12', metadata: { side: 'b' }, flags: 0 },
      ],
    });
    const again = run(
      state,
      'joinLobby',
      {
        person: person('12'),
        lobby: { metadata: { map: 'canyon' }, idle_timeout_seconds: 30, flags: 1 },
        member: { metadata: null },
      },
      as('12'),
    );
    expect(again.types).toEqual(['lobbyUpdated', 'lobbyMemberUpdated']);
    expect(state.lobby).toMatchObject({ metadata: { map: 'canyon' }, idle_timeout_seconds: 30, flags: 1 });
  });

  test('changes and dispatches nothing the second time', () => {
    const state = lobbyWith([], { metadata: { a: '1' } }, []);
    const input = { person: person('11'), lobby: { metadata: { a: '1' } }, member: { metadata: { b: '2' } } };
    expect(run(state, 'joinLobby', input, as('11')).types).toEqual(['lobbyMemberAdded']);
    const again = run(state, 'joinLobby', input, as('11'));
    expect(again.types).toEqual([]);
    expect(ids(again.value)).toEqual(['11']);
  });

  test('is refused when the lobby is full or the user is in too many lobbies, but not to a member', () => {
    const state = lobbyWith(full);
    const empty = { lobby: {}, member: {} };
    expect(run(state, 'joinLobby', { person: person('11'), ...empty }, as('11')).message).toContain('1000');
    const others = lobbyWith([member('12')]);
    const busy = person('11', { full: true });
    expect(run(others, 'joinLobby', { person: busy, ...empty }, as('11')).message).toContain('100');
    expect(
      run(others, 'joinLobby', { person: person('12', { full: true }), ...empty }, as('12')).types,
    ).toEqual([]);
  });

  test('shows the lobby to the new member, and the member to the others', () => {
    const [old, fresh] = [session('11'), session('12')];
    const state = lobbyWith([member('11')], {}, [old]);
    const { told } = run(
      state,
      'joinLobby',
      { person: person('12', { sessions: [fresh] }), lobby: {}, member: {} },
      as('12'),
    );
    expect(told.map(({ t, to }) => [t, to])).toEqual([
      ['LOBBY_CREATE', ['s12']],
      ['LOBBY_MEMBER_ADD', ['s11']],
    ]);
    expect(told[0]?.d).toEqual(gatewayLobby(state));
    expect(told[1]?.d).toMatchObject({
      lobby_id: LOBBY_ID,
      application_id: APPLICATION_ID,
      member: { user: { id: '12' }, connected: true },
    });
  });
});

describe('the server of the application', () => {
  test('adds, changes and names members', () => {
    const state = lobbyWith([member('11', { additional_name: 'Rook', metadata: { a: '1' } })]);
    const set = (id: string, draft: object) => run(state, 'setMember', { person: person(id), draft }, BOT);
    expect(set('12', { flags: 1, additional_name: 'Queen' }).value).toEqual({
      id: '12',
      metadata: null,
      flags: 1,
      additional_name: 'Queen',
    });
    expect(set('11', {}).types).toEqual([]);
    expect(set('11', { flags: 1 }).value).toMatchObject({ additional_name: 'Rook', metadata: { a: '1' } });
    expect(set('11', { additional_name: null, metadata: null }).value).toEqual({
      id: '11',
      metadata: null,
      flags: 1,
    });
  });

  test('adds and removes members in bulk, and skips entries that exceed a bound', () => {
    const state = lobbyWith(full.slice(0, 999));
    const entry = (id: string, remove = false, more = {}) => ({
      person: person(id, more),
      draft: {},
      remove,
    });
    const { value, types } = run(
      state,
      'setMembers',
      {
        entries: [
          entry('11', false, { full: true }),
          entry('12'),
          entry('13'),
          entry('10000', true),
          entry('14'),
          entry('777', true),
        ],
      },
      BOT,
    );
    expect(value).toMatchObject([{ id: '12' }, { id: '14' }]);
    expect(types).toEqual(['lobbyMemberAdded', 'lobbyMemberRemoved', 'lobbyMemberAdded']);
    expect(state.members.size).toBe(1_000);
  });

  test('uses the last of several entries for the same member, and adds the member once', () => {
    const entry = (id: string, flags: number, remove = false) => ({
      person: person(id),
      draft: { flags },
      remove,
    });
    const state = lobbyWith([]);
    const entries = [entry('11', 0), entry('12', 0), entry('11', 1), entry('12', 0, true)];
    const { value, types } = run(state, 'setMembers', { entries }, BOT);
    expect(value).toMatchObject([{ id: '11', flags: 1 }]);
    expect(types).toEqual(['lobbyMemberAdded']);
    const again = run(lobbyWith([]), 'updateLobby', { change: {}, members: entries.slice(0, 3) }, BOT);
    expect(again.types).toEqual(['lobbyMemberAdded', 'lobbyMemberAdded']);
    expect(again.value).toMatchObject({ members: [{ id: '11', flags: 1 }, { id: '12' }] });
  });

  test('replaces all members at once', () => {
    const state = lobbyWith([member('11'), member('12', { metadata: { kept: 'yes' } })]);
    const members = [
      { person: person('12'), draft: { flags: 1 } },
      { person: person('13'), draft: {} },
    ];
    const { value, types } = run(state, 'updateLobby', { change: { metadata: { a: '1' } }, members }, BOT);
    expect(types).toEqual(['lobbyUpdated', 'lobbyMemberRemoved', 'lobbyMemberUpdated', 'lobbyMemberAdded']);
    expect(value).toMatchObject({
      metadata: { a: '1' },
      members: [{ id: '12', flags: 1, metadata: { kept: 'yes' } }, { id: '13' }],
    });
    expect(run(state, 'updateLobby', { change: {}, members: [] }, BOT).types).toEqual([
      'lobbyMemberRemoved',
      'lobbyMemberRemoved',
    ]);
  });

  test('changes only the named fields of a lobby, and resets a field to its default with null', () => {
    const state = lobbyWith([], { metadata: { a: '1' }, idle_timeout_seconds: 60 });
    const update = (change: object) => run(state, 'updateLobby', { change, members: null }, BOT);
    update({ idle_timeout_seconds: null, override_event_webhooks_url: 'https://events.test/' });
    expect(state.lobby).toMatchObject({ metadata: { a: '1' }, idle_timeout_seconds: 300 });
    const shown = run(state, 'getLobby', {}, BOT).value;
    expect(shown).toHaveProperty('override_event_webhooks_url', 'https://events.test/');
    update({ metadata: null, override_event_webhooks_url: null });
    expect(state.lobby).toMatchObject({ metadata: null, override_event_webhooks_url: null });
  });

  test('removes members once, and dispatches the reason to them', () => {
    const state = lobbyWith([member('11'), member('12')], {}, [
      session('11'),
      session('12'),
      session('12', 'b'),
    ]);
    const { told } = run(state, 'removeMember', { userId: '12' as UserId }, BOT);
    expect(told.map(({ t, d, to }) => [t, (d as { reason?: string }).reason, to])).toEqual([
      ['LOBBY_MEMBER_REMOVE', undefined, ['s11']],
      ['LOBBY_DELETE', 'removed', ['s12', 'b']],
    ]);
    expect(run(state, 'removeMember', { userId: '12' as UserId }, BOT)).toMatchObject({
      types: [],
      value: null,
    });
  });

  test('deletes the lobby', () => {
    const state = lobbyWith([member('11')], {}, [session('11')]);
    const { told, facts } = run(state, 'deleteLobby', {}, BOT);
    expect(told).toEqual([{ t: 'LOBBY_DELETE', d: { id: LOBBY_ID, reason: 'deleted' }, to: ['s11'] }]);
    expect(facts).toMatchObject([{ memberIds: ['11'] }]);
    expect(facts.map(lobbyRules.ends)).toEqual([true]);
  });
});

describe('a client', () => {
  test('sees a lobby that it is in, without where its events go', () => {
    const state = lobbyWith([member('11')], { override_event_webhooks_url: 'https://events.test/' });
    expect(run(state, 'getLobby', {}, as('11')).value).not.toHaveProperty('override_event_webhooks_url');
    expect(run(state, 'getLobby', {}, as('12')).code).toBe(50001);
  });

  test('leaves lobbies that it joined by secret, but not lobbies to which a server added it', () => {
    const mine = lobbyWith([member('11')]);
    expect(run(mine, 'leaveLobby', {}, as('11')).types).toEqual(['lobbyMemberRemoved']);
    expect(run(mine, 'leaveLobby', {}, as('11')).types).toEqual([]);
    const theirs = lobbyWith([member('11')], { by_secret: false });
    expect(run(theirs, 'leaveLobby', {}, as('11')).code).toBe(50013);
  });
});

test('a lobby is unknown to other applications in every operation', () => {
  const state = lobbyWith([member('11')]);
  const userId = '11' as UserId;
  const attempts = [
    run(state, 'getLobby', {}, STRANGER),
    run(state, 'joinLobby', { person: person('12'), lobby: {}, member: {} }, STRANGER),
    run(state, 'updateLobby', { change: {}, members: [] }, STRANGER),
    run(state, 'setMember', { person: person('12'), draft: {} }, STRANGER),
    run(state, 'setMembers', { entries: [] }, STRANGER),
    run(state, 'removeMember', { userId }, STRANGER),
    run(state, 'leaveLobby', {}, STRANGER),
    run(state, 'deleteLobby', {}, STRANGER),
    run(state, 'authorizeHistory', {}, STRANGER),
    run(state, 'authorizeLink', { linking: true }, STRANGER),
    run(state, 'authorizeInvite', { userId }, STRANGER),
    run(state, 'setModeration', { messageId: '1' as never, metadata: {} }, STRANGER),
    run(
      state,
      'createMessage',
      { draft: { content: 'x', metadata: null, flags: 0 }, application: null },
      STRANGER,
    ),
    run(state, 'leaveVoice', { sessionId: 's' }, STRANGER),
    run(state, 'repeatVoice', { sessionId: 's' }, STRANGER),
  ];
  expect(attempts.map(({ code }) => code)).toEqual(attempts.map(() => 10031));
});

test('a match is shown to the sessions of its players when all of them are members, and to nobody else', () => {
  const entry = (id: string, more: object = {}) => ({
    person: person(id, { sessions: [session(id)], ...more }),
    draft: {},
  });
  const matched = [{ user_ids: ['11', '12'] as UserId[] }, { user_ids: ['13'] as UserId[] }];
  const whole = lobbyWith([]);
  const entries = [entry('11'), entry('12'), entry('13')];
  const filled = run(whole, 'updateLobby', { change: {}, members: entries, matched }, SYSTEM);
  const shown = filled.told.filter(({ t }) => t === 'GUILDHALL_MATCHMAKING_UPDATE');
  expect(shown.map(({ d, to }) => [d, to])).toEqual([
    [matched[0], ['s11', 's12']],
    [matched[1], ['s13']],
  ]);
  const without = [entry('11'), entry('12'), entry('13', { full: true })];
  const short = run(lobbyWith([]), 'updateLobby', { change: {}, members: without, matched }, SYSTEM);
  expect(short.types).not.toContain('lobbyMatched');
});

test('the server’s own commands are refused to everyone else', () => {
  const state = lobbyWith([member('11')]);
  const userId = '11' as UserId;
  const attempts = [
    run(state, 'mergeMember', { from: userId, to: person('12') }, BOT),
    run(state, 'copyMember', { from: userId, to: person('12') }, BOT),
    run(state, 'attachSessions', { userId, sessions: [], announce: false }, as('11')),
    run(state, 'detachSession', { userId, sessionId: 's' }, BOT),
    run(state, 'settle', {}, BOT),
    run(state, 'expire', {}, BOT),
    run(state, 'dropVoice', { userId, sessionId: 's' }, BOT),
    run(state, 'linkLobby', { link: {} as never }, BOT),
    run(state, 'unlinkLobby', { channelId: '1' as never }, BOT),
    run(state, 'linkedChannelChanged', { channel: {} as never }, BOT),
  ];
  expect(attempts.map(({ code }) => code)).toEqual(attempts.map(() => 10031));
});

test('an account that becomes another brings its place and its rights', () => {
  const state = lobbyWith([member('11', { flags: 1, additional_name: 'Rook' }), member('13')]);
  run(state, 'mergeMember', { from: '11' as UserId, to: person('12') }, SYSTEM);
  expect([...state.members]).toEqual([
    ['13', member('13')],
    ['12', member('12', { flags: 1, additional_name: 'Rook' })],
  ]);
  run(state, 'mergeMember', { from: '12' as UserId, to: person('13') }, SYSTEM);
  expect([...state.members.values()]).toEqual([member('13', { flags: 1 })]);
  expect(run(state, 'copyMember', { from: '13' as UserId, to: person('14') }, SYSTEM).types).toEqual([
    'lobbyMemberAdded',
  ]);
  expect(state.members.get('13' as UserId)?.joined_ms).toBe(NOW_MS);
});

test('an account keeps its own flags when an account without flags is merged into it', () => {
  const state = lobbyWith([member('11'), member('12', { flags: 1 })]);
  const merged = run(state, 'mergeMember', { from: '11' as UserId, to: person('12') }, SYSTEM);
  expect(merged.types).toEqual(['lobbyMemberRemoved']);
  expect([...state.members.values()]).toEqual([member('12', { flags: 1 })]);
});
