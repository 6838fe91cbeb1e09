/** Goal: typing and presence reach exactly those who may see them, and change only when they change. */
import { describe, expect, it } from 'vitest';
import { ephemeral } from '../../../engine/guild/ephemeral.ts';
import type { Guild } from '../../../engine/guild/guild.ts';
import type { UserId } from '../../../protocol/ids.ts';
import { P } from '../../../protocol/permissions.ts';
import { buildGuild, channel } from '../../support/guild.ts';
import { caller, fullMember, NOW_MS, runner } from '../../support/people.ts';

const run = runner(ephemeral);
const uid = (text: string) => text as UserId;
/** Text channel 60 and category 61. */
function arrange(): Guild {
  return buildGuild({
    everyone: P.VIEW_CHANNEL | P.SEND_MESSAGES,
    members: [fullMember('12')],
    channels: [channel('60'), channel('61', [], { type: 4 })],
  });
}

describe('typing', () => {
  it('names the member and the second', () => {
    const { dispatches } = run(arrange(), 'startTyping', { channelId: '60' }, caller('12'));
    expect(dispatches).toMatchObject([
      {
        t: 'TYPING_START',
        d: {
          channel_id: '60',
          guild_id: '1',
          user_id: '12',
          timestamp: NOW_MS / 1000,
          member: { user: { id: '12' } },
        },
        to: { kind: 'channel', channelId: '60' },
      },
    ]);
  });

  it('requires a channel where the member may send messages', () => {
    expect(run(arrange(), 'startTyping', { channelId: '61' }, caller('12')).code).toBe(50008);
    expect(run(arrange(), 'startTyping', { channelId: '99' }, caller('12')).code).toBe(10003);
  });
});

describe('presence', () => {
  const online = { status: 'online', activities: [], client_status: { web: 'online' } };
  const set = (guild: Guild, presence: object | null, userId = '12') =>
    run(guild, 'setPresence', { userId, presence }, caller('0', { system: true }));

  it('is dispatched once, kept, and dispatched as offline when it ends', () => {
    const guild = arrange();
    expect(set(guild, online).dispatches).toMatchObject([
      {
        t: 'PRESENCE_UPDATE',
        d: { user: { id: '12' }, guild_id: '1', status: 'online', client_status: { web: 'online' } },
      },
    ]);
    expect(guild.presences.get(uid('12'))?.status).toBe('online');
    expect(set(guild, { ...online }).dispatches).toEqual([]);
    expect(set(guild, null).dispatches).toMatchObject([
      { d: { user: { id: '12' }, status: 'offline', activities: [], client_status: {} } },
    ]);
    expect(guild.presences.has(uid('12'))).toBe(false);
    expect(set(guild, null).dispatches).toEqual([]);
  });

  const word = (guild: Guild, presence: object | null, n: number, again = false) =>
    run(guild, 'setPresence', { userId: '12', presence, n, again }, caller('0', { system: true })).dispatches;

  it('ignores a report that is no newer than the last one', () => {
    const guild = arrange();
    expect(word(guild, online, 5)).toHaveLength(1);
    expect(word(guild, null, 4)).toEqual([]);
    expect(word(guild, online, 6)).toEqual([]);
    expect(word(guild, null, 6)).toEqual([]);
    expect(word(guild, null, 7)).toHaveLength(1);
    expect(word(guild, online, 6)).toEqual([]);
    expect(guild.presences.size).toBe(0);
  });

  it('is dispatched as offline a second time only by an owner that has not dispatched it yet', () => {
    const guild = arrange();
    expect(word(guild, null, 5)).toEqual([]);
    expect(word(arrange(), null, 5, true)).toMatchObject([{ d: { status: 'offline' } }]);
    expect(word(guild, null, 6, true)).toEqual([]);
  });

  it('keeps numbers of at most 4096 offline users', () => {
    const guild = arrange();
    for (let at = 0; at < 5000; at += 1)
      ephemeral.facts.presenceReceived.apply(guild, {
        type: 'presenceReceived',
        userId: uid(`${at}`),
        n: at + 1,
      });
    expect([guild.presenceNumbers.size, guild.presenceNumbers.has(uid('4999'))]).toEqual([4096, true]);
  });

  it('is ignored for users who are not members', () => {
    const guild = arrange();
    expect(set(guild, online, '99').types).toEqual([]);
    expect(guild.presences.size).toBe(0);
  });
});
