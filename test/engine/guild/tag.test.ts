// Goal: a guild's tag and badge change one by one, are logged as they change, and end together.
import { expect, test } from 'vitest';
import { buildGuild, OWNER_ID } from '../../support/guild.ts';
import { ruled } from '../../support/ruled.ts';

test('a badge is changed without the tag, and nothing is written when neither changes', () => {
  const guild = buildGuild({});
  guild.info = { ...guild.info, features: [] };
  const set = (draft: object) => ruled(guild, 'setTag', { draft }, OWNER_ID);
  expect(set({ badge: 'leaf' }).outcome.ok).toBe(false);
  expect(set({ tag: 'HALL' }).types).toEqual(['pageWritten', 'guildUpdated', 'auditLogged']);
  expect(set({ badge: 'leaf' }).types).toEqual(['pageWritten', 'auditLogged']);
  expect(guild.pages.tag).toEqual({ tag: 'HALL', badge: 'leaf' });
  expect(set({ tag: 'HALL', badge: 'leaf' }).types).toEqual([]);
  expect(guild.info.features).toEqual(['GUILD_TAGS']);
  expect(set({ tag: null }).types).toEqual(['pageWritten', 'guildUpdated', 'auditLogged']);
  expect([guild.pages.tag, guild.info.features]).toEqual([undefined, []]);
});
