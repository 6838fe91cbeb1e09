// Goal: a search covers the channels whose history its caller may read, and no others.
import { describe, expect, it } from 'vitest';
import type { Guild } from '../../../engine/guild/guild.ts';
import { P } from '../../../protocol/permissions.ts';
import { buildGuild, channel, GUILD_ID, overwrite, role } from '../../support/guild.ts';
import { fullMember } from '../../support/people.ts';
import { ruled } from '../../support/ruled.ts';

const [MEMBER, MODERATOR] = ['11', '12'] as const;
const [OPEN, WITHOUT_PAST, HIDDEN, GROWN_UP] = ['50', '51', '52', '53'] as const;
const denied = (deny: bigint) => [overwrite(GUILD_ID, 0, { deny })];

const arrange = (): Guild =>
  buildGuild({
    everyone: P.VIEW_CHANNEL | P.READ_MESSAGE_HISTORY,
    roles: [role('60', P.MANAGE_THREADS, 1)],
    members: [fullMember(MEMBER), fullMember(MODERATOR, ['60'])],
    channels: [
      channel(OPEN),
      channel(WITHOUT_PAST, denied(P.READ_MESSAGE_HISTORY)),
      channel(HIDDEN, denied(P.VIEW_CHANNEL)),
      channel(GROWN_UP, [], { nsfw: true }),
    ],
  });

function searched(userId: string, includesNsfw = false) {
  const { outcome } = ruled(arrange(), 'authorizeSearch', { includesNsfw }, userId);
  return outcome.ok ? outcome.value : null;
}

describe('a search', () => {
  it('leaves out channels that are hidden, or whose history is', () => {
    expect(searched(MEMBER)).toEqual({ readable: [OPEN], managed: [] });
  });

  it('covers age-restricted channels only when it asks for them', () => {
    expect(searched(MEMBER, true)).toEqual({ readable: [OPEN, GROWN_UP], managed: [] });
  });

  it('covers all private threads of channels in which the caller manages threads', () => {
    expect(searched(MODERATOR)).toEqual({ readable: [OPEN], managed: [OPEN] });
  });
});
