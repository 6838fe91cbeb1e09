// Goal: where a lobby asks for it, people write in its channel only once they have let its application act.
import { expect, test } from 'vitest';
import { linkRefusal } from '../../../../transports/rest/resources/messages.linked.ts';
import { BOT, HUMAN } from '../../../support/rest.ts';

const APPLICATION = '1001';

function refusedTo(
  caller: typeof BOT,
  given: {
    readonly asks?: boolean;
    readonly linked?: boolean;
    readonly grants?: boolean;
    readonly sees?: boolean;
  },
) {
  const { asks = true, linked = true, grants = false, sees = true } = given;
  const link = { application_id: APPLICATION, require_application_authorization: asks };
  const channel = { id: '9', ...(linked && { linked_lobby: link }) };
  const services = {
    channels: {
      call: async () => (sees ? { ok: true, value: channel } : { ok: false, refusal: { code: 50_001 } }),
    },
    oauth: {
      granted: async (userId: string, applicationId: string) =>
        grants && userId === HUMAN.userId && applicationId === APPLICATION ? new Set() : null,
    },
  };
  const call = { params: { channel_id: '9' }, caller, authority: {} };
  return linkRefusal(call as never, services as never);
}

test.each([
  ['a person who has not let it act', HUMAN, {}, 50_013],
  ['a person who has', HUMAN, { grants: true }, undefined],
  ['a person, where the lobby does not ask', HUMAN, { asks: false }, undefined],
  ['a person, in a channel that is not linked', HUMAN, { linked: false }, undefined],
  ['a person who does not see the channel, which others say', HUMAN, { sees: false }, undefined],
  ['a bot', BOT, {}, undefined],
] as const)('%s', async (_, caller, given, code) => {
  expect((await refusedTo(caller, given))?.code).toBe(code);
});
