// Goal: nothing is decided for a guild that is deleted, whoever asks.
import { expect, test } from 'vitest';
import { type GuildCommands, guildRules } from '../../../engine/guild/rules.ts';
import { SYSTEM } from '../../../engine/kernel/authority.ts';
import { buildGuild } from '../../support/guild.ts';

test.each(Object.keys(guildRules.commands) as (keyof GuildCommands)[])('%s is refused', (type) => {
  const guild = buildGuild({});
  guild.gone = true;
  const env = { nowMs: 0, nextId: () => '1' };
  const outcome = guildRules.decide(guild, type, {} as never, SYSTEM, env as never);
  expect(outcome).toMatchObject({ ok: false, refusal: { code: 10004 } });
});
