// Goal: the checks of a list give each member the verdict that the member's own permissions give, whoever was asked before.
import { expect, it } from 'vitest';
import { Gate } from '../../../engine/fanout/gate.ts';
import type { Member } from '../../../engine/guild/guild.ts';
import { channelPermissions } from '../../../engine/permissions/permissions.ts';
import { P } from '../../../protocol/permissions.ts';
import { buildGuild, channel, id, member, overwrite, role } from '../../support/guild.ts';

const NOW_MS = Date.parse('2026-11-01T00:00:00Z');

it.each([
  ['pending', { pending: true }],
  ['timed out', { communication_disabled_until: '2026-11-02T00:00:00.000000+00:00' }],
  ['quarantined', { flags: 1 << 7 }],
  ['named by an overwrite', {}],
] as const)('a member who is %s is judged alone among members with the same roles', (_, more) => {
  const isNamed = Object.keys(more).length === 0;
  const guild = buildGuild({
    everyone: P.VIEW_CHANNEL | P.SEND_MESSAGES,
    roles: [role('10', 0n, 1)],
    members: ['20', '21', '22'].map((userId) =>
      member(userId, { roles: ['10'], ...(userId === '21' ? (more as Partial<Member>) : {}) }),
    ),
    channels: [channel('30', isNamed ? [overwrite('21', 1, { deny: P.VIEW_CHANNEL })] : [])],
  });
  const room = guild.channels.get(id('30'));
  if (!room) throw new Error('The channel exists.');
  for (const order of [
    ['20', '21', '22'],
    ['21', '20', '22'],
  ]) {
    const gate = new Gate(guild, { at: 'channel', anyOf: P.SEND_MESSAGES }, room, NOW_MS);
    for (const userId of order) {
      const found = guild.members.get(id(userId));
      const held = channelPermissions(guild, id(userId), room, NOW_MS);
      expect(found && gate.passes(found)).toBe((held & P.SEND_MESSAGES) !== 0n);
    }
  }
});
