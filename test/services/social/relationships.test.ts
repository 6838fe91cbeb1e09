// Goal: a relationship is durable on both sides at once, and is sent to the sessions that may know of it.
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../../support/instance.ts';
import { codeOf, openSocial, told } from './arrange.ts';

let instance: Awaited<ReturnType<typeof openSocial>>;
beforeAll(async () => {
  instance = await openSocial();
}, 60_000);
afterEach(() => {
  instance.steer.fail = false;
});
afterAll(() => instance.close());

const between = async (a: { userId: string }, b: { userId: string }) =>
  (await instance.storage.relationships.among([a.userId, b.userId] as never)).map(({ userId, type }) => [
    userId === a.userId ? 'a' : 'b',
    type,
  ]);

describe('friendship', () => {
  it('is requested by name or id and accepted, and every session of both is notified', async () => {
    const [ann, bob] = [await instance.person('ann'), await instance.person('bob')];
    const [annAt, bobAt] = [await instance.connect(ann), await instance.connect(bob)];
    const { relationships } = instance.social;
    expect(codeOf(await relationships.requestNamed(ann, bob.name.toUpperCase(), null))).toBeNull();
    expect(told(bobAt.sink, 'RELATIONSHIP_ADD')).toMatchObject([{ id: ann.userId, type: 3 }]);
    expect(told(annAt.sink, 'RELATIONSHIP_ADD')).toMatchObject([{ id: bob.userId, type: 4 }]);
    expect(codeOf(await relationships.request(bob, ann.userId, null))).toBeNull();
    expect(told(annAt.sink, 'RELATIONSHIP_ADD').at(-1)).toMatchObject({
      id: bob.userId,
      type: 1,
      user: { username: bob.name },
      since: expect.any(String),
    });
    expect(await relationships.list(ann)).toMatchObject([{ id: bob.userId, type: 1 }]);
    expect(codeOf(await relationships.rename(ann, bob.userId, 'Bobby'))).toBeNull();
    expect(told(annAt.sink, 'RELATIONSHIP_UPDATE')).toMatchObject([{ nickname: 'Bobby', type: 1 }]);
    await relationships.remove(bob, ann.userId, null);
    expect(told(annAt.sink, 'RELATIONSHIP_REMOVE')).toMatchObject([{ id: bob.userId, type: 1 }]);
    expect(await between(ann, bob)).toEqual([]);
  });

  it('counts the relations of each user for that user: who has the most friends or blocks makes no more, and the other may block', async () => {
    const [ann, bob, eve] = [await instance.person(), await instance.person(), await instance.person()];
    const { relationships } = instance.social;
    await relationships.request(bob, ann.userId, null);
    await relationships.request(ann, eve.userId, null);
    const { counts } = instance.storage.relationships;
    const full = { 1: 1_000, 2: 5_000 };
    Object.assign(instance.storage.relationships, {
      counts: async (...args: Parameters<typeof counts>) => (args[0] === ann.userId ? full : counts(...args)),
    });
    try {
      expect(codeOf(await relationships.request(ann, bob.userId, null))).toBe(30_002);
      expect(codeOf(await relationships.request(eve, ann.userId, null))).toBe(30_002);
      expect(codeOf(await relationships.block(ann, bob.userId))).toBe(30_002);
      expect(codeOf(await relationships.block(bob, ann.userId))).toBeNull();
    } finally {
      Object.assign(instance.storage.relationships, { counts });
    }
  });

  it('is made once when users request each other at once', async () => {
    const [ann, bob] = [await instance.person(), await instance.person()];
    const { relationships } = instance.social;
    await Promise.all([
      relationships.request(ann, bob.userId, null),
      relationships.request(bob, ann.userId, null),
      relationships.request(ann, bob.userId, null),
    ]);
    expect(await between(ann, bob)).toEqual([
      ['a', 1],
      ['b', 1],
    ]);
  });

  it('is visible to a game only once accepted, with its scope and intent', async () => {
    const [ann, bob] = [await instance.person(), await instance.person()];
    const game = await instance.game();
    const plays = await instance.playing(ann, game);
    const mute = await instance.playing(ann, game, 'identify', 'gateway.connect');
    const [annAt, muteAt] = [await instance.connect(plays), await instance.connect(mute)];
    await instance.social.relationships.request(bob, ann.userId, null);
    expect(told(annAt.sink, 'RELATIONSHIP_ADD')).toEqual([]);
    expect(await instance.social.relationships.list(plays)).toEqual([]);
    await instance.social.relationships.request(ann, bob.userId, null);
    expect(told(annAt.sink, 'RELATIONSHIP_ADD')).toMatchObject([{ id: bob.userId, type: 1 }]);
    await instance.social.relationships.block(ann, bob.userId);
    expect(told(annAt.sink, 'RELATIONSHIP_REMOVE')).toMatchObject([{ id: bob.userId }]);
    expect(muteAt.sink.names.filter((name) => name.startsWith('RELATIONSHIP'))).toEqual([]);
  });

  it('needs both users to have authorized a game, and notifies only its sessions', async () => {
    const [ann, bob] = [await instance.person(), await instance.person()];
    const [chess, go] = [await instance.game(), await instance.game('Go')];
    const annPlays = await instance.playing(ann, chess);
    const { relationships } = instance.social;
    expect(codeOf(await relationships.request(annPlays, bob.userId, chess))).toBe(10013);
    expect(codeOf(await relationships.requestNamed(annPlays, bob.name, chess))).toBe(80004);
    const bobPlays = await instance.playing(bob, chess);
    const bobAt = await instance.connect(bobPlays);
    const bobAtGo = await instance.connect(await instance.playing(bob, go));
    const bobHimself = await instance.connect(bob);
    await instance.befriend(annPlays, bobPlays, chess);
    expect(told(bobAt.sink, 'GAME_RELATIONSHIP_ADD')).toMatchObject([
      { id: ann.userId, type: 3, application_id: chess, user_id: bob.userId },
      { id: ann.userId, type: 1 },
    ]);
    for (const other of [bobAtGo, bobHimself])
      expect(other.sink.names.filter((name) => name.includes('RELATIONSHIP'))).toEqual([]);
    expect(await instance.social.friends(ann.userId, bob.userId, chess)).toBe(true);
    expect(await instance.social.friends(ann.userId, bob.userId, null)).toBe(false);
    expect(await relationships.listOfGame(annPlays, chess)).toHaveLength(1);
    await relationships.block(bob, ann.userId);
    expect(told(bobAt.sink, 'GAME_RELATIONSHIP_REMOVE')).toMatchObject([
      { id: ann.userId, application_id: chess },
    ]);
    expect(await relationships.listOfGame(annPlays, chess)).toEqual([]);
  });

  it('is refused identically for unknown users, blockers and bots', async () => {
    const [ann, bob] = [await instance.person(), await instance.person()];
    const { relationships } = instance.social;
    await relationships.block(bob, ann.userId);
    const unknown = '1' as typeof bob.userId;
    const answers = [
      await relationships.request(ann, bob.userId, null),
      await relationships.request(ann, unknown, null),
      await relationships.request(ann, instance.botId, null),
    ];
    expect(new Set(answers.map((one) => JSON.stringify(one))).size).toBe(1);
    const named = [
      await relationships.requestNamed(ann, bob.name, null),
      await relationships.requestNamed(ann, 'nobody at all', null),
    ];
    expect(new Set(named.map((one) => JSON.stringify(one))).size).toBe(1);
    expect(named.map(codeOf)).toEqual([80004, 80004]);
  });

  it('exists on neither side when its commit failed', async () => {
    const [ann, bob] = [await instance.person(), await instance.person()];
    const annAt = await instance.connect(ann);
    instance.steer.fail = true;
    await expect(instance.social.relationships.request(ann, bob.userId, null)).rejects.toThrow(
      'The disk is gone.',
    );
    instance.steer.fail = false;
    expect(annAt.sink.names).not.toContain('RELATIONSHIP_ADD');
    expect(await between(ann, bob)).toEqual([]);
    expect(codeOf(await instance.social.relationships.request(ann, bob.userId, null))).toBeNull();
  });
});

describe('READY', () => {
  it('contains all relations, game relations, and presences of online friends', async () => {
    const [ann, bob, cat] = [await instance.person(), await instance.person(), await instance.person()];
    const game = await instance.game();
    const annPlays = await instance.playing(ann, game);
    await instance.befriend(ann, bob);
    await instance.social.relationships.request(cat, ann.userId, null);
    const bobAt = await instance.connect(bob);
    bobAt.session.ask({
      name: 'presence',
      input: { since: null, status: 'idle' as never, afk: false, activities: [] },
    });
    await instance.connect(cat);
    type Ready = { relationships: { id: string; type: number }[]; presences: { user: { id: string } }[] };
    const [annAt, gameAt] = [await instance.connect(ann), await instance.connect(annPlays)];
    const [own] = told<Ready>(annAt.sink, 'READY');
    expect(own?.relationships.map(({ id, type }) => [id, type])).toEqual([
      [bob.userId, 1],
      [cat.userId, 3],
    ]);
    const [shown] = told<Ready & { game_relationships: object[] }>(gameAt.sink, 'READY');
    expect(shown?.relationships.map(({ id }) => id)).toEqual([bob.userId]);
    for (const one of [own, shown])
      expect(one?.presences).toMatchObject([{ user: { id: bob.userId }, status: 'idle' }]);
  });
});

describe('presence', () => {
  it('reaches friends, and friends of a game within that game, without a common guild', async () => {
    const [ann, bob, cat] = [await instance.person(), await instance.person(), await instance.person()];
    const game = await instance.game();
    const [annPlays, catPlays] = [await instance.playing(ann, game), await instance.playing(cat, game)];
    await instance.befriend(ann, bob);
    await instance.befriend(annPlays, catPlays, game);
    const [bobAt, catAt, catHerself, strangerAt] = [
      await instance.connect(bob),
      await instance.connect(catPlays),
      await instance.connect(cat),
      await instance.connect(await instance.person()),
    ];
    const { session } = await instance.connect(ann);
    session.ask({
      name: 'presence',
      input: { since: null, status: 'dnd' as never, afk: false, activities: [] },
    });
    await until(
      () => told(bobAt.sink, 'PRESENCE_UPDATE').some(({ status }) => status === 'dnd'),
      'the presence',
    );
    expect(told(bobAt.sink, 'PRESENCE_UPDATE').at(-1)).toEqual({
      user: { id: ann.userId },
      status: 'dnd',
      activities: [],
      client_status: { desktop: 'dnd' },
    });
    expect(told(catAt.sink, 'PRESENCE_UPDATE').at(-1)).toMatchObject({ status: 'dnd' });
    // A new friend sees the other's presence at once.
    const dan = await instance.person();
    const danAt = await instance.connect(dan);
    await instance.befriend(dan, ann);
    expect(told(danAt.sink, 'PRESENCE_UPDATE')).toMatchObject([{ user: { id: ann.userId }, status: 'dnd' }]);
    for (const { sink } of [catHerself, strangerAt]) expect(sink.names).not.toContain('PRESENCE_UPDATE');
  });
});

describe('accounts that are merged', () => {
  it('move all friends and private channels to one account', async () => {
    const [old, now, bob, cat] = [
      await instance.person(),
      await instance.person(),
      await instance.person(),
      await instance.person(),
    ];
    await instance.befriend(old, bob);
    await instance.social.relationships.block(cat, old.userId);
    const channel = await instance.open(old.userId, bob.userId);
    const bobAt = await instance.connect(bob);
    await instance.social.merge(old.userId, now.userId);
    await instance.social.merge(old.userId, now.userId);
    expect(await instance.storage.relationships.of(old.userId)).toEqual([]);
    expect(await instance.social.friends(bob.userId, now.userId, null)).toBe(true);
    expect(await instance.social.blocks(cat.userId, now.userId)).toBe(true);
    expect(told(bobAt.sink, 'RELATIONSHIP_REMOVE')).toMatchObject([{ id: old.userId }]);
    expect(told(bobAt.sink, 'CHANNEL_UPDATE')).toMatchObject([{ recipients: [{ id: now.userId }] }]);
    const moved = await instance.storage.privateChannels.between(now.userId, bob.userId);
    expect(channel.ok && moved?.id).toBe(channel.ok && channel.value.id);
  });

  it("are given copies of the game's relations when they are unmerged", async () => {
    const [whole, apart, bob, cat] = [
      await instance.person(),
      await instance.person(),
      await instance.person(),
      await instance.person(),
    ];
    const game = await instance.game();
    const [plays, bobPlays] = [await instance.playing(whole, game), await instance.playing(bob, game)];
    await instance.befriend(plays, bobPlays, game);
    await instance.befriend(whole, bob);
    await instance.befriend(whole, cat);
    await instance.social.unmerge(whole.userId, apart.userId, game);
    expect(await instance.social.friends(apart.userId, bob.userId, game)).toBe(true);
    expect(await instance.social.friends(apart.userId, bob.userId, null)).toBe(true);
    expect(await instance.social.friends(apart.userId, cat.userId, null)).toBe(false);
    expect(await instance.social.friends(whole.userId, cat.userId, null)).toBe(true);
  });
});
