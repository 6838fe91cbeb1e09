// Goal: a measure against a raid lasts for its time and no longer, members receive it, and it is logged.
import { describe, expect, it } from 'vitest';
import type { Guild } from '../../../engine/guild/guild.ts';
import { incidentOf, incidents } from '../../../engine/guild/incidents.ts';
import { pages } from '../../../engine/guild/pages.ts';
import { buildGuild } from '../../support/guild.ts';
import { caller, NOW_MS, runner } from '../../support/people.ts';

const run = runner(incidents, pages);
const DAY_MS = 86_400_000;
const at = (ms: number) => new Date(NOW_MS + ms).toISOString();
const set = (guild: Guild, draft: object) => run(guild, 'updateIncidentActions', { draft }, caller('2'));

describe('an incident action', () => {
  it('lasts until its time, is dispatched and logged, and is ended by null or a past time', () => {
    const guild = buildGuild({});
    const { types, dispatches, facts } = set(guild, { invites_disabled_until: at(60_000) });
    expect(types).toEqual(['pageWritten', 'auditLogged']);
    expect(dispatches[0]).toMatchObject({
      t: 'GUILD_UPDATE',
      d: { incidents_data: { invites_disabled_until: expect.any(String), dms_disabled_until: null } },
    });
    expect(facts[1]).toMatchObject({
      entry: { action_type: 1, changes: [{ key: 'invites_disabled_until' }] },
    });
    expect(incidentOf(guild, 'invites', NOW_MS + 59_999)).toBe(NOW_MS + 60_000);
    expect(incidentOf(guild, 'invites', NOW_MS + 60_000)).toBeNull();
    expect(incidentOf(guild, 'dms', NOW_MS)).toBeNull();
    set(guild, { dms_disabled_until: at(5_000) });
    expect(guild.pages.incidents?.invites_disabled_until).not.toBeNull();
    expect(set(guild, { dms_disabled_until: at(-1) }).outcome).toMatchObject({
      value: { dms_disabled_until: null },
    });
    set(guild, { invites_disabled_until: null });
    expect(guild.pages).toEqual({});
    expect(set(guild, { invites_disabled_until: null }).types).toEqual([]);
  });

  it.each(['invites_disabled_until', 'dms_disabled_until'])('%s is at most a day ahead', (field) => {
    expect(set(buildGuild({}), { [field]: at(DAY_MS) }).code).toBeUndefined();
    expect(set(buildGuild({}), { [field]: at(DAY_MS + 1) }).outcome).toMatchObject({
      refusal: { code: 50035, errors: { [field]: {} } },
    });
  });
});
