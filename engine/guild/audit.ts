import { accepted } from '../outcome.ts';
import type { AuditFacts, GuildFact } from './facts.ts';
import type { Topic } from './topic.ts';

export type AuditCommands = {
  /** Asked before the log is read from the store: the log is not part of the guild's resident state. */
  authorizeAuditRead: { input: object; value: null };
};

export const audit: Topic<AuditCommands, AuditFacts, GuildFact> = {
  needs: { authorizeAuditRead: () => ({}) },
  decide: { authorizeAuditRead: () => accepted(null) },
  apply: { auditLogged: () => undefined },
  dispatches: {
    auditLogged: (guild, { entry }) => [
      { t: 'GUILD_AUDIT_LOG_ENTRY_CREATE', d: { ...entry, guild_id: guild.id }, to: { kind: 'guild' } },
    ],
  },
};
