/** Goal: a group has up to ten people, sends each of them its changes, and has an owner while it has members. */
import { beforeEach, describe, expect, it } from 'vitest';
import { SYSTEM } from '../../../engine/kernel/authority.ts';
import type { Dispatch } from '../../../engine/kernel/dispatch.ts';
import {
  type PrivateChannelState,
  type PrivateCommands,
  privateRules,
  privateState,
} from '../../../engine/privatechannel/rules.ts';
import type { ApplicationId, ChannelId, UserId } from '../../../protocol/ids.ts';
import { user } from '../../support/guild.ts';
import { creation, messageEnv } from '../../support/messages.ts';
import { caller } from '../../support/people.ts';

const ID = '50' as ChannelId;
const people = Array.from({ length: 12 }, (_, at) => String(100 + at) as UserId);
const [ANN, BEN, CLEO, DAN] = people as [UserId, UserId, UserId, UserId];
const BOT = '900' as UserId;
const APP = '901' as ApplicationId;

let state: PrivateChannelState;

function open(recipientIds: readonly UserId[], applicationId: ApplicationId | null = null): void {
  const group = { ownerId: recipientIds[0]!, name: null, icon: null, applicationId, nicks: {} };
  const channel = {
    ...{ id: ID, type: 3 as const, recipientIds, group },
    ...{ last_message_id: null, last_pin_ms: null },
  };
  state = privateState(
    channel,
    [...recipientIds].reverse().map((id) => user(id, id === BOT)),
    [],
  );
}
beforeEach(() => open([ANN, BEN, CLEO]));

function run<K extends keyof PrivateCommands>(type: K, input: PrivateCommands[K]['input'], by: UserId = ANN) {
  const asker = { ...caller(by, { bot: by === BOT }), ...(by === BOT && { applicationId: APP }) };
  const outcome = privateRules.decide(state, type, input, { by: asker, requires: 0n }, messageEnv());
  const dispatches: Dispatch[] = [];
  if (outcome.ok)
    for (const fact of outcome.facts) dispatches.push(...privateRules.applyAndDispatch(state, fact));
  return {
    code: outcome.ok ? undefined : outcome.refusal.code,
    value: outcome.ok ? outcome.value : undefined,
    dispatches,
    told: dispatches.map(({ t, to }) => [t, to.kind === 'users' ? to.userIds : to]),
  };
}

const join = (callerId: UserId) =>
  run(
    'setCallState',
    { join: true, sessionId: `s${callerId}`, selfMute: false, selfDeaf: false, selfVideo: false },
    callerId,
  );

describe('a group', () => {
  it('is shown to each of its people with the others, in the order of their joining', () => {
    const shown = privateRules.applyAndDispatch(state, {
      type: 'privateChannelOpened',
      channel: state.channel,
    });
    expect(shown.map(({ t, to }) => [t, to])).toEqual(
      [ANN, BEN, CLEO].map((id) => ['CHANNEL_CREATE', { kind: 'users', userIds: [id] }]),
    );
    expect(shown[1]?.d).toEqual({
      ...{ id: ID, type: 3, flags: 0, last_message_id: null, name: null, icon: null },
      ...{ owner_id: ANN, managed: false, nicks: [] },
      recipients: [user(ANN), user(CLEO)],
    });
  });

  it('delivers messages to all its members, friends or not, and to no other user', () => {
    expect(run('createMessage', creation({ content: 'hi' }), BEN).dispatches).toMatchObject([
      { t: 'MESSAGE_CREATE', to: { userIds: [ANN, BEN, CLEO] }, d: { channel_type: 3 } },
    ]);
    for (const type of ['createMessage', 'getChannel', 'deleteChannel', 'updateChannel'] as const)
      expect(run(type, { ...creation({ content: 'a' }), draft: { name: 'x' } } as never, DAN).code).toBe(
        10003,
      );
  });

  it('takes a name from anyone in it, and another owner from the owner only', () => {
    const renamed = run('updateChannel', { draft: { name: 'Tea' } }, BEN);
    expect(renamed.told).toEqual([
      ...[ANN, BEN, CLEO].map((id) => ['CHANNEL_UPDATE', [id]]),
      ['MESSAGE_CREATE', [ANN, BEN, CLEO]],
    ]);
    expect(renamed.dispatches.at(-1)?.d).toMatchObject({ type: 4, content: 'Tea', author: { id: BEN } });
    expect(run('updateChannel', { draft: { name: 'Tea' } }, BEN).dispatches).toEqual([]);
    expect(run('updateChannel', { draft: { icon: 'a1' } }).dispatches.at(-1)?.d).toMatchObject({ type: 5 });
    expect(run('updateChannel', { draft: { owner: BEN } }, BEN).code).toBe(50013);
    expect(run('updateChannel', { draft: { owner: DAN } }).code).toBe(50033);
    expect(run('updateChannel', { draft: { owner: BEN, name: null } }).value).toMatchObject({
      ...{ owner_id: BEN, name: null, icon: 'a1' },
    });
  });

  it('announces a new member, sends that member the channel and the call, and ignores present members', () => {
    join(ANN);
    const added = run('addRecipient', { user: user(DAN), nick: 'Danny' }, BEN);
    expect(added.told).toEqual([
      ['CHANNEL_CREATE', [DAN]],
      ['CALL_CREATE', [DAN]],
      ['CHANNEL_RECIPIENT_ADD', [ANN, BEN, CLEO]],
      ['MESSAGE_CREATE', [ANN, BEN, CLEO, DAN]],
    ]);
    expect(added.dispatches[0]?.d).toMatchObject({ nicks: [{ id: DAN, nick: 'Danny' }] });
    expect(added.dispatches[2]?.d).toEqual({ channel_id: ID, user: user(DAN), nick: 'Danny' });
    expect(added.dispatches[3]?.d).toMatchObject({ type: 1, author: { id: BEN }, mentions: [{ id: DAN }] });
    expect(run('addRecipient', { user: user(DAN), nick: null }, BEN).dispatches).toEqual([]);
    expect(run('addRecipient', { user: user(people[5]!), nick: null }, people[6]).code).toBe(10003);
  });

  it.each([
    ['leaves', () => run('deleteChannel', { channelId: ID }, DAN)],
    ['is removed', () => run('removeRecipient', { userId: DAN })],
  ])('forgets the nickname of a member who %s, and keeps the others', (_, end) => {
    for (const [id, nick] of [
      [DAN, 'Danny'],
      [people[4]!, 'Eve'],
    ] as const)
      run('addRecipient', { user: user(id), nick });
    expect(end().code).toBeUndefined();
    const back = run('addRecipient', { user: user(DAN), nick: null });
    expect(back.dispatches[0]?.d).toMatchObject({ nicks: [{ id: people[4], nick: 'Eve' }] });
    expect(back.dispatches[1]?.d).toEqual({ channel_id: ID, user: user(DAN) });
  });

  it('holds ten at most', () => {
    open(people.slice(0, 9));
    expect(run('addRecipient', { user: user(people[9]!), nick: null }).code).toBeUndefined();
    expect(run('addRecipient', { user: user(people[10]!), nick: null }).code).toBe(30004);
    expect(state.channel.recipientIds).toEqual(people.slice(0, 10));
  });

  it('lets anyone leave and the owner remove, and passes to the next when the owner leaves', () => {
    run('updateChannel', { draft: { name: 'Tea' } });
    expect(run('removeRecipient', { userId: ANN }, BEN).code).toBe(50013);
    expect(run('removeRecipient', { userId: DAN }, BEN).code).toBe(50013);
    expect(run('removeRecipient', { userId: DAN }).code).toBe(10013);
    const removed = run('removeRecipient', { userId: CLEO });
    expect(removed.told).toEqual([
      ['CHANNEL_DELETE', [CLEO]],
      ['CHANNEL_RECIPIENT_REMOVE', [ANN, BEN]],
      ['MESSAGE_CREATE', [ANN, BEN]],
    ]);
    expect(removed.dispatches[2]?.d).toMatchObject({
      type: 2,
      author: { id: ANN },
      mentions: [{ id: CLEO }],
    });
    const left = run('deleteChannel', { channelId: ID });
    expect(left.value).toMatchObject({ id: ID, name: 'Tea', recipients: [{ id: BEN }] });
    expect(state.channel.group?.ownerId).toBe(BEN);
    expect(run('getChannel', { channelId: ID }).code).toBe(10003);
    expect(run('deleteChannel', { channelId: ID }, BEN).told).toEqual([
      ['CHANNEL_DELETE', [BEN]],
      ['CHANNEL_RECIPIENT_REMOVE', []],
    ]);
  });

  it('rings all its members, and removes a member who leaves from the call', () => {
    expect(join(ANN).dispatches.find(({ t }) => t === 'CALL_CREATE')?.d).toMatchObject({
      ringing: [BEN, CLEO],
    });
    expect(run('removeRecipient', { userId: CLEO }).dispatches[0]).toMatchObject({
      ...{ t: 'CALL_UPDATE', d: { ringing: [BEN] } },
    });
    join(BEN);
    const left = run('deleteChannel', { channelId: ID }, BEN);
    expect(left.dispatches[0]).toMatchObject({
      t: 'VOICE_STATE_UPDATE',
      d: { channel_id: null, user_id: BEN },
    });
    expect([...(state.call?.voiceStates.keys() ?? [])]).toEqual([ANN]);
    expect(run('deleteChannel', { channelId: ID }).told.map(([t]) => t)).toContain('CALL_DELETE');
    expect(state.call).toBeNull();
  });

  it('lets the bot that manages it remove anyone, and has no other bot as its owner', () => {
    open([BOT, ANN, BEN], APP);
    expect(run('getChannel', { channelId: ID }).value).toMatchObject({ managed: true, application_id: APP });
    expect(run('removeRecipient', { userId: BEN }, ANN).code).toBe(50013);
    expect(run('updateChannel', { draft: { owner: ANN } }, BOT).code).toBeUndefined();
    expect(run('removeRecipient', { userId: BEN }, BOT).told.map(([t]) => t)).toEqual([
      ...['CHANNEL_DELETE', 'CHANNEL_RECIPIENT_REMOVE', 'MESSAGE_CREATE'],
    ]);
    expect(run('updateChannel', { draft: { owner: BOT } }).code).toBe(50033);
    expect(run('createMessage', creation({ content: 'hi' }), BOT).told).toEqual([
      ['MESSAGE_CREATE', [BOT, ANN]],
    ]);
  });

  it('passes to another person when its owner leaves, and to a bot only when no person is left', () => {
    open([BOT, ANN, BEN], APP);
    run('updateChannel', { draft: { owner: ANN } }, BOT);
    run('deleteChannel', { channelId: ID }, ANN);
    expect(state.channel).toMatchObject({ recipientIds: [BOT, BEN], group: { ownerId: BEN } });
    run('deleteChannel', { channelId: ID }, BEN);
    expect(state.channel).toMatchObject({ recipientIds: [BOT], group: { ownerId: BOT } });
  });

  it('outlives a block between two of its people, call and all', () => {
    join(ANN);
    state.relations = null;
    const authority = SYSTEM;
    expect(privateRules.needs(state, 'applyBlock', {}, authority)).not.toHaveProperty('relations');
    const outcome = privateRules.decide(state, 'applyBlock', {}, authority, messageEnv());
    expect(outcome).toMatchObject({ ok: true, facts: [] });
  });

  it('takes the account that another was merged into in its place', () => {
    run('updateChannel', { draft: { owner: BEN } });
    const merged = (from: UserId, to: UserId) => {
      const input = { from, user: user(to) };
      const outcome = privateRules.decide(state, 'replaceRecipient', input, SYSTEM, messageEnv());
      if (outcome.ok) for (const fact of outcome.facts) privateRules.applyAndDispatch(state, fact);
    };
    merged(BEN, DAN);
    expect(state.channel).toMatchObject({ recipientIds: [ANN, CLEO, DAN], group: { ownerId: DAN } });
    merged(CLEO, ANN);
    expect([...state.recipients.keys()]).toEqual([ANN, DAN]);
  });
});

describe('a channel of two users', () => {
  it('has neither recipients to add or remove nor a name', () => {
    const [low, high] = [ANN, BEN];
    const pair = { id: ID, type: 1 as const, recipientIds: [low, high] };
    state = privateState({ ...pair, last_message_id: null, last_pin_ms: null }, [user(low), user(high)], []);
    expect(run('addRecipient', { user: user(CLEO), nick: null }).code).toBe(50003);
    expect(run('removeRecipient', { userId: BEN }).code).toBe(50003);
    expect(run('updateChannel', { draft: { name: 'Tea' } }).code).toBe(50003);
    expect(run('deleteChannel', { channelId: ID })).toMatchObject({ value: { id: ID }, dispatches: [] });
  });
});
