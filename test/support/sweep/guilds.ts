import type { AuditLogEvent } from 'discord.js';
import { pngOf } from '../media.ts';
import type { Swept } from './guildthings.ts';
import type { Did } from './record.ts';

export async function sweepGuild({ client, guild, text }: Swept, did: Did): Promise<void> {
  await did('GuildManager.fetch', () => client.guilds.fetch({ guild: guild.id, force: true }));
  await did('Guild.fetch', () => guild.fetch());
  await did('Guild.edit', () => guild.edit({ description: 'Ships' }));
  await did('Guild.fetchOwner', () => guild.fetchOwner());
  await did('Guild.fetchPreview', () => guild.fetchPreview());
  await did('Client.fetchGuildPreview', () => client.fetchGuildPreview(guild.id));
  await did('Guild.fetchIntegrations', () => guild.fetchIntegrations());
  await did('Guild.fetchWebhooks', () => guild.fetchWebhooks());
  await did('Guild.fetchAuditLogs', () => guild.fetchAuditLogs<AuditLogEvent.GuildUpdate>({ limit: 5 }));
  await did('Guild.setIncidentActions', () =>
    guild.setIncidentActions({ invitesDisabledUntil: new Date(Date.now() + 60_000) }),
  );
  await did('GuildManager.setIncidentActions', () =>
    client.guilds.setIncidentActions(guild, { invitesDisabledUntil: null, dmsDisabledUntil: null }),
  );
  await did('Guild.setWidgetSettings', () => guild.setWidgetSettings({ enabled: true, channel: text }));
  await did('Guild.fetchWidgetSettings', () => guild.fetchWidgetSettings());
  await did('Guild.fetchWidget', () => guild.fetchWidget());
  await did('Client.fetchGuildWidget', () => client.fetchGuildWidget(guild.id));
  await did('Client.fetchVoiceRegions', () => client.fetchVoiceRegions());
}

export async function sweepGuildSettings({ guild, text }: Swept, did: Did): Promise<void> {
  await did('Guild.setName', () => guild.setName('Fleet'));
  await did('Guild.setIcon', () => guild.setIcon(pngOf(64, 64)));
  await did('Guild.setVerificationLevel', () => guild.setVerificationLevel(1));
  await did('Guild.setExplicitContentFilter', () => guild.setExplicitContentFilter(1));
  await did('Guild.setDefaultMessageNotifications', () => guild.setDefaultMessageNotifications(1));
  await did('Guild.setSystemChannel', () => guild.setSystemChannel(text));
  await did('Guild.setSystemChannelFlags', () => guild.setSystemChannelFlags(['SuppressJoinNotifications']));
  await did('Guild.setAFKTimeout', () => guild.setAFKTimeout(300));
  await did('Guild.setAFKChannel', () => guild.setAFKChannel(null));
  await did('Guild.setPreferredLocale', () => guild.setPreferredLocale('en-US' as never));
  await did('Guild.setRulesChannel', () => guild.setRulesChannel(text));
  await did('Guild.setPublicUpdatesChannel', () => guild.setPublicUpdatesChannel(text));
  await did('Guild.setSafetyAlertsChannel', () => guild.setSafetyAlertsChannel(text));
  await did('Guild.setPremiumProgressBarEnabled', () => guild.setPremiumProgressBarEnabled(false));
}

export async function sweepCommunity({ client, guild, text }: Swept, did: Did): Promise<void> {
  await guild.edit({ features: ['COMMUNITY'], rulesChannel: text, publicUpdatesChannel: text });
  await did('Guild.editWelcomeScreen', () =>
    guild.editWelcomeScreen({
      ...{ enabled: true, description: 'Welcome aboard' },
      welcomeChannels: [{ channel: text.id, description: 'Start here' }],
    }),
  );
  await did('Guild.fetchWelcomeScreen', () => guild.fetchWelcomeScreen());
  await did('Guild.editOnboarding', () => guild.editOnboarding({ enabled: false, defaultChannels: [text] }));
  await did('Guild.fetchOnboarding', () => guild.fetchOnboarding());
  const template = await did('Guild.createTemplate', () => guild.createTemplate('Fleet', 'Ships'));
  await did('Guild.fetchTemplates', () => guild.fetchTemplates());
  await did('Client.fetchGuildTemplate', () => client.fetchGuildTemplate(template.code));
  await did('GuildTemplate.edit', () => template.edit({ name: 'Squadron' }));
  await did('GuildTemplate.sync', () => template.sync());
  await did('GuildTemplate.delete', () => template.delete());
  await did('Guild.disableInvites', () => guild.disableInvites());
}

export async function sweepApplication({ client, guild }: Swept, did: Did): Promise<void> {
  const { application } = client;
  const { commands } = application;
  await did('ClientApplication.fetch', () => application.fetch());
  await did('ClientApplication.edit', () => application.edit({ description: 'A bot' }));
  const records = [{ type: 2, key: 'wins', name: 'Wins', description: 'Games won' }];
  await did('ClientApplication.editRoleConnectionMetadataRecords', () =>
    application.editRoleConnectionMetadataRecords(records),
  );
  await did('ClientApplication.fetchRoleConnectionMetadataRecords', () =>
    application.fetchRoleConnectionMetadataRecords(),
  );
  await did('ClientApplication.fetchSKUs', () => application.fetchSKUs());
  const command = await did('ApplicationCommandManager.create', () =>
    commands.create({ name: 'sail', description: 'Sets sail' }, guild.id),
  );
  await did('ApplicationCommandManager.fetch', () => commands.fetch({ guildId: guild.id }));
  await did('ApplicationCommandManager.edit', () =>
    commands.edit(command, { description: 'Sets all sails' }, guild.id),
  );
  await did('ApplicationCommandPermissionsManager.fetch', () =>
    commands.permissions.fetch({ guild: guild.id }),
  );
  await did('ApplicationCommandManager.delete', () => commands.delete(command, guild.id));
  await did('ApplicationCommandManager.set', () =>
    commands.set([{ name: 'moor', description: 'Moors' }], guild.id),
  );
}
