import type { Client } from 'eris';
import { dataUri, pngOf } from '../media.ts';
import type { OceanicSwept } from './oceanic.ts';
import type { Did } from './record.ts';

type At = Omit<OceanicSwept, 'client'> & { readonly client: Client };
type Part = (at: At, did: Did) => Promise<void>;
const HOUR_MS = 3_600_000;
const inHours = (hours: number) => new Date(Date.now() + hours * HOUR_MS);

const roles: Part = async ({ client, guildId, guestId }, did) => {
  const role = await did('Client.createRole', () => client.createRole(guildId, { name: 'Crew' }));
  await did('Client.getRESTGuildRoles', () => client.getRESTGuildRoles(guildId));
  await did('Client.editRole', () => client.editRole(guildId, role.id, { name: 'Sailors' }));
  await did('Client.editRolePosition', () => client.editRolePosition(guildId, role.id, 1));
  await did('Client.addGuildMemberRole', () => client.addGuildMemberRole(guildId, guestId, role.id));
  await did('Client.removeGuildMemberRole', () => client.removeGuildMemberRole(guildId, guestId, role.id));
  await did('Client.deleteRole', () => client.deleteRole(guildId, role.id));
};

const things: Part = async ({ client, guildId }, did) => {
  const image = dataUri(pngOf(32, 32));
  const emoji = await did('Client.createGuildEmoji', () =>
    client.createGuildEmoji(guildId, { image, name: 'lamp' }),
  );
  await did('Client.getRESTGuildEmoji', () => client.getRESTGuildEmoji(guildId, emoji.id));
  await did('Client.getRESTGuildEmojis', () => client.getRESTGuildEmojis(guildId));
  await did('Client.editGuildEmoji', () => client.editGuildEmoji(guildId, emoji.id, { name: 'lantern' }));
  await did('Client.deleteGuildEmoji', () => client.deleteGuildEmoji(guildId, emoji.id));
  const file = { name: 'wave.png', file: pngOf(320, 320) };
  const sticker = await did('Client.createGuildSticker', () =>
    client.createGuildSticker(guildId, { file, name: 'wave', tags: 'wave' }),
  );
  await did('Client.getRESTGuildSticker', () => client.getRESTGuildSticker(guildId, sticker.id));
  await did('Client.getRESTGuildStickers', () => client.getRESTGuildStickers(guildId));
  await did('Client.getRESTSticker', () => client.getRESTSticker(sticker.id));
  await did('Client.editGuildSticker', () => client.editGuildSticker(guildId, sticker.id, { name: 'waves' }));
  await did('Client.getNitroStickerPacks', () => client.getNitroStickerPacks());
  await did('Client.deleteGuildSticker', () => client.deleteGuildSticker(guildId, sticker.id));
  const event = await did('Client.createGuildScheduledEvent', () =>
    client.createGuildScheduledEvent(guildId, {
      ...{
        name: 'Regatta',
        scheduledStartTime: inHours(1),
        scheduledEndTime: inHours(2),
        privacyLevel: 2,
        entityType: 3,
      },
      entityMetadata: { location: 'Harbour' },
    } as never),
  );
  await did('Client.getRESTGuildScheduledEvent', () => client.getRESTGuildScheduledEvent(guildId, event.id));
  await did('Client.getGuildScheduledEvents', () => client.getGuildScheduledEvents(guildId));
  await did('Client.getGuildScheduledEventUsers', () =>
    client.getGuildScheduledEventUsers(guildId, event.id),
  );
  await did('Client.editGuildScheduledEvent', () =>
    client.editGuildScheduledEvent(guildId, event.id, { name: 'Race' } as never),
  );
  await did('Client.deleteGuildScheduledEvent', () => client.deleteGuildScheduledEvent(guildId, event.id));
  const rule = await did('Client.createAutoModerationRule', () =>
    client.createAutoModerationRule(guildId, {
      ...{ name: 'Words', eventType: 1, triggerType: 1, triggerMetadata: { keywordFilter: ['barnacle'] } },
      actions: [{ type: 1, metadata: { customMessage: 'Not here' } }],
    } as never),
  );
  await did('Client.getAutoModerationRule', () => client.getAutoModerationRule(guildId, rule.id));
  await did('Client.getAutoModerationRules', () => client.getAutoModerationRules(guildId));
  await did('Client.editAutoModerationRule', () =>
    client.editAutoModerationRule(guildId, rule.id, { name: 'Rude words' } as never),
  );
  await did('Client.deleteAutoModerationRule', () => client.deleteAutoModerationRule(guildId, rule.id));
};

const channels: Part = async ({ client, guildId, textId, guestId }, did) => {
  const made = await did('Client.createChannel', () => client.createChannel(guildId, 'deck'));
  await did('Client.getRESTChannel', () => client.getRESTChannel(made.id));
  await did('Client.getRESTGuildChannels', () => client.getRESTGuildChannels(guildId));
  await did('Client.editChannel', () => client.editChannel(made.id, { topic: 'Ropes' }));
  await did('Client.editChannelPosition', () => client.editChannelPosition(made.id, 1));
  await did('Client.editChannelPositions', () =>
    client.editChannelPositions(guildId, [{ id: made.id, position: 0 } as never]),
  );
  await did('Client.editChannelPermission', () =>
    client.editChannelPermission(made.id, guestId, 0n, 2048n, 1),
  );
  await did('Client.deleteChannelPermission', () => client.deleteChannelPermission(made.id, guestId));
  const invite = await did('Client.createChannelInvite', () =>
    client.createChannelInvite(made.id, { unique: true }),
  );
  await did('Client.getInvite', () => client.getInvite(invite.code));
  await did('Client.getChannelInvites', () => client.getChannelInvites(made.id));
  await did('Client.getGuildInvites', () => client.getGuildInvites(guildId));
  await did('Client.deleteInvite', () => client.deleteInvite(invite.code));
  const hook = await did('Client.createChannelWebhook', () =>
    client.createChannelWebhook(made.id, { name: 'Parrot' }),
  );
  const token = hook.token ?? '';
  await did('Client.getWebhook', () => client.getWebhook(hook.id));
  await did('Client.getChannelWebhooks', () => client.getChannelWebhooks(made.id));
  await did('Client.getGuildWebhooks', () => client.getGuildWebhooks(guildId));
  await did('Client.editWebhook', () => client.editWebhook(hook.id, { name: 'Macaw' }));
  const said = await did('Client.executeWebhook', () =>
    client.executeWebhook(hook.id, token, { content: 'Squawk', wait: true }),
  );
  await did('Client.getWebhookMessage', () => client.getWebhookMessage(hook.id, token, said.id));
  await did('Client.editWebhookMessage', () =>
    client.editWebhookMessage(hook.id, token, said.id, { content: 'Hello' }),
  );
  await did('Client.deleteWebhookMessage', () => client.deleteWebhookMessage(hook.id, token, said.id));
  await did('Client.executeSlackWebhook', () =>
    client.executeSlackWebhook(hook.id, token, { text: 'From another service' }),
  );
  await did('Client.deleteWebhook', () => client.deleteWebhook(hook.id));
  const news = await client.createChannel(guildId, 'log', 5);
  await did('Client.followChannel', () => client.followChannel(news.id, textId));
  const post = await client.createMessage(news.id, 'Land ahoy');
  await did('Client.crosspostMessage', () => client.crosspostMessage(news.id, post.id));
  await did('Client.deleteChannel', () => client.deleteChannel(made.id));
};

const messages: Part = async ({ client, textId }, did) => {
  const { id } = await did('Client.createMessage', () => client.createMessage(textId, 'Ship'));
  await did('Client.getMessage', () => client.getMessage(textId, id));
  await did('Client.getMessages', () => client.getMessages(textId, { limit: 10 }));
  await did('Client.editMessage', () => client.editMessage(textId, id, 'Boat'));
  await did('Client.pinMessage', () => client.pinMessage(textId, id));
  await did('Client.getPins', () => client.getPins(textId));
  await did('Client.unpinMessage', () => client.unpinMessage(textId, id));
  await did('Client.addMessageReaction', () => client.addMessageReaction(textId, id, '⚓'));
  await did('Client.getMessageReaction', () => client.getMessageReaction(textId, id, '⚓'));
  await did('Client.removeMessageReaction', () => client.removeMessageReaction(textId, id, '⚓'));
  await client.addMessageReaction(textId, id, '⚓');
  await did('Client.removeMessageReactionEmoji', () => client.removeMessageReactionEmoji(textId, id, '⚓'));
  await did('Client.removeMessageReactions', () => client.removeMessageReactions(textId, id));
  await did('Client.sendChannelTyping', () => client.sendChannelTyping(textId));
  const poll = await client.createMessage(textId, {
    poll: { question: { text: 'Which way?' }, answers: [{ poll_media: { text: 'West' } }], duration: 1 },
  } as never);
  await did('Client.getPollAnswerVoters', () => client.getPollAnswerVoters(textId, poll.id, '1'));
  await did('Client.endPoll', () => client.endPoll(textId, poll.id));
  await did('Client.deleteMessage', () => client.deleteMessage(textId, id));
  const many = [await client.createMessage(textId, 'a'), await client.createMessage(textId, 'b')];
  await did('Client.deleteMessages', () =>
    client.deleteMessages(
      textId,
      many.map((each) => each.id),
    ),
  );
  await did('Client.purgeChannel', () => client.purgeChannel(textId, { limit: 2 }));
};

const threads: Part = async ({ client, guildId, textId, guestId }, did) => {
  const { id } = await client.createMessage(textId, 'About sails');
  const thread = await did('Client.createThreadWithMessage', () =>
    client.createThreadWithMessage(textId, id, { name: 'Sails', autoArchiveDuration: 60 }),
  );
  const options = { name: 'Ropes', type: 11, autoArchiveDuration: 60 } as const;
  await did('Client.createThread', () => client.createThread(textId, options));
  await did('Client.createThreadWithoutMessage', () => client.createThreadWithoutMessage(textId, options));
  await did('Client.editNickname', () => client.editNickname(guildId, 'Kettle'));
  await did('Client.joinThread', () => client.joinThread(thread.id, guestId));
  await did('Client.getThreadMember', () => client.getThreadMember(thread.id, guestId));
  await did('Client.getThreadMembers', () => client.getThreadMembers(thread.id));
  await did('Client.leaveThread', () => client.leaveThread(thread.id, guestId));
  await did('Client.getActiveGuildThreads', () => client.getActiveGuildThreads(guildId));
  await client.editChannel(thread.id, { archived: true } as never);
  await did('Client.getArchivedThreads', () => client.getArchivedThreads(textId, 'public'));
  await did('Client.getJoinedPrivateArchivedThreads', () => client.getJoinedPrivateArchivedThreads(textId));
};

const voice: Part = async ({ client, guildId, voiceId }, did) => {
  const stage = await client.createChannel(guildId, 'stage', 13);
  await did('Client.createStageInstance', () => client.createStageInstance(stage.id, { topic: 'Winds' }));
  await did('Client.getStageInstance', () => client.getStageInstance(stage.id));
  await did('Client.editStageInstance', () => client.editStageInstance(stage.id, { topic: 'Tides' }));
  await did('Client.deleteStageInstance', () => client.deleteStageInstance(stage.id));
  await did('Client.setVoiceChannelStatus', () => client.setVoiceChannelStatus(voiceId, 'Singing'));
  await did('Client.getVoiceRegions', () => client.getVoiceRegions(guildId));
};

const guild: Part = async ({ client, guildId, textId }, did) => {
  await did('Client.getRESTGuild', () => client.getRESTGuild(guildId, true));
  await did('Client.getRESTGuilds', () => client.getRESTGuilds());
  await did('Client.editGuild', () =>
    client.editGuild(guildId, {
      features: ['COMMUNITY'],
      rulesChannelID: textId,
      publicUpdatesChannelID: textId,
    }),
  );
  await did('Client.getGuildPreview', () => client.getGuildPreview(guildId));
  await did('Client.getGuildAuditLog', () => client.getGuildAuditLog(guildId, { limit: 5 }));
  await did('Client.getGuildAuditLogs', () => client.getGuildAuditLogs(guildId, 5));
  await did('Client.getGuildIntegrations', () => client.getGuildIntegrations(guildId));
  await did('Client.editGuildWidget', () =>
    client.editGuildWidget(guildId, { enabled: true, channel_id: textId } as never),
  );
  await did('Client.getGuildWidget', () => client.getGuildWidget(guildId));
  await did('Client.getGuildWidgetSettings', () => client.getGuildWidgetSettings(guildId));
  await did('Client.editGuildWelcomeScreen', () =>
    client.editGuildWelcomeScreen(guildId, {
      ...{ enabled: true, description: 'Welcome aboard' },
      welcomeChannels: [{ channelID: textId, description: 'Start here', emojiID: null, emojiName: null }],
    }),
  );
  await did('Client.getGuildWelcomeScreen', () => client.getGuildWelcomeScreen(guildId));
  await did('Client.getGuildOnboarding', () => client.getGuildOnboarding(guildId));
  const template = await did('Client.createGuildTemplate', () =>
    client.createGuildTemplate(guildId, 'Fleet'),
  );
  await did('Client.getGuildTemplate', () => client.getGuildTemplate(template.code));
  await did('Client.getGuildTemplates', () => client.getGuildTemplates(guildId));
  await did('Client.editGuildTemplate', () =>
    client.editGuildTemplate(guildId, template.code, { name: 'Squadron' }),
  );
  await did('Client.syncGuildTemplate', () => client.syncGuildTemplate(guildId, template.code));
  await did('Client.deleteGuildTemplate', () => client.deleteGuildTemplate(guildId, template.code));
  await did('Client.editGuildVanity', () => client.editGuildVanity(guildId, 'eris-hall'));
  await did('Client.getGuildVanity', () => client.getGuildVanity(guildId));
  await did('Client.getPruneCount', () => client.getPruneCount(guildId, { days: 30 }));
  await did('Client.pruneMembers', () => client.pruneMembers(guildId, { days: 30 }));
};

const application: Part = async ({ client, guildId }, did) => {
  const command = { name: 'sail', description: 'Sets sail', type: 1 } as const;
  const change = { description: 'Sets all sails' } as never;
  await did('Client.getOAuthApplication', () => client.getOAuthApplication());
  await did('Client.getGateway', () => client.getGateway());
  await did('Client.getBotGateway', () => client.getBotGateway());
  const there = await did('Client.createGuildCommand', () => client.createGuildCommand(guildId, command));
  await did('Client.getGuildCommand', () => client.getGuildCommand(guildId, there.id));
  await did('Client.getGuildCommands', () => client.getGuildCommands(guildId));
  await did('Client.editGuildCommand', () => client.editGuildCommand(guildId, there.id, change));
  await did('Client.getGuildCommandPermissions', () => client.getGuildCommandPermissions(guildId));
  await did('Client.deleteGuildCommand', () => client.deleteGuildCommand(guildId, there.id));
  await did('Client.bulkEditGuildCommands', () => client.bulkEditGuildCommands(guildId, []));
  const everywhere = await did('Client.createCommand', () => client.createCommand(command));
  await did('Client.getCommand', () => client.getCommand(everywhere.id));
  await did('Client.getCommands', () => client.getCommands());
  await did('Client.editCommand', () => client.editCommand(everywhere.id, change));
  await did('Client.deleteCommand', () => client.deleteCommand(everywhere.id));
  await did('Client.bulkEditCommands', () => client.bulkEditCommands([]));
  await did('Client.editRoleConnectionMetadataRecords', () =>
    client.editRoleConnectionMetadataRecords([
      { type: 2, key: 'wins', name: 'Wins', description: 'Games won' },
    ]),
  );
  await did('Client.getRoleConnectionMetadataRecords', () => client.getRoleConnectionMetadataRecords());
};

/** The last part: it removes members. */
const members: Part = async ({ client, guildId, guestId, userIds }, did) => {
  await did('Client.getSelf', () => client.getSelf());
  await did('Client.editSelf', () => client.editSelf({ avatar: null } as never));
  await did('Client.getRESTUser', () => client.getRESTUser(userIds[0]!));
  await did('Client.getDMChannel', () => client.getDMChannel(userIds[0]!));
  await did('Client.getRESTGuildMember', () => client.getRESTGuildMember(guildId, guestId));
  await did('Client.getRESTGuildMembers', () => client.getRESTGuildMembers(guildId, { limit: 10 }));
  await did('Client.searchGuildMembers', () => client.searchGuildMembers(guildId, 'a'));
  await did('Client.editGuildMember', () => client.editGuildMember(guildId, guestId, { nick: 'Mate' }));
  await did('Client.kickGuildMember', () => client.kickGuildMember(guildId, guestId));
  await did('Client.banGuildMember', () => client.banGuildMember(guildId, guestId, {}));
  await did('Client.getGuildBan', () => client.getGuildBan(guildId, guestId));
  await did('Client.getGuildBans', () => client.getGuildBans(guildId));
  await did('Client.unbanGuildMember', () => client.unbanGuildMember(guildId, guestId));
  await did('Client.bulkBanGuildMembers', () =>
    client.bulkBanGuildMembers(guildId, { userIDs: [guestId] } as never),
  );
};

export const ERIS_PARTS: readonly Part[] = [
  ...[roles, things, channels, messages, threads, voice, guild, application, members],
];
