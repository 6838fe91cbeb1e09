// Goal: nothing is sent before it is durable, a failure affects only its own guild, and a failed guild restarts.
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { newMember } from '../../engine/guild/members.joining.ts';
import { guildRules } from '../../engine/guild/rules.ts';
import { newUser } from '../../engine/user/user.ts';
import type { GuildId, UserId } from '../../protocol/ids.ts';
import { INTENTS } from '../../protocol/intents.ts';
import { openHouse, until } from '../support/house.ts';

const authority = (userId: UserId) => ({
  by: { userId, bot: false, applicationId: null, applicationFlags: 0, reason: null },
  requires: 0n,
});

let house: Awaited<ReturnType<typeof openHouse>>;
beforeAll(async () => (await openHouse()).close(), 60_000);
afterEach(() => house.close());

const rename = (name: string, guildId = house.guildId) =>
  house.guilds.call(guildId, 'updateGuild', { draft: { name } }, authority(house.ownerId));

describe('a guild', () => {
  it('answers and dispatches only what is durable, in the order of its commands', async () => {
    house = await openHouse();
    const { sink } = await house.connect();
    await until(() => sink.names.includes('GUILD_CREATE'), 'GUILD_CREATE');
    const before = sink.dispatches.length;
    house.steer.hold = true;
    let answered = 0;
    const calls = ['One', 'Two', 'Three'].map(async (name) => {
      await rename(name);
      answered += 1;
    });
    const typing = house.guilds.call(
      house.guildId,
      'setPresence',
      { userId: house.ownerId, presence: { status: 'idle', activities: [], client_status: { web: 'idle' } } },
      { by: { ...authority(house.ownerId).by, system: true }, requires: 0n },
    );
    await new Promise<void>((resolve) => setImmediate(resolve));
    expect(answered).toBe(0);
    expect(sink.dispatches.length).toBe(before);
    house.release();
    await Promise.all([...calls, typing]);
    const names = sink.dispatches
      .slice(before)
      .flatMap(({ t, d }) =>
        t === 'GUILD_UPDATE' ? [(d as { name: string }).name] : t === 'PRESENCE_UPDATE' ? ['presence'] : [],
      );
    expect(names).toEqual(['One', 'Two', 'Three', 'presence']);
    expect(sink.dispatches.map(({ seq }) => seq)).toEqual(sink.dispatches.map((_, index) => index + 1));
  });

  it('answers a failed commit with an error, dispatches nothing, and is reloaded from the database', async () => {
    house = await openHouse();
    const { sink } = await house.connect();
    await until(() => sink.names.includes('GUILD_CREATE'), 'GUILD_CREATE');
    house.steer.fail = true;
    await expect(rename('Lost')).rejects.toThrow('The disk is gone.');
    house.steer.fail = false;
    expect(sink.names).not.toContain('GUILD_UPDATE');
    await until(() => sink.names.at(-1) === 'GUILD_DELETE', 'GUILD_DELETE');
    expect(sink.dispatches.at(-1)?.d).toEqual({ id: house.guildId, unavailable: true });
    house.clock.advance(1_000);
    await until(() => sink.names.filter((name) => name === 'GUILD_CREATE').length === 2, 'the guild again');
    const again = sink.dispatches.findLast(({ t }) => t === 'GUILD_CREATE')?.d as { name: string };
    expect(again.name).toBe('Test');
    await rename('Kept');
    await until(() => sink.names.includes('GUILD_UPDATE'), 'GUILD_UPDATE');
  });

  it('restarts after a bug, which is counted, answered to the caller and harms no other guild', async () => {
    house = await openHouse();
    const other = (await house.operator.createGuild({ name: 'Other', ownerId: house.ownerId })).id as GuildId;
    const planted = vi.spyOn(guildRules.commands.previewGuild, 'decide').mockImplementation(() => {
      throw new Error('planted');
    });
    const preview = () => house.guilds.call(house.guildId, 'previewGuild', {}, authority(house.ownerId));
    try {
      await expect(preview()).rejects.toThrow('planted');
    } finally {
      planted.mockRestore();
    }
    expect(house.registries.guild.bugs).toBe(1);
    expect((await rename('Unharmed', other)).ok).toBe(true);
    expect((await preview()).ok).toBe(true);
  });

  it('lists all its members in GUILD_CREATE for sessions with the presence intent, when it is not large', async () => {
    house = await openHouse();
    const ids = await Promise.all(
      ['aa', 'bb', 'cc'].map(async (username) => {
        const { user } = await house.operator.createUser({ username });
        await house.operator.addMember({ guildId: house.guildId, userId: user.id as UserId });
        return user.id;
      }),
    );
    house.clock.advance(house.foundation.config.guild_idle_ms * 2);
    const shown = async (intents: number) => {
      const { sink } = await house.connect(house.botToken, intents);
      await until(() => sink.names.includes('GUILD_CREATE'), 'GUILD_CREATE');
      const { d } = sink.dispatches.find(({ t }) => t === 'GUILD_CREATE')!;
      return (d as { members: { user: { id: string } }[] }).members.map(({ user }) => user.id).sort();
    };
    expect(await shown(INTENTS.GUILDS)).toEqual([house.botId]);
    expect(await shown(INTENTS.GUILDS | INTENTS.GUILD_PRESENCES)).toEqual(
      [...ids, house.botId, house.ownerId].sort(),
    );
  });

  it('sends GUILD_DELETE to every session when it is deleted, rejects commands, and leaves no data', async () => {
    house = await openHouse();
    const { sink } = await house.connect();
    await until(() => sink.names.includes('GUILD_CREATE'), 'GUILD_CREATE');
    house.steer.hold = true;
    const system = { by: { ...authority(house.ownerId).by, system: true as const }, requires: 0n };
    // The bot is not in the list of members: its session receives GUILD_DELETE all the same.
    const deleted = house.guilds.call(house.guildId, 'deleteGuild', { memberIds: [house.ownerId] }, system);
    const late = await rename('Too late');
    expect(late).toMatchObject({ ok: false, refusal: { code: 10004 } });
    expect(sink.names).not.toContain('GUILD_DELETE');
    expect(house.registries.guild.peek(house.guildId)).toBeDefined();
    house.release();
    expect((await deleted).ok).toBe(true);
    expect(sink.dispatches.at(-1)).toMatchObject({ t: 'GUILD_DELETE', d: { id: house.guildId } });
    expect(sink.dispatches.at(-1)?.d).not.toHaveProperty('unavailable');
    expect(house.registries.guild.peek(house.guildId)).toBeUndefined();
    expect(house.users.guildIds(house.botId)).toEqual([]);
    house.clock.advance(60_000);
    expect(await rename('Never was')).toMatchObject({ ok: false, refusal: { code: 10004 } });
    expect(await house.storage.guilds.load(house.guildId)).toBeNull();
    expect(sink.names.filter((name) => name === 'GUILD_DELETE')).toHaveLength(1);
    await house.storage.writer.flush();
  });

  it('stays in memory for as long as a slow mode runs, and no longer', async () => {
    house = await openHouse();
    const idleMs = house.foundation.config.guild_idle_ms;
    const { user } = await house.operator.createUser({ username: 'guest' });
    await house.operator.addMember({ guildId: house.guildId, userId: user.id as UserId });
    const waitSec = Math.ceil((idleMs * 4) / 1_000);
    const made = await house.guilds.call(
      house.guildId,
      'createChannel',
      { draft: { name: 'slow', rate_limit_per_user: waitSec } },
      authority(house.ownerId),
    );
    if (!made.ok) throw new Error('no channel');
    const input = { channelId: made.value.id, draft: { content: 'x' }, attachments: [], forward: null };
    const say = () => house.guilds.call(house.guildId, 'createMessage', input, authority(user.id as UserId));
    expect(await say()).toMatchObject({ ok: true });
    house.clock.advance(idleMs * 2);
    expect(await say()).toMatchObject({ ok: false, refusal: { code: 20016 } });
    house.clock.advance(waitSec * 1_000);
    expect(house.registries.guild.peek(house.guildId)).toBeUndefined();
    expect(await say()).toMatchObject({ ok: true });
  });

  it('holds a bounded number of offline members in memory, and reads the others from the database', async () => {
    house = await openHouse({ guild_member_window_max: 100 });
    const ids = Array.from({ length: 300 }, () => house.foundation.nextId() as UserId);
    const users = ids.map((id) => newUser({ id, username: `user${id}`, globalName: null, bot: false }));
    const members = users.map((user) => newMember({ user }, house.clock.now()));
    await house.commit(house.guildId, [
      ...users.map((user) => ({ type: 'userCreated', user }) as const),
      ...members.map((member) => ({ type: 'memberAdded', member }) as const),
    ]);
    const { sink } = await house.connect();
    await until(() => sink.names.includes('GUILD_CREATE'), 'GUILD_CREATE');
    for (const userId of ids) {
      const reply = await house.guilds.call(house.guildId, 'getMember', { userId }, authority(house.botId));
      expect(reply.ok && reply.value.user.id).toBe(userId);
    }
    const held = await house.guilds.look(house.guildId, (guild) => ({
      size: guild.members.size,
      bot: guild.members.get(house.botId)?.user.id,
    }));
    expect(held).toEqual({ size: expect.any(Number), bot: house.botId });
    expect((held as { size: number }).size).toBeLessThanOrEqual(102);
  });
});

describe('a session', () => {
  it('receives GUILD_CREATE on joining, and after leaving GUILD_DELETE and no further guild event', async () => {
    house = await openHouse();
    const { user, token } = await house.operator.createUser({ username: 'guest' });
    const userId = user.id as UserId;
    const { sink } = await house.connect(token);
    expect(sink.names).toEqual(['READY']);
    await house.operator.addMember({ guildId: house.guildId, userId });
    await until(() => sink.names.includes('GUILD_CREATE'), 'GUILD_CREATE');
    await rename('While a member');
    await until(() => sink.names.includes('GUILD_UPDATE'), 'GUILD_UPDATE');
    const kicked = await house.guilds.call(house.guildId, 'kickMember', { userId }, authority(house.ownerId));
    expect(kicked.ok).toBe(true);
    await until(() => sink.names.includes('GUILD_DELETE'), 'GUILD_DELETE');
    const length = sink.dispatches.length;
    await rename('Afterwards');
    expect(sink.dispatches.length).toBe(length);
  });

  it('receives the join request of its user after GUILD_CREATE, its change, and its end', async () => {
    house = await openHouse();
    const { guildId, operator, guilds } = house;
    const ask = async (command: 'leaveGuild' | 'submitJoinRequest', input: object, by: UserId) =>
      expect(await guilds.call(guildId, command, input as never, authority(by))).toMatchObject({ ok: true });
    const form_fields = [{ field_type: 'TEXT_INPUT' as const, label: 'Why?', required: true }];
    const draft = { enabled: true, form_fields };
    const other = await operator.createUser({ username: 'bystander' });
    await operator.addMember({ guildId, userId: other.user.id as UserId });
    await guilds.call(guildId, 'updateMemberVerification', { draft }, authority(house.ownerId));
    const { user, token } = await operator.createUser({ username: 'applicant' });
    const bystander = await house.connect(other.token);
    const first = await house.connect(token);
    const userId = user.id as UserId;
    await operator.addMember({ guildId, userId });
    const requests = ({ sink }: typeof first) =>
      sink.dispatches.flatMap(({ t, d }) =>
        t.startsWith('GUILD_JOIN_REQUEST') ? [[t, (d as { status: string }).status]] : [],
      );
    await until(() => requests(first).length === 1, 'GUILD_JOIN_REQUEST_CREATE');
    expect(first.sink.names.slice(1, 3)).toEqual(['GUILD_CREATE', 'GUILD_JOIN_REQUEST_CREATE']);
    const second = await house.connect(token);
    await until(() => requests(second).length === 1, 'GUILD_JOIN_REQUEST_CREATE');
    await ask('submitJoinRequest', { form_fields: [{ response: 'To read' }], version: null }, userId);
    await ask('leaveGuild', {}, userId);
    const all = [
      ['GUILD_JOIN_REQUEST_CREATE', 'STARTED'],
      ['GUILD_JOIN_REQUEST_UPDATE', 'SUBMITTED'],
      ['GUILD_JOIN_REQUEST_DELETE', undefined],
    ];
    await until(() => first.sink.names.includes('GUILD_DELETE'), 'GUILD_DELETE');
    expect([requests(first), requests(second), requests(bystander)]).toEqual([all, all, []]);
  });

  it('ends with 4004 when its token is revoked', async () => {
    house = await openHouse();
    const { sink } = await house.connect();
    await house.operator.rotateToken(house.botId);
    expect(sink.closed?.code).toBe(4004);
    await expect(house.connect()).rejects.toThrow('4004');
  });

  it('merges the presence of its user’s sessions, and shows offline when the last one ends', async () => {
    house = await openHouse();
    const watcher = await house.connect();
    await until(() => watcher.sink.names.includes('GUILD_CREATE'), 'GUILD_CREATE');
    const { user, token } = await house.operator.createUser({ username: 'guest' });
    await house.operator.addMember({ guildId: house.guildId, userId: user.id as UserId });
    const seen = () =>
      watcher.sink.dispatches.flatMap(({ t, d }) => {
        const presence = d as { user: { id: string }; status: string };
        return t === 'PRESENCE_UPDATE' && presence.user.id === user.id ? [presence.status] : [];
      });
    const one = await house.connect(token);
    await until(() => seen().length === 1, 'online');
    const two = await house.connect(token);
    two.session.ask({
      name: 'presence',
      input: { status: 'dnd', since: null, activities: [], afk: false } as never,
    });
    await until(() => seen().length === 2, 'dnd');
    two.session.detach(two.sink, false);
    await until(() => seen().length === 3, 'online again');
    one.session.detach(one.sink, false);
    await until(() => seen().length === 4, 'offline');
    expect(seen()).toEqual(['online', 'dnd', 'online', 'offline']);
  });
});
