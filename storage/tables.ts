import type { AccountFacts } from '../engine/account/facts.ts';
import type { ActivityFacts } from '../engine/activity/instance.ts';
import type { AppCommandFacts } from '../engine/appcommand/appcommand.ts';
import type { ApplicationEmojiFacts } from '../engine/application/emojis.ts';
import type { TeamFacts } from '../engine/application/teams.ts';
import type { WebhookEventFacts } from '../engine/application/webhookevents.ts';
import type {
  EphemeralFacts,
  GuildActivityFacts,
  GuildFacts,
  GuildInteractionFacts,
} from '../engine/guild/facts.ts';
import type { InteractionFacts } from '../engine/interaction/interaction.ts';
import type { LobbyFacts } from '../engine/lobby/facts.ts';
import type { OAuthFacts } from '../engine/oauth/facts.ts';
import type { PremiumFacts } from '../engine/premium/premium.ts';
import type { CallFacts } from '../engine/privatechannel/calls.ts';
import type { IdentityFacts } from '../engine/provisional/facts.ts';
import type { SocialFacts } from '../engine/social/facts.ts';
import type { ApplicationFacts, PrivateChannelFacts, UserFacts } from '../engine/user/facts.ts';
import { accountStatements } from './account/accounts.ts';
import { activityStatements } from './activity/activities.ts';
import { appCommandStatements } from './application/appcommands.ts';
import { applicationStatements } from './application/applications.ts';
import { applicationEmojiStatements } from './application/emojis.ts';
import { teamStatements } from './application/teams.ts';
import { webhookEventStatements } from './application/webhookevents.ts';
import { none, type Statement, type StatementTable } from './database/statement.ts';
import { auditStatements } from './guild/audit.ts';
import { autoModerationStatements } from './guild/automoderation.ts';
import { banStatements } from './guild/bans.ts';
import { channelStatements } from './guild/channels.ts';
import { expressionStatements } from './guild/expressions.ts';
import { infoStatements } from './guild/guilds.ts';
import { inviteStatements } from './guild/invites.ts';
import { joinRequestStatements } from './guild/joinrequests.ts';
import { memberStatements } from './guild/members.ts';
import { onboardingAnswerStatements } from './guild/onboardinganswers.ts';
import { pageStatements } from './guild/pages.ts';
import { roleStatements } from './guild/roles.ts';
import { stageStatements } from './guild/stages.ts';
import { voiceStatements } from './guild/voice.ts';
import { identityStatements } from './identity/identities.ts';
import { interactionStatements } from './interaction/interactions.ts';
import { lobbyStatements } from './lobby/lobbies.ts';
import { messageStatements } from './message/messages.ts';
import { pollStatements } from './message/polls.ts';
import { reactionStatements } from './message/reactions.ts';
import { oauthStatements } from './oauth/oauth.ts';
import { premiumStatements } from './premium/premium.ts';
import { privateChannelStatements } from './privatechannel/privatechannels.ts';
import { socialStatements } from './relationship/relationships.ts';
import { scheduledEventStatements } from './scheduledevent/scheduledevents.ts';
import { threadStatements } from './thread/threads.ts';
import { userStatements } from './user/users.ts';
import { webhookStatements } from './webhook/webhooks.ts';

type AllFacts = GuildFacts &
  UserFacts &
  ApplicationFacts &
  PrivateChannelFacts &
  CallFacts &
  OAuthFacts &
  AccountFacts &
  IdentityFacts &
  LobbyFacts &
  SocialFacts &
  WebhookEventFacts &
  AppCommandFacts &
  ApplicationEmojiFacts &
  TeamFacts &
  ActivityFacts &
  PremiumFacts &
  InteractionFacts;

const ephemeral: StatementTable<
  EphemeralFacts & Pick<GuildActivityFacts, 'activityShown'> & GuildInteractionFacts
> = {
  activityShown: none,
  interactionSent: none,
  integrationChanged: none,
  commandPermissionsChanged: none,
  commandIndexChanged: none,
  typingStarted: none,
  presenceChanged: none,
  presenceReceived: none,
  voiceStateRepeated: none,
  soundPlayed: none,
};

/** The statements for every kind of fact; a missing kind does not compile. */
const TABLE: StatementTable<AllFacts> = {
  ...infoStatements,
  ...channelStatements,
  ...threadStatements,
  ...roleStatements,
  ...memberStatements,
  ...banStatements,
  ...joinRequestStatements,
  ...onboardingAnswerStatements,
  ...inviteStatements,
  ...webhookStatements,
  ...messageStatements,
  ...reactionStatements,
  ...pollStatements,
  ...auditStatements,
  ...stageStatements,
  ...voiceStatements,
  ...scheduledEventStatements,
  ...autoModerationStatements,
  ...pageStatements,
  ...expressionStatements,
  ...ephemeral,
  ...userStatements,
  ...applicationStatements,
  ...privateChannelStatements,
  ...oauthStatements,
  ...accountStatements,
  ...identityStatements,
  ...lobbyStatements,
  ...socialStatements,
  ...webhookEventStatements,
  ...appCommandStatements,
  ...applicationEmojiStatements,
  ...teamStatements,
  ...activityStatements,
  ...premiumStatements,
  ...interactionStatements,
};

/**
 * The statements of a fact, by its type. A fact's type names its row of the table; TypeScript cannot follow that through the
 * union.
 */
export const STATEMENTS = TABLE as Readonly<
  Record<string, (ownerId: string, fact: object) => readonly Statement[]>
>;
