// Goal: nothing is sent before it is durable, a failure affects only its own guild, and a failed guild restarts.
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { newMember } from '../../engine/guild/members.joining.ts';
import { guildRules } from '../../engine/guild/rules.ts';
import { newUser } from '../../engine/user/user.ts';
import type { GuildId, UserId } from '../../protocol/ids.ts';
import { INTENTS } from '../../protocol/intents.ts';
import { openInstance, until } from '../support/instance.ts';

const authority = (userId: UserId) => ({
  by: { userId, bot: false, applicationId: null, applicationFlags: 0, reason: null },
  requires: 0n,
});

let instance: Awaited<ReturnType<typeof openInstance>>;
beforeAll(async () => (await openInstance()).close(), 60_000);
afterEach(() => instance.close());

const rename = (name: string, guildId = instance.guildId) =>
  instance.guilds.call(guildId, 'updateGuild', { draft: { name } }, authority(instance.ownerId));

/** A session to which the guild is unavailable, because a commit failed. */
async function failedCommit() {
  instance = await openInstance();
  const { sink } = await instance.connect();
  await until(() => sink.names.includes('GUILD_CREATE'), 'GUILD_CREATE');
  instance.steer.fail = true;
  await expect(rename('Lost')).rejects.toThrow('The disk is gone.');
  instance.steer.fail = false;
  await until(() => sink.names.includes('GUILD_DELETE'), 'GUILD_DELETE');
  return sink;
}

describe('a guild', () => {
  it('answers and dispatches only what is durable, in the order of its commands', async () => {
    instance = await openInstance();
    const { sink } = await instance.connect();
    await until(() => sink.names.includes('GUILD_CREATE'), 'GUILD_CREATE');
    const before = sink.dispatches.length;
    instance.steer.hold = true;
    let answered = 0;
    const calls = ['One', 'Two', 'Three'].map(async (name) => {
      await rename(name);
      answered += 1;
    });
    const typing = instance.guilds.call(
      instance.guildId,
      'setPresence',
      {
        userId: instance.ownerId,
        presence: { status: 'idle', activities: [], client_status: { web: 'idle' } },
      },
      { by: { ...authority(instance.ownerId).by, system: true }, requires: 0n },
    );
    await new Promise<void>((resolve) => setImmediate(resolve));
    expect(answered).toBe(0);
    expect(sink.dispatches.length).toBe(before);
    instance.release();
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
    const sink = await failedCommit();
    expect(sink.names).not.toContain('GUILD_UPDATE');
    const withdrawn = sink.dispatches.find(({ t }) => t === 'GUILD_DELETE')?.d;
    expect(withdrawn).toEqual({ id: instance.guildId, unavailable: true });
    await until(() => sink.names.filter((name) => name === 'GUILD_CREATE').length === 2, 'the guild again');
    const again = sink.dispatches.findLast(({ t }) => t === 'GUILD_CREATE')?.d as { name: string };
    expect(again.name).toBe('Test');
    await rename('Kept');
    await until(() => sink.names.includes('GUILD_UPDATE'), 'GUILD_UPDATE');
  });

  it('is sent to its sessions once more before the first change after a failed commit', async () => {
    const sink = await failedCommit();
    await rename('First');
    await until(() => sink.names.includes('GUILD_UPDATE'), 'GUILD_UPDATE');
    instance.clock.advance(60_000);
    const ofGuild = sink.names.filter((t) => ['GUILD_CREATE', 'GUILD_DELETE', 'GUILD_UPDATE'].includes(t));
    expect(ofGuild).toEqual(['GUILD_CREATE', 'GUILD_DELETE', 'GUILD_CREATE', 'GUILD_UPDATE']);
  });

  it('restarts after a bug, which is counted, answered to the caller and harms no other guild', async () => {
    instance = await openInstance();
    const other = (await instance.operator.createGuild({ name: 'Other', ownerId: instance.ownerId }))
      .id as GuildId;
    const planted = vi.spyOn(guildRules.commands.previewGuild, 'decide').mockImplementation(() => {
      throw new Error('planted');
    });
    const preview = () =>
      instance.guilds.call(instance.guildId, 'previewGuild', {}, authority(instance.ownerId));
    try {
      await expect(preview()).rejects.toThrow('planted');
    } finally {
      planted.mockRestore();
    }
    expect(instance.registries.guild.bugs).toBe(1);
    expect((await rename('Unharmed', other)).ok).toBe(true);
    expect((await preview()).ok).toBe(true);
  });

  it('lists all its members in GUILD_CREATE for sessions with the presence intent, when it is not large', async () => {
    instance = await openInstance();
    const ids = await Promise.all(
      ['aa', 'bb', 'cc'].map(async (username) => {
        const { user } = await instance.operator.createUser({ username });
        await instance.operator.addMember({ guildId: instance.guildId, userId: user.id as UserId });
        return user.id;
      }),
    );
    instance.clock.advance(instance.foundation.config.guild_idle_ms * 2);
    const shown = async (intents: number) => {
      const { sink } = await instance.connect(instance.botToken, intents);
      await until(() => sink.names.includes('GUILD_CREATE'), 'GUILD_CREATE');
      const { d } = sink.dispatches.find(({ t }) => t === 'GUILD_CREATE')!;
      return (d as { members: { user: { id: string } }[] }).members.map(({ user }) => user.id).sort();
    };
    expect(await shown(INTENTS.GUILDS)).toEqual([instance.botId]);
    expect(await shown(INTENTS.GUILDS | INTENTS.GUILD_PRESENCES)).toEqual(
      [...ids, instance.botId, instance.ownerId].sort(),
    );
  });

  it('sends GUILD_DELETE to every session when it is deleted, rejects commands, and leaves no data', async () => {
    instance = await openInstance();
    const { sink } = await instance.connect();
    await until(() => sink.names.includes('GUILD_CREATE'), 'GUILD_CREATE');
    instance.steer.hold = true;
    const system = { by: { ...authority(instance.ownerId).by, system: true as const }, requires: 0n };
    // The bot is not in the list of members: its session receives GUILD_DELETE all the same.
    const deleted = instance.guilds.call(
      instance.guildId,
      'deleteGuild',
      { memberIds: [instance.ownerId] },
      system,
    );
    const late = rename('Too late');
    expect(sink.names).not.toContain('GUILD_DELETE');
    expect(instance.registries.guild.peek(instance.guildId)).toBeDefined();
    instance.release();
    expect((await deleted).ok).toBe(true);
    expect(await late).toMatchObject({ ok: false, refusal: { code: 10004 } });
    expect(sink.dispatches.at(-1)).toMatchObject({ t: 'GUILD_DELETE', d: { id: instance.guildId } });
    expect(sink.dispatches.at(-1)?.d).not.toHaveProperty('unavailable');
    expect(instance.registries.guild.peek(instance.guildId)).toBeUndefined();
    expect(instance.users.guildIds(instance.botId)).toEqual([]);
    instance.clock.advance(60_000);
    expect(await rename('Never was')).toMatchObject({ ok: false, refusal: { code: 10004 } });
    expect(await instance.storage.guilds.load(instance.guildId)).toBeNull();
    expect(sink.names.filter((name) => name === 'GUILD_DELETE')).toHaveLength(1);
    await instance.storage.writer.flush();
  });

  it('stays in memory for as long as a slow mode runs, and no longer', async () => {
    instance = await openInstance();
    const idleMs = instance.foundation.config.guild_idle_ms;
    const { user } = await instance.operator.createUser({ username: 'guest' });
    await instance.operator.addMember({ guildId: instance.guildId, userId: user.id as UserId });
    const waitSec = Math.ceil((idleMs * 4) / 1_000);
    const made = await instance.guilds.call(
      instance.guildId,
      'createChannel',
      { draft: { name: 'slow', rate_limit_per_user: waitSec } },
      authority(instance.ownerId),
    );
    if (!made.ok) throw new Error('no channel');
    const input = { channelId: made.value.id, draft: { content: 'x' }, attachments: [], forward: null };
    const say = () =>
      instance.guilds.call(instance.guildId, 'createMessage', input, authority(user.id as UserId));
    expect(await say()).toMatchObject({ ok: true });
    instance.clock.advance(idleMs * 2);
    expect(await say()).toMatchObject({ ok: false, refusal: { code: 20016 } });
    instance.clock.advance(waitSec * 1_000);
    expect(instance.registries.guild.peek(instance.guildId)).toBeUndefined();
    expect(await say()).toMatchObject({ ok: true });
  });

  it('holds a bounded number of offline members in memory, and reads the others from the database', async () => {
    instance = await openInstance({ guild_member_window_max: 100 });
    const ids = Array.from({ length: 300 }, () => instance.foundation.nextId() as UserId);
    const users = ids.map((id) => newUser({ id, username: `user${id}`, globalName: null, bot: false }));
    const members = users.map((user) => newMember({ user }, instance.clock.now()));
    await instance.commit(instance.guildId, [
      ...users.map((user) => ({ type: 'userCreated', user }) as const),
      ...members.map((member) => ({ type: 'memberAdded', member }) as const),
    ]);
    const { sink } = await instance.connect();
    await until(() => sink.names.includes('GUILD_CREATE'), 'GUILD_CREATE');
    for (const userId of ids) {
      const reply = await instance.guilds.call(
        instance.guildId,
        'getMember',
        { userId },
        authority(instance.botId),
      );
      expect(reply.ok && reply.value.user.id).toBe(userId);
    }
    const held = await instance.guilds.look(instance.guildId, (guild) => ({
      size: guild.members.size,
      bot: guild.members.get(instance.botId)?.user.id,
    }));
    expect(held).toEqual({ size: expect.any(Number), bot: instance.botId });
    expect((held as { size: number }).size).toBeLessThanOrEqual(102);
  });
});

describe('a session', () => {
  it('receives GUILD_CREATE on joining, and after leaving GUILD_DELETE and no further guild event', async () => {
    instance = await openInstance();
    const { user, token } = await instance.operator.createUser({ username: 'guest' });
    const userId = user.id as UserId;
    const { sink } = await instance.connect(token);
    expect(sink.names).toEqual(['READY']);
    await instance.operator.addMember({ guildId: instance.guildId, userId });
    await until(() => sink.names.includes('GUILD_CREATE'), 'GUILD_CREATE');
    await rename('While a member');
    await until(() => sink.names.includes('GUILD_UPDATE'), 'GUILD_UPDATE');
    const kicked = await instance.guilds.call(
      instance.guildId,
      'kickMember',
      { userId },
      authority(instance.ownerId),
    );
    expect(kicked.ok).toBe(true);
    await until(() => sink.names.includes('GUILD_DELETE'), 'GUILD_DELETE');
    const length = sink.dispatches.length;
    await rename('Afterwards');
    expect(sink.dispatches.length).toBe(length);
  });

  it('receives the join request of its user after GUILD_CREATE, its change, and its end', async () => {
    instance = await openInstance();
    const { guildId, operator, guilds } = instance;
    const ask = async (command: 'leaveGuild' | 'submitJoinRequest', input: object, by: UserId) =>
      expect(await guilds.call(guildId, command, input as never, authority(by))).toMatchObject({ ok: true });
    const form_fields = [{ field_type: 'TEXT_INPUT' as const, label: 'Why?', required: true }];
    const draft = { enabled: true, form_fields };
    const other = await operator.createUser({ username: 'bystander' });
    await operator.addMember({ guildId, userId: other.user.id as UserId });
    await guilds.call(guildId, 'updateMemberVerification', { draft }, authority(instance.ownerId));
    const { user, token } = await operator.createUser({ username: 'applicant' });
    const bystander = await instance.connect(other.token);
    const first = await instance.connect(token);
    const userId = user.id as UserId;
    await operator.addMember({ guildId, userId });
    const requests = ({ sink }: typeof first) =>
      sink.dispatches.flatMap(({ t, d }) =>
        t.startsWith('GUILD_JOIN_REQUEST') ? [[t, (d as { status: string }).status]] : [],
      );
    await until(() => requests(first).length === 1, 'GUILD_JOIN_REQUEST_CREATE');
    expect(first.sink.names.slice(1, 3)).toEqual(['GUILD_CREATE', 'GUILD_JOIN_REQUEST_CREATE']);
    const second = await instance.connect(token);
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
    instance = await openInstance();
    const { sink } = await instance.connect();
    await instance.operator.rotateToken(instance.botId);
    expect(sink.closed?.code).toBe(4004);
    await expect(instance.connect()).rejects.toThrow('4004');
  });

  it('merges the presence of its user’s sessions, and shows offline when the last one ends', async () => {
    instance = await openInstance();
    const watcher = await instance.connect();
    await until(() => watcher.sink.names.includes('GUILD_CREATE'), 'GUILD_CREATE');
    const { user, token } = await instance.operator.createUser({ username: 'guest' });
    await instance.operator.addMember({ guildId: instance.guildId, userId: user.id as UserId });
    const seen = () =>
      watcher.sink.dispatches.flatMap(({ t, d }) => {
        const presence = d as { user: { id: string }; status: string };
        return t === 'PRESENCE_UPDATE' && presence.user.id === user.id ? [presence.status] : [];
      });
    const one = await instance.connect(token);
    await until(() => seen().length === 1, 'online');
    const two = await instance.connect(token);
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
