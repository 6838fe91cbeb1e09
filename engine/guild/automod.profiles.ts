import type { Env } from '../kernel/aggregate.ts';
import { applies, consequences, isExempt, QUARANTINED } from './automod.actions.ts';
import type { GuildFact } from './facts.ts';
import type { Guild, Member } from './guild.ts';
import type { GuildConsequence } from './topic.ts';

/** A member's names, one per line. */
const namesOf = ({ nick, user }: Member): string =>
  [nick, user.global_name, user.username].filter(Boolean).join('\n');

/**
 * Judges the names of members who join or are called otherwise from now on. A name that a rule objects to quarantines its
 * member until the next name.
 */
export const judgedNames: GuildConsequence = {
  causes: new Set(['memberAdded', 'memberUpdated']),
  add: (guild, facts, _authority, env) =>
    facts.flatMap((fact): readonly GuildFact[] => {
      if (fact.type !== 'memberAdded' && fact.type !== 'memberUpdated') return [fact];
      const judged = judgedProfile(guild, fact.member, env);
      return judged ? [{ ...fact, member: judged.member }, ...judged.facts] : [fact];
    }),
};

/** The member after the facts of a change, for the reply. */
export const asJudged = (guild: Guild, member: Member, env: Env): Member =>
  judgedProfile(guild, member, env)?.member ?? member;

/** Null when the names are the same as before, or change nothing. */
function judgedProfile(
  guild: Guild,
  member: Member,
  env: Env,
): { readonly member: Member; readonly facts: readonly GuildFact[] } | null {
  const { user } = member;
  const text = namesOf(member);
  const before = guild.members.get(user.id);
  if (before && namesOf(before) === text) return null;
  const freed = { ...member, flags: member.flags & ~QUARANTINED };
  const isFree = isExempt(guild, user);
  const hits = isFree
    ? []
    : guild.autoModeration.profileWords.read(text, (rule) => applies(rule, guild, member, null));
  if (hits.length === 0) return member.flags === freed.flags ? null : { member: freed, facts: [] };
  const occasion = { guild, env, user, member: freed, text, channel: null, messageId: null };
  const done = consequences(occasion, hits);
  return { member: done.member ?? freed, facts: done.facts };
}
