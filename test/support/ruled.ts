import type { GuildFact } from '../../engine/guild/facts.ts';
import type { Guild } from '../../engine/guild/guild.ts';
import { type GuildCommands, guildRules } from '../../engine/guild/rules.ts';
import type { Env } from '../../engine/kernel/aggregate.ts';
import type { Dispatch } from '../../engine/kernel/dispatch.ts';
import { caller, envAt, NOW_MS, type Ran } from './people.ts';

/** Decides a command under all of the guild's rules, as its actor does, and applies what comes of it. */
export function ruled<Value = unknown>(
  guild: Guild,
  command: string,
  input: object,
  userId: string,
  nowMs = NOW_MS,
  env: Env = envAt(nowMs),
): Ran<Value> {
  const system = userId === '0' ? { system: true as const } : {};
  const authority = { by: caller(userId, system), requires: 0n };
  const type = command as keyof GuildCommands;
  const outcome = guildRules.decide(guild, type, input as never, authority, env);
  const facts: readonly GuildFact[] = outcome.facts ?? [];
  const dispatches = facts.flatMap((fact): readonly Dispatch[] => guildRules.applyAndDispatch(guild, fact));
  const code = outcome.ok ? undefined : outcome.refusal.code;
  return { outcome: outcome as never, code, types: facts.map(({ type: name }) => name), facts, dispatches };
}
