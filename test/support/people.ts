import type { GuildFact, GuildFacts } from '../../engine/guild/facts.ts';
import type { Guild, Member } from '../../engine/guild/guild.ts';
import type { GuildTopic } from '../../engine/guild/topic.ts';
import type { Commands, Env, FactRow, Outcome } from '../../engine/kernel/aggregate.ts';
import type { By } from '../../engine/kernel/authority.ts';
import type { Dispatch } from '../../engine/kernel/dispatch.ts';
import type { FreshId, UserId } from '../../protocol/ids.ts';
import { member } from './guild.ts';

/** 2026-03-01T12:00:00Z: when everything in these tests happens. */
export const NOW_MS = Date.UTC(2026, 2, 1, 12);

/** Ids from 900001 on, so that they cannot be mistaken for those of a test's own objects. */
export function envAt(nowMs = NOW_MS): Env {
  let last = 900_000;
  return { nowMs, nextId: () => String(++last) as FreshId };
}

export function caller(userId: string, more: Partial<By> = {}): By {
  const base = { bot: false, applicationId: null, applicationFlags: 0, reason: null };
  return { ...base, userId: userId as UserId, ...more };
}

/** A member of given roles with every field of the wire. */
export function fullMember(
  userId: string,
  roles: readonly string[] = [],
  more: Partial<Member> = {},
): Member {
  return member(userId, {
    roles: [...roles],
    nick: null,
    avatar: null,
    banner: null,
    pending: false,
    premium_since: null,
    communication_disabled_until: null,
    ...more,
  });
}

export interface Ran<Value> {
  readonly outcome: Outcome<Value, GuildFact>;
  /** The platform's error code; undefined when accepted. */
  readonly code: number | undefined;
  readonly types: readonly string[];
  readonly facts: readonly GuildFact[];
  readonly dispatches: readonly Dispatch[];
}

/** Decides a command and applies those of its facts that belong to `topics`, as the guild's actor would. */
export function runner(...topics: readonly object[]) {
  type Rows = GuildTopic<Commands, keyof GuildFacts>;
  const all = topics as readonly Partial<Record<'commands' | 'facts', object>>[];
  const commands: Partial<Rows['commands']> = Object.assign({}, ...all.map((topic) => topic.commands));
  const facts: Partial<Rows['facts']> = Object.assign({}, ...all.map((topic) => topic.facts));

  return <Value = unknown>(
    guild: Guild,
    command: string,
    input: object,
    by: By,
    env = envAt(),
  ): Ran<Value> => {
    const row = commands[command];
    if (!row) throw new RangeError(`No topic here knows ${command}.`);
    const outcome = row.decide(guild, input, by, env) as Outcome<Value, GuildFact>;
    const decided = outcome.facts ?? [];
    const dispatches = decided.flatMap((fact) => {
      const known = facts[fact.type] as FactRow<Guild, GuildFact, Dispatch> | undefined;
      if (!known) return [];
      if ('applyAndDispatch' in known) return known.applyAndDispatch(guild, fact);
      known.apply(guild, fact);
      return known.dispatches(guild, fact);
    });
    const code = outcome.ok ? undefined : outcome.refusal.code;
    return { outcome, code, types: decided.map((fact) => fact.type), facts: decided, dispatches };
  };
}
