// Goal: a session whose user was away from the guild for a while has it as it is when the user is a member again.
import { describe, expect, it } from 'vitest';
import { unsubscribe } from '../../../actors/guild/guild.subscription.ts';
import { P } from '../../../protocol/permissions.ts';
import { GUILD_ID, OWNER_ID } from '../../support/guild.ts';
import {
  ANN,
  BOB,
  FollowingSession,
  LOUNGE,
  OwnedGuild,
  SQUARE,
  settleAll,
} from '../../support/ownedguild.ts';

async function entered(guild: OwnedGuild, ...sessions: FollowingSession[]) {
  const entering = guild.enter(sessions);
  await settleAll();
  guild.owner.settle();
  return entering;
}

const putOutAndBack = (guild: OwnedGuild) => [
  guild.call('kickMember', { userId: BOB as never }),
  guild.call('addMember', { userId: BOB as never } as never, '0'),
];

type Did = (act: Promise<unknown>) => Promise<{ readonly id: string }>;

/** Ann and a user in a guild, and that user's session, which returns with the position that it had after `prepare`. */
async function arrange(userId: string = BOB, prepare?: (guild: OwnedGuild, did: Did) => Promise<void>) {
  const guild = new OwnedGuild();
  const bob = new FollowingSession('b1', userId);
  const did: Did = async (act) => {
    await settleAll();
    guild.owner.settle();
    const reply = await act;
    expect(reply).toMatchObject({ ok: true });
    return (reply as { readonly value: { readonly id: string } }).value;
  };
  await prepare?.(guild, did);
  await entered(guild, new FollowingSession('a1', ANN), bob);
  const cursor = bob.heard.find(([kind]) => kind === 'f')?.[1] ?? 0;
  const away = () =>
    guild.owner.registry.workWith(GUILD_ID, (shell) => ({
      run: () => unsubscribe(shell.audiences, bob.ear),
      refuse: () => undefined,
      fault: () => undefined,
    }));
  const returned = async () => {
    const session = new FollowingSession('b1', userId);
    session.heard.push(['f', cursor]);
    expect(await entered(guild, session)).toEqual(['member']);
    guild.close();
    return session;
  };
  const back = async () => (await returned()).messages;
  return { guild, did, away, back, returned };
}

describe('a session', () => {
  it('is sent GUILD_CREATE, and no removal, when its user was removed and rejoined while it was away', async () => {
    const guild = new OwnedGuild();
    const bob = new FollowingSession('b1', BOB);
    await entered(guild, new FollowingSession('a1', ANN), bob);
    const acts = putOutAndBack(guild);
    await settleAll();
    guild.owner.settle();
    expect((await Promise.all(acts)).map(({ ok }) => ok)).toEqual([true, true]);
    const back = new FollowingSession('b1', BOB);
    back.heard.push(['f', bob.heard.find(([kind]) => kind === 'f')?.[1] ?? 0]);
    expect(await entered(guild, back)).toEqual(['member']);
    // Nor the removal and the return themselves: after a late frame with the removal the client has no such guild.
    expect(back.received.map(({ t }) => t)).toEqual(['GUILD_DELETE', 'GUILD_CREATE']);
    expect(back.received[0]?.d).toMatchObject({ unavailable: true });
    guild.close();
  });

  it.each([
    [
      'is sent the guild again when a channel may have been hidden while nothing stood in for it',
      false,
      false,
    ],
    ['is sent the guild again by the next owner, who cannot know what stood in for it', false, true],
    ['is sent the deletion of a hidden channel when another object stood in for it', true, false],
  ])('%s', async (_how, stands, moves) => {
    const guild = new OwnedGuild();
    const bob = new FollowingSession('b1', BOB);
    await entered(guild, bob);
    if (!stands)
      guild.owner.registry.workWith(GUILD_ID, (shell) => ({
        run: () => unsubscribe(shell.audiences, bob.ear),
        refuse: () => undefined,
        fault: () => undefined,
      }));
    const denied = { id: GUILD_ID, type: 0, allow: '0', deny: String(P.VIEW_CHANNEL) } as const;
    const act = guild.call('setOverwrite', { channelId: SQUARE, overwrite: denied } as never);
    await settleAll();
    guild.owner.settle();
    expect(await act).toMatchObject({ ok: true });
    if (moves) await guild.handOver();
    // A link that breaks loses the first answer, so that the session asks again from the same position.
    for (const request of ['first', 'again']) {
      const back = new FollowingSession('b1', BOB);
      back.heard.push(['f', bob.heard.find(([kind]) => kind === 'f')?.[1] ?? 0]);
      expect(await entered(guild, back)).toEqual(['member']);
      // The test's rows keep no overwrites, so that the next owner replays the update of the channel too.
      const told = back.received.map(({ t }) => t).filter((t) => t !== 'CHANNEL_UPDATE');
      expect(told, request).toEqual(stands ? ['CHANNEL_DELETE'] : ['GUILD_DELETE', 'GUILD_CREATE']);
    }
    guild.close();
  });

  it.each([
    ['is not sent what was written while it could not see the channel', true, 'channel'],
    ['is not sent what was written while nobody knows whether it could see the channel', false, 'channel'],
    ['is not sent what was written in a thread while it could not see its channel', true, 'thread'],
  ] as const)('%s', async (_how, stands, where) => {
    const { guild, did, away, back } = await arrange();
    const thread = await did(
      guild.call('createThread', { channelId: SQUARE, draft: { name: 't', type: 11 } } as never),
    );
    const channelId = where === 'channel' ? SQUARE : thread.id;
    await did(guild.say(channelId, 'before'));
    if (!stands) away();
    const overwrite = { id: BOB, type: 1, allow: '0', deny: String(P.VIEW_CHANNEL) } as const;
    await did(guild.call('setOverwrite', { channelId: SQUARE, overwrite } as never));
    await did(guild.say(channelId, 'while hidden'));
    await did(guild.call('deleteOverwrite', { channelId: SQUARE, overwriteId: BOB } as never));
    await did(guild.say(channelId, 'while shown'));
    expect((await back()).filter((text) => text !== 't')).toEqual(
      stands ? ['before', 'while shown'] : ['while shown'],
    );
  });

  it.each([
    ['a role that it does not have', 'updateRole', (roleId: string) => ({ roleId })],
    ['another channel', 'updateChannel', () => ({ channelId: LOUNGE })],
    ['the name of the guild', 'updateGuild', () => ({})],
  ] as const)(
    'is sent all of a channel that it has seen all the time when %s has changed',
    async (_what, type, of) => {
      const { guild, did, away, back } = await arrange();
      const role = await did(guild.call('createRole', { draft: { name: 'old', permissions: '0' } } as never));
      away();
      await did(guild.say(SQUARE, 'before'));
      await did(guild.call(type, { ...of(role.id), draft: { name: 'new' } } as never));
      await did(guild.say(SQUARE, 'after'));
      expect(await back()).toEqual(['before', 'after']);
    },
  );

  const EVERYONE = { roleId: GUILD_ID };
  const HIDDEN = { id: GUILD_ID, type: 0, allow: '0', deny: String(P.VIEW_CHANNEL) };
  it.each([
    ['the topic of the channel', BOB, 'updateChannel', { channelId: SQUARE, draft: { topic: 'new' } }],
    ['its nickname', BOB, 'updateMember', { userId: BOB, nick: 'new' }],
    ['the name of the guild', OWNER_ID, 'updateGuild', { draft: { name: 'new' } }],
    ['what everyone may do but not see', BOB, 'updateRole', { ...EVERYONE, draft: { permissions: '3072' } }],
    [
      'who else sees a channel of the owner',
      OWNER_ID,
      'setOverwrite',
      { channelId: SQUARE, overwrite: HIDDEN },
    ],
  ] as const)(
    'is sent all by the next owner, and not the guild again, when %s has changed',
    async (...row) => {
      const [, userId, type, input] = row;
      const { guild, did, returned } = await arrange(userId);
      await did(guild.say(SQUARE, 'before'));
      await did(guild.call(type, input as never));
      await did(guild.say(SQUARE, 'after'));
      await guild.handOver();
      const { messages, received } = await returned();
      expect(messages).toEqual(['before', 'after']);
      const unchanged = received.filter(({ t }) => !/_UPDATE$|^GUILD_AUDIT/.test(t));
      expect(unchanged.map(({ t }) => t)).toEqual(['MESSAGE_CREATE', 'MESSAGE_CREATE']);
    },
  );

  const HIDING = { type: 0, allow: '0', deny: String(P.VIEW_CHANNEL) };
  const SHOWING = { type: 0, allow: String(P.VIEW_CHANNEL), deny: '0' };
  const ruledBy = (guild: OwnedGuild, id: string, overwrite: object) =>
    guild.call('setOverwrite', { channelId: SQUARE, overwrite: { id, ...overwrite } } as never);
  it.each([
    [
      'it was given a role',
      async (guild: OwnedGuild, did: Did, roleId: string) => {
        await did(ruledBy(guild, GUILD_ID, HIDING));
        return ruledBy(guild, roleId, SHOWING);
      },
      (guild: OwnedGuild, roleId: string) => guild.call('addMemberRole', { userId: BOB, roleId } as never),
    ],
    [
      'a role that had hidden the channel was deleted',
      async (guild: OwnedGuild, did: Did, roleId: string) => {
        await did(guild.call('addMemberRole', { userId: BOB, roleId } as never));
        return ruledBy(guild, roleId, HIDING);
      },
      (guild: OwnedGuild, roleId: string) => guild.call('deleteRole', { roleId } as never),
    ],
  ])('is sent the guild again, and not what was written before %s', async (_what, hide, show) => {
    let roleId = '';
    const { guild, did, away, returned } = await arrange(BOB, async (before, done) => {
      const draft = { name: 'r', permissions: '0' };
      roleId = (await done(before.call('createRole', { draft } as never))).id;
      await done(hide(before, done, roleId));
    });
    away();
    await did(guild.say(SQUARE, 'before'));
    await did(show(guild, roleId));
    await did(guild.say(SQUARE, 'after'));
    const { messages, received } = await returned();
    expect(messages).toEqual(['after']);
    expect(received.map(({ t }) => t)).toContain('GUILD_CREATE');
  });

  it('receives earlier messages of a private thread to which it was added when its user has MANAGE_THREADS', async () => {
    const { guild, did, back } = await arrange(OWNER_ID);
    const draft = { name: 't', type: 12 };
    const thread = await did(guild.call('createThread', { channelId: SQUARE, draft } as never));
    const as = { channelId: thread.id, userId: OWNER_ID };
    await did(guild.call('removeThreadMember', as as never));
    await did(guild.say(thread.id, 'before'));
    await did(guild.call('addThreadMember', as as never));
    await did(guild.say(thread.id, 'after'));
    expect((await back()).slice(-2)).toEqual(['before', 'after']);
  });

  it.each([
    ['', false],
    [', also if its subscription was interrupted only', true],
  ])(
    'is not sent what was written in a private thread before it was given MANAGE_THREADS%s',
    async (_how, stays) => {
      const { guild, did, away, back } = await arrange();
      const draft = { name: 't', type: 12 };
      const thread = await did(guild.call('createThread', { channelId: SQUARE, draft } as never));
      if (!stays) away();
      await did(guild.say(thread.id, 'before'));
      const permissions = String(P.VIEW_CHANNEL | P.SEND_MESSAGES | P.MANAGE_THREADS);
      await did(guild.call('updateRole', { ...EVERYONE, draft: { permissions } } as never));
      await did(guild.say(thread.id, 'after'));
      expect(await back()).toEqual(['after']);
    },
  );

  it.each([
    ['is sent the deletion of a private thread, of which its user is a member', BOB, ['THREAD_DELETE']],
    [
      'is sent the guild again when a private thread was deleted that its user moderates',
      OWNER_ID,
      ['GUILD_DELETE', 'GUILD_CREATE'],
    ],
  ] as const)('%s', async (_what, userId, kinds) => {
    let threadId = '';
    const { guild, did, away, returned } = await arrange(userId, async (before, done) => {
      const draft = { name: 't', type: 12 };
      threadId = (await done(before.call('createThread', { channelId: SQUARE, draft } as never))).id;
      await done(before.call('addThreadMember', { channelId: threadId, userId: BOB } as never));
      await done(before.call('removeThreadMember', { channelId: threadId, userId: OWNER_ID } as never));
    });
    away();
    await did(guild.call('deleteChannel', { channelId: threadId } as never));
    const { received } = await returned();
    const unlogged = received.filter(({ t }) => !t.startsWith('GUILD_AUDIT'));
    expect(unlogged.map(({ t }) => t)).toEqual(kinds);
  });

  it.each([
    [
      'is sent the guild again when an event of all members was moved to a channel that it does not see',
      false,
    ],
    ['is not sent the guild again when an event was moved to a channel that it sees', true],
  ])('%s', async (_what, isSeen) => {
    let eventId = '';
    const location = { entityType: 3, channelId: null, location: 'Sea' };
    const { guild, did, away, returned } = await arrange(BOB, async (before, done) => {
      const startTime = new Date(before.clock.now() + 3_600_000).toISOString();
      const endTime = new Date(before.clock.now() + 7_200_000).toISOString();
      const event = { name: 'e', description: null, image: null, privacyLevel: 2, recurrence: null };
      const input = { ...event, ...location, startTime, endTime };
      eventId = (await done(before.call('createScheduledEvent', input as never))).id;
      if (!isSeen) await done(before.call('setOverwrite', { channelId: LOUNGE, overwrite: HIDDEN } as never));
    });
    away();
    const moved = { entityType: 2, channelId: LOUNGE, location: null };
    await did(guild.call('updateScheduledEvent', { eventId, ...moved } as never));
    const { received } = await returned();
    expect(received.some(({ t }) => t === 'GUILD_CREATE')).toBe(!isSeen);
  });

  it('receives all messages of a private thread since its user joined it, also from before its user had MANAGE_THREADS', async () => {
    let threadId = '';
    const { guild, did, back } = await arrange(BOB, async (before, done) => {
      const draft = { name: 't', type: 12 };
      threadId = (await done(before.call('createThread', { channelId: SQUARE, draft } as never))).id;
      await done(before.call('addThreadMember', { channelId: threadId, userId: BOB } as never));
    });
    await did(guild.say(threadId, 'before'));
    const permissions = String(P.VIEW_CHANNEL | P.SEND_MESSAGES | P.MANAGE_THREADS);
    await did(guild.call('updateRole', { ...EVERYONE, draft: { permissions } } as never));
    await did(guild.say(threadId, 'after'));
    expect(await back()).toEqual(['before', 'after']);
  });

  it('is sent what was written in a private thread while its user was a member of it', async () => {
    const { guild, did, back } = await arrange();
    const thread = await did(
      guild.call('createThread', { channelId: SQUARE, draft: { name: 't', type: 12 } } as never),
    );
    const threadId = thread.id;
    const join = () => did(guild.call('addThreadMember', { channelId: threadId, userId: BOB } as never));
    await did(guild.say(threadId, 'before'));
    await join();
    await did(guild.say(threadId, 'first time'));
    await did(guild.call('removeThreadMember', { channelId: threadId, userId: BOB } as never));
    await did(guild.say(threadId, 'in between'));
    await join();
    await did(guild.say(threadId, 'second time'));
    expect(await back()).toEqual(['first time', 'second time']);
  });

  it('receives nothing of the guild from the removal of its user until GUILD_CREATE', async () => {
    const guild = new OwnedGuild();
    const bob = new FollowingSession('b1', BOB);
    await entered(guild, new FollowingSession('a1', ANN), bob);
    const acts = [...putOutAndBack(guild), guild.say(SQUARE, 'while it is on its way')];
    await settleAll();
    guild.owner.settle();
    expect((await Promise.all(acts)).map(({ ok }) => ok)).toEqual([true, true, true]);
    expect(bob.received.at(-1)?.t).toBe('GUILD_DELETE');
    guild.close();
  });

  it('stays subscribed when it arrives before the removal and return of its user are durable', async () => {
    const guild = new OwnedGuild();
    await entered(guild, new FollowingSession('b1', BOB));
    const acts = putOutAndBack(guild);
    await settleAll();
    const late = new FollowingSession('b2', BOB);
    const entering = guild.enter([late]);
    await settleAll();
    guild.owner.settle();
    await Promise.all(acts);
    expect(await entering).toEqual(['member']);
    const saying = guild.say(SQUARE, 'to all');
    await settleAll();
    guild.owner.settle();
    await saying;
    expect(late.messages).toEqual(['to all']);
    guild.close();
  });

  it('receives the guild as unavailable when the removal of its user is lost', async () => {
    const guild = new OwnedGuild();
    await entered(guild, new FollowingSession('a1', ANN), new FollowingSession('b1', BOB));
    const kicking = guild.call('kickMember', { userId: BOB as never });
    await settleAll();
    for (const commit of guild.owner.waiting.splice(0)) commit.done(new Error('The disk is gone.'));
    await expect(kicking).rejects.toThrow('The disk is gone.');
    expect(guild.owner.lost.sort()).toEqual(['a1', 'b1']);
    guild.close();
  });
});
