import { activityInstances, runningActivities } from './activityinstances.ts';
import { appCommands } from './appcommands.ts';
import { applicationEmojis } from './applicationemojis.ts';
import { applications, applicationsUnlisted } from './applications.ts';
import { audit } from './audit.ts';
import { auth } from './auth.ts';
import { authorizeRequests } from './authorizerequests.ts';
import { autoModeration } from './automoderation.ts';
import { bans } from './bans.ts';
import { calls } from './calls.ts';
import { channels } from './channels.ts';
import { commandIndexes } from './commandindexes.ts';
import { directMessages, directMessagesUnlisted } from './directmessages.ts';
import { emojis } from './emojis.ts';
import { entitlements, entitlementsUnlisted } from './entitlements.ts';
import { gateway } from './gateway.ts';
import { guilds, guildsUnlisted } from './guilds.ts';
import { guildSounds } from './guildsounds.ts';
import { identities } from './identities.ts';
import { incidents } from './incidents.ts';
import { integrations } from './integrations.ts';
import { interactions, interactionsUnlisted } from './interactions.ts';
import { invites, invitesUnlisted } from './invites.ts';
import { inviteTargets } from './invitetargets.ts';
import { joinRequests, screeningUnlisted } from './joinrequests.ts';
import { lobbies, lobbiesUnlisted } from './lobbies.ts';
import { lobbyExtensions } from './lobbyextensions.ts';
import { members, membersUnlisted } from './members.ts';
import { messages } from './messages.ts';
import { oauth2, oauth2Unlisted } from './oauth2.ts';
import { onboarding, onboardingUnlisted } from './onboarding.ts';
import { polls, pollsUnlisted } from './polls.ts';
import { provisional, provisionalUnlisted } from './provisional.ts';
import { prune } from './prune.ts';
import { reactions } from './reactions.ts';
import { relationships } from './relationships.ts';
import { roleConnections } from './roleconnections.ts';
import { roles } from './roles.ts';
import { scheduledEvents } from './scheduledevents.ts';
import { scheduledEventsUnlisted, scheduledEventUsers } from './scheduledevents.users.ts';
import { search } from './search.ts';
import { skus } from './skus.ts';
import { soundboard } from './soundboard.ts';
import { stageInstances } from './stageinstances.ts';
import { stickers } from './stickers.ts';
import { tagsUnlisted } from './tags.ts';
import { teamsUnlisted } from './teams.ts';
import { templates, templatesUnlisted } from './templates.ts';
import { threads, threadsUnlisted } from './threads.ts';
import { users } from './users.ts';
import { userSettings } from './usersettings.ts';
import { vanity, vanityUnlisted } from './vanity.ts';
import { voice } from './voice.ts';
import { voiceChannels } from './voicechannels.ts';
import { webhooks } from './webhooks.ts';
import { welcomeScreen } from './welcomescreen.ts';
import { widget } from './widget.ts';

/** Every implemented operation of the platform's OpenAPI, by operationId. */
export const operations = {
  ...gateway,
  ...applications,
  ...appCommands,
  ...users,
  ...guilds,
  ...channels,
  ...threads,
  ...search,
  ...roles,
  ...emojis,
  ...applicationEmojis,
  ...entitlements,
  ...stickers,
  ...members,
  ...bans,
  ...joinRequests,
  ...prune,
  ...welcomeScreen,
  ...widget,
  ...incidents,
  ...templates,
  ...onboarding,
  ...invites,
  ...inviteTargets,
  ...vanity,
  ...messages,
  ...reactions,
  ...polls,
  ...audit,
  ...autoModeration,
  ...stageInstances,
  ...scheduledEvents,
  ...scheduledEventUsers,
  ...soundboard,
  ...guildSounds,
  ...voiceChannels,
  ...voice,
  ...oauth2,
  ...provisional,
  ...lobbies,
  ...directMessages,
  ...roleConnections,
  ...webhooks,
  ...activityInstances,
  ...interactions,
  ...integrations,
};

/** Implemented operations that the platform's OpenAPI does not list. */
export const unlisted = {
  ...applicationsUnlisted,
  ...entitlementsUnlisted,
  ...skus,
  ...guildsUnlisted,
  ...templatesUnlisted,
  ...invitesUnlisted,
  ...membersUnlisted,
  ...threadsUnlisted,
  ...screeningUnlisted,
  ...vanityUnlisted,
  ...tagsUnlisted,
  ...teamsUnlisted,
  ...onboardingUnlisted,
  ...scheduledEventsUnlisted,
  ...calls,
  ...auth,
  ...oauth2Unlisted,
  ...provisionalUnlisted,
  ...lobbiesUnlisted,
  ...lobbyExtensions,
  ...relationships,
  ...directMessagesUnlisted,
  ...pollsUnlisted,
  ...identities,
  ...authorizeRequests,
  ...userSettings,
  ...runningActivities,
  ...interactionsUnlisted,
  ...commandIndexes,
};
