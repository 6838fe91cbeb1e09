/** Goal: a game can read which channels a user may link its lobby to. */
import { expect, it } from 'vitest';
import { channels } from '../../../engine/guild/channels.ts';
import type { GuildChannel } from '../../../engine/guild/guild.ts';
import type { ChannelId, RoleId, UserId } from '../../../protocol/ids.ts';
import { P } from '../../../protocol/permissions.ts';
import { buildGuild, channel, GUILD_ID, OWNER_ID, overwrite, role } from '../../support/guild.ts';
import { caller, fullMember, runner } from '../../support/people.ts';

const run = runner(channels);
const BUILDER = '70';

function arrange() {
  const guild = buildGuild({});
  const everyone = P.VIEW_CHANNEL | P.SEND_MESSAGES;
  guild.roles.set(GUILD_ID as never, role(GUILD_ID, everyone));
  guild.roles.set(BUILDER as RoleId, role(BUILDER, P.MANAGE_CHANNELS));
  guild.members.set('11' as UserId, fullMember('11', [BUILDER]));
  guild.members.set('12' as UserId, fullMember('12'));
  const add = (id: string, overwrites: object[] = [], more: object = {}) =>
    guild.channels.set(id as ChannelId, { ...channel(id, overwrites as never), ...more } as GuildChannel);
  const list = (userId: string, withLinking = true) => {
    const { outcome } = run<(GuildChannel & { is_linkable?: boolean })[]>(
      guild,
      'listChannels',
      { withLinking },
      caller(userId),
    );
    return outcome.ok ? outcome.value : [];
  };
  return { guild, add, list };
}

it('lists open text channels without a link that the caller manages, sees and may write in', () => {
  const { guild, add, list } = arrange();
  guild.channels.clear();
  add('50');
  add('51', [], { type: 2 });
  add('52', [], { nsfw: true });
  add('53', [], { linked_lobby: { lobby_id: '9' } });
  add('54', [overwrite('11', 1, { deny: P.SEND_MESSAGES })]);
  add('55', [overwrite('11', 1, { deny: P.VIEW_CHANNEL })]);
  const linkable = (userId: string) => list(userId).flatMap((one) => (one.is_linkable ? [one.id] : []));
  expect(linkable('11')).toEqual(['50']);
  expect(list('11').map(({ id }) => id)).toEqual(['50', '51', '52', '53', '54']);
  expect(linkable('12')).toEqual([]);
  expect(linkable(OWNER_ID)).toEqual(['50', '54', '55']);
  expect(list('11', false)[0]).not.toHaveProperty('is_linkable');
});

it('reports whether @everyone may read and write in the channel', () => {
  const { guild, add, list } = arrange();
  guild.channels.clear();
  add('50');
  add('51', [overwrite(GUILD_ID, 0, { deny: P.SEND_MESSAGES })]);
  add('52', [overwrite(BUILDER, 0, { deny: P.VIEW_CHANNEL })]);
  add('53', [overwrite('12', 1, { deny: P.SEND_MESSAGES })]);
  add('54', [overwrite(BUILDER, 0, { deny: P.ADD_REACTIONS, allow: P.SEND_MESSAGES })]);
  const open = list(OWNER_ID).flatMap((one) =>
    'is_viewable_and_writeable_by_all_members' in one && one.is_viewable_and_writeable_by_all_members
      ? [one.id]
      : [],
  );
  expect(open).toEqual(['50', '54']);
});
