import type { Sql } from '../database/driver.ts';
import { foundation } from './0001_foundation.ts';
import { stages } from './0002_stages.ts';
import { oauth } from './0003_oauth.ts';
import { accounts } from './0004_accounts.ts';
import { identities } from './0005_identities.ts';
import { lobbies } from './0006_lobbies.ts';
import { relationships } from './0007_relationships.ts';
import { webhookEvents } from './0008_webhookevents.ts';
import { listings } from './0009_listings.ts';
import { cluster } from './0010_cluster.ts';
import { told } from './0011_told.ts';
import { idMarks } from './0012_idmarks.ts';
import { reach } from './0013_reach.ts';
import { temporary } from './0014_temporary.ts';
import { usernames } from './0015_usernames.ts';
import { nameEverybody, usernameKeysAgain } from './0016_usernamekeys.ts';
import { appCommands } from './0017_appcommands.ts';
import { webhooks } from './0019_webhooks.ts';
import { crossposts } from './0021_crossposts.ts';
import { interactions } from './0023_interactions.ts';
import { polls } from './0024_polls.ts';
import { expressions } from './0025_expressions.ts';
import { scheduledEvents } from './0026_scheduledevents.ts';
import { autoModeration } from './0027_automoderation.ts';
import { guildPages } from './0028_guildpages.ts';
import { threads } from './0029_threads.ts';
import { search } from './0030_search.ts';
import { premium } from './0033_premium.ts';
import { activities } from './0034_activities.ts';
import { groups } from './0035_groups.ts';
import { joinRequests } from './0036_joinrequests.ts';
import { orders } from './0037_orders.ts';
import { teams } from './0038_teams.ts';
import { guildTags } from './0039_guildtags.ts';
import { lobbyPages } from './0040_lobbypages.ts';
import { tagUpdates } from './0041_tagupdates.ts';
import { teamsOfUser } from './0042_teamsofuser.ts';
import { onboardingAnswers } from './0043_onboardinganswers.ts';
import { archiveTimes } from './0044_archivetimes.ts';
import { formerMembers } from './0045_formermembers.ts';
import { writerTransactions } from './0046_writertransactions.ts';
import { voice } from './0047_voice.ts';
import { lobbyVoice } from './0048_lobbyvoice.ts';

/** One step of the schema. A released step must never be edited: databases store its checksum. */
export interface Migration {
  /** Consecutive numbers from 1. */
  readonly version: number;
  readonly name: string;
  readonly sql: string;
  /** Runs in the same transaction what SQL cannot express. @returns lines for the operator. */
  readonly after?: (sql: Sql) => Promise<readonly string[]>;
}

export const MIGRATIONS: readonly Migration[] = [
  { version: 1, name: 'foundation', sql: foundation },
  { version: 2, name: 'stages', sql: stages },
  { version: 3, name: 'oauth', sql: oauth },
  { version: 4, name: 'accounts', sql: accounts },
  { version: 5, name: 'identities', sql: identities },
  { version: 6, name: 'lobbies', sql: lobbies },
  { version: 7, name: 'relationships', sql: relationships },
  { version: 8, name: 'webhook events', sql: webhookEvents },
  { version: 9, name: 'lobby listings', sql: listings },
  { version: 10, name: 'cluster', sql: cluster },
  { version: 11, name: 'told users', sql: told },
  { version: 12, name: 'id marks', sql: idMarks },
  { version: 13, name: 'reach', sql: reach },
  { version: 14, name: 'temporary members', sql: temporary },
  { version: 15, name: 'usernames', sql: usernames },
  { version: 16, name: 'username keys', sql: usernameKeysAgain, after: nameEverybody },
  { version: 17, name: 'application commands', sql: appCommands },
  { version: 19, name: 'webhooks', sql: webhooks },
  { version: 21, name: 'crossposts', sql: crossposts },
  { version: 23, name: 'interactions', sql: interactions },
  { version: 24, name: 'polls', sql: polls },
  { version: 25, name: 'expressions', sql: expressions },
  { version: 26, name: 'scheduled events', sql: scheduledEvents },
  { version: 27, name: 'auto moderation', sql: autoModeration },
  { version: 28, name: 'guild pages', sql: guildPages },
  { version: 29, name: 'threads', sql: threads },
  { version: 30, name: 'search', sql: search },
  { version: 33, name: 'premium apps', sql: premium },
  { version: 34, name: 'activities', sql: activities },
  { version: 35, name: 'group channels', sql: groups },
  { version: 36, name: 'join requests', sql: joinRequests },
  { version: 37, name: 'orders', sql: orders },
  { version: 38, name: 'teams', sql: teams },
  { version: 39, name: 'guild tags', sql: guildTags },
  { version: 40, name: 'lobby pages', sql: lobbyPages },
  { version: 41, name: 'tag updates', sql: tagUpdates },
  { version: 42, name: 'teams of a user', sql: teamsOfUser },
  { version: 43, name: 'onboarding answers', sql: onboardingAnswers },
  { version: 44, name: 'archive times', sql: archiveTimes },
  { version: 45, name: 'former members', sql: formerMembers },
  { version: 46, name: 'writer transactions', sql: writerTransactions },
  { version: 47, name: 'voice', sql: voice },
  { version: 48, name: 'lobby voice', sql: lobbyVoice },
];
