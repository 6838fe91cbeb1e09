/** Goal: a select of the guild's own objects offers those that it takes, named as in text. */
import { describe, expect, it } from 'vitest';
import { entitiesOf, shownName } from '../../web/chat/entities.ts';
import { EMPTY, heardOf } from '../../web/directory.ts';

const directory = heardOf(EMPTY, 'GUILD_CREATE', {
  ...{ id: '9', name: 'Guild', voice_states: [] },
  members: [
    { user: { id: '1', username: 'zoe' } },
    { user: { id: '2', username: 'ann', global_name: 'Ann' }, nick: 'Annie' },
  ],
  roles: [
    { id: '9', name: '@everyone' },
    { id: '3', name: 'Crew' },
  ],
  channels: [
    { id: '4', type: 0, name: 'talk' },
    { id: '5', type: 2, name: 'Voice' },
    { id: '6', type: 13, name: 'Stage' },
  ],
});
const known = { guild: directory.guilds.get('9')!, people: directory.people };
const labels = (select: Parameters<typeof entitiesOf>[0]) =>
  entitiesOf(select, known)?.map(({ label }) => label);

describe('an author', () => {
  it('is called by the nickname of the guild, else by the own name', () => {
    const called = (id: string, global_name: string | null) =>
      shownName({ id, username: 'ann', global_name }, known);
    expect([called('2', 'Ann'), called('8', 'Ann'), called('8', null)]).toEqual(['Annie', 'Ann', 'ann']);
  });
});

describe('a select of a guild', () => {
  it('offers users, roles, both, or channels of the types it takes', () => {
    expect(labels({ type: 5 })).toEqual(['@Annie', '@zoe']);
    expect(labels({ type: 6 })).toEqual(['@Crew', '@everyone']);
    expect(labels({ type: 7 })).toEqual(['@Annie', '@Crew', '@everyone', '@zoe']);
    expect(labels({ type: 8 })).toEqual(['#Stage', '#talk', '#Voice']);
    expect(labels({ type: 8, channel_types: [0, 13] })).toEqual(['#Stage', '#talk']);
    for (const type of [2, 3, 4, 21]) expect(entitiesOf({ type }, known)).toBeNull();
  });

  it('marks what is chosen from the start', () => {
    const choices = entitiesOf({ type: 5, default_values: [{ id: '1' }] }, known);
    expect(choices?.filter((one) => one.default)).toEqual([{ value: '1', label: '@zoe', default: true }]);
  });

  it('follows the roles of the guild', () => {
    const role = { id: '7', name: 'New' };
    const added = heardOf(directory, 'GUILD_ROLE_CREATE', { guild_id: '9', role });
    const renamed = heardOf(added, 'GUILD_ROLE_UPDATE', { guild_id: '9', role: { ...role, name: 'Newer' } });
    const gone = heardOf(renamed, 'GUILD_ROLE_DELETE', { guild_id: '9', role_id: '7' });
    const roles = [added, renamed, gone].map(({ guilds }) => guilds.get('9')?.roles.get('7')?.name);
    expect(roles).toEqual(['New', 'Newer', undefined]);
  });
});
