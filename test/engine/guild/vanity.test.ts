// Goal: a guild's own code leads to a channel of it, and ends with it.
import { beforeEach, expect, test } from 'vitest';
import type { Guild } from '../../../engine/guild/guild.ts';
import type { UserId } from '../../../protocol/ids.ts';
import { vanityCode } from '../../../protocol/vanity.ts';
import { buildGuild, channel, OWNER_ID, user } from '../../support/guild.ts';
import { ruled } from '../../support/ruled.ts';

let guild: Guild;
beforeEach(() => {
  guild = buildGuild({ channels: [channel('49', [], { type: 2 }), channel('50'), channel('51')] });
  guild.info = { ...guild.info, vanity_url_code: null, system_channel_id: null, rules_channel_id: null };
});

const set = (code: string | null) => ruled(guild, 'setVanity', { code }, OWNER_ID);

test('a code is an invite to a text channel, and replaces the one before', () => {
  expect(set('hall').types).toEqual(['inviteCreated', 'guildUpdated', 'auditLogged']);
  expect(guild.invites.get('hall')).toMatchObject({ channel_id: '50', expires_at: null, max_uses: 0 });
  expect(set('hall').types).toEqual([]);
  expect(set('room').types).toEqual(['inviteDeleted', 'inviteCreated', 'guildUpdated', 'auditLogged']);
  expect([guild.info.vanity_url_code, guild.info.features]).toEqual(['room', ['VANITY_URL']]);
  expect(ruled(guild, 'revokeInvite', { code: 'room' }, OWNER_ID).code).toBe(50_013);
  set(null);
  expect([guild.info.vanity_url_code, guild.info.features, guild.invites.get('room')]).toEqual([
    null,
    [],
    null,
  ]);
});

test('a code is found in any case, and other invites only as they are written', () => {
  set('hall');
  const invite = guild.invites.get('hall')!;
  guild.invites.set('aBcDeFgH', { ...invite, code: 'aBcDeFgH' });
  guild.invites.set('abcdefgi', { ...invite, code: 'abcdefgi' });
  guild.users.set('11' as UserId, user('11'));
  const found = (code: string) =>
    ruled(guild, 'resolveInvite', { code, readerId: null, withCounts: false }, '0').code ?? 'found';
  expect(['HALL', 'Hall', 'aBcDeFgH', 'abcdefgh', 'ABCDEFGI'].map(found)).toEqual([
    ...['found', 'found', 'found'],
    ...[10_006, 10_006],
  ]);
  expect(ruled(guild, 'revokeInvite', { code: 'Hall' }, OWNER_ID).code).toBe(50_013);
  expect(ruled(guild, 'acceptInvite', { code: 'Hall', userId: '11' }, '0').outcome).toMatchObject({
    value: { invite: { code: 'hall' }, added: true },
  });
  expect(guild.invites.get('hall')?.uses).toBe(1);
});

test('a code that an invite of the guild has is taken', () => {
  set('hall');
  const invite = guild.invites.get('hall')!;
  guild.invites.set('older', { ...invite, code: 'older' });
  expect(set('older').code).toBe(50_020);
  expect(guild.info.vanity_url_code).toBe('hall');
});

test('a code ends with its channel, and only with that', () => {
  set('hall');
  ruled(guild, 'deleteChannel', { channelId: '51' }, OWNER_ID);
  expect(guild.info.vanity_url_code).toBe('hall');
  ruled(guild, 'deleteChannel', { channelId: '50' }, OWNER_ID);
  expect([guild.info.vanity_url_code, guild.info.features]).toEqual([null, []]);
});

test.each([
  ['Our-Hall', 'our-hall'],
  ['a', null],
  ['-a', null],
  ['a_b', null],
  ['a/b', null],
  ['x'.repeat(33), null],
  ['x'.repeat(32), 'x'.repeat(32)],
])('%s is kept as %s', (text, code) => {
  expect(vanityCode(text)).toBe(code);
});
