/**
 * Goal: only the server itself ends calls, moderates and migrates a private channel, and a game receives the messages
 * it carried.
 */
import { beforeEach, describe, expect, it } from 'vitest';
import { type By, SYSTEM } from '../../../engine/kernel/authority.ts';
import {
  type PrivateChannelState,
  type PrivateCommands,
  type PrivateFact,
  privateRules,
} from '../../../engine/privatechannel/rules.ts';
import type { GameApplication } from '../../../engine/privatechannel/social.ts';
import { RELATION, type StoredRelation } from '../../../engine/social/facts.ts';
import type { ApplicationId, ChannelId, MessageId, UserId } from '../../../protocol/ids.ts';
import { user } from '../../support/guild.ts';
import { creation, edition, messageEnv, storedMessage } from '../../support/messages.ts';
import { caller } from '../../support/people.ts';

const ID = '50' as ChannelId;
const [A, B, C] = ['10', '11', '12'] as [UserId, UserId, UserId];
const GAME = '77' as ApplicationId;
const M = '900' as MessageId;
const where = { channelId: ID, messageId: M };

const block = (userId: UserId, peerId: UserId): StoredRelation => ({
  ...{ userId, peerId, applicationId: null, type: RELATION.BLOCKED },
  ...{ sinceMs: 0, nickname: null, originApplicationId: null },
});

let state: PrivateChannelState;
beforeEach(() => {
  const message = storedMessage(ID, A, { id: M, application_id: GAME });
  state = {
    channel: {
      ...{ id: ID, type: 1, recipientIds: [A, B], last_message_id: null, last_pin_ms: null },
      writtenBy: [A, B],
    },
    relations: [],
    recipients: new Map([A, B].map((id) => [id, user(id)])),
    messages: new Map([[M, message]]),
    nonces: new Map(),
    pins: new Map(),
    reacted: new Map(),
    call: null,
  };
});

function run<K extends keyof PrivateCommands>(
  type: K,
  input: PrivateCommands[K]['input'],
  by: By = SYSTEM.by,
) {
  const outcome = privateRules.decide(state, type, input, { by, requires: 0n }, messageEnv());
  const facts: readonly PrivateFact[] = outcome.ok ? outcome.facts : [];
  for (const fact of facts) privateRules.apply(state, fact);
  return { code: outcome.ok ? null : outcome.refusal.code, facts, types: facts.map(({ type }) => type) };
}

const text = (content: string) => ({ ...creation({ content }), channelId: ID });

describe('a private channel', () => {
  it('drops its cached relations when the server reports that they changed', () => {
    expect(run('forgetRelations', {}).types).toEqual(['relationsForgotten']);
    expect(state.relations).toBeNull();
    expect(() => run('createMessage', text('hi'), caller(A))).toThrow('relations');
  });

  it('ends its call once one of the two blocks the other, and writes down who was there', () => {
    const seat = { sessionId: 's', selfMute: false, selfDeaf: false, selfVideo: false, join: true };
    run('setCallState', seat, caller(A));
    run('setCallState', { ...seat, sessionId: 't' }, caller(B));
    expect(run('applyBlock', {}).types).toEqual([]);
    state.relations = [block(B, A)];
    expect(run('applyBlock', {}).types).toEqual([
      'callStateChanged',
      'callStateChanged',
      'callEnded',
      'messageUpdated',
    ]);
    expect(state.call).toBeNull();
    expect([...state.messages.values()].at(-1)).toMatchObject({
      call: { participants: [A, B], ended_timestamp: expect.any(String) },
    });
    expect(run('setCallState', seat, caller(A)).code).toBe(50007);
  });

  it('is transferred to another account with its messages and state', () => {
    run('replaceRecipient', { from: A, user: user(C) });
    expect(state.relations).toBeNull();
    expect(state.channel.writtenBy).toEqual([C, B]);
    state.relations = [];
    expect(state.channel.recipientIds).toEqual([B, C]);
    expect([...state.recipients.keys()].sort()).toEqual([B, C]);
    expect(run('replaceRecipient', { from: A, user: user(C) }).types).toEqual([]);
    expect(run('createMessage', text('hi'), caller(A)).code).toBe(10003);
    expect(run('createMessage', text('hi'), caller(C)).code).toBeNull();
  });

  it('accepts moderation only from the application that sent the message, until the message is edited', () => {
    const judged = (applicationId: ApplicationId, metadata = { verdict: 'odd' } as Record<string, string>) =>
      run('moderateMessage', { ...where, applicationId, metadata });
    expect(judged('78' as ApplicationId).code).toBe(10008);
    judged(GAME);
    expect(state.messages.get(M)?.moderation_metadata).toEqual({ verdict: 'odd' });
    run('updateMessage', edition(M, { content: 'new' }), caller(A));
    expect(state.messages.get(M)).not.toHaveProperty('moderation_metadata');
    judged(GAME);
    judged(GAME, {});
    expect(state.messages.get(M)).not.toHaveProperty('moderation_metadata');
  });

  it('rejects these commands from its own users', () => {
    const inputs = {
      forgetRelations: {},
      applyBlock: {},
      replaceRecipient: { from: B, user: user(C) },
      moderateMessage: { ...where, applicationId: GAME, metadata: {} },
    };
    for (const [type, input] of Object.entries(inputs))
      expect(run(type as 'forgetRelations', input as never, caller(A)).code, type).toBe(10003);
  });
});

describe('a game', () => {
  const game = (...types: string[]): GameApplication => ({
    id: GAME,
    event_webhooks_status: 2,
    event_webhooks_url: 'https://game.test',
    event_webhooks_types: types,
  });
  const all = game('GAME_DIRECT_MESSAGE_CREATE', 'GAME_DIRECT_MESSAGE_UPDATE', 'GAME_DIRECT_MESSAGE_DELETE');

  it('receives an event for each of its messages in the same commit, if it subscribed to the type', () => {
    const told = (facts: readonly PrivateFact[]) =>
      facts.flatMap((fact) => (fact.type === 'webhookEventQueued' ? [fact.event] : []));
    const made = run('createMessage', { ...text('hi'), game: all }, caller(A));
    expect(made.types).toEqual(['messageCreated', 'webhookEventQueued']);
    expect(told(made.facts)).toMatchObject([
      {
        applicationId: GAME,
        type: 'GAME_DIRECT_MESSAGE_CREATE',
        data: { content: 'hi', channel: { id: ID } },
      },
    ]);
    const edited = run('updateMessage', { ...edition(M, { content: 'ho' }), game: all }, caller(A));
    expect(told(edited.facts)).toMatchObject([
      { type: 'GAME_DIRECT_MESSAGE_UPDATE', data: { content: 'ho' } },
    ]);
    const gone = run('deleteMessage', { ...where, game: all }, caller(A));
    expect(told(gone.facts)).toMatchObject([
      { type: 'GAME_DIRECT_MESSAGE_DELETE', data: { id: M, content: 'ho' } },
    ]);
    expect(run('createMessage', { ...text('hi'), game: game() }, caller(A)).types).toEqual([
      'messageCreated',
    ]);
    expect(run('createMessage', text('hi'), caller(A)).types).toEqual(['messageCreated']);
  });

  it('receives no event for a rejected command', () => {
    expect(run('deleteMessage', { ...where, game: all }, caller(B)).types).toEqual([]);
  });
});
