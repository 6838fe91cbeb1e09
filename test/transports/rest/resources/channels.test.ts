/** Goal: requests about channels reach the rules in their own terms, and refusals come back in the platform's. */
import { describe, expect, it } from 'vitest';
import type { GuildChannel } from '../../../../engine/guild/guild.ts';
import { P } from '../../../../protocol/permissions.ts';
import { channels } from '../../../../transports/rest/resources/channels.ts';
import { backed } from '../../../support/backed.ts';
import { GUILD_ID } from '../../../support/guild.ts';

const guildParams = { guild_id: GUILD_ID };

async function arrange() {
  const api = backed(channels);
  const list = (await api.as('2')('list_guild_channels', { params: guildParams })).body as GuildChannel[];
  const idOf = (type: number) => list.find((each) => (each.type as number) === type)!.id as string;
  return {
    ...api,
    owner: api.as('2'),
    plain: api.as('11'),
    text: idOf(0),
    voice: idOf(2),
    category: idOf(4),
  };
}

describe('channels', () => {
  it('are created, read, changed and deleted', async () => {
    const { owner, category } = await arrange();
    const body = { name: 'Tea Room', type: '0', parent_id: category, nonsense: true };
    const made = await owner('create_guild_channel', { params: guildParams, body });
    expect(made).toMatchObject({ status: 201, body: { name: 'tea-room', parent_id: category } });
    const params = { channel_id: (made.body as { id: string }).id };
    expect(await owner('get_channel', { params })).toMatchObject({ status: 200, body: made.body });
    const changed = await owner('update_channel', { params, body: { topic: 'tea', rate_limit_per_user: 5 } });
    expect(changed).toMatchObject({ status: 200, body: { topic: 'tea', rate_limit_per_user: 5 } });
    expect(await owner('delete_channel', { params })).toMatchObject({ status: 200, body: { topic: 'tea' } });
    expect(await owner('get_channel', { params })).toMatchObject({ status: 404, body: { code: 10003 } });
  });

  it.each<[string, string, object, object]>([
    ['no name', 'create_guild_channel', {}, { name: { _errors: [{ code: 'BASE_TYPE_REQUIRED' }] } }],
    ['an unknown type', 'create_guild_channel', { name: 'x', type: 3 }, { type: {} }],
    [
      'an overwrite without id',
      'create_guild_channel',
      { name: 'x', permission_overwrites: [{}] },
      {
        permission_overwrites: { 0: { id: {} } },
      },
    ],
    [
      'a position below zero',
      'bulk_update_guild_channels',
      [{ id: '1', position: -1 }],
      { 0: { position: {} } },
    ],
  ])('are refused with 50035 for %s', async (_what, operation, body, errors) => {
    const { owner } = await arrange();
    const answer = await owner(operation, { params: guildParams, body });
    expect(answer).toMatchObject({ status: 400, body: { code: 50035, errors } });
  });

  it('are refused to members who may not manage them', async () => {
    const { plain, text } = await arrange();
    const params = { channel_id: text };
    for (const [operation, call] of [
      ['create_guild_channel', { params: guildParams, body: { name: 'x' } }],
      ['update_channel', { params, body: { name: 'x' } }],
      ['delete_channel', { params }],
      [
        'set_channel_permission_overwrite',
        { params: { ...params, overwrite_id: GUILD_ID }, body: { allow: '0' } },
      ],
      ['bulk_update_guild_channels', { params: guildParams, body: [{ id: text, position: 3 }] }],
    ] as const) {
      expect(await plain(operation, call)).toMatchObject({ status: 403, body: { code: 50013 } });
    }
  });

  it('accept overwrites with bits as text or number, which hide the channel', async () => {
    const { owner, plain, text } = await arrange();
    const params = { channel_id: text, overwrite_id: GUILD_ID };
    const body = { type: 0, deny: Number(P.VIEW_CHANNEL) };
    expect(await owner('set_channel_permission_overwrite', { params, body })).toMatchObject({ status: 204 });
    expect(await plain('get_channel', { params: { channel_id: text } })).toMatchObject({
      status: 403,
      body: { code: 50001 },
    });
    const left = (await plain('list_guild_channels', { params: guildParams })).body as GuildChannel[];
    expect(left.map(({ id }) => id)).not.toContain(text);
    expect(await owner('delete_channel_permission_overwrite', { params })).toMatchObject({ status: 204 });
    expect(await plain('get_channel', { params: { channel_id: text } })).toMatchObject({ status: 200 });
  });

  it('are moved, at most one into another category at a time', async () => {
    const { owner, guild, text, voice, category } = await arrange();
    const out = [{ id: text, parent_id: null, position: 0 }, { id: null }, { id: voice, position: 1 }];
    expect(await owner('bulk_update_guild_channels', { params: guildParams, body: out })).toMatchObject({
      status: 204,
    });
    expect(guild.channels.get(text as never)?.parent_id).toBeNull();
    const both = [
      { id: text, parent_id: category },
      { id: voice, parent_id: category },
    ];
    expect(await owner('bulk_update_guild_channels', { params: guildParams, body: both })).toMatchObject({
      status: 400,
      body: { code: 40009 },
    });
  });
});
