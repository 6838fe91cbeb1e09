import { accepted } from '../kernel/aggregate.ts';
import type { AuditFacts } from './facts.ts';
import type { GuildTopic } from './topic.ts';

type AuditCommands = {
  /** Permission check before the log is read from the store; the log is not part of the guild's resident state. */
  authorizeAuditRead: { input: object; value: null };
};

export const audit: GuildTopic<AuditCommands, keyof AuditFacts> = {
  commands: {
    authorizeAuditRead: { decide: () => accepted(null) },
  },
  facts: {
    auditLogged: {
      apply: () => {},
      dispatches: (guild, { entry }) => [
        { t: 'GUILD_AUDIT_LOG_ENTRY_CREATE', d: { ...entry, guild_id: guild.id }, to: { kind: 'guild' } },
      ],
    },
  },
};
