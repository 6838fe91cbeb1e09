/** Goal: a ban keeps people out, takes along what they wrote, and is written down; no ban reaches upwards. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { audit } from '../../../engine/guild/audit.ts';
import { bans } from '../../../engine/guild/bans.ts';
import type { Guild } from '../../../engine/guild/guild.ts';
import { members } from '../../../engine/guild/members.ts';
import { voice } from '../../../engine/guild/voice.ts';
import type { UserId } from '../../../protocol/ids.ts';
import { P } from '../../../protocol/permissions.ts';
import { buildGuild, role, user } from '../../support/guild.ts';
import { caller, fullMember, runner } from '../../support/people.ts';

const run = runner(members, bans, voice, audit);
const uid = (text: string) => text as UserId;

/** Users: 2 owner, 10 moderator, 11 above the moderator, 12 plain; 77 exists and is no member, 78 does not exist. */
function arrange(): Guild {
  const guild = buildGuild({
    roles: [role('100', P.BAN_MEMBERS | P.MANAGE_GUILD, 5), role('101', 0n, 9)],
    members: [fullMember('10', ['100']), fullMember('11', ['101']), fullMember('12')],
  });
  for (const absent of ['77', '78']) guild.members.set(uid(absent), null);
  guild.users.set(uid('77'), user('77'));
  guild.users.set(uid('78'), null);
  return guild;
}

const ban = (guild: Guild, userId: string, by = caller('10')) => run(guild, 'banUser', { userId }, by);

describe('a ban', () => {
  it('removes the member, dispatches the ban, and logs the reason', () => {
    const guild = arrange();
    const { types, facts, dispatches } = ban(guild, '12', caller('10', { reason: 'spam' }));
    expect(types).toEqual(['memberRemoved', 'banAdded', 'auditLogged']);
    expect(guild.bans.get(uid('12'))).toMatchObject({ user: { id: '12' }, reason: 'spam' });
    expect(guild.members.get(uid('12'))).toBeNull();
    expect(facts[2]).toMatchObject({ entry: { action_type: 22, target_id: '12', reason: 'spam' } });
    expect(dispatches.map(({ t }) => t)).toEqual([
      'GUILD_DELETE',
      'GUILD_MEMBER_REMOVE',
      'GUILD_BAN_ADD',
      'GUILD_AUDIT_LOG_ENTRY_CREATE',
    ]);
    expect(dispatches[2]?.d).toMatchObject({ guild_id: '1', user: { id: '12' } });
  });

  it('accepts users who are no members, and refuses unknown users', () => {
    const guild = arrange();
    expect(ban(guild, '77').types).toEqual(['banAdded', 'auditLogged']);
    expect(guild.memberCount).toBe(4);
    expect(ban(guild, '78').code).toBe(10013);
  });

  it('is refused against higher members, the owner and oneself', () => {
    for (const userId of ['11', '2', '10']) expect(ban(arrange(), userId).code).toBe(50013);
  });

  it('succeeds without a second log entry when the user is banned already', () => {
    const guild = arrange();
    ban(guild, '12');
    expect(ban(guild, '12').outcome).toMatchObject({ ok: true, facts: [] });
  });

  it('is readable, and lifted once', () => {
    const guild = arrange();
    ban(guild, '77', caller('10', { reason: 'why' }));
    expect(run(guild, 'getBan', { userId: '77' }, caller('10')).outcome).toMatchObject({
      value: { user: { id: '77' }, reason: 'why' },
    });
    const { types, facts, dispatches } = run(guild, 'unbanUser', { userId: '77' }, caller('10'));
    expect(types).toEqual(['banRemoved', 'auditLogged']);
    expect(facts[1]).toMatchObject({ entry: { action_type: 23, target_id: '77' } });
    expect(dispatches[0]).toMatchObject({ t: 'GUILD_BAN_REMOVE', d: { guild_id: '1', user: { id: '77' } } });
    expect(run(guild, 'unbanUser', { userId: '77' }, caller('10')).code).toBe(10026);
    expect(run(guild, 'getBan', { userId: '77' }, caller('10')).code).toBe(10026);
  });
});

describe('a bulk ban', () => {
  const bulk = (guild: Guild, userIds: string[]) =>
    run<{ banned: string[]; failed: string[] }>(guild, 'banUsers', { userIds }, caller('10'));

  it('decides for each user separately', () => {
    const guild = arrange();
    guild.bans.set(uid('12'), { user: user('12'), reason: null });
    expect(bulk(guild, ['77', '11', '12', '78', '77']).outcome).toMatchObject({
      value: { banned: ['77'], failed: ['11', '12', '78'] },
    });
  });

  it('is refused as a whole when no user was banned', () => {
    expect(bulk(arrange(), ['11', '2']).code).toBe(500000);
    expect(bulk(arrange(), []).code).toBe(500000);
  });
});

describe('the messages of banned users', () => {
  it('are deleted per channel, at most 100 at a time, each exactly once', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 50, max: 53 }), { maxLength: 450 }), (channels) => {
        const guild = arrange();
        guild.bans.set(uid('12'), { user: user('12'), reason: null });
        const messages = channels.map((channelId, at) => ({
          channelId: String(channelId),
          id: String(1000 + at),
        }));
        const { facts } = run(guild, 'purgeBanned', { userId: '12', messages }, caller('10'));
        const deleted = facts.flatMap((fact) => {
          if (fact.type !== 'messagesBulkDeleted') throw new Error(fact.type);
          expect(fact.messageIds.length).toBeGreaterThan(0);
          expect(fact.messageIds.length).toBeLessThanOrEqual(100);
          return fact.messageIds.map((id) => `${fact.channelId}/${id}`);
        });
        expect(deleted.sort()).toEqual(messages.map(({ channelId, id }) => `${channelId}/${id}`).sort());
      }),
    );
  });

  it('are not deleted without a ban', () => {
    const messages = [{ channelId: '50', id: '1000' }];
    expect(run(arrange(), 'purgeBanned', { userId: '12', messages }, caller('10')).code).toBe(10026);
  });
});
