/** Goal: two people write to each other under the guild's rules for messages, and no other user takes part. */
import { beforeEach, describe, expect, it } from 'vitest';
import { SYSTEM } from '../../../engine/kernel/authority.ts';
import type { Dispatch } from '../../../engine/kernel/dispatch.ts';
import {
  type PrivateChannelState,
  type PrivateCommands,
  type PrivateFact,
  privateRules,
} from '../../../engine/privatechannel/rules.ts';
import type { ChannelId, MessageId, UserId } from '../../../protocol/ids.ts';
import { IS_COMPONENTS_V2 } from '../../support/components.ts';
import { user } from '../../support/guild.ts';
import { creation, edition, messageEnv, placed, storedMessage } from '../../support/messages.ts';
import { caller, NOW_MS } from '../../support/people.ts';

const ID = '50' as ChannelId;
const [A, B] = ['100000000000000010', '100000000000000011'] as [UserId, UserId];

let state: PrivateChannelState;
beforeEach(() => {
  state = {
    channel: {
      ...{ id: ID, type: 1, recipientIds: [A, B], last_message_id: null, last_pin_ms: null },
      // Each may answer the other.
      writtenBy: [A, B],
    },
    relations: [],
    recipients: new Map([
      [A, user(A)],
      [B, user(B, true)],
    ]),
    messages: new Map(),
    nonces: new Map(),
    pins: new Map(),
    reacted: new Map(),
    call: null,
  };
});

function run<K extends keyof PrivateCommands>(type: K, input: PrivateCommands[K]['input'], by: string = A) {
  // A bot is asked whether it shares a guild with the person.
  const known = { policy: 'shared_guild', sharesGuild: true, isInstalled: false } as const;
  const asker = caller(by, { bot: by === B });
  const env = { ...messageEnv(), acquaintance: known };
  const outcome = privateRules.decide(state, type, input, { by: asker, requires: 0n }, env);
  const facts = outcome.ok ? outcome.facts : [];
  return {
    code: outcome.ok ? undefined : outcome.refusal.code,
    outcome,
    facts,
    dispatches: facts.flatMap(applied),
  };
}

function applied(fact: PrivateFact): readonly Dispatch[] {
  return privateRules.applyAndDispatch(state, fact);
}

describe('private channels', () => {
  it('dispatch messages to both users, without guild fields', () => {
    const { dispatches } = run('createMessage', creation({ content: `hi <@${B}> @everyone` }));
    expect(dispatches).toMatchObject([
      {
        t: 'MESSAGE_CREATE',
        to: { kind: 'users', userIds: [A, B] },
        d: { channel_id: ID, channel_type: 1, mentions: [{ id: B }], mention_everyone: false },
      },
    ]);
    expect(dispatches[0]?.d).not.toHaveProperty('guild_id');
    expect(dispatches[0]?.d).not.toHaveProperty('member');
    expect(dispatches[0]?.d).toHaveProperty('id', state.channel.last_message_id);
  });

  it.each(['createMessage', 'getChannel', 'authorizeHistory', 'startTyping'] as const)(
    'does not exist for a third person (%s)',
    (type) => {
      expect(run(type, creation({ content: 'a' }), '100000000000000099').code).toBe(10003);
    },
  );

  it('shows each side the other', () => {
    const { outcome } = run('getChannel', { channelId: ID });
    expect(outcome).toMatchObject({ value: { id: ID, type: 1, flags: 0, recipients: [{ id: B }] } });
    const opened = applied({ type: 'privateChannelOpened', channel: state.channel });
    expect(opened).toMatchObject([
      { t: 'CHANNEL_CREATE', to: { userIds: [A] }, d: { recipients: [{ id: B }] } },
    ]);
  });

  it('accept a reply, and need its message to be loaded', () => {
    const id = placed(state, storedMessage(ID, B));
    const input = creation({ content: 'yes', message_reference: { message_id: id } });
    expect(privateRules.needs(state, 'createMessage', input, SYSTEM)).toEqual({
      messages: [{ channelId: ID, id }],
    });
    expect(run('createMessage', input).dispatches[0]?.d).toMatchObject({
      type: 19,
      message_reference: { channel_id: ID, message_id: id },
      referenced_message: { id },
    });
  });

  it('lets either pin, and each only edit and delete their own', () => {
    const id = placed(state, storedMessage(ID, B));
    expect(run('updateMessage', edition(id, { content: 'x' })).code).toBe(50005);
    expect(run('deleteMessage', { channelId: ID, messageId: id }).code).toBe(50013);
    const pinned = run('pinMessage', { channelId: ID, messageId: id });
    expect(pinned.facts.map(({ type }) => type)).toEqual(['messagePinned', 'messageCreated']);
    expect(pinned.dispatches.map(({ t }) => t)).toEqual([
      'CHANNEL_PINS_UPDATE',
      'MESSAGE_UPDATE',
      'MESSAGE_CREATE',
    ]);
    expect(state.channel.last_pin_ms).toBe(NOW_MS);
    run('unpinMessage', { channelId: ID, messageId: id });
    expect(state.channel.last_pin_ms).toBeNull();
    expect(run('deleteMessage', { channelId: ID, messageId: id }, B).dispatches).toMatchObject([
      { t: 'MESSAGE_DELETE', d: { id, channel_id: ID } },
    ]);
  });

  it('reacts, but not in the other’s name', () => {
    const messageId = placed(state, storedMessage(ID, B));
    const reaction = { channelId: ID, messageId, emoji: '👍' };
    const { dispatches } = run('addReaction', reaction);
    expect(dispatches).toMatchObject([
      { t: 'MESSAGE_REACTION_ADD', d: { user_id: A, message_author_id: B } },
    ]);
    expect(dispatches[0]?.d).not.toHaveProperty('member');
    expect(run('removeReaction', { ...reaction, userId: A }, B).code).toBe(50003);
    expect(run('removeReaction', { ...reaction, userId: A }).facts).toHaveLength(1);
  });

  it('takes components from a bot only, and only well formed ones', () => {
    const alone = (...components: object[]) => creation({ flags: IS_COMPONENTS_V2, components });
    const text = { type: 10, content: 'x' };
    expect(run('createMessage', alone({ type: 17 }), B).code).toBe(50035);
    expect(run('createMessage', alone(text), A).code).toBe(50035);
    const { outcome } = run('createMessage', alone(text), B);
    expect(outcome).toMatchObject({ value: { message: { components: [{ ...text, id: 1 }] } } });
    const { id } = (outcome as { value: { message: { id: MessageId } } }).value.message;
    expect(run('updateMessage', edition(id, { components: [{ type: 12 }] }), B).code).toBe(50035);
  });

  it('remembers nonces', () => {
    const draft = { content: 'once', nonce: 'n', enforce_nonce: true };
    run('createMessage', creation(draft));
    expect(run('createMessage', creation(draft)).facts).toEqual([]);
  });

  it('dispatch typing with a time in seconds, and store nothing', () => {
    const before = structuredClone(state.channel);
    expect(run('startTyping', { channelId: ID }).dispatches).toMatchObject([
      { t: 'TYPING_START', d: { channel_id: ID, user_id: A, timestamp: NOW_MS / 1_000 } },
    ]);
    expect(state.channel).toEqual(before);
  });

  it('does not know messages that are not there', () => {
    expect(run('deleteMessage', { channelId: ID, messageId: '1' as MessageId }).code).toBe(10008);
  });
});

describe('a message that neither of the two writes', () => {
  const WRITER = '100000000000000099';
  const from = {
    fields: { author: user(WRITER, true), webhook_id: '7', application_id: '7' },
    components: 'any',
  } as const;
  const bySystem = <K extends 'createMessage' | 'updateMessage' | 'deleteMessage'>(
    type: K,
    input: PrivateCommands[K]['input'],
  ) => {
    const outcome = privateRules.decide(state, type, input, SYSTEM, messageEnv());
    const facts = outcome.ok ? outcome.facts : [];
    return { code: outcome.ok ? undefined : outcome.refusal.code, facts, dispatches: facts.flatMap(applied) };
  };

  it('names its author, reaches both, and is changed and deleted by that author', () => {
    const sent = bySystem('createMessage', creation({ content: 'answer' }, { from }));
    expect(sent.dispatches).toMatchObject([
      {
        t: 'MESSAGE_CREATE',
        d: { content: 'answer', author: { id: WRITER }, webhook_id: '7', application_id: '7' },
        to: { userIds: [A, B] },
      },
    ]);
    // No first message was written by it.
    expect(sent.facts.map(({ type }) => type)).toEqual(['messageCreated']);
    const [messageId] = [...state.messages.keys()] as [MessageId];
    expect(
      bySystem('updateMessage', edition(messageId, { content: 'edited' }, { from })).code,
    ).toBeUndefined();
    expect(run('updateMessage', edition(messageId, { content: 'mine' })).code).toBe(50005);
    expect(run('deleteMessage', { channelId: ID, messageId }).code).toBe(50013);
    expect(bySystem('deleteMessage', { channelId: ID, messageId, from }).code).toBeUndefined();
  });
});
