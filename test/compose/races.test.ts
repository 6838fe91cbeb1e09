// Goal: in any interleaving no rule decides without an evicted row, nothing is sent before it is durable, and no session misses its guilds.
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { guildRules } from '../../engine/guild/rules.ts';
import { SYSTEM } from '../../engine/kernel/authority.ts';
import { ERRORS } from '../../protocol/errors.ts';
import type { ChannelId, GuildId, MessageId, UserId } from '../../protocol/ids.ts';
import { ALL_INTENTS } from '../../protocol/intents.ts';
import { openInstance, until } from '../support/instance.ts';

const as = (userId: UserId) => ({
  by: { userId, bot: false, applicationId: null, applicationFlags: 0, reason: null },
  requires: 0n,
});

let instance: Awaited<ReturnType<typeof openInstance>>;
beforeAll(async () => (await openInstance()).close(), 60_000);
afterEach(() => instance.close());

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
const owner = () => as(instance.ownerId);

async function textChannel(name = 'text'): Promise<ChannelId> {
  const made = await instance.guilds.call(instance.guildId, 'createChannel', { draft: { name } }, owner());
  if (!made.ok) throw new Error('no channel');
  return made.value.id;
}

const write = (channelId: ChannelId, draft: object) => {
  const input = { channelId, draft: { content: 'hello', ...draft }, attachments: [], forward: null };
  return instance.guilds.call(instance.guildId, 'createMessage', input, owner());
};

/** Lets the guild be passivated, so that its next work loads it from the database. */
const passivate = () => instance.clock.advance(instance.foundation.config.guild_idle_ms * 2);

async function person(name: string) {
  const { user, token } = await instance.operator.createUser({ username: name });
  return { id: user.id as UserId, token };
}

describe('an answer that stores nothing', () => {
  it('carries the first message for a repeated nonce, and waits until that message is durable', async () => {
    instance = await openInstance();
    const channelId = await textChannel();
    instance.steer.hold = true;
    const answered: string[] = [];
    const draft = { nonce: 'once', enforce_nonce: true };
    const calls = ['first', 'again'].map(async (name) => {
      const reply = await write(channelId, draft);
      answered.push(name);
      return reply;
    });
    await turn();
    expect(answered).toEqual([]);
    instance.release();
    const [first, again] = await Promise.all(calls);
    expect(answered).toEqual(['first', 'again']);
    expect(first?.ok && again?.ok && first.value.message.id === again.value.message.id).toBe(true);
  });

  it('fails when the pending commit whose state it shows fails', async () => {
    instance = await openInstance();
    const { sink } = await instance.connect();
    await until(() => sink.names.includes('GUILD_CREATE'), 'GUILD_CREATE');
    instance.steer.fail = true;
    const renamed = instance.guilds.call(
      instance.guildId,
      'updateGuild',
      { draft: { name: 'Lost' } },
      owner(),
    );
    const told = instance.guilds.call(instance.guildId, 'getGuild', { withCounts: false }, owner());
    const outcomes = await Promise.allSettled([renamed, told]);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    instance.steer.fail = false;
    expect(JSON.stringify(sink.dispatches)).not.toContain('Lost');
  });
});

describe('a guild', () => {
  it('is reloaded after a bug only when its pending commits are settled', async () => {
    instance = await openInstance();
    instance.steer.hold = true;
    const draft = { name: 'Kept' };
    const renamed = instance.guilds.call(instance.guildId, 'updateGuild', { draft }, owner()).catch(String);
    const planted = vi.spyOn(guildRules.commands.previewGuild, 'decide').mockImplementation(() => {
      throw new Error('planted');
    });
    const preview = () => instance.guilds.call(instance.guildId, 'previewGuild', {}, owner());
    await expect(preview()).rejects.toThrow('planted');
    planted.mockRestore();
    expect(await renamed).toContain('planted');
    const shown = preview();
    await turn();
    instance.release();
    expect(await shown).toMatchObject({ ok: true, value: { name: 'Kept' } });
  });

  it('rejects a command whose needs throw, and counts the bug', async () => {
    instance = await openInstance();
    const row = guildRules.commands.getBan as Required<typeof guildRules.commands.getBan>;
    const planted = vi.spyOn(row, 'needs').mockImplementation(() => {
      throw new Error('planted');
    });
    const asked = instance.guilds.call(instance.guildId, 'getBan', { userId: instance.botId }, owner());
    await expect(asked).rejects.toThrow('planted');
    planted.mockRestore();
    expect(instance.registries.guild.bugs).toBe(1);
  });

  it('still applies a ban that was evicted from its memory', async () => {
    instance = await openInstance({ guild_member_window_max: 1 });
    const [banned, one, two] = await Promise.all([person('banned'), person('one'), person('two')]);
    const { guildId } = instance;
    expect(await instance.guilds.call(guildId, 'banUser', { userId: banned.id }, owner())).toMatchObject({
      ok: true,
    });
    for (const { id } of [one, two])
      await instance.guilds.call(guildId, 'setPresence', { userId: id, presence: null }, SYSTEM);
    const unrelated = instance.guilds.call(guildId, 'getBan', { userId: one.id }, owner());
    const joining = instance.guilds.call(guildId, 'addMember', { userId: banned.id }, SYSTEM);
    expect(await joining).toMatchObject({ ok: false, refusal: { code: ERRORS.USER_BANNED.code } });
    await unrelated;
  });

  it('keeps a message readable after a request for it in the wrong channel', async () => {
    instance = await openInstance();
    const [here, there] = [await textChannel('here'), await textChannel('there')];
    const written = await write(here, {});
    const messageId = (written.ok ? written.value.message.id : '') as MessageId;
    passivate();
    expect(instance.guilds.isResident(instance.guildId)).toBe(false);
    const remove = (channelId: ChannelId) =>
      instance.guilds.call(instance.guildId, 'deleteMessage', { channelId, messageId }, owner());
    expect(await remove(there)).toMatchObject({ ok: false, refusal: { code: 10008 } });
    expect(await remove(here)).toMatchObject({ ok: true });
    expect(await remove(here)).toMatchObject({ ok: false, refusal: { code: 10008 } });
  });
});

describe('an invite', () => {
  it('admits one of many simultaneous users at its one use, and no user banned meanwhile', async () => {
    instance = await openInstance();
    const channelId = await textChannel();
    const people = await Promise.all(['one', 'two', 'three'].map(person));
    const banned = await person('banned');
    const code = `once${channelId}`;
    const draft = { code, maxAgeSec: 0, maxUses: 1, temporary: false, roleIds: [], reuse: null };
    const input = { ...draft, channelId, inviteCount: 0, expired: [] };
    expect(await instance.guilds.call(instance.guildId, 'createInvite', input, owner())).toMatchObject({
      ok: true,
    });
    const ban = instance.guilds.call(instance.guildId, 'banUser', { userId: banned.id }, owner());
    await expect(instance.operator.acceptInvite({ code, userId: banned.id })).rejects.toThrow('40007');
    await ban;
    const takers = people.map(({ id }) => instance.operator.acceptInvite({ code, userId: id }));
    const outcomes = await Promise.allSettled(takers);
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected', 'rejected']);
    expect(await instance.storage.directory.inviteGuild(code)).toBeNull();
    await expect(instance.operator.acceptInvite({ code: 'unheard', userId: instance.botId })).rejects.toThrow(
      '10006',
    );
  });
});

describe('a session', () => {
  it('is dropped when it ends during its subscription to guilds', async () => {
    instance = await openInstance();
    const dead = { sessionId: 's', userId: instance.ownerId, intents: ALL_INTENTS, bot: false, over: true };
    const subscriber = { ...dead, deliver: () => undefined };
    expect(await instance.guilds.subscribe(instance.guildId, subscriber, 50)).toBe(false);
    expect(await instance.guilds.look(instance.guildId, ({ sessionCounts }) => sessionCounts.size)).toBe(0);
  });

  it('receives GUILD_CREATE once the guild can be loaded again', async () => {
    instance = await openInstance();
    passivate();
    const { guilds } = instance.storage;
    const { load } = guilds;
    guilds.load = () => Promise.reject(new Error('The disk is gone.'));
    const { sink } = await instance.connect();
    await until(() => sink.names.includes('GUILD_DELETE'), 'GUILD_DELETE');
    expect(sink.dispatches.at(-1)?.d).toEqual({ id: instance.guildId, unavailable: true });
    instance.clock.advance(1_000);
    await turn();
    guilds.load = load;
    instance.clock.advance(2_000);
    await until(() => sink.names.includes('GUILD_CREATE'), 'GUILD_CREATE');
  });

  it('receives GUILD_CREATE once when its user joins the guild while the session opens', async () => {
    instance = await openInstance();
    const { id, token } = await person('guest');
    const { users } = instance.storage;
    const { guildIds } = users;
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    users.guildIds = async (userId) => {
      const before = await guildIds(userId);
      await held;
      return before;
    };
    const connecting = instance.connect(token);
    await turn();
    const other = (await instance.operator.createGuild({ name: 'Other', ownerId: instance.ownerId }))
      .id as GuildId;
    await instance.operator.addMember({ guildId: other, userId: id });
    users.guildIds = guildIds;
    release();
    const { sink } = await connecting;
    await until(() => sink.names.includes('GUILD_CREATE'), 'GUILD_CREATE');
    await turn();
    expect(sink.names.filter((name) => name === 'GUILD_CREATE')).toHaveLength(1);
  });

  it('receives an empty member chunk for a query that the database cannot store', async () => {
    instance = await openInstance();
    const { sink, session } = await instance.connect();
    await until(() => sink.names.includes('GUILD_CREATE'), 'GUILD_CREATE');
    const { guildId } = instance;
    const nothing = { userIds: null, presences: false, nonce: 'n' };
    session.ask({ name: 'members', input: { guildId, query: '\u0000', limit: 10, ...nothing } });
    await until(() => sink.names.includes('GUILD_MEMBERS_CHUNK'), 'the chunk');
    expect(sink.dispatches.at(-1)?.d).toMatchObject({ members: [], chunk_count: 1, nonce: 'n' });
  });

  it('receives GUILD_DELETE when its user left the guild while the session opened', async () => {
    instance = await openInstance();
    const { id, token } = await person('guest');
    const { guildIds } = instance.storage.users;
    instance.storage.users.guildIds = async () => [instance.guildId];
    const { sink } = await instance.connect(token);
    instance.storage.users.guildIds = guildIds;
    await until(() => sink.names.includes('GUILD_DELETE'), 'GUILD_DELETE');
    expect(sink.dispatches.at(-1)?.d).toEqual({ id: instance.guildId });
    expect(id).toBeDefined();
  });
});
