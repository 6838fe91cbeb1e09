// Goal: a template is a guild without identities, knows when the guild has changed, and makes the same guild again.
import { describe, expect, it } from 'vitest';
import { newGuild } from '../../../engine/guild/founding.ts';
import type { Guild } from '../../../engine/guild/guild.ts';
import { pages } from '../../../engine/guild/pages.ts';
import { snapshotOf } from '../../../engine/guild/templates.snapshot.ts';
import { templates } from '../../../engine/guild/templates.ts';
import { P } from '../../../protocol/permissions.ts';
import { buildGuild, channel, overwrite, role, user } from '../../support/guild.ts';
import { caller, envAt, fullMember, NOW_MS, runner } from '../../support/people.ts';

const run = runner(templates, pages);

/** Roles 100 and 101 and a bot's own; a category with a text and a stage channel, and a forum. */
function arrange(): Guild {
  const guild = buildGuild({
    everyone: P.VIEW_CHANNEL,
    roles: [
      { ...role('101', P.KICK_MEMBERS, 3), hoist: true, color: 5 },
      { ...role('100', 0n, 1) },
      { ...role('102', 0n, 2), managed: true },
    ],
    members: [fullMember('10')],
    channels: [
      channel('31', [overwrite('100', 0, { deny: P.VIEW_CHANNEL }), overwrite('10', 1, {})], {
        ...{ parent_id: '30', name: 'talk', topic: 'Anything' },
      }),
      channel('30', [], { type: 4, name: 'Rooms' }),
      channel('32', [], { type: 13, parent_id: '30', position: 1, bitrate: 64_000, user_limit: 9 }),
      channel('33', [], {
        name: 'forum',
        default_forum_layout: 0,
        type: 15,
        available_tags: [{ id: '900', name: 'tag', emoji_id: null, emoji_name: null, moderated: true }],
      }),
    ],
  });
  guild.info = {
    ...guild.info,
    ...{ name: 'Hall', description: null, region: 'local', verification_level: 1, afk_timeout: 300 },
    ...{ system_channel_id: '31', afk_channel_id: null, preferred_locale: 'en-US', system_channel_flags: 4 },
    ...{ default_message_notifications: 1, explicit_content_filter: 0, features: [] },
  } as unknown as Guild['info'];
  return guild;
}
const create = (guild: Guild) =>
  run(guild, 'createTemplate', { code: 'abc', name: 'Mine', description: 'd' }, caller('10'));

describe('a template', () => {
  it('is the only one of its guild', () => {
    const guild = arrange();
    create(guild);
    const another = { code: 'xyz', name: 'Another', description: null };
    expect(run(guild, 'createTemplate', another, caller('10')).code).toBe(30_031);
    expect(guild.pages.template?.code).toBe('abc');
  });

  it('has numbers as ids, and neither managed roles nor overwrites of members', () => {
    const snapshot = snapshotOf(arrange());
    expect(snapshot.roles.map(({ id, name }) => [id, name])).toEqual([
      [0, 'role 1'],
      [1, 'role 100'],
      [2, 'role 101'],
    ]);
    expect(snapshot.channels.map(({ id, type, parent_id }) => [id, type, parent_id])).toEqual([
      [1, 4, null],
      [2, 0, '1'],
      [3, 15, null],
      [4, 2, '1'],
    ]);
    expect(snapshot).toMatchObject({ system_channel_id: '2', afk_channel_id: null, verification_level: 1 });
    expect(snapshot.channels[1]?.permission_overwrites).toEqual([
      { id: '1', type: 0, allow: '0', deny: String(P.VIEW_CHANNEL) },
    ]);
    expect(snapshot.channels[2]?.available_tags).toMatchObject([{ id: 1, name: 'tag', moderated: true }]);
  });

  it('is one of its guild, and dirty until it is synced', () => {
    const guild = arrange();
    const made = create(guild);
    expect(made.types).toEqual(['pageWritten', 'templateCodeTaken']);
    expect(made.outcome).toMatchObject({
      value: { code: 'abc', creator_id: '10', source_guild_id: '1', is_dirty: null, usage_count: 0 },
    });
    expect(create(guild).code).toBe(30031);
    const shown = () => run(guild, 'resolveTemplate', { code: 'abc' }, caller('2')).outcome;
    guild.info = { ...guild.info, name: 'Renamed' };
    expect(shown()).toMatchObject({ value: { is_dirty: true, serialized_source_guild: { name: 'Hall' } } });
    const synced = run(guild, 'syncTemplate', { code: 'abc' }, caller('2'), envAt(NOW_MS + 1000));
    expect(synced.outcome).toMatchObject({ value: { is_dirty: null } });
    expect(shown()).toMatchObject({ value: { serialized_source_guild: { name: 'Renamed' } } });
  });

  it('is changed, counted and deleted under its own code only', () => {
    const guild = arrange();
    create(guild);
    const update = (more: object) => run(guild, 'updateTemplate', { code: 'abc', ...more }, caller('2'));
    expect(update({ name: 'New', description: null }).outcome).toMatchObject({
      value: { name: 'New', description: null },
    });
    expect(update({}).types).toEqual([]);
    run(guild, 'countTemplateUse', { code: 'abc' }, caller('2'));
    expect(guild.pages.template?.usage_count).toBe(1);
    for (const command of [
      'resolveTemplate',
      'syncTemplate',
      'updateTemplate',
      'deleteTemplate',
      'countTemplateUse',
    ])
      expect(run(guild, command, { code: 'abd' }, caller('2')).code).toBe(10057);
    expect(run(guild, 'deleteTemplate', { code: 'abc' }, caller('2')).types).toEqual([
      'pageWritten',
      'templateCodeDropped',
    ]);
    expect(run(guild, 'listTemplates', {}, caller('2')).outcome).toMatchObject({ value: [] });
  });

  it('creates a guild with an equal template', () => {
    const template = snapshotOf(arrange());
    const founded = newGuild({
      ...{ id: '1' as Guild['id'], name: 'Hall', ownerId: '2' as never, ownerUser: user('2'), nowMs: NOW_MS },
      ...{ nextId: envAt().nextId, chosen: { template, icon: 'hash' } },
    });
    expect(founded.info).toMatchObject({ icon: 'hash', owner_id: '2', verification_level: 1 });
    const again = buildGuild({});
    again.info = founded.info;
    again.roles.clear();
    for (const each of founded.roles) again.roles.set(each.id, each);
    for (const each of founded.channels) again.channels.set(each.id, each);
    expect(snapshotOf(again)).toEqual(template);
    const ids = [...founded.roles.slice(1), ...founded.channels].map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
  });
});
