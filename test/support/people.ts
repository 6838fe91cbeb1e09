import type { GuildFact } from '../../engine/guild/facts.ts';
import type { Guild, Member } from '../../engine/guild/guild.ts';
import type { By, Commands, Dispatch, Facts, Topic } from '../../engine/guild/topic.ts';
import type { Env, Outcome } from '../../engine/outcome.ts';
import type { UserId } from '../../protocol/ids.ts';
import { member } from './guild.ts';

/** 2026-03-01T12:00:00Z: when everything in these tests happens. */
export const NOW_MS = Date.UTC(2026, 2, 1, 12);

/** Ids from 900001 on, so that they cannot be mistaken for those of a test's own objects. */
export function envAt(nowMs = NOW_MS): Env {
  let last = 900_000;
  return { nowMs, nextId: () => String(++last) };
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
  const all = topics as readonly Topic<Commands, Facts, GuildFact>[];
  const find = <T>(table: 'decide' | 'apply' | 'dispatches', name: string): T | undefined =>
    all.map((topic) => (topic[table] as Record<string, unknown>)[name]).find((each) => each !== undefined) as
      | T
      | undefined;

  return <Value = unknown>(
    guild: Guild,
    command: string,
    input: object,
    by: By,
    env = envAt(),
  ): Ran<Value> => {
    const decide = find<(guild: Guild, input: object, by: By, env: Env) => Outcome<Value, GuildFact>>(
      'decide',
      command,
    );
    if (!decide) throw new RangeError(`No topic here knows ${command}.`);
    const outcome = decide(guild, input, by, env);
    const facts = outcome.ok ? outcome.facts : [];
    const dispatches = facts.flatMap((fact) => {
      find<(guild: Guild, fact: GuildFact) => void>('apply', fact.type)?.(guild, fact);
      return (
        find<(guild: Guild, fact: GuildFact) => Dispatch[]>('dispatches', fact.type)?.(guild, fact) ?? []
      );
    });
    const code = outcome.ok ? undefined : outcome.refusal.code;
    return { outcome, code, types: facts.map((fact) => fact.type), facts, dispatches };
  };
}
