// Goal: messages, links, voice, connections and the end of a lobby follow its rules.
import { describe, expect, test } from 'vitest';
import { lobbyRules } from '../../../engine/lobby/rules.ts';
import { lobbyVoiceMember } from '../../../engine/lobby/voice.ts';
import type { Application } from '../../../engine/user/facts.ts';
import type { ChannelId, MessageId, UserId } from '../../../protocol/ids.ts';
import { application as anApplication } from '../../suites/builders.ts';
import { NOW_MS } from '../../support/people.ts';
import {
  APPLICATION_ID,
  as,
  BOT,
  CHANNEL,
  LOBBY_ID,
  link,
  lobbyWith,
  member,
  run,
  SYSTEM,
  session,
} from './arrange.ts';

const wanting = (...types: string[]): Application => ({
  ...anApplication(APPLICATION_ID, '1000'),
  event_webhooks_status: 2,
  event_webhooks_url: 'https://events.test/',
  event_webhooks_types: types,
});
const draft = (content: string, more: object = {}) => ({ content, metadata: null, flags: 0, ...more });

describe('a message', () => {
  const send = (
    state: ReturnType<typeof lobbyWith>,
    given: object,
    by = as('11'),
    application: Application | null = null,
  ) => run(state, 'createMessage', { draft: draft('hello', given), application }, by);

  test('has its author under the name that the application set, and its metadata, once', () => {
    const state = lobbyWith([member('11', { additional_name: 'Rook' })], {}, [session('11')]);
    const { value, told, facts } = send(state, { metadata: { mood: 'bold' }, flags: 1 << 12 });
    expect(value).toMatchObject({
      type: 0,
      content: 'hello',
      lobby_id: LOBBY_ID,
      channel_id: LOBBY_ID,
      application_id: APPLICATION_ID,
      author: { id: '11' },
      lobby_member: { additional_name: 'Rook' },
      metadata: { mood: 'bold' },
      flags: 1 << 12,
    });
    expect(told).toEqual([{ t: 'LOBBY_MESSAGE_CREATE', d: { ...value, channel_type: 17 }, to: ['s11'] }]);
    expect(facts[0]).toMatchObject({ message: expect.not.objectContaining({ metadata: expect.anything() }) });
  });

  test.each([
    ['nothing', '', 50006],
    ['only spaces', ' \u200b ', 50006],
    ['2000 characters', 'x'.repeat(2_000), undefined],
    ['2001 characters', 'x'.repeat(2_001), 50035],
    ['2000 astral characters', '𝄞'.repeat(2_000), undefined],
  ])('is refused when it is empty or longer than 2000 characters: %s', (_, content, code) => {
    expect(send(lobbyWith([member('11')]), { content }).code).toBe(code);
  });

  test('is of members only, without flags that are the server’s, within the bounds of metadata', () => {
    const state = lobbyWith([member('11')]);
    expect(send(state, {}, as('12')).code).toBe(50001);
    expect(send(state, {}, BOT).code).toBe(50001);
    expect(send(state, { flags: 1 << 6 }).value).toMatchObject({ flags: 0 });
    expect(send(state, { metadata: { k: 'v'.repeat(1_000) } }).code).toBe(50035);
  });

  test('is sent to the webhook URL of the application or of the lobby, if one is set', () => {
    const state = lobbyWith([member('11')]);
    expect(send(state, {}, as('11'), wanting('LOBBY_MESSAGE_CREATE')).facts[1]).toMatchObject({
      type: 'webhookEventQueued',
      event: { type: 'LOBBY_MESSAGE_CREATE', applicationId: APPLICATION_ID, data: { content: 'hello' } },
    });
    expect(send(state, {}, as('11'), wanting('LOBBY_MESSAGE_UPDATE')).types).toEqual(['lobbyMessageCreated']);
    const own = lobbyWith([member('11')], { override_event_webhooks_url: 'https://lobby.test/' });
    const without = { ...wanting('LOBBY_MESSAGE_CREATE'), event_webhooks_url: null };
    expect(send(own, {}, as('11'), without).types).toContain('webhookEventQueued');
  });

  test('is moderated only by its application, and new moderation metadata replace the old ones', () => {
    const state = lobbyWith([member('11')], {}, [session('11')]);
    const { id } = send(state, {}).value as { id: MessageId };
    const moderate = (metadata: Record<string, string>, messageId = id) =>
      run(state, 'setModeration', { messageId, metadata }, BOT);
    moderate({ verdict: 'bad', reason: 'why' });
    expect(moderate({ verdict: 'fine' }).told).toMatchObject([
      {
        t: 'LOBBY_MESSAGE_UPDATE',
        d: { id, moderation_metadata: { verdict: 'fine' }, edited_timestamp: null },
      },
    ]);
    expect(state.messages.get(id)?.moderation_metadata).toEqual({ verdict: 'fine' });
    expect(moderate({}, '5' as MessageId).code).toBe(10008);
  });
});

describe('a link', () => {
  test('is made and undone by members who may, of lobbies that the application made', () => {
    const state = lobbyWith([member('11', { flags: 1 }), member('12')], { by_secret: false });
    const may = (id: string, linking = true, of = state) => run(of, 'authorizeLink', { linking }, as(id));
    expect([may('11').code, may('12').code, may('13').code]).toEqual([undefined, 50013, 50001]);
    const secret = lobbyWith([member('11', { flags: 1 })]);
    expect([may('11', true, secret).code, may('11', false, secret).code]).toEqual([50013, undefined]);
  });

  test('is shown on the lobby, prevents its expiry, and is removed only with the linked channel', () => {
    const state = lobbyWith([member('11')], { by_secret: false }, [session('11')]);
    const { told, value } = run(state, 'linkLobby', { link }, SYSTEM);
    expect(value).toMatchObject({ linked_channel: CHANNEL });
    expect(told).toMatchObject([
      {
        t: 'LOBBY_UPDATE',
        d: { linked_channel: CHANNEL, members: [{ user: { id: '11' } }], voice_states: [] },
      },
      { t: 'GUILDHALL_LOBBY_UPDATE', d: { id: LOBBY_ID, linked_channel: CHANNEL } },
    ]);
    expect(Object.keys(told[1]?.d ?? {})).not.toContain('members');
    expect(state.lobby.idle_since_ms).toBeNull();
    expect(run(state, 'unlinkLobby', { channelId: '7' as ChannelId }, SYSTEM).types).toEqual([]);
    expect(run(state, 'unlinkLobby', { channelId: '500' as ChannelId }, SYSTEM).types).toEqual([
      'lobbyUnlinked',
    ]);
    expect(state.lobby.linked).toBeNull();
  });

  test('dispatches messages of its channel to the lobby, and of no other channel', () => {
    const state = lobbyWith([member('11')], { linked: link }, [session('11')]);
    const show = (news: object, channelId = '500') =>
      run(
        state,
        'showChannelMessage',
        {
          ...{ guildId: '1' as never, channelId: channelId as ChannelId, news: news as never },
          application: wanting('LOBBY_MESSAGE_DELETE'),
        },
        SYSTEM,
      );
    const message = { id: '70', channel_id: '500', guild_id: '1', content: 'hi' };
    expect(show({ kind: 'created', message }).told).toEqual([
      { t: 'LOBBY_MESSAGE_CREATE', d: { ...message, lobby_id: LOBBY_ID }, to: ['s11'] },
    ]);
    expect(show({ kind: 'updated', message }).told[0]?.t).toBe('LOBBY_MESSAGE_UPDATE');
    const deleted = show({ kind: 'deleted', messageId: '70' });
    expect(deleted.told).toEqual([
      { t: 'LOBBY_MESSAGE_DELETE', d: { id: '70', lobby_id: LOBBY_ID }, to: ['s11'] },
    ]);
    expect(deleted.types).toEqual(['lobbyChannelMessage', 'webhookEventQueued']);
    expect(show({ kind: 'created', message }, '501')).toMatchObject({ value: false, types: [] });
    // So the next owner of the lobby knows the command's key, and does not show the message again.
    expect(deleted.facts.every((fact) => lobbyRules.isDurable(fact))).toBe(true);
  });

  test('follows its channel as the guild changes it', () => {
    const state = lobbyWith([member('11')], { linked: link }, [session('11')]);
    const renamed = { ...(CHANNEL as object), name: 'renamed' } as never;
    expect(run(state, 'linkedChannelChanged', { channel: renamed }, SYSTEM).told).toMatchObject([
      { t: 'LOBBY_UPDATE', d: { linked_channel: { name: 'renamed' } } },
      { t: 'GUILDHALL_LOBBY_UPDATE', d: { linked_channel: { name: 'renamed' } } },
    ]);
    const other = { ...(CHANNEL as object), id: '501' } as never;
    expect(run(state, 'linkedChannelChanged', { channel: other }, SYSTEM).types).toEqual([]);
  });

  test('is the target of an invite into the lobby', () => {
    const state = lobbyWith([member('11')], { linked: link });
    const userId = '11' as UserId;
    expect(run(state, 'authorizeInvite', { userId }, as('11')).value).toEqual({
      guildId: '1',
      channelId: '500',
    });
    expect(run(state, 'authorizeInvite', { userId: '12' as UserId }, BOT).code).toBe(10007);
    expect(run(state, 'authorizeInvite', { userId: '12' as UserId }, as('12')).code).toBe(50001);
    expect(run(lobbyWith([member('11')]), 'authorizeInvite', { userId }, as('11')).code).toBe(10003);
  });
});

describe('voice', () => {
  const quiet = { selfMute: false, selfDeaf: false, selfVideo: false };
  const speaking = (sessionId = 's11', more = {}) => ({ sessionId, ...quiet, ...more });

  test('ends when a session ends that is not attached', () => {
    const state = lobbyWith([member('11')], {}, [session('11')]);
    const userId = '11' as UserId;
    run(state, 'setVoice', speaking(), as('11'));
    state.sessions.clear();
    expect(run(state, 'detachSession', { userId, sessionId: 'other' }, SYSTEM).types).toEqual([]);
    expect(run(state, 'detachSession', { userId, sessionId: 's11' }, SYSTEM).types).toEqual([
      'lobbyVoiceChanged',
    ]);
  });

  test('is for sessions of members that the lobby knows, one for each member', () => {
    const state = lobbyWith([member('11')], {}, [session('11'), session('11', 'b')]);
    const joined = run(state, 'setVoice', speaking(), as('11'));
    expect(joined.told.map(({ t }) => t)).toEqual(['LOBBY_VOICE_STATE_UPDATE', 'LOBBY_MEMBER_CONNECT']);
    const again = run(state, 'setVoice', speaking(), as('11'));
    expect([again.types, again.told]).toEqual([['lobbyVoiceRepeated'], []]);
    const muted = run(state, 'setVoice', speaking('s11', { selfMute: true }), as('11'));
    expect(muted.told.map(({ t }) => t)).toEqual(['LOBBY_VOICE_STATE_UPDATE']);
    run(state, 'setVoice', speaking('b'), as('11'));
    expect(state.voiceStates.get('11' as UserId)?.session_id).toBe('b');
    expect(run(state, 'leaveVoice', { sessionId: 's11' }, as('11')).types).toEqual([]);
    const left = run(state, 'leaveVoice', { sessionId: 'b' }, as('11'));
    expect(left.told.map(({ t }) => t)).toEqual(['LOBBY_VOICE_STATE_UPDATE', 'LOBBY_MEMBER_DISCONNECT']);
    expect(left.told[0]?.d).toMatchObject({ channel_id: null, lobby_id: LOBBY_ID, session_id: 'b' });
    for (const refused of [
      run(state, 'setVoice', speaking('unknown'), as('11')),
      run(state, 'setVoice', speaking(), as('12')),
    ])
      expect(refused.code).toBe(50001);
  });

  test('is refused to a member with the session of another member', () => {
    const state = lobbyWith([member('11'), member('12')], {}, [session('11'), session('12')]);
    expect(run(state, 'setVoice', speaking('s11'), as('12')).code).toBe(50001);
    expect(run(state, 'setVoice', speaking('s12'), as('12')).code).toBeUndefined();
  });

  test('ends with the session, with the membership, and when the call has lost the user', () => {
    const state = lobbyWith([member('11'), member('12')], {}, [session('11'), session('12')]);
    const userId = '11' as UserId;
    const join = () => run(state, 'setVoice', speaking(), as('11'));
    join();
    expect(run(state, 'dropVoice', { userId, sessionId: 'other' }, SYSTEM).types).toEqual([]);
    expect(run(state, 'dropVoice', { userId, sessionId: 's11' }, SYSTEM).types).toEqual([
      'lobbyVoiceChanged',
    ]);
    join();
    expect(run(state, 'detachSession', { userId, sessionId: 's11' }, SYSTEM).types).toEqual([
      'lobbyVoiceChanged',
      'lobbySessionDetached',
    ]);
    state.sessions.set('s11', session('11'));
    join();
    expect(run(state, 'removeMember', { userId }, BOT).types).toEqual([
      'lobbyVoiceChanged',
      'lobbyMemberRemoved',
    ]);
    expect(state.voiceStates.size).toBe(0);
  });

  test('is a seat in the call that has the lobby’s name', () => {
    const state = lobbyWith([member('11')], {}, [session('11')]);
    const { value } = run(state, 'setVoice', speaking('s11', { selfMute: true }), as('11'));
    expect(lobbyVoiceMember(value as never)).toMatchObject({
      callId: LOBBY_ID,
      groupId: LOBBY_ID,
      serverId: LOBBY_ID,
      guildId: null,
      silenced: true,
      deafened: false,
    });
    expect(lobbyVoiceMember({ ...(value as object), channel_id: null } as never)).toBeNull();
    expect(run(state, 'repeatVoice', { sessionId: 's11' }, as('11')).types).toEqual(['lobbyVoiceRepeated']);
    expect(run(state, 'repeatVoice', { sessionId: 'b' }, as('11')).types).toEqual([]);
  });
});

describe('being connected', () => {
  const userId = '11' as UserId;
  const attach = (state: ReturnType<typeof lobbyWith>, sessionId: string, announce = false) =>
    run(state, 'attachSessions', { userId, sessions: [session('11', sessionId)], announce }, SYSTEM);

  test('sends the lobby to a session that is back unless its dispatches were addressed to the member', () => {
    const state = lobbyWith([member('11')]);
    const back = (
      sessionId: string,
      unattached: ReadonlyMap<UserId, number> = new Map(),
      missing: ReadonlySet<UserId> = new Set(),
    ) =>
      run(
        state,
        'attachSessions',
        { userId, sessions: [session('11', sessionId)], announce: false, areBack: true },
        SYSTEM,
        NOW_MS,
        { unattached, missing },
      ).told.flatMap(({ t }) => (t === 'LOBBY_CREATE' ? [t] : []));
    expect(back('missed some')).toEqual(['LOBBY_CREATE']);
    const addressed = new Map([[userId, Number.POSITIVE_INFINITY]]);
    expect(back('missed none', addressed)).toEqual([]);
    expect(back('missed one that is in no record', addressed, new Set([userId]))).toEqual(['LOBBY_CREATE']);
  });

  test('sends the lobby to an attached session whose user has moved, if it may have missed what is in no record', () => {
    const state = lobbyWith([member('11')], {}, [session('11')]);
    const moved = (unrecordedMs?: number) =>
      run(
        state,
        'attachSessions',
        { userId, sessions: [session('11')], announce: false, areBack: true },
        SYSTEM,
        NOW_MS,
        unrecordedMs === undefined ? {} : { unrecordedMs },
      ).told.map(({ t, to }) => [t, to]);
    expect(moved()).toEqual([]);
    expect(moved(NOW_MS - 30_000)).toEqual([]);
    expect(moved(NOW_MS - 29_999)).toEqual([['LOBBY_CREATE', ['s11']]]);
  });

  test('sends the lobby again, when it is to, to the named sessions that are attached, and to no others', () => {
    const state = lobbyWith([member('11'), member('12')], {}, [session('12'), session('11', 'other')]);
    attach(state, 'known');
    const again = (...sessionIds: string[]) =>
      run(
        state,
        'attachSessions',
        { userId, sessions: sessionIds.map((id) => session('11', id)), announce: true, again: true },
        SYSTEM,
      ).told;
    expect(again('known')).toMatchObject([
      { t: 'LOBBY_CREATE', d: { id: LOBBY_ID, members: [{}, { connected: true }] }, to: ['known'] },
    ]);
    expect(again('known', 'new').map(({ t, to }) => [t, to])).toEqual([
      ['LOBBY_CREATE', ['new']],
      ['LOBBY_CREATE', ['known']],
    ]);
    expect([...state.sessions.keys()]).toEqual(['s12', 'other', 'known', 'new']);
  });

  test('is also dispatched to sessions of the member that received the lobby before they were attached', () => {
    const state = lobbyWith([member('11'), member('12')], {}, [session('12')]);
    const early = (sessionId: string) =>
      run(
        state,
        'attachSessions',
        { userId, sessions: [session('11', sessionId)], announce: false, areEarly: true },
        SYSTEM,
      ).told.flatMap(({ t, d, to }) => (t === 'LOBBY_MEMBER_UPDATE' ? [[d, to]] : []));
    const connected = { member: { user: { id: '11' }, connected: true } };
    expect(early('a')).toMatchObject([
      [connected, ['s12']],
      [connected, ['a']],
    ]);
    // The others know already.
    expect(early('b')).toMatchObject([[connected, ['b']]]);
  });

  test('is dispatched to the other members on the first session and after the last one', () => {
    const state = lobbyWith([member('11'), member('12')], {}, [session('12')]);
    const first = attach(state, 'a');
    expect(first.value).toMatchObject({
      id: LOBBY_ID,
      members: [{ user: { id: '11' }, connected: true }, { connected: true }],
    });
    expect(first.told).toMatchObject([
      { t: 'LOBBY_MEMBER_UPDATE', d: { member: { user: { id: '11' }, connected: true } }, to: ['s12'] },
      { t: 'GUILDHALL_LOBBY_MEMBER_UPDATE', d: { member: { id: '11', connected: true } }, to: ['s12'] },
    ]);
    expect(attach(state, 'b', true).told).toMatchObject([{ t: 'LOBBY_CREATE', to: ['b'] }]);
    expect(attach(state, 'b', true).types).toEqual([]);
    const detach = (sessionId: string) => run(state, 'detachSession', { userId, sessionId }, SYSTEM);
    expect(detach('a').told).toEqual([]);
    expect(detach('b').told).toMatchObject([
      { t: 'LOBBY_MEMBER_UPDATE', d: { member: { connected: false } }, to: ['s12'] },
      { t: 'GUILDHALL_LOBBY_MEMBER_UPDATE', d: { member: { connected: false } }, to: ['s12'] },
    ]);
    expect(detach('b').types).toEqual([]);
  });

  test('shows the member as the account is now', () => {
    const state = lobbyWith([member('11', { flags: 1 })], {}, [session('11')]);
    const user = { ...member('11').user, global_name: 'renamed' };
    const { told } = run(state, 'changeUser', { user }, SYSTEM);
    const d = { member: { user: { global_name: 'renamed' }, flags: 1 } };
    expect(told).toMatchObject([
      { t: 'LOBBY_MEMBER_UPDATE', d },
      { t: 'GUILDHALL_LOBBY_MEMBER_UPDATE', d },
    ]);
    expect(run(state, 'changeUser', { user: { ...user, id: '12' as UserId } }, SYSTEM).types).toEqual([]);
  });

  test('is for members only', () => {
    expect(attach(lobbyWith([member('12')]), 'a')).toMatchObject({ value: null, types: [] });
  });

  test('keeps the lobby, which expires when no member has been connected for its idle time-out', () => {
    const state = lobbyWith([member('11')]);
    const settle = (nowMs: number) => run(state, 'settle', {}, SYSTEM, nowMs).types;
    const expire = (nowMs: number) => run(state, 'expire', {}, SYSTEM, nowMs);
    expect(settle(NOW_MS)).toEqual([]);
    attach(state, 'a');
    expect(settle(NOW_MS + 1)).toEqual(['lobbySettled']);
    expect(state.lobby.idle_since_ms).toBeNull();
    expect(expire(NOW_MS + 1_000_000)).toMatchObject({ value: false, types: [] });
    run(state, 'detachSession', { userId, sessionId: 'a' }, SYSTEM);
    expect(expire(NOW_MS + 1_000_000)).toMatchObject({ value: false, types: ['lobbySettled'] });
    expect(expire(NOW_MS + 1_299_999).value).toBe(false);
    expect(expire(NOW_MS + 1_300_000)).toMatchObject({ value: true, types: ['lobbyDeleted'] });
  });

  test('is not asked of a linked lobby', () => {
    const state = lobbyWith([member('11')], { linked: link, idle_since_ms: null });
    expect(run(state, 'expire', {}, SYSTEM, NOW_MS + 10_000_000)).toMatchObject({ value: false, types: [] });
    run(state, 'unlinkLobby', { channelId: '500' as ChannelId }, SYSTEM);
    expect(run(state, 'settle', {}, SYSTEM, NOW_MS + 5).types).toEqual(['lobbySettled']);
    expect(state.lobby.idle_since_ms).toBe(NOW_MS + 5);
  });
});
