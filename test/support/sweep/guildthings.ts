import { type Client, type Guild, GuildScheduledEventEntityType, type TextChannel } from 'discord.js';
import { mp3Of, pngOf } from '../media.ts';
import type { Did } from './record.ts';

/** Context of a sweep: a bot with every permission in the guild of a fresh server. */
export interface Swept {
  readonly client: Client<true>;
  readonly guild: Guild;
  readonly text: TextChannel;
  /** A bot that is a member, and nothing more. */
  readonly guestId: string;
  /** People who are members. */
  readonly userIds: readonly string[];
}

/** The library has the method, and its types leave it out. */
interface DefaultSounds {
  fetchDefaultSoundboardSounds(): Promise<unknown>;
}

export async function sweepRoles({ guild, guestId }: Swept, did: Did): Promise<void> {
  const role = await did('RoleManager.create', () => guild.roles.create({ name: 'Crew' }));
  await did('RoleManager.fetch', () => guild.roles.fetch(role.id, { force: true }));
  await did('RoleManager.edit', () => guild.roles.edit(role.id, { name: 'Sailors' }));
  await did('RoleManager.setPosition', () => guild.roles.setPosition(role.id, 1));
  await did('RoleManager.setPositions', () => guild.roles.setPositions([{ role: role.id, position: 1 }]));
  await did('RoleManager.fetchMemberCounts', () => guild.roles.fetchMemberCounts());
  const member = await did('GuildMemberManager.fetch', () => guild.members.fetch(guestId));
  await did('GuildMemberRoleManager.add', () => member.roles.add(role));
  await did('GuildMemberRoleManager.remove', () => member.roles.remove(role));
  await did('GuildMemberRoleManager.set', () => member.roles.set([role]));
  await did('GuildMemberManager.removeRole', () => guild.members.removeRole({ user: guestId, role }));
  await did('GuildMemberManager.addRole', () => guild.members.addRole({ user: guestId, role }));
  await did('RoleManager.delete', () => guild.roles.delete(role.id));
}

export async function sweepEmojis({ client, guild }: Swept, did: Did): Promise<void> {
  const attachment = pngOf(32, 32);
  const role = await guild.roles.create({ name: 'Lamplighters' });
  const emoji = await did('GuildEmojiManager.create', () =>
    guild.emojis.create({ attachment, name: 'lamp' }),
  );
  await did('GuildEmojiManager.fetch', () => guild.emojis.fetch());
  await did('GuildEmojiManager.edit', () => guild.emojis.edit(emoji, { name: 'lantern' }));
  await did('GuildEmojiManager.fetchAuthor', () => guild.emojis.fetchAuthor(emoji));
  await did('GuildEmojiRoleManager.add', () => emoji.roles.add(role));
  await did('GuildEmojiRoleManager.remove', () => emoji.roles.remove(role));
  await did('GuildEmojiRoleManager.set', () => emoji.roles.set([]));
  await did('GuildEmojiManager.delete', () => guild.emojis.delete(emoji));
  const { emojis } = client.application;
  const own = await did('ApplicationEmojiManager.create', () => emojis.create({ attachment, name: 'buoy' }));
  await did('ApplicationEmojiManager.fetch', () => emojis.fetch());
  await did('ApplicationEmojiManager.edit', () => emojis.edit(own, { name: 'beacon' }));
  await did('ApplicationEmojiManager.fetchAuthor', () => emojis.fetchAuthor(own));
  await did('ApplicationEmojiManager.delete', () => emojis.delete(own));
}

export async function sweepStickersAndSounds({ client, guild }: Swept, did: Did): Promise<void> {
  const sticker = await did('GuildStickerManager.create', () =>
    guild.stickers.create({ file: pngOf(320, 320), name: 'wave', tags: 'wave' }),
  );
  await did('GuildStickerManager.fetch', () => guild.stickers.fetch());
  await did('GuildStickerManager.edit', () => guild.stickers.edit(sticker, { name: 'waves' }));
  await did('GuildStickerManager.fetchUser', () => guild.stickers.fetchUser(sticker));
  await did('Client.fetchSticker', () => client.fetchSticker(sticker.id));
  await did('Client.fetchStickerPacks', () => client.fetchStickerPacks());
  await did('Client.fetchPremiumStickerPacks', () => client.fetchPremiumStickerPacks());
  await did('GuildStickerManager.delete', () => guild.stickers.delete(sticker));
  const sounds = guild.soundboardSounds;
  const sound = await did('GuildSoundboardSoundManager.create', () =>
    sounds.create({ file: mp3Of(20), name: 'horn', contentType: 'audio/mpeg' }),
  );
  await did('GuildSoundboardSoundManager.fetch', () => sounds.fetch());
  await did('GuildSoundboardSoundManager.edit', () => sounds.edit(sound, { name: 'foghorn' }));
  await did('GuildManager.fetchSoundboardSounds', () =>
    client.guilds.fetchSoundboardSounds({ guildIds: [guild.id] }),
  );
  await did('Client.fetchDefaultSoundboardSounds', () =>
    (client as Client<true> & DefaultSounds).fetchDefaultSoundboardSounds(),
  );
  await did('GuildSoundboardSoundManager.delete', () => sounds.delete(sound));
}

export async function sweepEvents({ guild }: Swept, did: Did): Promise<void> {
  const events = guild.scheduledEvents;
  const inOneHour = new Date(Date.now() + 3_600_000);
  const event = await did('GuildScheduledEventManager.create', () =>
    events.create({
      name: 'Regatta',
      scheduledStartTime: inOneHour,
      scheduledEndTime: new Date(inOneHour.getTime() + 3_600_000),
      privacyLevel: 2,
      entityType: GuildScheduledEventEntityType.External,
      entityMetadata: { location: 'Harbour' },
    }),
  );
  await did('GuildScheduledEventManager.fetch', () => events.fetch());
  await did('GuildScheduledEventManager.edit', () => events.edit(event, { name: 'Race' }));
  await did('GuildScheduledEventManager.fetchSubscribers', () => events.fetchSubscribers(event));
  await did('GuildScheduledEventManager.delete', () => events.delete(event));
  const rules = guild.autoModerationRules;
  const rule = await did('AutoModerationRuleManager.create', () =>
    rules.create({
      ...{ name: 'Words', eventType: 1, triggerType: 1, triggerMetadata: { keywordFilter: ['barnacle'] } },
      actions: [{ type: 1 }],
    }),
  );
  await did('AutoModerationRuleManager.fetch', () => rules.fetch());
  await did('AutoModerationRuleManager.edit', () => rules.edit(rule, { name: 'Rude words' }));
  await did('AutoModerationRuleManager.delete', () => rules.delete(rule));
}

export async function sweepInvites({ client, guild, text, userIds }: Swept, did: Did): Promise<void> {
  const csv = (ids: readonly string[]) => Buffer.from(`user_id\n${ids.join('\n')}\n`);
  const invite = await did('GuildInviteManager.create', () =>
    guild.invites.create(text, { unique: true, maxAge: 600, targetUsersFile: csv(userIds.slice(0, 1)) }),
  );
  await did('GuildInviteManager.fetch', () => guild.invites.fetch());
  await did('GuildInviteManager.fetchTargetUsersJobStatus', () =>
    guild.invites.fetchTargetUsersJobStatus(invite.code),
  );
  await did('GuildInviteManager.fetchTargetUsers', () => guild.invites.fetchTargetUsers(invite.code));
  await did('GuildInviteManager.updateTargetUsers', () =>
    guild.invites.updateTargetUsers(invite.code, csv(userIds)),
  );
  await did('Client.fetchInvite', () => client.fetchInvite(invite.code));
  await did('GuildInviteManager.delete', () => guild.invites.delete(invite.code));
}
