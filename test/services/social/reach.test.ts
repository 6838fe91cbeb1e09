// Goal: a block ends everything between two people from its answer on, and strangers reach only who lets them.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Authority } from '../../../engine/kernel/authority.ts';
import type { ChannelId, MessageId, UserId } from '../../../protocol/ids.ts';
import type { Person } from '../../../services/social/ports.ts';
import { codeOf, openSocial, told } from './arrange.ts';

let instance: Awaited<ReturnType<typeof openSocial>>;
beforeAll(async () => {
  instance = await openSocial();
}, 60_000);
afterAll(() => instance.close());

type Who = Pick<Person, 'userId'>;
const as = ({ userId }: Who, bot = false): Authority => ({
  by: { userId, bot, applicationId: null, applicationFlags: 0, reason: null },
  requires: 0n,
});

async function opened(a: Who, b: Who): Promise<ChannelId> {
  const reply = await instance.open(a.userId, b.userId);
  if (!reply.ok) throw new Error(reply.refusal.message);
  return reply.value.id;
}

/** Everything that one may do in the channel with the other, as REST and the gateway ask it. */
function doings(channelId: ChannelId, authority: Authority) {
  const { channels, calls } = instance.services;
  const seat = { sessionId: `s${authority.by.userId}`, selfMute: false, selfDeaf: false, selfVideo: false };
  const of = { channelId };
  return {
    write: (content = 'hi') =>
      channels.call(
        channelId,
        'createMessage',
        { draft: { content }, attachments: [], forward: null },
        authority,
      ),
    edit: (messageId: MessageId, content = 'changed') => {
      const input = { messageId, edit: { content }, keep: null, attachments: [] };
      return channels.call(channelId, 'updateMessage', input, authority);
    },
    remove: (messageId: MessageId) => channels.call(channelId, 'deleteMessage', { messageId }, authority),
    pin: (messageId: MessageId) => channels.call(channelId, 'pinMessage', { messageId }, authority),
    unpin: (messageId: MessageId) => channels.call(channelId, 'unpinMessage', { messageId }, authority),
    react: (messageId: MessageId, emoji = '👍') =>
      channels.call(channelId, 'addReaction', { messageId, emoji }, authority),
    unreact: (messageId: MessageId, emoji = '👍') =>
      channels.call(
        channelId,
        'removeReaction',
        { messageId, emoji, userId: authority.by.userId },
        authority,
      ),
    type: () => channels.call(channelId, 'startTyping', of, authority),
    read: () => channels.call(channelId, 'getChannel', of, authority),
    history: () => channels.call(channelId, 'authorizeHistory', {}, authority),
    join: () => instance.inPrivate(channelId, 'setCallState', { ...seat, join: true }, authority),
    leave: () => instance.inPrivate(channelId, 'setCallState', { ...seat, join: false }, authority),
    ring: () => calls.ring(channelId, null, authority),
  };
}

async function written(doing: ReturnType<typeof doings>): Promise<MessageId> {
  const reply = await doing.write('first');
  if (!reply.ok) throw new Error(reply.refusal.message);
  return reply.value.message.id;
}

async function friends() {
  const [ann, bob] = [await instance.person(), await instance.person()];
  await instance.befriend(ann, bob);
  const channelId = await opened(ann, bob);
  return { ann, bob, channelId };
}

describe('a block', () => {
  it('refuses writing, editing, reacting, pinning, typing, calling and ringing, whichever user blocks', async () => {
    const { ann, bob, channelId } = await friends();
    const [anns, bobs] = [doings(channelId, as(ann)), doings(channelId, as(bob))];
    const byDoing = new Map([
      [anns, await written(anns)],
      [bobs, await written(bobs)],
    ]);
    for (const own of byDoing.values()) for (const doing of [anns, bobs]) await doing.react(own);
    const bobAt = await instance.connect(bob);
    await instance.social.relationships.block(bob, ann.userId);
    const before = bobAt.sink.names.length;
    for (const [doing, own] of byDoing) {
      expect(codeOf(await doing.write()), 'write').toBe(50007);
      expect(codeOf(await doing.edit(own)), 'edit').toBe(50007);
      expect(codeOf(await doing.pin(own)), 'pin').toBe(50007);
      expect(codeOf(await doing.unpin(own)), 'unpin').toBe(50007);
      expect(codeOf(await doing.react(own, '🔥')), 'react').toBe(90001);
      expect(codeOf(await doing.type()), 'type').toBe(50007);
      expect(codeOf(await doing.join()), 'join').toBe(50007);
      expect(codeOf(await doing.ring()), 'ring').toBe(50007);
    }
    expect(bobAt.sink.names.slice(before)).toEqual([]);
  });

  it("allows reading and removing one's own messages and reactions", async () => {
    const { ann, bob, channelId } = await friends();
    const anns = doings(channelId, as(ann));
    const own = await written(anns);
    await anns.react(own);
    await instance.social.relationships.block(bob, ann.userId);
    for (const act of [anns.read, anns.history, () => anns.unreact(own), () => anns.remove(own), anns.leave])
      expect(codeOf(await act())).toBeNull();
  });

  it('ends the call of the two users, also while it rings', async () => {
    for (const both of [true, false]) {
      const { ann, bob, channelId } = await friends();
      const sinks = [(await instance.connect(ann)).sink, (await instance.connect(bob)).sink];
      expect(codeOf(await doings(channelId, as(ann)).join())).toBeNull();
      expect(told(sinks[1]!, 'CALL_CREATE')).toMatchObject([{ ringing: [bob.userId] }]);
      if (both) expect(codeOf(await doings(channelId, as(bob)).join())).toBeNull();
      await instance.social.relationships.block(bob, ann.userId);
      for (const sink of sinks) {
        expect(told(sink, 'CALL_DELETE')).toMatchObject([{ channel_id: channelId }]);
        const states = told<{ user_id: string; channel_id: string | null }>(sink, 'VOICE_STATE_UPDATE');
        const left = states.filter((state) => state.channel_id === null).map((state) => state.user_id);
        expect(left.sort()).toEqual((both ? [ann.userId, bob.userId] : [ann.userId]).sort());
      }
    }
  });

  it('ends a call that began while the channel was only in memory', async () => {
    const { ann, bob, channelId } = await friends();
    await doings(channelId, as(ann)).join();
    // Asked for twice, as a client does that got no answer.
    await instance.social.relationships.block(bob, ann.userId);
    await instance.social.relationships.block(bob, ann.userId);
    expect(codeOf(await doings(channelId, as(ann)).ring())).toBe(50007);
  });

  it('blocks every message after its reply, however many commands are pending', async () => {
    for (let round = 0; round < 8; round += 1) {
      const { ann, bob, channelId } = await friends();
      const anns = doings(channelId, as(ann));
      const own = await written(anns);
      await anns.join();
      const { sink } = await instance.connect(bob);
      // Bob sees his block itself; everything else would be Ann's.
      const news = () => sink.names.filter((t) => !t.startsWith('RELATIONSHIP')).length;
      const under: Promise<unknown>[] = [];
      const storm = () => {
        under.push(anns.edit(own, `edit ${under.length}`), anns.ring(), anns.type(), anns.write());
        under.push(anns.react(own, '🔥'), anns.pin(own), anns.join());
      };
      for (let burst = 0; burst < round; burst += 1) storm();
      let over = false;
      const block = instance.social.relationships.block(bob, ann.userId).then(() => {
        over = true;
        return news();
      });
      while (!over) {
        storm();
        await new Promise<void>((resolve) => setImmediate(resolve));
      }
      const atAnswer = await block;
      storm();
      await Promise.all(under);
      expect(news()).toBe(atAnswer);
      expect(sink.names).toContain('CALL_DELETE');
    }
  });

  it('fails when it was stored but not announced, and succeeds when repeated', async () => {
    const { ann, bob, channelId } = await friends();
    await doings(channelId, as(ann)).type();
    const { between } = instance.storage.privateChannels;
    const stores = instance.storage.privateChannels as { between: typeof between };
    stores.between = async () => {
      throw new Error('The way is blocked.');
    };
    await expect(instance.social.relationships.block(bob, ann.userId)).rejects.toThrow('The way');
    stores.between = between;
    expect(codeOf(await instance.social.relationships.block(bob, ann.userId))).toBeNull();
    expect(codeOf(await doings(channelId, as(ann)).type())).toBe(50007);
  });

  it('takes effect within half a minute when it was not announced', async () => {
    const { ann, bob, channelId } = await friends();
    await doings(channelId, as(ann)).type();
    const relation = { type: 2, sinceMs: 0, nickname: null, originApplicationId: null } as const;
    const pair = { userId: bob.userId, peerId: ann.userId, applicationId: null };
    await instance.commit(ann.userId, [{ type: 'relationChanged', ...pair, relation }]);
    expect(codeOf(await doings(channelId, as(ann)).type())).toBeNull();
    instance.clock.advance(30_001);
    expect(codeOf(await doings(channelId, as(ann)).type())).toBe(50007);
  });
});

describe('strangers', () => {
  it('cannot write until they share a guild, and may continue after an answer', async () => {
    const [ann, bob] = [await instance.person(), await instance.person()];
    const { sink } = await instance.connect(bob);
    const channelId = await opened(ann, bob);
    const [anns, bobs] = [doings(channelId, as(ann)), doings(channelId, as(bob))];
    for (const act of [anns.write, anns.type, anns.join]) expect(codeOf(await act())).toBe(50278);
    // Not even the empty channel is put into the other's list.
    expect(sink.names).not.toContain('CHANNEL_CREATE');
    const guildId = await instance.guildOf(bob, ann);
    expect(codeOf(await anns.write())).toBeNull();
    await bobs.write('who is it?');
    await instance.services.guilds.call(guildId, 'leaveGuild', {}, as(ann));
    expect(codeOf(await anns.write())).toBeNull();
    expect(codeOf(await bobs.write())).toBeNull();
  });

  it('cannot ring, but may join a call that they see', async () => {
    const [ann, bob] = [await instance.person(), await instance.person()];
    await instance.guildOf(ann, bob);
    const channelId = await opened(ann, bob);
    const { sink } = await instance.connect(bob);
    const [anns, bobs] = [doings(channelId, as(ann)), doings(channelId, as(bob))];
    expect(codeOf(await anns.join())).toBeNull();
    expect(told(sink, 'CALL_CREATE')).toMatchObject([{ ringing: [] }]);
    expect(codeOf(await anns.ring())).toBe(50007);
    expect(told(sink, 'CALL_UPDATE')).toEqual([]);
    expect(codeOf(await bobs.join())).toBeNull();
    await bobs.leave();
    await instance.befriend(ann, bob);
    expect(codeOf(await anns.ring())).toBeNull();
    expect(told(sink, 'CALL_UPDATE')).toMatchObject([{ ringing: [bob.userId] }]);
  });

  it("follow a user's new contact policy at once", async () => {
    const [ann, bob] = [await instance.person(), await instance.person()];
    const channelId = await opened(ann, bob);
    const anns = doings(channelId, as(ann));
    const choose = (directMessagesFrom: 'everyone' | 'friends' | 'replied' | null) =>
      instance.social.settings.set(bob.userId, { directMessagesFrom });
    const codes: (number | null)[] = [];
    for (const policy of ['everyone', 'friends', null] as const) {
      await choose(policy);
      codes.push(codeOf(await anns.type()));
    }
    await instance.befriend(ann, bob);
    for (const policy of ['friends', 'replied'] as const) {
      await choose(policy);
      codes.push(codeOf(await anns.type()));
    }
    await doings(channelId, as(bob)).write();
    codes.push(codeOf(await anns.type()));
    expect(codes).toEqual([null, 50007, 50278, null, 50007, null]);
    expect(await instance.social.settings.get(bob.userId)).toEqual({ directMessagesFrom: 'replied' });
  });

  it("follow the server's default contact policy when the user has chosen none", async () => {
    const open = await openSocial({ direct_messages_from: 'everyone' });
    const [ann, bob] = [await open.person(), await open.person()];
    expect(codeOf(await open.social.messages.send(ann, bob.userId, { content: 'hi' }))).toBeNull();
    await open.social.settings.set(bob.userId, { directMessagesFrom: 'shared_guild' });
    const other = await open.person();
    expect(codeOf(await open.social.messages.send(other, bob.userId, { content: 'hi' }))).toBe(50278);
    open.close();
  });
});

describe('a bot', () => {
  it('needs a common guild with the user, or to be installed by the user', async () => {
    const person = await instance.person();
    const bot = { userId: instance.botId };
    const bots = doings(await opened(bot, person), as(bot, true));
    const persons = doings(await opened(bot, person), as(person));
    expect(codeOf(await bots.write())).toBe(50278);
    expect(codeOf(await persons.write())).toBe(50278);
    await instance.operator.addMember({ guildId: instance.guildId, userId: person.userId });
    const own = await written(bots);
    expect(codeOf(await persons.write())).toBeNull();
    await instance.services.guilds.call(instance.guildId, 'leaveGuild', {}, as(person));
    expect(codeOf(await bots.edit(own))).toBe(50278);
    expect(codeOf(await bots.remove(own))).toBeNull();
    const { id: applicationId } = (await instance.storage.applications.byBot(bot.userId))!;
    const grant = {
      id: '1',
      userId: person.userId,
      applicationId,
      scopes: ['applications.commands'] as const,
    };
    await instance.commit(person.userId, [{ type: 'grantWritten', grant: { ...grant, userInstall: true } }]);
    expect(codeOf(await bots.write())).toBeNull();
    await instance.social.relationships.block({ ...person, authorization: null }, bot.userId as UserId);
    expect(codeOf(await bots.write())).toBe(50007);
  });
});
