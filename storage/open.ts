import type { ApplicationId } from '../protocol/ids.ts';
import { accountStore } from './account/accounts.ts';
import { activityStore } from './activity/activities.ts';
import { appCommandStore } from './application/appcommands.ts';
import { applicationStore } from './application/applications.ts';
import { teamStore } from './application/teams.ts';
import { webhookEventStore } from './application/webhookevents.ts';
import { LostFiles } from './blob/files.ts';
import { clusterStore } from './cluster/cluster.ts';
import { counted, type Driver, messageOf, type Sql } from './database/driver.ts';
import { databaseOf, markDatabaseMade, refuseLostDatabase } from './database/lostdatabase.ts';
import { Patience, withPatientReads } from './database/patience.ts';
import type { FirstOpening } from './database/pglite.ts';
import { directoryStore, settingStore } from './directory.ts';
import { auditLog } from './guild/audit.ts';
import { bans, bansOf } from './guild/bans.ts';
import { expressionStore } from './guild/expressions.ts';
import { formerMembersOf } from './guild/formermembers.ts';
import { loadGuild } from './guild/guilds.ts';
import { inactiveMembers } from './guild/inactive.ts';
import { invites, invitesByCode } from './guild/invites.ts';
import { joinRequests, joinRequestsOf, joinRequestUser, pendingMembers } from './guild/joinrequests.ts';
import { members, membersAfter, membersByPrefix } from './guild/members.ts';
import { onboardingAnswersOf } from './guild/onboardinganswers.ts';
import type { GuildStore } from './guild/port.ts';
import { roleMemberCounts } from './guild/roles.ts';
import { tagStore } from './guild/tagupdates.ts';
import { inVoice } from './guild/voice.ts';
import { identityStore } from './identity/identities.ts';
import { interactionStore } from './interaction/interactions.ts';
import { lobbyStore } from './lobby/lobbies.ts';
import {
  authoredSince,
  getMessages,
  lastOfUserMs,
  listMessages,
  pins,
  pinTimes,
} from './message/messages.ts';
import { duePolls, forgetPoll, nextPollMs, voters, votesOf } from './message/polls.ts';
import type { MessageStore } from './message/port.ts';
import { reactionsOf, reactors } from './message/reactions.ts';
import { searchStore } from './message/search.ts';
import { migrate } from './migrate.ts';
import { oauthStore } from './oauth/oauth.ts';
import type { Storage } from './ports.ts';
import { premiumStore } from './premium/premium.ts';
import { DATABASES, LOGGED } from './prepare.ts';
import { privateChannelStore } from './privatechannel/privatechannels.ts';
import { openPurge, type Purge } from './purge.ts';
import { socialStore } from './relationship/relationships.ts';
import { scheduledEventStore } from './scheduledevent/scheduledevents.ts';
import { threadStore } from './thread/threads.ts';
import { userStore } from './user/users.ts';
import { webhookStore } from './webhook/webhooks.ts';
import { IdMarks, openWriter, type WriterOptions } from './writer.ts';

export interface DriverOptions {
  /** URL of a PostgreSQL server; takes precedence over `directory`. */
  readonly databaseUrl?: string;
  /** Directory of the embedded database. Without it and without a server the database is in memory. */
  readonly directory?: string;
  /** A server's data directory, which contains the embedded database; takes precedence over `directory`. */
  readonly dataDirectory?: string;
  /** Most connections to a PostgreSQL server. */
  readonly connectionsMax?: number;
}

interface StorageOptions extends DriverOptions {
  readonly writer?: WriterOptions;
  /** Called with the operator's report of an upgrade, once it is durable. */
  readonly onMigrated?: (report: readonly string[]) => void;
  /** Called when a new embedded database must be created, because none is prepared. */
  readonly onUnprepared?: (reason: string) => void;
}

/**
 * Opens the database; a new one is empty. Loads only the driver that it uses.
 *
 * @throws StorageFault when that fails.
 */
export async function openDriver(options: DriverOptions = {}, opening?: FirstOpening): Promise<Driver> {
  const { databaseUrl, directory, dataDirectory, connectionsMax } = options;
  if (databaseUrl !== undefined) {
    const { openPostgres } = await import('./database/postgres.ts');
    return openPostgres({ databaseUrl, ...(connectionsMax !== undefined && { connectionsMax }) });
  }
  if (dataDirectory !== undefined) return openInDataDirectory(dataDirectory, opening);
  const { openPglite } = await import('./database/pglite.ts');
  return openPglite(directory, opening);
}

async function openInDataDirectory(dataDirectory: string, opening?: FirstOpening): Promise<Driver> {
  await refuseLostDatabase(dataDirectory);
  const { openPglite } = await import('./database/pglite.ts');
  const driver = await openPglite(databaseOf(dataDirectory), opening);
  try {
    await markDatabaseMade(dataDirectory);
    return driver;
  } catch (error) {
    await driver.close();
    throw error;
  }
}

/** Turns `read(sql, a, b)` into `method(a, b)`. */
const on =
  (sql: Sql) =>
  <Args extends readonly unknown[], Value>(read: (sql: Sql, ...args: Args) => Value) =>
  (...args: Args): Value =>
    read(sql, ...args);

function guildStore(sql: Sql): GuildStore {
  const read = on(sql);
  return {
    load: read(loadGuild),
    members: read(members),
    membersAfter: read(membersAfter),
    membersByPrefix: read(membersByPrefix),
    inactiveMembers: read(inactiveMembers),
    roleMemberCounts: read(roleMemberCounts),
    inVoice: read(inVoice),
    formerMembersOf: read(formerMembersOf),
    bans: read(bans),
    bansOf: read(bansOf),
    joinRequests: read(joinRequests),
    joinRequestsOf: read(joinRequestsOf),
    joinRequestUser: read(joinRequestUser),
    onboardingAnswersOf: read(onboardingAnswersOf),
    pendingMembers: read(pendingMembers),
    invites: read(invites),
    invitesByCode: read(invitesByCode),
    auditLog: read(auditLog),
  };
}

function messageStore(sql: Sql): MessageStore {
  const read = on(sql);
  return {
    list: read(listMessages),
    get: read(getMessages),
    reactionsOf: read(reactionsOf),
    reactors: read(reactors),
    votesOf: read(votesOf),
    voters: read(voters),
    duePolls: read(duePolls),
    nextPollMs: read(nextPollMs),
    forgetPoll: read(forgetPoll),
    pins: read(pins),
    pinTimes: read(pinTimes),
    authoredSince: read(authoredSince),
    lastOfUserMs: read(lastOfUserMs),
  };
}

/** Creates the stores over an open driver with an up-to-date schema. Closing them closes the driver. */
export function storageOver(
  uncounted: Driver,
  options: WriterOptions = {},
): Storage & { readonly purge: Purge } {
  const driver = counted(uncounted);
  const patience = new Patience(options.retry ?? null);
  const patient = withPatientReads(driver, patience);
  const files = new LostFiles();
  const marks = new IdMarks();
  const purge = openPurge(driver, files);
  purge.wake();
  const queued = new Set<(ids: readonly ApplicationId[]) => void>();
  const writer = openWriter(driver, {
    onFilesGone: (gone) => void files.notify(gone),
    ...options,
    marks,
    onMessagesLeft: () => purge.wake(),
    onEventsQueued: (ids) => {
      for (const listener of queued) listener(ids);
    },
  });
  return {
    ...{ purge, writer },
    guilds: guildStore(patient),
    messages: messageStore(patient),
    users: userStore(patient),
    applications: applicationStore(patient),
    teams: teamStore(patient),
    privateChannels: privateChannelStore(patient),
    oauth: oauthStore(patient),
    accounts: accountStore(patient),
    identities: identityStore(patient),
    lobbies: lobbyStore(patient),
    relationships: socialStore(patient),
    webhookEvents: webhookEventStore(patient),
    appCommands: appCommandStore(patient),
    premium: premiumStore(patient),
    expressions: expressionStore(patient),
    webhooks: webhookStore(patient),
    scheduledEvents: scheduledEventStore(patient),
    threads: threadStore(patient),
    search: searchStore(patient),
    tags: tagStore(patient),
    activities: activityStore(patient),
    interactions: interactionStore(patient, files),
    onFilesGone: (listener) => files.listen(listener),
    onEventsQueued: (listener) => void queued.add(listener),
    directory: directoryStore(patient),
    cluster: clusterStore(patient, marks),
    settings: settingStore(patient),
    copyDatabase: () => driver.copy(),
    followIds: (source) => marks.follow(source, driver),
    unready: () =>
      driver.query('SELECT 1').then(
        () => null,
        (error) => `The database does not answer: ${messageOf(error)}`,
      ),
    close: async () => {
      patience.end();
      await purge.close();
      // Callers that await a result may make another request afterwards; close only when none does.
      await driver.idle();
      await writer.flush().catch(() => undefined);
      await driver.idle();
      await writer.close();
      await files.settled();
      await driver.close();
    },
  };
}

/**
 * Opens the database and brings its schema up to date.
 *
 * @throws StorageFault when the database does not open, is in use, or is newer than the program.
 */
export async function openMigrated(options: Omit<StorageOptions, 'writer'> = {}): Promise<Driver> {
  const { onUnprepared, onMigrated } = options;
  const driver = await openDriver(options, { contents: DATABASES, ...(onUnprepared && { onUnprepared }) });
  try {
    const report = await migrate(driver);
    if (report.length > 0) onMigrated?.(report);
    if (driver.kind === 'pglite') await driver.script(LOGGED);
    return driver;
  } catch (error) {
    await driver.close();
    throw error;
  }
}

/**
 * Opens the database, brings its schema up to date, and returns all stores and the writer.
 *
 * @throws StorageFault when the database does not open, is in use, or is newer than the program.
 */
export async function openStorage(options: StorageOptions = {}): Promise<Storage> {
  return storageOver(await openMigrated(options), options.writer);
}
