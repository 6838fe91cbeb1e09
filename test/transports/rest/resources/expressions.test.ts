// Goal: files of expressions are read only for members who may make them, and a sticker's description is empty or has two characters or more.
import { expect, it } from 'vitest';
import { P } from '../../../../protocol/permissions.ts';
import { emojis } from '../../../../transports/rest/resources/emojis.ts';
import { stickers } from '../../../../transports/rest/resources/stickers.ts';
import { buildGuild, role } from '../../../support/guild.ts';
import { fullMember } from '../../../support/people.ts';
import { codeOf, restGuild } from '../../../support/restguild.ts';

const [MISSING_PERMISSIONS, INVALID_FORM, INVALID_FILE] = [50_013, 50_035, 50_046];
const [MAKER, MEMBER] = ['10', '11'] as const;
const arrange = () =>
  restGuild(
    buildGuild({
      roles: [role('60', P.CREATE_GUILD_EXPRESSIONS, 1)],
      members: [fullMember(MAKER, ['60']), fullMember(MEMBER)],
    }),
    { ...emojis, ...stickers },
  );
const broken = {
  field: 'file',
  filename: 'a.png',
  bytes: new Uint8Array([1, 2, 3]),
  contentType: 'image/png',
};
const sticker = (as: string, description: string) => ({
  ...{ as, files: [broken], body: { name: 'wave', tags: 'hi', description } },
});

it('a file of a member without the permission is refused for the missing permission, without being read', async () => {
  const { invoke } = arrange();
  const emoji = (as: string) => ({ as, body: { name: 'wave', image: 'data:image/png;base64,AQID' } });
  expect(codeOf(await invoke('create_guild_emoji', emoji(MEMBER)))).toBe(MISSING_PERMISSIONS);
  expect(codeOf(await invoke('create_guild_emoji', emoji(MAKER)))).toBe(INVALID_FORM);
  expect(codeOf(await invoke('create_guild_sticker', sticker(MEMBER, '')))).toBe(MISSING_PERMISSIONS);
  expect(codeOf(await invoke('create_guild_sticker', sticker(MAKER, '')))).toBe(INVALID_FILE);
});

it.each([
  ['', INVALID_FILE],
  ['h', INVALID_FORM],
  ['😀', INVALID_FORM],
  ['hi', INVALID_FILE],
])(
  'a description of a sticker is empty or has two characters or more: %j is answered %i',
  async (text, code) => {
    expect(codeOf(await arrange().invoke('create_guild_sticker', sticker(MAKER, text)))).toBe(code);
  },
);
