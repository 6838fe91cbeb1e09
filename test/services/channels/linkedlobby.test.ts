// Goal: where a lobby requires it, users write in its linked channel only after they authorized the lobby's application.

import { expect, test } from 'vitest';
import type { LinkedLobby } from '../../../engine/guild/guild.ts';
import { refused } from '../../../engine/kernel/aggregate.ts';
import { authorityOf } from '../../../engine/kernel/authority.ts';
import type { ApplicationId, ChannelId, UserId } from '../../../protocol/ids.ts';
import { refusal } from '../../../protocol/refusal.ts';
import { createLinkRefusal } from '../../../services/channels/channels.ts';
import { id } from '../../support/guild.ts';

const APPLICATION = id<ApplicationId>(1001);
const USER = id<UserId>(2000);

function refusalFor(given: {
  readonly bot?: boolean;
  readonly requires?: boolean;
  readonly linked?: boolean;
  readonly authorized?: boolean;
  readonly visible?: boolean;
}) {
  const { bot = false, requires = true, linked = true, authorized = false, visible = true } = given;
  const link: LinkedLobby = {
    application_id: APPLICATION,
    lobby_id: id<ChannelId>(900),
    linked_by: USER,
    linked_at: 'then',
    require_application_authorization: requires,
  };
  const linkRefusal = createLinkRefusal({
    channels: {
      call: async () =>
        visible
          ? { ok: true, value: { ...(linked && { linked_lobby: link }) } }
          : refused(refusal('MISSING_ACCESS')),
    },
    oauth: {
      granted: async (userId, applicationId) =>
        authorized && userId === USER && applicationId === APPLICATION ? new Set() : null,
    },
  });
  const by = { userId: USER, bot, applicationId: null, applicationFlags: 0 };
  return linkRefusal(id<ChannelId>(9), authorityOf(by));
}

test.each([
  ['refuses a user who has not authorized the application', {}, 50_013],
  ['allows a user who has authorized the application', { authorized: true }, undefined],
  ['allows any user if the lobby requires no authorization', { requires: false }, undefined],
  ['allows any user in a channel without a linked lobby', { linked: false }, undefined],
  ['leaves the refusal to the command when the user cannot view the channel', { visible: false }, undefined],
  ['allows a bot', { bot: true }, undefined],
] as const)('%s', async (_, given, code) => {
  expect((await refusalFor(given))?.code).toBe(code);
});
