import { AUDIT } from '../../protocol/audit.ts';
import { refusal } from '../../protocol/refusal.ts';
import { accepted, refused } from '../kernel/aggregate.ts';
import { auditEntry } from './auditing.ts';
import type { GuildTopic } from './topic.ts';

type MfaCommands = {
  /** 1: moderating takes a second factor. For the owner, who has one. */
  setMfaLevel: { input: { readonly level: number }; value: { readonly level: number } };
};

/** Two-step sign-in of moderators. */
export const mfa: GuildTopic<MfaCommands, never> = {
  commands: {
    setMfaLevel: {
      decide: (guild, { level }, by, env) => {
        const { info } = guild;
        if (level !== 0 && level !== 1) return refused(refusal('INVALID_MFA_LEVEL'));
        if (by.userId !== info.owner_id) return refused(refusal('MISSING_PERMISSIONS'));
        if (by.secondFactor !== 'set') return refused(refusal('TWO_FACTOR_REQUIRED'));
        if (info.mfa_level === level) return accepted({ level });
        const changes = [{ key: 'mfa_level', new_value: level, old_value: info.mfa_level }];
        return accepted({ level }, [
          { type: 'guildUpdated', info: { ...info, mfa_level: level } },
          auditEntry(env, by, { actionType: AUDIT.GUILD_UPDATE, targetId: guild.id, changes }),
        ]);
      },
    },
  },
  facts: {},
};
