/** Goal: every user counts once per emoji and message, whatever order requests come in. */
import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { keepReaction } from '../../../engine/channel/reactions.ts';
import type { Guild } from '../../../engine/guild/guild.ts';
import { reactions } from '../../../engine/guild/reactions.ts';
import type { MessageId } from '../../../protocol/ids.ts';
import { P } from '../../../protocol/permissions.ts';
import { buildGuild, channel, role } from '../../support/guild.ts';
import { placed, storedMessage } from '../../support/messages.ts';
import { caller, fullMember, runner } from '../../support/people.ts';

const run = runner(reactions);
const READ = P.VIEW_CHANNEL | P.READ_MESSAGE_HISTORY;

let guild: Guild;
let id: MessageId;
function arrange(everyone = READ | P.ADD_REACTIONS): void {
  guild = buildGuild({
    everyone,
    roles: [role('100', P.MANAGE_MESSAGES, 1)],
    members: [fullMember('10'), fullMember('11', ['100']), fullMember('12')],
    channels: [channel('50')],
  });
  id = placed(guild, storedMessage('50', '12'));
}
beforeEach(() => arrange());

const input = (emoji: string, more: object = {}) => ({ channelId: '50', messageId: id, emoji, ...more });
/** The database's answer to the owner: by default that the user has not reacted. */
const load = (emoji: string, userId: string, stored: boolean) => {
  const asked = reactions.commands.addReaction.needs?.(input(emoji) as never, guild, caller(userId));
  for (const one of asked?.reactions ?? []) keepReaction(guild, one, stored);
};
const add = (emoji: string, userId = '10', stored = false) => {
  load(emoji, userId, stored);
  return run(guild, 'addReaction', input(emoji), caller(userId));
};
const remove = (emoji: string, userId = '10', by = userId, stored = false) => {
  load(emoji, userId, stored);
  return run(guild, 'removeReaction', input(emoji, { userId }), caller(by));
};
const counts = () =>
  Object.fromEntries((guild.messages.get(id)?.reactions ?? []).map(({ key, count }) => [key, count]));

describe('reactions', () => {
  it('are counted once per user, and dispatched with the member', () => {
    const { dispatches } = add('👍');
    expect(dispatches).toMatchObject([
      {
        t: 'MESSAGE_REACTION_ADD',
        to: { kind: 'channel', channelId: '50' },
        d: {
          user_id: '10',
          channel_id: '50',
          message_id: id,
          guild_id: '1',
          member: { user: { id: '10' } },
          message_author_id: '12',
          emoji: { id: null, name: '👍' },
          burst: false,
          type: 0,
        },
      },
    ]);
    expect(add('👍').facts).toEqual([]);
    add('👍', '12');
    expect(counts()).toEqual({ '👍': 2 });
  });

  it('count spellings of one emoji together', () => {
    add('❤');
    expect(add('❤️').facts).toEqual([]);
    expect(counts()).toEqual({ '❤️': 1 });
  });

  it('use the stored reactions for the time before the message was loaded', () => {
    guild.messages.set(id, {
      ...storedMessage('50', '12'),
      id,
      reactions: [{ key: '👍', emoji: { id: null, name: '👍' }, count: 1 }],
    });
    expect(add('👍', '10', true).facts).toEqual([]);
    expect(remove('👍', '10', '10', true).types).toEqual(['reactionRemoved']);
  });

  it('use their own changes since the message was loaded', () => {
    add('👍');
    add('👍', '12');
    expect(remove('👍').types).toEqual(['reactionRemoved']);
    expect(remove('👍', '10', '10', true).facts).toEqual([]);
    expect(add('👍', '10', true).types).toEqual(['reactionAdded']);
  });

  it('start at one on an emoji without reactions, whatever the database held before', () => {
    expect(add('👍', '10', true).types).toEqual(['reactionAdded']);
  });

  it('require ADD_REACTIONS only for the first of an emoji', () => {
    add('👍');
    const before = guild.messages.get(id);
    arrange(READ);
    guild.messages.set(id, { ...before!, id });
    expect(add('👎').code).toBe(50013);
    expect(add('👍', '12').code).toBeUndefined();
  });

  it('are limited to twenty emojis a message', () => {
    const faces = Array.from({ length: 21 }, (_, index) => String.fromCodePoint(0x1f600 + index));
    expect(faces.map((face) => add(face).code)).toEqual([...Array(20).fill(undefined), 30010]);
    expect(add(faces[0]!, '12').code).toBeUndefined();
  });

  it.each(['nope', 'name:123456789012345678', ''])('are refused with the unknown emoji %j', (emoji) => {
    expect(add(emoji).code).toBe(10014);
  });

  it('are rejected for a message of another channel', () => {
    placed(guild, { ...storedMessage('51', '12'), id });
    expect(add('👍').code).toBe(10008);
  });

  it('are removed from other users by moderators only', () => {
    add('👍');
    expect(remove('👍', '10', '12').code).toBe(50013);
    expect(remove('👍', '10', '11').types).toEqual(['reactionRemoved']);
    expect(counts()).toEqual({});
    expect(remove('👍').code).toBe(10014);
  });

  it('are cleared for one emoji or all, and may be added again', () => {
    add('👍');
    add('👎');
    const one = run(guild, 'clearReactionsOfEmoji', input('👍'), caller('11'));
    expect(one.dispatches).toMatchObject([
      { t: 'MESSAGE_REACTION_REMOVE_EMOJI', d: { emoji: { name: '👍' } } },
    ]);
    expect(counts()).toEqual({ '👎': 1 });
    const all = run(guild, 'clearReactions', input(''), caller('11'));
    expect(all.dispatches).toMatchObject([{ t: 'MESSAGE_REACTION_REMOVE_ALL', d: { message_id: id } }]);
    expect(run(guild, 'clearReactions', input(''), caller('11')).facts).toEqual([]);
    expect(add('👎', '10', true).types).toEqual(['reactionAdded']);
  });

  it('cleared before are not counted again, though the database may still hold them', () => {
    const stored = [{ key: '👍', emoji: { id: null, name: '👍' }, count: 2 }];
    guild.messages.set(id, { ...storedMessage('50', '12'), id, reactions: stored });
    run(guild, 'clearReactionsOfEmoji', input('👍'), caller('11'));
    add('👍', '12');
    expect(add('👍', '10', true).types).toEqual(['reactionAdded']);
    expect(counts()).toEqual({ '👍': 2 });
    expect(add('👍', '10', true).facts).toEqual([]);
  });

  it('are rejected for an unknown message or emoji before permissions are checked', () => {
    const removeOf = (more: object) =>
      run(guild, 'removeReaction', input('👍', { userId: '10', ...more }), caller('12')).code;
    expect([removeOf({ messageId: '404' }), removeOf({ emoji: 'nope' }), removeOf({})]).toEqual([
      ...[10008, 10014, 50013],
    ]);
  });

  it('return the store key of an emoji', () => {
    const { outcome } = run(guild, 'authorizeReactions', input('❤'), caller('10'));
    expect(outcome).toMatchObject({ value: { ownerId: '1', key: '❤️' } });
  });

  it('equal a set of pairs after any sequence of requests', () => {
    const emoji = fc.constantFrom('👍', '👎', '❤');
    const step = fc.record({
      act: fc.constantFrom('add', 'remove', 'clear', 'clearAll'),
      emoji,
      userId: fc.constantFrom('10', '11', '12'),
      stale: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        arrange();
        const model = new Map<string, Set<string>>();
        for (const { act, emoji: text, userId, stale } of steps) {
          const key = text === '❤' ? '❤️' : text;
          const users = model.get(key) ?? new Set();
          // The database answers with the current state, or with the state before the aggregate's own changes.
          const stored = stale && act === 'remove' ? users.has(userId) : false;
          if (act === 'add') {
            add(text, userId, stored);
            model.set(key, users.add(userId));
          } else if (act === 'remove') {
            remove(text, userId, userId, stored);
            users.delete(userId);
            if (users.size === 0) model.delete(key);
          } else if (act === 'clear') {
            run(guild, 'clearReactionsOfEmoji', input(text), caller('11'));
            model.delete(key);
          } else {
            run(guild, 'clearReactions', input(''), caller('11'));
            model.clear();
          }
        }
        expect(counts()).toEqual(Object.fromEntries([...model].map(([key, users]) => [key, users.size])));
      }),
    );
  });
});
