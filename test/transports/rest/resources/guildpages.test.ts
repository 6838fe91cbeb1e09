// Goal: the pages of a guild keep the published bounds, take their permission, and show strangers what is public.
import { inflateSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { P } from '../../../../protocol/permissions.ts';
import { incidents } from '../../../../transports/rest/resources/incidents.ts';
import { welcomeScreen } from '../../../../transports/rest/resources/welcomescreen.ts';
import { widget } from '../../../../transports/rest/resources/widget.ts';
import { WIDGET_STYLES, widgetPicture } from '../../../../transports/rest/widgetpicture.ts';
import { buildGuild, channel } from '../../../support/guild.ts';
import { fullMember } from '../../../support/people.ts';
import { codeOf, restGuild } from '../../../support/restguild.ts';

/** 2 is the owner, 12 a member like any; 30 to 39 are channels. */
function arrange() {
  const channels = Array.from({ length: 10 }, (_, at) => channel(String(30 + at)));
  const guild = buildGuild({ everyone: P.VIEW_CHANNEL, members: [fullMember('12')], channels });
  guild.info = { ...guild.info, features: [], widget_enabled: false, widget_channel_id: null };
  return { guild, ...restGuild(guild, { ...welcomeScreen, ...widget, ...incidents }) };
}
const welcome = (at: number, description = 'd', more: object = {}) => ({
  channel_id: String(30 + at),
  description,
  ...more,
});
const upTo = (count: number) => Array.from({ length: count }, (_, at) => welcome(at));

describe('a welcome screen', () => {
  it.each([
    ['5 channels', { welcome_channels: upTo(5) }],
    ['140 characters', { description: 'x'.repeat(140) }],
    ['50 characters about a channel', { welcome_channels: [welcome(0, 'x'.repeat(50))] }],
    ['no channels', { welcome_channels: [] }],
  ])('takes %s', async (_name, body) => {
    expect((await arrange().invoke('update_guild_welcome_screen', { body })).status).toBe(200);
  });

  it.each([
    ['6 channels', { welcome_channels: upTo(6) }, ['welcome_channels']],
    ['141 characters', { description: 'x'.repeat(141) }, ['description']],
    [
      '51 characters about a channel',
      { welcome_channels: [welcome(0, 'x'.repeat(51))] },
      ['welcome_channels', '0'],
    ],
    ['nothing about a channel', { welcome_channels: [welcome(0, '')] }, ['welcome_channels', '0']],
    [
      'a long emoji',
      { welcome_channels: [welcome(0, 'd', { emoji_name: 'x'.repeat(101) })] },
      ['welcome_channels', '0'],
    ],
  ])('refuses %s', async (_name, body, path) => {
    const answer = await arrange().invoke('update_guild_welcome_screen', { body });
    const errors = path.reduceRight<object>((tree, key) => ({ [key]: tree }), {});
    expect(answer).toMatchObject({ status: 400, body: { code: 50035, errors } });
  });
});

it.each([
  'update_guild_welcome_screen',
  'get_guild_widget_settings',
  'update_guild_widget_settings',
  'update_guild_incident_actions',
])('%s takes MANAGE_GUILD', async (operation) => {
  expect(codeOf(await arrange().invoke(operation, { as: '12', body: {} }))).toBe(50013);
  expect((await arrange().invoke(operation, { body: {} })).status).toBe(200);
});

describe('a widget', () => {
  it('is public once it is on, with links of this server', async () => {
    const { invoke } = arrange();
    for (const operation of ['get_guild_widget', 'get_guild_widget_png']) {
      const off = await invoke(operation, { as: null });
      expect([off.status, codeOf(off)]).toEqual([403, 50004]);
    }
    await invoke('update_guild_widget_settings', { body: { enabled: true, channel_id: '30' } });
    const { body } = await invoke('get_guild_widget', { as: null });
    expect(body).toMatchObject({ id: '1', members: [], presence_count: 0 });
    expect((body as { instant_invite: string }).instant_invite).toMatch(
      /^http:\/\/server\.test\/invite\/\w{8}$/,
    );
    expect(await invoke('get_guild_widget_png', { as: null, query: { style: 'banner2' } })).toMatchObject({
      status: 200,
      headers: { 'Content-Type': 'image/png' },
      body: expect.any(Uint8Array),
    });
    expect(codeOf(await invoke('get_guild_widget_png', { as: null, query: { style: 'banner5' } }))).toBe(
      50035,
    );
  });

  it('has a picture in every style, in which every number fits', () => {
    for (const style of WIDGET_STYLES)
      for (const online of [0, 42, 1_234_567_890]) {
        const png = Buffer.from(widgetPicture(style, online));
        expect(png.subarray(1, 4).toString()).toBe('PNG');
        const [width, height] = [png.readUInt32BE(16), png.readUInt32BE(20)];
        const at = png.indexOf('IDAT');
        const rows = inflateSync(png.subarray(at + 4, at + 4 + png.readUInt32BE(at - 4)));
        expect(rows.length).toBe(height * (1 + width));
        // The last columns are ground: nothing is cut off.
        const edges = Array.from({ length: height }, (_, y) => rows[(y + 1) * (width + 1) - 1]);
        expect(new Set(edges)).toEqual(new Set([0]));
      }
  });
});
