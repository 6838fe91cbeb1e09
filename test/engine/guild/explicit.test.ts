// Goal: a guild's filter refuses explicit images with 20009, of all members or of those without roles, in messages and edits.
import { beforeEach, expect, test } from 'vitest';
import type { Guild } from '../../../engine/guild/guild.ts';
import { type GuildCommands, guildRules } from '../../../engine/guild/rules.ts';
import { P } from '../../../protocol/permissions.ts';
import { buildGuild, channel, role } from '../../support/guild.ts';
import { creation, storedMessage } from '../../support/messages.ts';
import { caller, envAt, fullMember } from '../../support/people.ts';

const [WITH_ROLE, WITHOUT] = ['11', '12'];
let guild: Guild;
beforeEach(() => {
  guild = buildGuild({
    everyone: P.VIEW_CHANNEL | P.SEND_MESSAGES | P.ATTACH_FILES,
    roles: [role('60', 0n, 1)],
    members: [fullMember(WITH_ROLE, ['60']), fullMember(WITHOUT)],
    channels: [channel('50')],
  });
});

function codeOf(command: keyof GuildCommands, input: object, userId: string) {
  const authority = { by: caller(userId), requires: 0n };
  const outcome = guildRules.decide(guild, command, input as never, authority, envAt());
  return outcome.ok ? null : outcome.refusal.code;
}
const sends = (userId: string, isExplicit: boolean) =>
  codeOf('createMessage', { ...creation({ content: 'look' }), channelId: '50', isExplicit }, userId);

test.each([
  [0, null, null],
  [1, null, 20_009],
  [2, 20_009, 20_009],
])('level %i answers members with roles %s and those without %s', (level, withRole, without) => {
  guild.info = { ...guild.info, explicit_content_filter: level };
  expect([sends(WITH_ROLE, true), sends(WITHOUT, true)]).toEqual([withRole, without]);
  expect([sends(WITH_ROLE, false), sends(WITHOUT, false)]).toEqual([null, null]);
});

test('an edit that adds an explicit image is refused as well', () => {
  guild.info = { ...guild.info, explicit_content_filter: 2 };
  const message = storedMessage('50', WITHOUT, { content: 'before' });
  guild.messages.set(message.id, message);
  const edit = (isExplicit: boolean) =>
    codeOf(
      'updateMessage',
      {
        channelId: '50',
        messageId: message.id,
        edit: { content: 'after' },
        keep: null,
        attachments: [],
        isExplicit,
      },
      WITHOUT,
    );
  expect([edit(true), edit(false)]).toEqual([20_009, null]);
});
