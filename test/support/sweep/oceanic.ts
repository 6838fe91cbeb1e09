import type { Client } from 'oceanic.js';
import { ChannelTypes } from 'oceanic.js';
import { mp3Of, pngOf } from '../media.ts';
import type { Did } from './record.ts';

/** Context of a sweep of a library: a bot with every permission in the guild of a fresh server. */
export interface OceanicSwept {
  readonly client: Client;
  readonly guildId: string;
  readonly textId: string;
  readonly voiceId: string;
  /** A bot that is a member, and nothing more. */
  readonly guestId: string;
  /** People who are members. */
  readonly userIds: readonly string[];
}

type Part = (at: OceanicSwept, did: Did) => Promise<void>;
const HOUR_MS = 3_600_000;
const inHours = (hours: number) => new Date(Date.now() + hours * HOUR_MS).toISOString();

const roles: Part = async ({ client, guildId, guestId }, did) => {
  const { guilds } = client.rest;
  const role = await did('Guilds.createRole', () => guilds.createRole(guildId, { name: 'Crew' }));
  await did('Guilds.getRole', () => guilds.getRole(guildId, role.id));
  await did('Guilds.getRoles', () => guilds.getRoles(guildId));
  await did('Guilds.editRole', () => guilds.editRole(guildId, role.id, { name: 'Sailors' }));
  await did('Guilds.editRolePositions', () =>
    guilds.editRolePositions(guildId, [{ id: role.id, position: 1 }]),
  );
  await did('Guilds.getRoleMemberCounts', () => guilds.getRoleMemberCounts(guildId));
  await did('Guilds.addMemberRole', () => guilds.addMemberRole(guildId, guestId, role.id));
  await did('Guilds.removeMemberRole', () => guilds.removeMemberRole(guildId, guestId, role.id));
  await did('Guilds.deleteRole', () => guilds.deleteRole(guildId, role.id));
};

const expressions: Part = async ({ client, guildId, voiceId: _ }, did) => {
  const { guilds, misc, applications } = client.rest;
  const image = pngOf(32, 32);
  const emoji = await did('Guilds.createEmoji', () => guilds.createEmoji(guildId, { image, name: 'lamp' }));
  await did('Guilds.getEmoji', () => guilds.getEmoji(guildId, emoji.id));
  await did('Guilds.getEmojis', () => guilds.getEmojis(guildId));
  await did('Guilds.editEmoji', () => guilds.editEmoji(guildId, emoji.id, { name: 'lantern' }));
  await did('Guilds.deleteEmoji', () => guilds.deleteEmoji(guildId, emoji.id));
  const { id: own } = client.application;
  const buoy = await did('Applications.createEmoji', () =>
    applications.createEmoji(own, { image, name: 'buoy' }),
  );
  await did('Applications.getEmoji', () => applications.getEmoji(own, buoy.id));
  await did('Applications.getEmojis', () => applications.getEmojis(own));
  await did('Applications.editEmoji', () => applications.editEmoji(own, buoy.id, { name: 'beacon' }));
  await did('Applications.deleteEmoji', () => applications.deleteEmoji(own, buoy.id));
  const file = { name: 'wave.png', contents: pngOf(320, 320) };
  const sticker = await did('Guilds.createSticker', () =>
    guilds.createSticker(guildId, { file, name: 'wave', tags: 'wave', description: 'A wave' }),
  );
  await did('Guilds.getSticker', () => guilds.getSticker(guildId, sticker.id));
  await did('Guilds.getStickers', () => guilds.getStickers(guildId));
  await did('Guilds.editSticker', () => guilds.editSticker(guildId, sticker.id, { name: 'waves' }));
  await did('Miscellaneous.getSticker', () => misc.getSticker(sticker.id));
  const packs = await did('Miscellaneous.getStickerPacks', () => misc.getStickerPacks());
  await did('Miscellaneous.getStickerPack', () => misc.getStickerPack(packs[0]!.id));
  await did('Guilds.deleteSticker', () => guilds.deleteSticker(guildId, sticker.id));
  const sound = await did('Guilds.createSoundboardSound', () =>
    guilds.createSoundboardSound(guildId, {
      name: 'horn',
      sound: `data:audio/mpeg;base64,${mp3Of(20).toString('base64')}`,
    }),
  );
  const soundId = sound.soundID;
  await did('Guilds.getSoundboardSound', () => guilds.getSoundboardSound(guildId, soundId));
  await did('Guilds.getSoundboardSounds', () => guilds.getSoundboardSounds(guildId));
  await did('Guilds.editSoundboardSound', () =>
    guilds.editSoundboardSound(guildId, soundId, { name: 'foghorn' }),
  );
  await did('Miscellaneous.getDefaultSoundboardSounds', () => misc.getDefaultSoundboardSounds());
  await did('Guilds.deleteSoundboardSound', () => guilds.deleteSoundboardSound(guildId, soundId));
};

const events: Part = async ({ client, guildId }, did) => {
  const { guilds } = client.rest;
  const start = inHours(1);
  const event = await did('Guilds.createScheduledEvent', () =>
    guilds.createScheduledEvent(guildId, {
      ...{
        name: 'Regatta',
        scheduledStartTime: start,
        scheduledEndTime: inHours(2),
        privacyLevel: 2,
        entityType: 3,
      },
      entityMetadata: { location: 'Harbour' },
      recurrenceRule: { start, frequency: 3, interval: 1 },
    } as never),
  );
  await did('Guilds.getScheduledEvent', () => guilds.getScheduledEvent(guildId, event.id));
  await did('Guilds.getScheduledEvents', () => guilds.getScheduledEvents(guildId));
  await did('Guilds.editScheduledEvent', () =>
    guilds.editScheduledEvent(guildId, event.id, { name: 'Race' }),
  );
  await did('Guilds.getScheduledEventUsers', () => guilds.getScheduledEventUsers(guildId, event.id));
  await did('Guilds.getScheduledEventUserCounts', () =>
    guilds.getScheduledEventUserCounts(guildId, event.id),
  );
  await did('Guilds.deleteScheduledEvent', () => guilds.deleteScheduledEvent(guildId, event.id));
  const rule = await did('Guilds.createAutoModerationRule', () =>
    guilds.createAutoModerationRule(guildId, {
      ...{ name: 'Words', eventType: 1, triggerType: 1, triggerMetadata: { keywordFilter: ['barnacle'] } },
      actions: [{ type: 1, metadata: { customMessage: 'Not here' } }],
    } as never),
  );
  await did('Guilds.getAutoModerationRule', () => guilds.getAutoModerationRule(guildId, rule.id));
  await did('Guilds.getAutoModerationRules', () => guilds.getAutoModerationRules(guildId));
  await did('Guilds.editAutoModerationRule', () =>
    guilds.editAutoModerationRule(guildId, rule.id, { name: 'Rude words' }),
  );
  await did('Guilds.deleteAutoModerationRule', () => guilds.deleteAutoModerationRule(guildId, rule.id));
};

const channelsPart: Part = async ({ client, guildId, textId, guestId, userIds }, did) => {
  const { guilds, channels, webhooks } = client.rest;
  const made = await did('Guilds.createChannel', () =>
    guilds.createChannel(guildId, ChannelTypes.GUILD_TEXT, { name: 'deck' }),
  );
  await did('Guilds.getChannels', () => guilds.getChannels(guildId));
  await did('Guilds.editChannelPositions', () =>
    guilds.editChannelPositions(guildId, [{ id: made.id, position: 1 }]),
  );
  await did('Channels.get', () => channels.get(made.id));
  await did('Channels.edit', () => channels.edit(made.id, { topic: 'Ropes' }));
  await did('Channels.editPermission', () =>
    channels.editPermission(made.id, guestId, { allow: 0n, deny: 2048n, type: 1 }),
  );
  await did('Channels.deletePermission', () => channels.deletePermission(made.id, guestId));
  const invite = await did('Channels.createInvite', () => channels.createInvite(made.id, { unique: true }));
  await did('Channels.getInvite', () => channels.getInvite(invite.code));
  await did('Channels.getInvites', () => channels.getInvites(made.id));
  await did('Guilds.getInvites', () => guilds.getInvites(guildId));
  await did('Channels.updateInviteTargetUsers', () =>
    channels.updateInviteTargetUsers(invite.code, [...userIds]),
  );
  await did('Channels.getInviteTargetUsersJobStatus', () =>
    channels.getInviteTargetUsersJobStatus(invite.code),
  );
  await did('Channels.getInviteTargetUsers', () => channels.getInviteTargetUsers(invite.code));
  await did('Channels.deleteInvite', () => channels.deleteInvite(invite.code));
  const hook = await did('Webhooks.create', () => webhooks.create(made.id, { name: 'Parrot' }));
  const token = hook.token ?? '';
  await did('Webhooks.get', () => webhooks.get(hook.id));
  await did('Webhooks.getForChannel', () => webhooks.getForChannel(made.id));
  await did('Webhooks.getForGuild', () => webhooks.getForGuild(guildId));
  await did('Webhooks.edit', () => webhooks.edit(hook.id, { name: 'Macaw' }));
  await did('Webhooks.editToken', () => webhooks.editToken(hook.id, token, { name: 'Polly' }));
  const said = await did('Webhooks.execute', () =>
    webhooks.execute(hook.id, token, { content: 'Squawk', wait: true }),
  );
  await did('Webhooks.getMessage', () => webhooks.getMessage(hook.id, token, said.id));
  await did('Webhooks.editMessage', () =>
    webhooks.editMessage(hook.id, token, said.id, { content: 'Hello' }),
  );
  await did('Webhooks.deleteMessage', () => webhooks.deleteMessage(hook.id, token, said.id));
  const github = {
    action: 'opened',
    issue: {
      number: 1,
      title: 'A leak',
      html_url: 'https://github.com/a/b/issues/1',
      user: { login: 'ann' },
    },
    repository: { full_name: 'a/b', html_url: 'https://github.com/a/b' },
    sender: { login: 'ann', html_url: 'https://github.com/ann', avatar_url: 'https://github.com/ann.png' },
  };
  await did('Webhooks.executeGithub', () => webhooks.executeGithub(hook.id, token, github));
  await did('Webhooks.deleteToken', () => webhooks.deleteToken(hook.id, token));
  const other = await webhooks.create(made.id, { name: 'Gull' });
  await did('Webhooks.delete', () => webhooks.delete(other.id));
  const news = await guilds.createChannel(guildId, ChannelTypes.GUILD_ANNOUNCEMENT, { name: 'log' });
  await did('Channels.followAnnouncement', () => channels.followAnnouncement(news.id, textId));
  const post = await channels.createMessage(news.id, { content: 'Land ahoy' });
  await did('Channels.crosspostMessage', () => channels.crosspostMessage(news.id, post.id));
  await did('Channels.delete', () => channels.delete(made.id));
};

const messages: Part = async ({ client, guildId, textId }, did) => {
  const { channels, guilds } = client.rest;
  const files = [{ name: 'chart.txt', contents: Buffer.from('Depths') }];
  const { id } = await did('Channels.createMessage', () =>
    channels.createMessage(textId, { content: 'Ship' }),
  );
  const withFile = await channels.createMessage(textId, { files });
  await did('Channels.getMessage', () => channels.getMessage(textId, id));
  await did('Channels.getMessages', () => channels.getMessages(textId, { limit: 10 }));
  await did('Channels.getMessagesIterator', async () => {
    for await (const page of channels.getMessagesIterator(textId, { limit: 5 })) if (page.length > 0) return;
  });
  await did('Channels.editMessage', () => channels.editMessage(textId, id, { content: 'Boat' }));
  await did('Channels.pinMessage', () => channels.pinMessage(textId, id));
  await did('Channels.getPins', () => channels.getPins(textId));
  await did('Channels.getPinsIterator', async () => {
    for await (const page of channels.getPinsIterator(textId, { limit: 5 })) if (page.length > 0) return;
  });
  await did('Channels.getPinnedMessages', () => channels.getPinnedMessages(textId));
  await did('Channels.unpinMessage', () => channels.unpinMessage(textId, id));
  await did('Channels.createReaction', () => channels.createReaction(textId, id, '⚓'));
  await did('Channels.getReactions', () => channels.getReactions(textId, id, '⚓'));
  await did('Channels.deleteReaction', () => channels.deleteReaction(textId, id, '⚓'));
  await did('Channels.deleteReactions', () => channels.deleteReactions(textId, id));
  await did('Channels.sendTyping', () => channels.sendTyping(textId));
  const poll = await channels.createMessage(textId, {
    poll: { question: { text: 'Which way?' }, answers: [{ pollMedia: { text: 'West' } }], duration: 1 },
  } as never);
  await did('Channels.getPollAnswerUsers', () => channels.getPollAnswerUsers(textId, poll.id, 1));
  await did('Channels.expirePoll', () => channels.expirePoll(textId, poll.id));
  await did('Guilds.searchMessages', () => guilds.searchMessages(guildId, { content: 'Boat' }));
  await did('Channels.deleteMessage', () => channels.deleteMessage(textId, id));
  const many = [await channels.createMessage(textId, { content: 'a' }), withFile];
  await did('Channels.deleteMessages', () =>
    channels.deleteMessages(
      textId,
      many.map((each) => each.id),
    ),
  );
  await did('Channels.purgeMessages', () => channels.purgeMessages(textId, { limit: 2 }));
};

const threads: Part = async ({ client, guildId, textId, guestId }, did) => {
  const { channels, guilds } = client.rest;
  const { id } = await channels.createMessage(textId, { content: 'About sails' });
  const thread = await did('Channels.startThreadFromMessage', () =>
    channels.startThreadFromMessage(textId, id, { name: 'Sails' }),
  );
  const aside = await did('Channels.startThreadWithoutMessage', () =>
    channels.startThreadWithoutMessage(textId, { name: 'Ropes', type: ChannelTypes.PRIVATE_THREAD }),
  );
  await did('Channels.addThreadMember', () => channels.addThreadMember(thread.id, guestId));
  await did('Channels.getThreadMember', () => channels.getThreadMember(thread.id, guestId));
  await did('Channels.getThreadMembers', () => channels.getThreadMembers(thread.id));
  await did('Channels.removeThreadMember', () => channels.removeThreadMember(thread.id, guestId));
  await did('Channels.leaveThread', () => channels.leaveThread(thread.id));
  await did('Channels.joinThread', () => channels.joinThread(thread.id));
  await did('Guilds.getActiveThreads', () => guilds.getActiveThreads(guildId));
  await channels.edit(thread.id, { archived: true });
  await channels.edit(aside.id, { archived: true });
  await did('Channels.getPublicArchivedThreads', () => channels.getPublicArchivedThreads(textId));
  await did('Channels.getPrivateArchivedThreads', () => channels.getPrivateArchivedThreads(textId));
  await did('Channels.getPrivateJoinedArchivedThreads', () =>
    channels.getPrivateJoinedArchivedThreads(textId),
  );
  await did('Channels.getJoinedPrivateArchivedThreads', () =>
    channels.getJoinedPrivateArchivedThreads(textId),
  );
  const forum = await guilds.createChannel(guildId, ChannelTypes.GUILD_FORUM, { name: 'questions' });
  await did('Channels.startThreadInThreadOnlyChannel', () =>
    channels.startThreadInThreadOnlyChannel(forum.id, { name: 'Knots', message: { content: 'Which?' } }),
  );
  await did('Channels.searchThreads', () => channels.searchThreads(forum.id, { name: 'Knots' }));
};

const voice: Part = async ({ client, guildId, voiceId }, did) => {
  const { channels, guilds, misc } = client.rest;
  const stage = await guilds.createChannel(guildId, ChannelTypes.GUILD_STAGE_VOICE, { name: 'stage' });
  await did('Channels.createStageInstance', () =>
    channels.createStageInstance(stage.id, { topic: 'Winds', privacyLevel: 2 }),
  );
  await did('Channels.getStageInstance', () => channels.getStageInstance(stage.id));
  await did('Channels.editStageInstance', () => channels.editStageInstance(stage.id, { topic: 'Tides' }));
  await did('Channels.deleteStageInstance', () => channels.deleteStageInstance(stage.id));
  await did('Channels.setVoiceStatus', () => channels.setVoiceStatus(voiceId, 'Singing'));
  await did('Channels.getVoiceRegions', () => channels.getVoiceRegions());
  await did('Guilds.getVoiceRegions', () => guilds.getVoiceRegions(guildId));
  await did('Miscellaneous.getVoiceRegions', () => misc.getVoiceRegions());
};

const guildPart: Part = async ({ client, guildId, textId }, did) => {
  const { guilds } = client.rest;
  await did('Guilds.get', () => guilds.get(guildId, true));
  await did('Guilds.edit', () =>
    guilds.edit(guildId, { features: ['COMMUNITY'], rulesChannelID: textId, publicUpdatesChannelID: textId }),
  );
  await did('Guilds.getPreview', () => guilds.getPreview(guildId));
  await did('Guilds.getAuditLog', () => guilds.getAuditLog(guildId, { limit: 5 }));
  await did('Guilds.getIntegrations', () => guilds.getIntegrations(guildId));
  await client.rest.request({
    ...{ method: 'PATCH', path: `/guilds/${guildId}/widget`, auth: true },
    json: { enabled: true, channel_id: textId },
  });
  await did('Guilds.getWidgetImage', () => guilds.getWidgetImage(guildId));
  await did('Guilds.getWidgetJSON', () => guilds.getWidgetJSON(guildId));
  await did('Guilds.getWidgetSettings', () => guilds.getWidgetSettings(guildId));
  await did('Guilds.editWelcomeScreen', () =>
    guilds.editWelcomeScreen(guildId, {
      ...{ enabled: true, description: 'Welcome aboard' },
      welcomeChannels: [{ channelID: textId, description: 'Start here', emojiID: null, emojiName: null }],
    }),
  );
  await did('Guilds.getWelcomeScreen', () => guilds.getWelcomeScreen(guildId));
  await did('Guilds.editOnboarding', () =>
    guilds.editOnboarding(guildId, { enabled: false, defaultChannelIDs: [textId], mode: 0, prompts: [] }),
  );
  await did('Guilds.getOnboarding', () => guilds.getOnboarding(guildId));
  await did('Guilds.getNewMemberWelcome', () => guilds.getNewMemberWelcome(guildId));
  await did('Guilds.getJoinRequests', () =>
    guilds.getJoinRequests(guildId, { status: 'SUBMITTED' } as never),
  );
  await did('Guilds.editIncidentActions', () =>
    guilds.editIncidentActions(guildId, { dmsDisabledUntil: null }),
  );
  const template = await did('Guilds.createTemplate', () =>
    guilds.createTemplate(guildId, { name: 'Fleet', description: 'Ships' }),
  );
  await did('Guilds.getTemplate', () => guilds.getTemplate(template.code));
  await did('Guilds.getTemplates', () => guilds.getTemplates(guildId));
  await did('Guilds.editTemplate', () => guilds.editTemplate(guildId, template.code, { name: 'Squadron' }));
  await did('Guilds.syncTemplate', () => guilds.syncTemplate(guildId, template.code));
  await did('Guilds.deleteTemplate', () => guilds.deleteTemplate(guildId, template.code));
  await did('Guilds.getPruneCount', () => guilds.getPruneCount(guildId, { days: 30 }));
  await did('Guilds.beginPrune', () => guilds.beginPrune(guildId, { days: 30 }));
};

const applicationsPart: Part = async ({ client, guildId }, did) => {
  const { applications } = client.rest;
  const { id } = client.application;
  await did('Applications.getCurrent', () => applications.getCurrent());
  await did('Applications.getClient', () => applications.getClient());
  await did('Applications.get', () => applications.get(id));
  await did('Applications.editCurrent', () => applications.editCurrent({ description: 'A bot' }));
  await did('Applications.getSKUs', () => applications.getSKUs(id));
  await did('Applications.getEntitlements', () => applications.getEntitlements(id));
  const command = { name: 'sail', description: 'Sets sail', type: 1 } as const;
  const there = await did('Applications.createGuildCommand', () =>
    applications.createGuildCommand(id, guildId, command),
  );
  await did('Applications.getGuildCommand', () => applications.getGuildCommand(id, guildId, there.id));
  await did('Applications.getGuildCommands', () => applications.getGuildCommands(id, guildId));
  await did('Applications.editGuildCommand', () =>
    applications.editGuildCommand(id, guildId, there.id, { type: 1, description: 'Sets all sails' }),
  );
  await did('Applications.getGuildPermissions', () => applications.getGuildPermissions(id, guildId));
  await did('Applications.deleteGuildCommand', () => applications.deleteGuildCommand(id, guildId, there.id));
  await did('Applications.bulkEditGuildCommands', () => applications.bulkEditGuildCommands(id, guildId, []));
  const everywhere = await did('Applications.createGlobalCommand', () =>
    applications.createGlobalCommand(id, command),
  );
  await did('Applications.getGlobalCommand', () => applications.getGlobalCommand(id, everywhere.id));
  await did('Applications.getGlobalCommands', () => applications.getGlobalCommands(id));
  await did('Applications.editGlobalCommand', () =>
    applications.editGlobalCommand(id, everywhere.id, { type: 1, description: 'Sets all sails' }),
  );
  await did('Applications.deleteGlobalCommand', () => applications.deleteGlobalCommand(id, everywhere.id));
  await did('Applications.bulkEditGlobalCommands', () => applications.bulkEditGlobalCommands(id, []));
};

/** The last part: it removes members. */
const members: Part = async ({ client, guildId, guestId, userIds }, did) => {
  const { guilds, users, channels } = client.rest;
  await did('Users.get', () => users.get(userIds[0]!));
  await did('Users.editSelf', () => users.editSelf({ avatar: null }));
  await did('Channels.createDM', () => channels.createDM(userIds[0]!));
  await did('Guilds.getMember', () => guilds.getMember(guildId, guestId));
  await did('Guilds.getMembers', () => guilds.getMembers(guildId, { limit: 10 }));
  await did('Guilds.searchMembers', () => guilds.searchMembers(guildId, { query: 'a' }));
  await did('Guilds.editMember', () => guilds.editMember(guildId, guestId, { nick: 'Mate' }));
  await did('Guilds.editCurrentMember', () => guilds.editCurrentMember(guildId, { nick: 'Captain' }));
  await did('Guilds.removeMember', () => guilds.removeMember(guildId, guestId));
  await did('Guilds.createBan', () => guilds.createBan(guildId, guestId));
  await did('Guilds.getBan', () => guilds.getBan(guildId, guestId));
  await did('Guilds.getBans', () => guilds.getBans(guildId));
  await did('Guilds.removeBan', () => guilds.removeBan(guildId, guestId));
  await did('Guilds.bulkBan', () => guilds.bulkBan(guildId, { userIDs: [guestId] }));
};

export const OCEANIC_PARTS: readonly Part[] = [
  ...[roles, expressions, events, channelsPart, messages, threads, voice, guildPart],
  ...[applicationsPart, members],
];
