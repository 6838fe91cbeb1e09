/** Goal: what was written down reaches those who may read the log, as entry and guild. */
import { expect, it } from 'vitest';
import { auditEntry } from '../../../engine/guild/auditing.ts';
import { guildRules } from '../../../engine/guild/rules.ts';
import { AUDIT } from '../../../protocol/audit.ts';
import { P } from '../../../protocol/permissions.ts';
import { buildGuild, RecordingSession, role } from '../../support/guild.ts';
import { caller, envAt, fullMember, NOW_MS } from '../../support/people.ts';

it('dispatches an entry to readers of the log alone', () => {
  const guild = buildGuild({
    roles: [role('100', P.VIEW_AUDIT_LOG, 1)],
    members: [fullMember('10', ['100']), fullMember('12')],
    sessions: [
      new RecordingSession('reader', '10', ['GUILD_MODERATION']),
      new RecordingSession('deaf', '10', ['GUILDS']),
      new RecordingSession('other', '12', ['GUILD_MODERATION']),
    ],
  });
  const by = caller('10', { reason: 'because' });
  const fact = auditEntry(envAt(), by, { actionType: AUDIT.MEMBER_KICK, targetId: '12' });
  const [dispatch] = guildRules.applyAndDispatch(guild, fact);
  if (!dispatch) throw new Error('Nothing was dispatched.');
  expect(dispatch).toMatchObject({
    t: 'GUILD_AUDIT_LOG_ENTRY_CREATE',
    d: { guild_id: '1', action_type: 20, user_id: '10', target_id: '12', reason: 'because' },
  });
  const heard = guild.audiences
    .recipients(guild, dispatch, NOW_MS)
    .flatMap(({ to }) => to.map(({ sessionId }) => sessionId));
  expect(heard).toEqual(['reader']);
});
