// Goal: application commands, their overwrites and their creations of the day are stored as decided, on every database.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { HERE } from '../../actors/placement/routing.ts';
import type { ApplicationId, CommandId, FreshId, GuildId, UserId } from '../../protocol/ids.ts';
import { P } from '../../protocol/permissions.ts';
import { type AppCommands, createAppCommands } from '../../services/applications/appcommands.ts';
import { application, commit, id } from './builders.ts';
import { databases, openFresh } from './databases.ts';

describe.each(databases())('application commands on $name', (kind) => {
  let fresh: Awaited<ReturnType<typeof openFresh>>;
  let commands: AppCommands;
  let lastId = 5_000;
  let nowMs = 1_000;
  const applicationId = id<ApplicationId>(600);
  const [guild, otherGuild] = [id<GuildId>(71), id<GuildId>(72)];
  const user = { userId: id<UserId>(9), roles: [], permissions: String(P.USE_APPLICATION_COMMANDS) };
  const slash = (name: string, more: object = {}) => ({ name, description: 'What it does', ...more });
  const names = async (guildId: GuildId | null) =>
    (await fresh.storage.appCommands.list(applicationId, guildId)).map(({ name }) => name);
  const written = async (guildId: GuildId | null, body: object) => {
    const reply = await commands.write(applicationId, guildId, body);
    if (!reply.ok) throw new Error(JSON.stringify(reply));
    return reply.value;
  };

  beforeAll(async () => {
    fresh = await openFresh(kind);
    const { storage } = fresh;
    const own = { ...application(applicationId, '15'), integration_types_config: { 0: {}, 1: {} } };
    const secrets = { signingKey: 'k', clientSecretHash: 'h' };
    await commit(storage.writer, applicationId, { type: 'applicationCreated', application: own, ...secrets });
    commands = createAppCommands({
      ...{
        storage,
        routing: HERE,
        notices: { changed: () => undefined, permitted: () => undefined },
        nowMs: () => nowMs,
      },
      nextId: () => id<FreshId>(++lastId),
      commitAsOwner: (ownerId, facts) => commit(storage.writer, ownerId, ...facts),
    });
  });
  afterAll(() => fresh.close());

  test('are stored as decided, separately for each scope', async () => {
    const { appCommands: store } = fresh.storage;
    const options = [
      { type: 3, name: 'port', description: 'Where', name_localizations: { de: 'hafen', fr: 'port' } },
    ];
    const { command } = await written(null, slash('tide', { options }));
    await written(guild, slash('tide'));
    await written(guild, { type: 2, name: 'Report user' });
    expect(await store.get(applicationId, command.id)).toEqual(command);
    expect(command.integration_types).toEqual([0, 1]);
    expect(await store.list(applicationId, null)).toEqual([command]);
    expect(await names(guild)).toEqual(['tide', 'Report user']);
    expect(await names(otherGuild)).toEqual([]);
    expect(await store.get(id(601), command.id)).toBe(null);
  });

  test('are not written again when nothing changes', async () => {
    const options = [
      { type: 3, name: 'port', description: 'Where', name_localizations: { fr: 'port', de: 'hafen' } },
    ];
    const { command, created } = await written(null, slash('tide', { options }));
    expect(created).toBe(false);
    expect((await fresh.storage.appCommands.get(applicationId, command.id))?.version).toBe(command.version);
    expect(await fresh.storage.appCommands.creates(applicationId, null)).toEqual({
      startMs: 1_000,
      count: 1,
    });
  });

  test('count their creations in each scope and start again after a day', async () => {
    const { appCommands: store } = fresh.storage;
    expect(await store.creates(applicationId, otherGuild)).toBe(null);
    expect(await store.creates(applicationId, guild)).toEqual({ startMs: 1_000, count: 2 });
    nowMs += 86_400_000;
    await written(guild, slash('wind'));
    expect(await store.creates(applicationId, guild)).toEqual({ startMs: nowMs, count: 1 });
  });

  test('keep overwrites by guild, and lose them when a command is renamed or deleted', async () => {
    const { appCommands: store } = fresh.storage;
    const { command } = await written(null, slash('moon'));
    const permissions = [{ id: '7', type: 2, permission: false }];
    const stored = { application_id: applicationId, permissions };
    const set = (guildId: GuildId, target: CommandId | ApplicationId) =>
      commands.setPermissions(applicationId, guildId, { id: target, user }, permissions);
    for (const guildId of [guild, otherGuild]) await set(guildId, command.id);
    expect(await set(guild, applicationId)).toEqual({
      ok: true,
      value: { ...stored, id: applicationId, guild_id: guild },
    });
    expect(await store.permissions(applicationId, otherGuild)).toEqual([
      { ...stored, id: command.id, guild_id: otherGuild },
    ]);
    await commands.edit(applicationId, null, command.id, { description: 'Changed' });
    expect(await store.permissions(applicationId, guild)).toHaveLength(2);
    await commands.edit(applicationId, null, command.id, { name: 'sun' });
    expect(await store.permissions(applicationId, otherGuild)).toEqual([]);
    await set(otherGuild, command.id);
    await commands.delete(applicationId, null, command.id);
    expect(await store.permissions(applicationId, otherGuild)).toEqual([]);
    expect((await store.permissions(applicationId, guild)).map((each) => each.id)).toEqual([applicationId]);
    await commands.setPermissions(applicationId, guild, { id: applicationId, user }, []);
    expect(await store.permissions(applicationId, guild)).toEqual([]);
  });

  test('reject overwrites of a command that the guild does not have', async () => {
    const { command } = await written(guild, slash('rain'));
    const reply = await commands.setPermissions(applicationId, otherGuild, { id: command.id, user }, []);
    expect(reply).toMatchObject({ ok: false, refusal: { code: 10063 } });
  });

  test('reject overwrites by a user who may not use the command', async () => {
    const { command } = await written(guild, slash('hail', { default_member_permissions: '0' }));
    const reply = await commands.setPermissions(applicationId, guild, { id: command.id, user }, []);
    expect(reply).toMatchObject({ ok: false, refusal: { code: 50013 } });
  });

  test('are replaced as a whole by a bulk overwrite', async () => {
    await commands.overwrite(applicationId, guild, [slash('rain'), slash('snow')]);
    expect(await names(guild)).toEqual(['rain', 'snow']);
    await commands.overwrite(applicationId, guild, []);
    expect(await names(guild)).toEqual([]);
    expect(await names(null)).toEqual(['tide']);
  });

  test('are created once when one name is written many times at once', async () => {
    const replies = await Promise.all(
      Array.from({ length: 20 }, () => commands.write(applicationId, otherGuild, slash('once'))),
    );
    expect(replies.filter((reply) => reply.ok && reply.value.created)).toHaveLength(1);
    expect(await names(otherGuild)).toEqual(['once']);
  });

  test('are rejected for an unknown application', async () => {
    const reply = await commands.write(id(601), null, slash('tide'));
    expect(reply).toMatchObject({ ok: false, refusal: { code: 10002 } });
  });
});
