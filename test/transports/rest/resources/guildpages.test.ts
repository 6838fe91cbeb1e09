// Goal: the pages of a guild keep the published bounds, take their permission, and show strangers what is public.
import { inflateSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { P } from '../../../../protocol/permissions.ts';
import { incidents } from '../../../../transports/rest/resources/incidents.ts';
import { onboarding, onboardingUnlisted } from '../../../../transports/rest/resources/onboarding.ts';
import { templates } from '../../../../transports/rest/resources/templates.ts';
import { welcomeScreen } from '../../../../transports/rest/resources/welcomescreen.ts';
import { widget } from '../../../../transports/rest/resources/widget.ts';
import { WIDGET_STYLES, widgetPicture } from '../../../../transports/rest/widgetpicture.ts';
import { buildGuild, channel } from '../../../support/guild.ts';
import { fullMember } from '../../../support/people.ts';
import { codeOf, type Fakes, restGuild } from '../../../support/restguild.ts';

/** 2 is the owner, 12 a member like any; 30 to 39 are channels. */
function arrange(fakes: Fakes = {}) {
  const channels = Array.from({ length: 10 }, (_, at) => channel(String(30 + at)));
  const guild = buildGuild({ everyone: P.VIEW_CHANNEL, members: [fullMember('12')], channels });
  guild.info = { ...guild.info, name: 'Hall', features: [], widget_enabled: false, widget_channel_id: null };
  return {
    guild,
    ...restGuild(
      guild,
      {
        ...welcomeScreen,
        ...widget,
        ...incidents,
        ...templates,
        ...onboarding,
        ...onboardingUnlisted,
      },
      fakes,
    ),
  };
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
  ])('accepts %s', async (_name, body) => {
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
    ['a channel without a description', { welcome_channels: [welcome(0, '')] }, ['welcome_channels', '0']],
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
])('%s requires MANAGE_GUILD', async (operation) => {
  expect(codeOf(await arrange().invoke(operation, { as: '12', body: {} }))).toBe(50013);
  expect((await arrange().invoke(operation, { body: {} })).status).toBe(200);
});

describe('a widget', () => {
  it('is public once enabled, with links of this server', async () => {
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

  const drawn = (style: (typeof WIDGET_STYLES)[number], name: string, online: number) => {
    const png = Buffer.from(widgetPicture(style, { name, online }));
    expect(png.subarray(1, 4).toString()).toBe('PNG');
    const [width, height] = [png.readUInt32BE(16), png.readUInt32BE(20)];
    const at = png.indexOf('IDAT');
    const rows = inflateSync(png.subarray(at + 4, at + 4 + png.readUInt32BE(at - 4)));
    expect(rows.length).toBe(height * (1 + width));
    return { rows, width, height };
  };

  it('draws the name of the guild in each style but the smallest, and the count in all', () => {
    for (const style of WIDGET_STYLES) {
      const differs = (name: string, online: number) =>
        !drawn(style, 'Hall', 7).rows.equals(drawn(style, name, online).rows);
      expect([style, differs('Halt', 7), differs('Hall', 8)]).toEqual([style, style !== 'shield', true]);
    }
  });

  it('has the icon of the guild in its picture, and its initials where icons cannot be drawn', async () => {
    const calls: unknown[] = [];
    const overlay = async (_: Uint8Array, ...rest: unknown[]) => (calls.push(rest) > 1 ? null : Buffer.of(7));
    const { guild, invoke } = arrange({ overlay });
    guild.info = { ...guild.info, icon: 'cafe', widget_enabled: true };
    const picture = async (style: string) =>
      (await invoke('get_guild_widget_png', { as: null, query: { style } })).body as Uint8Array;
    expect([...(await picture('banner4'))]).toEqual([7]);
    expect(Buffer.from((await picture('banner1')).subarray(1, 4)).toString()).toBe('PNG');
    await picture('shield');
    expect(calls).toEqual([40, 10].map((top) => ['icons/1/cafe', { left: 10, top, side: 56 }]));
    expect((await invoke('get_guild_widget', { as: null })).body).not.toHaveProperty('icon');
  });

  it('has an image in every style, in which every name and number fits', () => {
    for (const style of WIDGET_STYLES)
      for (const [name, online] of [
        ['', 0],
        ['Zoë & 友', 42],
        ['W'.repeat(100), 1_234_567_890],
        ['a b c d e f g', 1],
      ] as const) {
        const { rows, width, height } = drawn(style, name, online);
        // The last columns are ground: nothing is cut off.
        const edges = Array.from({ length: height }, (_, y) => rows[(y + 1) * (width + 1) - 1]);
        expect(new Set(edges)).toEqual(new Set([0]));
      }
  });
});

describe('a template', () => {
  it.each([
    ['a name of 100 characters', { name: 'x'.repeat(100) }],
    ['a description of 120', { name: 'x', description: 'x'.repeat(120) }],
  ])('accepts %s', async (_name, body) => {
    expect((await arrange().invoke('create_guild_template', { body })).status).toBe(200);
  });

  it.each([
    ['no name', { name: '' }, 'name'],
    ['a name of 101 characters', { name: 'x'.repeat(101) }, 'name'],
    ['a description of 121', { name: 'x', description: 'x'.repeat(121) }, 'description'],
  ])('refuses %s', async (_name, body, path) => {
    const { invoke } = arrange();
    const params = { code: 'abc' };
    for (const operation of ['create_guild_template', 'update_guild_template'])
      expect(await invoke(operation, { body, params })).toMatchObject({
        status: 400,
        body: { code: 50035, errors: { [path]: {} } },
      });
  });

  it('is refused to members who may not manage the guild', async () => {
    const params = { code: 'abc' };
    for (const operation of ['create', 'sync', 'update', 'delete'].map((verb) => `${verb}_guild_template`))
      expect(codeOf(await arrange().invoke(operation, { as: '12', params, body: { name: 'x' } }))).toBe(
        50013,
      );
    expect(codeOf(await arrange().invoke('list_guild_templates', { as: '12' }))).toBe(50013);
  });
});

describe('an onboarding', () => {
  const option = (more: object = {}) => ({ title: 'o', ...more });
  const prompt = (more: object = {}) => ({ id: '1', title: 'p', options: [option()], ...more });
  const many = <Each>(count: number, each: Each) => Array.from({ length: count }, () => each);
  const ids = (count: number) => Array.from({ length: count }, (_, at) => String(30 + (at % 10)));

  it.each([
    ['15 prompts', { prompts: many(15, prompt()) }],
    ['50 options', { prompts: [prompt({ options: many(50, option()) })] }],
    [
      'titles of 100 and 50',
      { prompts: [prompt({ title: 'x'.repeat(100), options: [option({ title: 'x'.repeat(50) })] })] },
    ],
    ['a description of 100', { prompts: [prompt({ options: [option({ description: 'x'.repeat(100) })] })] }],
    ['50 channels of an option', { prompts: [prompt({ options: [option({ channel_ids: ids(50) })] })] }],
    ['500 channels', { default_channel_ids: ids(500) }],
    ['mode 1', { mode: 1 }],
  ])('accepts %s', async (_name, body) => {
    expect((await arrange().invoke('put_guilds_onboarding', { body })).status).toBe(200);
  });

  it.each([
    ['16 prompts', { prompts: many(16, prompt()) }, 'prompts'],
    ['no options', { prompts: [prompt({ options: [] })] }, 'prompts'],
    ['51 options', { prompts: [prompt({ options: many(51, option()) })] }, 'prompts'],
    ['a title of 101', { prompts: [prompt({ title: 'x'.repeat(101) })] }, 'prompts'],
    ['an option of 51', { prompts: [prompt({ options: [option({ title: 'x'.repeat(51) })] })] }, 'prompts'],
    [
      'a description of 101',
      { prompts: [prompt({ options: [option({ description: 'x'.repeat(101) })] })] },
      'prompts',
    ],
    [
      '51 channels of an option',
      { prompts: [prompt({ options: [option({ channel_ids: ids(51) })] })] },
      'prompts',
    ],
    ['51 roles of an option', { prompts: [prompt({ options: [option({ role_ids: ids(51) })] })] }, 'prompts'],
    ['501 channels', { default_channel_ids: ids(501) }, 'default_channel_ids'],
    ['mode 2', { mode: 2 }, 'mode'],
  ])('refuses %s', async (_name, body, path) => {
    expect(await arrange().invoke('put_guilds_onboarding', { body })).toMatchObject({
      status: 400,
      body: { code: 50035, errors: { [path]: {} } },
    });
  });

  it('is written by managers of guild and roles, and read by every member', async () => {
    const { invoke } = arrange();
    expect(codeOf(await invoke('put_guilds_onboarding', { as: '12', body: {} }))).toBe(50013);
    expect((await invoke('get_guilds_onboarding', { as: '12' })).status).toBe(200);
    expect((await invoke('get_guild_new_member_welcome', { as: '12' })).status).toBe(204);
  });
});

describe('the guide for new members', () => {
  const put = (body: object, as?: string) =>
    arrange().invoke('update_guild_new_member_welcome', { body, ...(as && { as }) });
  const entry = (more: object = {}) => ({ channel_id: '30', title: 'Read me', ...more });
  const action = (more: object = {}) => entry({ action_type: 0, ...more });

  it('is stored completely, with an audit log entry when it changes', async () => {
    const { invoke, facts } = arrange();
    const body = {
      enabled: true,
      resource_channels: [entry({ emoji: { name: '📖' } })],
      new_member_actions: [action()],
    };
    const made = await invoke('update_guild_new_member_welcome', { body });
    expect(made.body).toMatchObject({
      enabled: true,
      new_member_actions: [{ channel_id: '30', action_type: 0, title: 'Read me', description: '' }],
      resource_channels: [{ emoji: { id: null, name: '📖', animated: false } }],
    });
    expect((await invoke('get_guild_new_member_welcome', { as: '12' })).body).toEqual(made.body);
    const factsBefore = facts.length;
    await invoke('update_guild_new_member_welcome', { body });
    expect(facts.length).toBe(factsBefore);
  });

  it.each([
    ['six actions', { new_member_actions: Array.from({ length: 6 }, () => action()) }, 'new_member_actions'],
    ['eight channels', { resource_channels: Array.from({ length: 8 }, () => entry()) }, 'resource_channels'],
    ['an unknown channel', { resource_channels: [entry({ channel_id: '1' })] }, 'resource_channels'],
    [
      'a title of 61 characters',
      { resource_channels: [entry({ title: 'x'.repeat(61) })] },
      'resource_channels',
    ],
    ['an action without a type', { new_member_actions: [entry({ action_type: 2 })] }, 'new_member_actions'],
  ])('refuses %s', async (_name, body, path) => {
    expect(await put(body)).toMatchObject({ status: 400, body: { code: 50035, errors: { [path]: {} } } });
  });

  it('refuses an emoji that the guild does not have, and members without Manage Server', async () => {
    expect(codeOf(await put({ resource_channels: [entry({ emoji: { id: '99' } })] }))).toBe(10014);
    expect(codeOf(await put({}, '12'))).toBe(50013);
  });
});
