const ENTITLEMENTS = 'shown with discord.js in test/e2e/entitlements.test.ts';
const PERSON = 'needs the access token of a person';
const OWNER = 'only the owner of a guild may, and a bot owns none';
const NO_GUILDS = 'bots may not create guilds';
const IN_VOICE = 'needs somebody in voice, as in test/e2e/voice.test.ts';
const INTERACTION = 'needs an interaction, as in test/e2e/interactionclients.test.ts';
const EVENTS = 'needs a recurring event, as in test/e2e/scheduledevents.test.ts';
const GROUPS = 'needs people who let the application open a group';
const UNLISTED = 'asks for what the platform’s public file does not list';
const WIDGET = 'reads the published answer, the settings, as the widget';
const LEAVES = 'would end the sweep';

/** Methods of oceanic.js that are not called by its sweep, with the reason. */
export const OCEANIC_LEFT_OUT: Readonly<Record<string, string>> = {
  'Applications.consumeEntitlement': ENTITLEMENTS,
  'Applications.createTestEntitlement': ENTITLEMENTS,
  'Applications.deleteTestEntitlement': ENTITLEMENTS,
  'Applications.editGuildCommandPermissions': PERSON,
  'Applications.getActivityInstance': 'needs a running activity',
  'Applications.getEntitlement': ENTITLEMENTS,
  'Applications.getGuildPermission': 'a command without overwrites has none',
  'Applications.getSKUSubscription': ENTITLEMENTS,
  'Applications.getSKUSubscriptions': ENTITLEMENTS,
  'Applications.uploadAttachment': PERSON,
  'Channels.addGroupRecipient': GROUPS,
  'Channels.createGroupDM': GROUPS,
  'Channels.removeGroupRecipient': GROUPS,
  'Channels.sendSoundboardSound': IN_VOICE,
  'Guilds.actionJoinRequest': 'needs a request, as in test/e2e/screening.test.ts',
  'Guilds.addMember': PERSON,
  'Guilds.createScheduledEventException': EVENTS,
  'Guilds.deleteIntegration': 'removes a bot',
  'Guilds.deleteScheduledEventException': EVENTS,
  'Guilds.editCurrentUserVoiceState': IN_VOICE,
  'Guilds.editScheduledEventException': EVENTS,
  'Guilds.editWidget': WIDGET,
  'Guilds.editUserVoiceState': IN_VOICE,
  'Guilds.getScheduledEventExceptionUsers': EVENTS,
  'Guilds.getVanityURL': 'shown with eris',
  'Guilds.getVoiceState': IN_VOICE,
  'Guilds.getWidget': WIDGET,
  'Guilds.memberSearch': UNLISTED,
  'Miscellaneous.refreshAttachmentURLs': UNLISTED,
  'Users.leaveGuild': LEAVES,
  'Webhooks.executeSlack': 'reads the published answer, `ok`, as a message',
};

/** Methods of eris that are not called by its sweep, with the reason. */
export const ERIS_LEFT_OUT: Readonly<Record<string, string>> = {
  'Client.addGroupRecipient': GROUPS,
  'Client.addGuildDiscoverySubcategory': UNLISTED,
  'Client.addGuildMember': PERSON,
  'Client.createGroupChannel': GROUPS,
  'Client.createGuild': NO_GUILDS,
  'Client.createGuildFromTemplate': NO_GUILDS,
  'Client.createInteractionResponse': INTERACTION,
  'Client.deleteGuild': OWNER,
  'Client.deleteGuildDiscoverySubcategory': UNLISTED,
  'Client.deleteGuildIntegration': 'removes a bot',
  'Client.editCommandPermissions': PERSON,
  'Client.editGuildDiscovery': UNLISTED,
  'Client.editGuildMFALevel': OWNER,
  'Client.editGuildOnboarding': 'sends PATCH, where the public file has PUT',
  'Client.editGuildVoiceState': IN_VOICE,
  'Client.getCommandPermissions': 'a command without overwrites has none',
  'Client.getDiscoveryCategories': UNLISTED,
  'Client.getEmojiGuild': UNLISTED,
  'Client.getGuildDiscovery': UNLISTED,
  'Client.leaveGuild': LEAVES,
  'Client.removeGroupRecipient': GROUPS,
  'Client.syncGuildIntegration': UNLISTED,
  'Client.validateDiscoverySearchTerm': UNLISTED,
};

/** Methods of eris that ask for nothing, or speak over the gateway. */
export const ERIS_WITHOUT_REQUEST: ReadonlySet<string> = new Set([
  ...['connect', 'disconnect', 'editAFK', 'editStatus', 'getChannel', 'getGuildWidgetImageURL'],
  ...['joinVoiceChannel', 'leaveVoiceChannel', 'closeVoiceConnection', 'toString', 'toJSON'],
]);
