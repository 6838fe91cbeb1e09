// Goal: what two people become to each other is durable on both sides at once, and told to whoever may know of it.
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../../support/house.ts';
import { codeOf, openSocial, told } from './arrange.ts';

let house: Awaited<ReturnType<typeof openSocial>>;
beforeAll(async () => {
  house = await openSocial();
}, 60_000);
afterEach(() => {
  house.steer.fail = false;
});
afterAll(() => house.close());

const between = async (a: { userId: string }, b: { userId: string }) =>
  (await house.storage.relationships.among([a.userId, b.userId] as never)).map(({ userId, type }) => [
    userId === a.userId ? 'a' : 'b',
    type,
  ]);

describe('friendship', () => {
  it('is requested by name or id and accepted, and every session of both is notified', async () => {
    const [ann, bob] = [await house.person('ann'), await house.person('bob')];
    const [annAt, bobAt] = [await house.connect(ann), await house.connect(bob)];
    const { relationships } = house.social;
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

  it('is made once when users request each other at once', async () => {
    const [ann, bob] = [await house.person(), await house.person()];
    const { relationships } = house.social;
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
    const [ann, bob] = [await house.person(), await house.person()];
    const game = await house.game();
    const plays = await house.playing(ann, game);
    const mute = await house.playing(ann, game, 'identify', 'gateway.connect');
    const [annAt, muteAt] = [await house.connect(plays), await house.connect(mute)];
    await house.social.relationships.request(bob, ann.userId, null);
    expect(told(annAt.sink, 'RELATIONSHIP_ADD')).toEqual([]);
    expect(await house.social.relationships.list(plays)).toEqual([]);
    await house.social.relationships.request(ann, bob.userId, null);
    expect(told(annAt.sink, 'RELATIONSHIP_ADD')).toMatchObject([{ id: bob.userId, type: 1 }]);
    await house.social.relationships.block(ann, bob.userId);
    expect(told(annAt.sink, 'RELATIONSHIP_REMOVE')).toMatchObject([{ id: bob.userId }]);
    expect(muteAt.sink.names.filter((name) => name.startsWith('RELATIONSHIP'))).toEqual([]);
  });

  it('in a game needs both to have authorized it, and notifies only its sessions', async () => {
    const [ann, bob] = [await house.person(), await house.person()];
    const [chess, go] = [await house.game(), await house.game('Go')];
    const annPlays = await house.playing(ann, chess);
    const { relationships } = house.social;
    expect(codeOf(await relationships.request(annPlays, bob.userId, chess))).toBe(10013);
    expect(codeOf(await relationships.requestNamed(annPlays, bob.name, chess))).toBe(80004);
    const bobPlays = await house.playing(bob, chess);
    const bobAt = await house.connect(bobPlays);
    const bobAtGo = await house.connect(await house.playing(bob, go));
    const bobHimself = await house.connect(bob);
    await house.befriend(annPlays, bobPlays, chess);
    expect(told(bobAt.sink, 'GAME_RELATIONSHIP_ADD')).toMatchObject([
      { id: ann.userId, type: 3, application_id: chess, user_id: bob.userId },
      { id: ann.userId, type: 1 },
    ]);
    for (const other of [bobAtGo, bobHimself])
      expect(other.sink.names.filter((name) => name.includes('RELATIONSHIP'))).toEqual([]);
    expect(await house.social.friends(ann.userId, bob.userId, chess)).toBe(true);
    expect(await house.social.friends(ann.userId, bob.userId, null)).toBe(false);
    expect(await relationships.listOfGame(annPlays, chess)).toHaveLength(1);
    await relationships.block(bob, ann.userId);
    expect(told(bobAt.sink, 'GAME_RELATIONSHIP_REMOVE')).toMatchObject([
      { id: ann.userId, application_id: chess },
    ]);
    expect(await relationships.listOfGame(annPlays, chess)).toEqual([]);
  });

  it('is refused identically for unknown users, blockers and bots', async () => {
    const [ann, bob] = [await house.person(), await house.person()];
    const { relationships } = house.social;
    await relationships.block(bob, ann.userId);
    const unknown = '1' as typeof bob.userId;
    const answers = [
      await relationships.request(ann, bob.userId, null),
      await relationships.request(ann, unknown, null),
      await relationships.request(ann, house.botId, null),
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
    const [ann, bob] = [await house.person(), await house.person()];
    const annAt = await house.connect(ann);
    house.steer.fail = true;
    await expect(house.social.relationships.request(ann, bob.userId, null)).rejects.toThrow(
      'The disk is gone.',
    );
    house.steer.fail = false;
    expect(annAt.sink.names).not.toContain('RELATIONSHIP_ADD');
    expect(await between(ann, bob)).toEqual([]);
    expect(codeOf(await house.social.relationships.request(ann, bob.userId, null))).toBeNull();
  });
});

describe('READY', () => {
  it('contains all relations, game relations, and presences of online friends', async () => {
    const [ann, bob, cat] = [await house.person(), await house.person(), await house.person()];
    const game = await house.game();
    const annPlays = await house.playing(ann, game);
    await house.befriend(ann, bob);
    await house.social.relationships.request(cat, ann.userId, null);
    const bobAt = await house.connect(bob);
    bobAt.session.ask({
      name: 'presence',
      input: { since: null, status: 'idle' as never, afk: false, activities: [] },
    });
    await house.connect(cat);
    type Ready = { relationships: { id: string; type: number }[]; presences: { user: { id: string } }[] };
    const [annAt, gameAt] = [await house.connect(ann), await house.connect(annPlays)];
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
    const [ann, bob, cat] = [await house.person(), await house.person(), await house.person()];
    const game = await house.game();
    const [annPlays, catPlays] = [await house.playing(ann, game), await house.playing(cat, game)];
    await house.befriend(ann, bob);
    await house.befriend(annPlays, catPlays, game);
    const [bobAt, catAt, catHerself, strangerAt] = [
      await house.connect(bob),
      await house.connect(catPlays),
      await house.connect(cat),
      await house.connect(await house.person()),
    ];
    const { session } = await house.connect(ann);
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
    const dan = await house.person();
    const danAt = await house.connect(dan);
    await house.befriend(dan, ann);
    expect(told(danAt.sink, 'PRESENCE_UPDATE')).toMatchObject([{ user: { id: ann.userId }, status: 'dnd' }]);
    for (const { sink } of [catHerself, strangerAt]) expect(sink.names).not.toContain('PRESENCE_UPDATE');
  });
});

describe('accounts that are merged', () => {
  it('move all friends and private channels to one account', async () => {
    const [old, now, bob, cat] = [
      await house.person(),
      await house.person(),
      await house.person(),
      await house.person(),
    ];
    await house.befriend(old, bob);
    await house.social.relationships.block(cat, old.userId);
    const channel = await house.open(old.userId, bob.userId);
    const bobAt = await house.connect(bob);
    await house.social.merge(old.userId, now.userId);
    await house.social.merge(old.userId, now.userId);
    expect(await house.storage.relationships.of(old.userId)).toEqual([]);
    expect(await house.social.friends(bob.userId, now.userId, null)).toBe(true);
    expect(await house.social.blocks(cat.userId, now.userId)).toBe(true);
    expect(told(bobAt.sink, 'RELATIONSHIP_REMOVE')).toMatchObject([{ id: old.userId }]);
    expect(told(bobAt.sink, 'CHANNEL_UPDATE')).toMatchObject([{ recipients: [{ id: now.userId }] }]);
    const moved = await house.storage.privateChannels.between(now.userId, bob.userId);
    expect(channel.ok && moved?.id).toBe(channel.ok && channel.value.id);
  });

  it("are given copies of the game's relations when they are unmerged", async () => {
    const [whole, apart, bob, cat] = [
      await house.person(),
      await house.person(),
      await house.person(),
      await house.person(),
    ];
    const game = await house.game();
    const [plays, bobPlays] = [await house.playing(whole, game), await house.playing(bob, game)];
    await house.befriend(plays, bobPlays, game);
    await house.befriend(whole, bob);
    await house.befriend(whole, cat);
    await house.social.unmerge(whole.userId, apart.userId, game);
    expect(await house.social.friends(apart.userId, bob.userId, game)).toBe(true);
    expect(await house.social.friends(apart.userId, bob.userId, null)).toBe(true);
    expect(await house.social.friends(apart.userId, cat.userId, null)).toBe(false);
    expect(await house.social.friends(whole.userId, cat.userId, null)).toBe(true);
  });
});
