/**
 * Goal: a call of a private channel exists while a member is in it, rings exactly the absent ones, and is dispatched
 * to people only.
 */
import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { SYSTEM } from '../../../engine/kernel/authority.ts';
import type { Dispatch } from '../../../engine/kernel/dispatch.ts';
import { callVoiceMember, RING_MS } from '../../../engine/privatechannel/calls.ts';
import {
  type PrivateChannelState,
  type PrivateCommands,
  type PrivateFact,
  privateRules,
} from '../../../engine/privatechannel/rules.ts';
import { RELATION, type StoredRelation } from '../../../engine/social/facts.ts';
import type { ChannelId, UserId } from '../../../protocol/ids.ts';
import { user } from '../../support/guild.ts';
import { messageEnv } from '../../support/messages.ts';
import { caller, NOW_MS } from '../../support/people.ts';

const ID = '50' as ChannelId;
const [A, B] = ['100000000000000010', '100000000000000011'] as [UserId, UserId];
const STRANGER = '100000000000000099';

const friend = (userId: UserId, peerId: UserId): StoredRelation => ({
  ...{ userId, peerId, applicationId: null, type: RELATION.FRIEND },
  ...{ sinceMs: 0, nickname: null, originApplicationId: null },
});

/** A direct-message channel of two friends; `bot`: the second is one. */
const between = (bot = false): PrivateChannelState => ({
  channel: {
    ...{ id: ID, type: 1, recipientIds: [A, B], last_message_id: null, last_pin_ms: null },
    writtenBy: [A, B],
  },
  recipients: new Map([
    [A, user(A)],
    [B, user(B, bot)],
  ]),
  messages: new Map(),
  nonces: new Map(),
  pins: new Map(),
  reacted: new Map(),
  call: null,
  relations: [friend(A, B), friend(B, A)],
});

let state: PrivateChannelState;
beforeEach(() => {
  state = between();
});

function run<K extends keyof PrivateCommands>(
  type: K,
  input: PrivateCommands[K]['input'],
  by: string,
  { nowMs = NOW_MS, ...more }: { nowMs?: number; bot?: boolean; system?: true } = {},
) {
  const authority = { by: caller(by, more), requires: 0n };
  const outcome = privateRules.decide(state, type, input, authority, messageEnv(nowMs));
  const facts: readonly PrivateFact[] = outcome.ok ? outcome.facts : [];
  const dispatches = facts.flatMap((fact) => privateRules.applyAndDispatch(state, fact));
  const code = outcome.ok ? undefined : outcome.refusal.code;
  return { code, outcome, dispatches, types: facts.map(({ type: name }) => name) };
}

const wish = (by: string, more: object = {}) => ({
  join: true,
  sessionId: `s${by}`,
  selfMute: false,
  selfDeaf: false,
  selfVideo: false,
  ...more,
});
const join = (by: string, more: object = {}, nowMs = NOW_MS) =>
  run('setCallState', wish(by, more), by, { nowMs });
const leave = (by: string, more: object = {}, nowMs = NOW_MS) => join(by, { join: false, ...more }, nowMs);
const names = ({ dispatches }: { dispatches: readonly Dispatch[] }) => dispatches.map(({ t }) => t);

describe('a call', () => {
  it('begins with the first participant: a message, the call, its voice states and the rung users', () => {
    const { dispatches, outcome } = join(A);
    const messageId = state.call?.messageId;
    const voice = {
      channel_id: ID,
      user_id: A,
      session_id: `s${A}`,
      deaf: false,
      mute: false,
      self_deaf: false,
      self_mute: false,
      self_video: false,
      suppress: false,
      request_to_speak_timestamp: null,
    };
    const to = { kind: 'users', userIds: [A, B] };
    expect(outcome).toMatchObject({ ok: true, value: voice });
    expect(dispatches[0]).toMatchObject({
      t: 'MESSAGE_CREATE',
      d: { id: messageId, type: 3, author: { id: A }, call: { participants: [A], ended_timestamp: null } },
    });
    const shown = { guild_id: null, self_stream: false, ...voice };
    expect(dispatches.slice(1)).toEqual([
      {
        t: 'CALL_CREATE',
        d: {
          channel_id: ID,
          message_id: messageId,
          region: 'local',
          ringing: [B],
          voice_states: [shown],
        },
        to,
      },
      { t: 'VOICE_STATE_UPDATE', d: shown, to },
    ]);
  });

  it('stops ringing a user who joins, and dispatches that once', () => {
    join(A);
    const ran = join(B);
    expect(names(ran)).toEqual(['VOICE_STATE_UPDATE', 'CALL_UPDATE']);
    expect(ran.dispatches[1]?.d).toEqual({
      channel_id: ID,
      message_id: state.call?.messageId,
      region: 'local',
      ringing: [],
    });
    leave(B);
    expect(names(join(B))).toEqual(['VOICE_STATE_UPDATE']);
  });

  it('ends with the last participant, and its message lists the participants and the end', () => {
    join(A);
    join(B);
    const { messageId } = state.call ?? {};
    expect(names(leave(A))).toEqual(['VOICE_STATE_UPDATE']);
    const { dispatches } = leave(B, {}, NOW_MS + 5_000);
    expect(dispatches).toMatchObject([
      { t: 'VOICE_STATE_UPDATE', d: { user_id: B, channel_id: null } },
      { t: 'CALL_DELETE', d: { channel_id: ID } },
      {
        t: 'MESSAGE_UPDATE',
        d: {
          id: messageId,
          call: { participants: [A, B], ended_timestamp: '2026-03-01T12:00:05.000000+00:00' },
        },
      },
    ]);
    expect(state.call).toBeNull();
    expect(leave(B).types).toEqual([]);
  });

  it('loads its message before it may end, since the end changes the message', () => {
    expect(privateRules.needs(state, 'setCallState', wish(A), SYSTEM)).toEqual({});
    join(A);
    const needed = { messages: [{ channelId: ID, id: state.call?.messageId }] };
    expect(privateRules.needs(state, 'setCallState', wish(A), SYSTEM)).toEqual(needed);
    expect(privateRules.needs(state, 'dropCaller', { userId: A, sessionId: `s${A}` }, SYSTEM)).toEqual(
      needed,
    );
  });

  it('admits its two users only; strangers and bots are neither rung nor notified', () => {
    expect(join(STRANGER).code).toBe(10003);
    expect(run('ringCall', { userIds: null }, STRANGER).code).toBe(10003);
    expect(run('stopRinging', { userIds: null }, STRANGER).code).toBe(10003);
    state = between(true);
    expect(run('setCallState', wish(B), B, { bot: true }).code).toBe(50003);
    const { dispatches } = join(A);
    expect(dispatches[1]).toMatchObject({ d: { ringing: [] }, to: { userIds: [A] } });
    expect(dispatches[2]).toMatchObject({ to: { userIds: [A] } });
  });

  it('updates the changed fields, and moves to another session of the user that joins', () => {
    join(A);
    expect(join(A).types).toEqual([]);
    expect(join(A, { selfMute: true }).dispatches).toMatchObject([{ d: { self_mute: true } }]);
    expect(leave(A, { sessionId: 'other' }).types).toEqual([]);
    expect(join(A, { sessionId: 'other' }).dispatches).toMatchObject([{ d: { session_id: 'other' } }]);
    expect(leave(A).types).toEqual([]);
    expect(state.call?.voiceStates.size).toBe(1);
  });

  it('removes a user whose connection is lost, unless another session took over', () => {
    join(A);
    const drop = (sessionId: string) =>
      run('dropCaller', { userId: A, sessionId }, '0', { system: true }).types;
    expect(drop('other')).toEqual([]);
    expect(drop(`s${A}`)).toEqual(['callStateChanged', 'callEnded', 'messageUpdated']);
    expect(run('dropCaller', { userId: A, sessionId: `s${A}` }, B).code).toBe(10003);
  });
});

describe('ringing', () => {
  const timedOut = (ringUntilMs: number) =>
    run('ringTimedOut', { ringUntilMs }, '0', { system: true }).dispatches;

  it('ends when its time is over, and not with the time of an earlier one', () => {
    join(A);
    expect(state.call).toMatchObject({ ringing: [B], ringUntilMs: NOW_MS + RING_MS });
    expect(timedOut(NOW_MS)).toEqual([]);
    expect(timedOut(NOW_MS + RING_MS)).toMatchObject([{ t: 'CALL_UPDATE', d: { ringing: [] } }]);
    expect(run('ringTimedOut', { ringUntilMs: 0 }, A).code).toBe(10003);
  });

  it('stops for a user who declines, and does not restart when others join or mute', () => {
    join(A);
    expect(run('stopRinging', { userIds: null }, B).dispatches).toMatchObject([
      { t: 'CALL_UPDATE', d: { ringing: [] } },
    ]);
    expect(run('stopRinging', { userIds: null }, B).types).toEqual([]);
    expect(names(join(A, { selfMute: true }))).toEqual(['VOICE_STATE_UPDATE']);
    expect(run('stopRinging', { userIds: [B] }, A).types).toEqual([]);
  });

  it('is started again by a user in the call, for users who are not', () => {
    expect(run('ringCall', { userIds: null }, A).code).toBe(10065);
    join(A);
    run('stopRinging', { userIds: [B] }, A);
    expect(run('ringCall', { userIds: null }, B).code).toBe(10065);
    const again = run('ringCall', { userIds: null }, A, { nowMs: NOW_MS + 1_000 });
    expect(again.dispatches).toMatchObject([{ t: 'CALL_UPDATE', d: { ringing: [B] } }]);
    expect(state.call?.ringUntilMs).toBe(NOW_MS + 1_000 + RING_MS);
    expect(run('ringCall', { userIds: [STRANGER as UserId, A] }, A).types).toEqual([]);
  });
});

describe('a stream', () => {
  const show = (live: boolean, more: object = {}, system: { system?: true } = { system: true }) =>
    run('showStreaming', { userId: A, sessionId: `s${A}`, live, ...more }, A, system);

  it("marks its owner's voice state and session until it stops or the owner leaves", () => {
    expect(show(true).types).toEqual([]);
    join(A);
    expect(show(true, {}, {}).code).toBe(10003);
    expect(show(true, { sessionId: 'other' }).types).toEqual([]);
    expect(show(true).dispatches).toMatchObject([{ t: 'VOICE_STATE_UPDATE', d: { self_stream: true } }]);
    expect(join(A, { selfMute: true }).dispatches).toMatchObject([
      { d: { self_mute: true, self_stream: true } },
    ]);
    expect(show(false).dispatches).toMatchObject([{ d: { self_stream: false } }]);
    show(true);
    const [left] = run('setCallState', { ...wish(A), join: false }, A).dispatches;
    expect(left?.d).toMatchObject({ guild_id: null, self_stream: false });
  });
});

describe('the streams of a call', () => {
  const end = (system = true) => run('endStreams', {}, '0', system ? { system } : {});

  it('end with the last owner of the channel, for everybody in the call, and by the server alone', () => {
    expect(end().types).toEqual([]);
    join(A);
    join(B);
    run('showStreaming', { userId: A, sessionId: `s${A}`, live: true }, A, { system: true });
    expect(end(false).code).toBe(10003);
    const channelId = state.channel.id;
    expect(end().dispatches).toMatchObject([
      {
        t: 'STREAM_DELETE',
        d: { stream_key: `call:${channelId}:${A}`, reason: 'stream_ended' },
        to: { kind: 'users', userIds: [A, B] },
      },
      { t: 'VOICE_STATE_UPDATE', d: { user_id: A, channel_id: channelId, self_stream: false } },
    ]);
    expect(end().types).toEqual([]);
  });

  it('end for two people who stream at once', () => {
    for (const userId of [A, B]) {
      join(userId);
      run('showStreaming', { userId, sessionId: `s${userId}`, live: true }, userId, { system: true });
    }
    expect(end().types).toEqual(['callStreamLost', 'callStreamLost']);
    expect([...(state.call?.voiceStates.values() ?? [])].map(({ self_stream }) => self_stream)).toEqual([
      false,
      false,
    ]);
  });
});

describe('a voice member of a call', () => {
  it('belongs to the call of its channel, with its own mute and deafen', () => {
    join(A, { selfMute: true });
    const [voiceState] = state.call?.voiceStates.values() ?? [];
    expect(voiceState && callVoiceMember(voiceState)).toEqual({
      callId: ID,
      groupId: ID,
      serverId: ID,
      guildId: null,
      userId: A,
      sessionId: `s${A}`,
      silenced: true,
      deafened: false,
      mayStream: true,
      mayPrioritize: false,
      afkAfterMs: null,
    });
    expect(voiceState && callVoiceMember({ ...voiceState, channel_id: null })).toBeNull();
  });
});

it('keeps a call non-empty, rings no participant, and shows clients the exact state, over any events', () => {
  const who = fc.constantFrom(A, B);
  const step = fc.oneof(
    fc.record({ kind: fc.constantFrom('join', 'leave', 'other', 'ring', 'stop'), by: who }),
    fc.record({ kind: fc.constant('time'), by: who }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      state = between();
      const seen = { on: false, ringing: [] as string[], inCall: new Set<string>() };
      for (const { kind, by } of steps) {
        const ran =
          kind === 'join'
            ? join(by)
            : kind === 'other'
              ? join(by, { sessionId: 'other' })
              : kind === 'leave'
                ? leave(by)
                : kind === 'time'
                  ? run('ringTimedOut', { ringUntilMs: state.call?.ringUntilMs ?? 0 }, '0', { system: true })
                  : run(kind === 'ring' ? 'ringCall' : 'stopRinging', { userIds: null }, by);
        for (const { t, d } of ran.dispatches) {
          const call = d as { ringing?: string[]; user_id?: string; channel_id?: string | null };
          if (t === 'CALL_CREATE') expect(seen.on).toBe(false);
          if (t === 'CALL_CREATE') seen.on = true;
          if (t === 'CALL_DELETE') Object.assign(seen, { on: false, ringing: [] });
          if (t === 'CALL_CREATE' || t === 'CALL_UPDATE') seen.ringing = call.ringing ?? [];
          if (t === 'VOICE_STATE_UPDATE')
            seen.inCall[call.channel_id === null ? 'delete' : 'add'](call.user_id ?? '');
        }
        const { call } = state;
        expect(seen.on).toBe(call !== null);
        expect(seen.ringing).toEqual(call?.ringing ?? []);
        expect([...seen.inCall].sort()).toEqual([...(call?.voiceStates.keys() ?? [])].sort());
        if (call) expect(call.voiceStates.size).toBeGreaterThan(0);
        for (const id of call?.ringing ?? []) expect(call?.voiceStates.has(id)).toBe(false);
      }
    }),
  );
});
