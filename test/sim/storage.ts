import type { Config } from '../../config/config.ts';
import type { MessagePage } from '../../engine/channel/recent.ts';
import type { Identity } from '../../engine/provisional/identity.ts';
import type { RelationType } from '../../engine/social/facts.ts';
import { type ChannelId, compareIds } from '../../protocol/ids.ts';
import type { ClusterStore } from '../../storage/cluster/port.ts';
import { type BatchStatement, type Driver, StorageFault } from '../../storage/database/driver.ts';
import { Flushes } from '../../storage/flushes.ts';
import type { Commit, Storage, Writer } from '../../storage/ports.ts';
import { Transactions } from '../../storage/transactions.ts';
import { identityKey, NOTHING_HELD } from './accountrows.ts';
import { hits } from './bounds.ts';
import { copied, Stale } from './database.ts';
import { commandOf } from './founding.ts';
import { lobbyStore } from './storage.lobbies.ts';
import { type DatabaseLine, storeOf } from './storeof.ts';

/** Why a commit is refused before anything of it is written. */
export const QUEUE_FULL = 'The commit queue is full.';

type WriterBounds = Pick<Config, 'commit_batch_max' | 'commit_depth_max' | 'commit_retry_ms'>;

interface Entry {
  readonly commit: Commit;
  readonly row: Pick<Commit, 'ownerId' | 'facts' | 'fence' | 'record'>;
  fault: Error | null;
}

const faultOf = (error: unknown): Error => new StorageFault((error as Error).message);

/**
 * As `storage/writer.ts` promises: groups, in order, and after a fault the same owner's later commits fault too. Groups are
 * numbered and repeated, and flushes answered, by the server's own code.
 */
class SimWriter implements Writer {
  readonly #line: DatabaseLine;
  readonly #staleFault: (stale: Stale) => Error;
  #queue: Entry[] = [];
  #group: Entry[] = [];
  readonly #flushes: Flushes;
  readonly #transactions: Transactions;
  /** The fault of each entry of the last transaction. */
  #faults: (Error | null)[] = [];
  #handedIn = 0;
  #settled = 0;
  #running = false;
  readonly #bounds: WriterBounds;

  constructor(line: DatabaseLine, staleFault: (stale: Stale) => Error, bounds: WriterBounds) {
    this.#line = line;
    this.#bounds = bounds;
    this.#staleFault = staleFault;
    this.#transactions = new Transactions(this.#driver(), line.retry(bounds.commit_retry_ms));
    this.#flushes = new Flushes(this.#transactions, faultOf);
  }

  /** Writes the live entries of the group as one numbered transaction. */
  #driver(): Driver {
    const batch = async <Row>([numbered]: readonly BatchStatement[]): Promise<Row[][]> => {
      const [writer = '', number] = numbered?.values ?? [];
      const live = this.#live();
      await this.#line.ask((nowMs) => {
        this.#line.database.takeNumber(writer, Number(number));
        this.#faults = this.#write(live, nowMs);
      });
      return [[]];
    };
    return { kind: 'postgres', batch } as Partial<Driver> as Driver;
  }

  #live(): Entry[] {
    return this.#group.filter(({ fault }) => fault === null);
  }

  get depth(): number {
    return this.#handedIn - this.#settled;
  }

  commit(commit: Commit): void {
    const { ownerId, facts, fence, record } = commit;
    const row = copied({ ownerId, facts, ...(fence && { fence }), ...(record && { record }) });
    const faulted = [...this.#group, ...this.#queue].some(
      (entry) => entry.fault && entry.row.ownerId === ownerId,
    );
    const isFull = this.depth >= this.#bounds.commit_depth_max;
    if (isFull) hits.add('commit_depth_max');
    const fault =
      faulted || isFull
        ? new StorageFault(isFull ? QUEUE_FULL : 'An earlier commit of the same owner failed.')
        : null;
    this.#handedIn += 1;
    this.#queue.push({ commit, row, fault });
    this.#start();
  }

  flush(): Promise<void> {
    if (this.depth === 0 && !this.#transactions.isUnresolved) return Promise.resolve();
    this.#start();
    return this.#flushes.add(this.#handedIn);
  }

  #start(): void {
    if (this.#running) return;
    this.#running = true;
    queueMicrotask(() => void this.#run());
  }

  async #run(): Promise<void> {
    while (this.#queue.length > 0 || this.#flushes.size > 0) {
      if (this.#queue.length === 0) {
        await this.#flushes.resolve();
        continue;
      }
      if (this.#queue.length > this.#bounds.commit_batch_max) hits.add('commit_batch_max');
      this.#group = this.#queue.splice(0, this.#bounds.commit_batch_max);
      const live = this.#live();
      try {
        if (live.length > 0) await this.#transactions.run([]);
        for (const [at, fault] of this.#faults.splice(0).entries())
          if (fault) this.#fail(live[at] as Entry, fault);
      } catch (fault) {
        hits.add('commit_retry_ms');
        for (const entry of live) this.#fail(entry, faultOf(fault));
      }
      while (this.#group.length > 0) this.#settle(this.#group[0] as Entry);
    }
    this.#running = false;
  }

  #write(entries: readonly Entry[], nowMs: number): (Error | null)[] {
    const failed = new Set<string>();
    return entries.map(({ row }) => {
      if (failed.has(row.ownerId)) return new StorageFault('An earlier commit of the same owner failed.');
      try {
        this.#line.database.commit(row, this.#line.shard, nowMs);
        return null;
      } catch (error) {
        failed.add(row.ownerId);
        return error instanceof Stale ? this.#staleFault(error) : (error as Error);
      }
    });
  }

  #fail(entry: Entry, fault: Error): void {
    for (const each of [...this.#group, ...this.#queue])
      if (each.row.ownerId === entry.row.ownerId && (each === entry || !this.#group.includes(each)))
        each.fault ??= fault;
  }

  #settle(entry: Entry): void {
    this.#settled += 1;
    entry.commit.done(entry.fault);
    this.#group.shift();
    this.#flushes.settled(this.#settled);
  }
}

const never = () => [];

const userStore = (line: DatabaseLine) => {
  const { database } = line;
  return storeOf<Storage['users']>(line, 'users', {
    get: (ids) => ids.flatMap((id) => database.users.get(id) ?? []),
    guildIds: (id) => [...(database.memberships.get(id) ?? [])].sort() as never,
    ...{ temporaryGuilds: never, temporaryUsers: never },
    ownedGuildCount: () => 0,
    tokens: (ids) => ids.flatMap((id) => database.tokens.get(id) ?? []),
  });
};

const expressionStore = (line: DatabaseLine) =>
  storeOf<Storage['expressions']>(line, 'expressions', { owner: () => null, ofApplication: never });

const interactionStore = (line: DatabaseLine) =>
  storeOf<Storage['interactions']>(line, 'interactions', {
    get: (ownerId, id) => {
      const found = line.database.interactions.get(id);
      return found?.ownerId === ownerId ? found : null;
    },
    since: (after, limit) =>
      [...line.database.interactions.values()]
        .filter(({ id }) => BigInt(id) > BigInt(after))
        .sort((a, b) => (BigInt(a.id) < BigInt(b.id) ? -1 : 1))
        .slice(0, limit),
    ephemeral: () => null,
    end: () => ({ interactions: [], messages: [] }),
  });

const scheduledEventStore = (line: DatabaseLine) =>
  storeOf<Storage['scheduledEvents']>(line, 'scheduledEvents', {
    rsvps: never,
    due: never,
    nextDueMs: () => null,
  });

const threadStore = (line: DatabaseLine) =>
  storeOf<Storage['threads']>(line, 'threads', {
    get: (guildId, ids) =>
      ids.flatMap((id) => {
        const record = line.database.guilds.get(guildId)?.threads.get(id);
        return record ? [{ thread: record.thread, members: [...record.members.values()] }] : [];
      }),
    archived: never,
    search: () => ({ found: [], total: 0 }),
    due: never,
    nextDueMs: () => null,
  });

const teamStore = (line: DatabaseLine) => storeOf<Storage['teams']>(line, 'teams', { get: () => null });

const premiumStore = (line: DatabaseLine) =>
  storeOf<Storage['premium']>(line, 'premium', {
    ...{ due: never, skus: never, nextDueMs: () => null, forgetOrders: () => 0, skusWithPerks: never },
  });

const oauthStore = (line: DatabaseLine) =>
  storeOf<Storage['oauth']>(line, 'oauth', {
    holdings: (userIds) => {
      const { holdings } = line.database;
      return new Map(userIds.map((id) => [id, holdings.get(id) ?? NOTHING_HELD]));
    },
  });

const identityStore = (line: DatabaseLine) => {
  const { identities, moves, users } = line.database;
  const those = (is: (identity: Identity) => boolean) => [...identities.values()].filter(is);
  const stored = (identity: Identity) => ({ identity, profile: null });
  return storeOf<Storage['identities']>(line, 'identities', {
    get: (applicationId, external) => {
      const identity = identities.get(identityKey(applicationId, external));
      return identity ? stored(identity) : null;
    },
    ofUsers: (applicationId, userIds) =>
      those((each) => each.applicationId === applicationId && userIds.includes(each.userId))
        .sort((a, b) => compareIds(a.userId, b.userId))
        .map(stored),
    ofUser: (userId) => those((each) => each.userId === userId),
    merges: () => [...moves.values()],
    ...{ parentOf: () => null, childrenOf: never, bannedUntil: () => undefined },
    usernameTaken: (username) => [...users.values()].some((user) => user.username === username),
  });
};

/** The Storage port of one process over the database of the simulation. */
export function simStorage(
  line: DatabaseLine,
  staleFault: (stale: Stale) => Error,
  bounds: WriterBounds,
): Storage {
  const { database } = line;
  return {
    writer: new SimWriter(line, staleFault, bounds),
    // All processes of a simulation have one clock, which never goes back.
    ...{ followIds: () => Promise.resolve(), copyDatabase: async () => null },
    guilds: guildStore(line),
    messages: messageStore(line),
    ...{ users: userStore(line), tags: storeOf<Storage['tags']>(line, 'tags', { updates: never }) },
    applications: storeOf<Storage['applications']>(line, 'applications', {
      get: (id) => database.applications.get(id) ?? null,
      byBot: (botId) => [...database.applications.values()].find(({ bot_id }) => bot_id === botId) ?? null,
    }),
    ...{ teams: teamStore(line), privateChannels: privateStore(line) },
    relationships: relationshipStore(line),
    accounts: storeOf<Storage['accounts']>(line, 'accounts', { get: () => null, signIns: never }),
    identities: identityStore(line),
    oauth: oauthStore(line),
    lobbies: lobbyStore(line),
    webhookEvents: storeOf<Storage['webhookEvents']>(line, 'webhookEvents', {
      count: () => 0,
      waiting: never,
      expire: () => undefined,
    }),
    appCommands: storeOf<Storage['appCommands']>(line, 'appCommands', {
      get: (applicationId) => commandOf(applicationId),
      permissions: never,
    }),
    activities: storeOf<Storage['activities']>(line, 'activities', { ofOwner: never, owners: never }),
    premium: premiumStore(line),
    interactions: interactionStore(line),
    scheduledEvents: scheduledEventStore(line),
    threads: threadStore(line),
    search: storeOf<Storage['search']>(line, 'search', { indexSome: () => 0 }),
    expressions: expressionStore(line),
    webhooks: storeOf<Storage['webhooks']>(line, 'webhooks', { ofGuild: never, crossposts: never }),
    directory: storeOf<Storage['directory']>(line, 'directory', {
      channelOwner: (id) => {
        const guildId = database.channelGuilds.get(id);
        if (guildId) return { guildId } as never;
        return database.privateChannels.has(id) ? { private: true } : null;
      },
    }),
    cluster: clusterStore(line, staleFault),
    settings: storeOf<Storage['settings']>(line, 'settings', {
      get: (key) => database.settings.get(key) ?? null,
      putIfAbsent: (key, value) => {
        if (!database.settings.has(key)) database.settings.set(key, value);
        return database.settings.get(key) ?? value;
      },
    }),
    onFilesGone: () => undefined,
    onEventsQueued: () => undefined,
    unready: async () => null,
    close: async () => undefined,
  };
}

function relationshipStore(line: DatabaseLine): Storage['relationships'] {
  const { database } = line;
  return storeOf<Storage['relationships']>(line, 'relationships', {
    of: (userId) => [...database.relations.values()].filter((each) => each.userId === userId),
    towards: (userId) => [...database.relations.values()].filter(({ peerId }) => peerId === userId),
    among: (ids) =>
      [...database.relations.values()].filter(
        ({ userId, peerId }) => ids.includes(userId) && ids.includes(peerId),
      ),
    acquaintance: (from, to) => {
      const [own, theirs] = [database.memberships.get(from), database.memberships.get(to)];
      const sharesGuild = [...(own ?? [])].some((id) => theirs?.has(id));
      return { policy: null, sharesGuild, isInstalled: false };
    },
    counts: (userId, applicationId) => {
      const counts: Partial<Record<RelationType, number>> = {};
      for (const each of database.relations.values())
        if (each.userId === userId && each.applicationId === applicationId)
          counts[each.type] = (counts[each.type] ?? 0) + 1;
      return counts;
    },
    settings: () => ({ directMessagesFrom: null }),
  });
}

function guildStore(line: DatabaseLine): Storage['guilds'] {
  const { database } = line;
  return storeOf<Storage['guilds']>(line, 'guilds', {
    load: (id) => database.snapshotOf(id),
    members: (id, userIds) => database.membersOf(id).filter(({ user }) => userIds.includes(user.id as never)),
    membersAfter: (id, after, limit) =>
      database
        .membersOf(id)
        .filter(({ user }) => after === null || BigInt(user.id) > BigInt(after))
        .sort((a, b) => (BigInt(a.user.id) < BigInt(b.user.id) ? -1 : 1))
        .slice(0, limit),
    bansOf: never,
    inVoice: (userId, guildIds) =>
      guildIds.flatMap((id) => {
        const own = database.guilds.get(id)?.voiceStates.get(userId);
        return own ? [{ id, sessionId: own.session_id }] : [];
      }),
    formerMembersOf: never,
    invitesByCode: never,
  });
}

function messageStore(line: DatabaseLine): Storage['messages'] {
  const { database } = line;
  return storeOf<Storage['messages']>(line, 'messages', {
    get: (ownerId, ids) => {
      const messages = database.messagesOf(ownerId);
      return ids.flatMap(({ id, channelId }) => {
        const message = messages.get(id);
        return message?.channel_id === channelId ? [message] : [];
      });
    },
    duePolls: never,
    nextPollMs: () => null,
    list: (ownerId, channelId, { limit }: MessagePage) =>
      [...database.messagesOf(ownerId).values()]
        .flatMap((message) => (message?.channel_id === channelId ? [message] : []))
        .sort((a, b) => (BigInt(a.id) < BigInt(b.id) ? 1 : -1))
        .slice(0, limit),
  });
}

function privateStore(line: DatabaseLine): Storage['privateChannels'] {
  const rows = () => [...line.database.privateChannels.values()].map(({ channel }) => channel);
  return storeOf<Storage['privateChannels']>(line, 'privateChannels', {
    get: (id) => line.database.privateChannels.get(id)?.channel ?? null,
    call: (id) => line.database.privateChannels.get(id)?.call ?? null,
    inCall: (userId, ids) =>
      ids.flatMap((id) => {
        const own = line.database.privateChannels.get(id)?.call?.voiceStates.get(userId);
        return own ? [{ id, sessionId: own.session_id }] : [];
      }),
    withCalls: () =>
      [...line.database.privateChannels].flatMap(([id, { call }]) => (call ? [id as ChannelId] : [])),
    between: (a, b) =>
      rows().find(
        ({ type, recipientIds }) => type === 1 && recipientIds.includes(a) && recipientIds.includes(b),
      ) ?? null,
    of: (userId, limit) =>
      rows()
        .filter(({ recipientIds }) => recipientIds.includes(userId))
        .slice(0, limit),
  });
}

function clusterStore(line: DatabaseLine, staleFault: (stale: Stale) => Error): ClusterStore {
  const { database } = line;
  return {
    takeOver: (partitions) => line.ask(() => database.takeOver(partitions)),
    epochs: () => line.ask(() => new Map(database.epochs)),
    isLast: ({ partition, epoch }) => line.ask(() => database.epochs.get(partition) === epoch),
    records: (ownerId, sinceMs, limit) =>
      line.ask(() => {
        const all = database.records.get(ownerId) ?? [];
        const young = all.filter(({ atMs }) => atMs >= sinceMs);
        if (young.length < all.length) hits.add('record_age_ms');
        return copied(young)
          .sort((a, b) => a.n - b.n)
          .slice(-limit);
      }),
    // Called at every handover: without direct notifications the handover must not depend on this request.
    deliveriesTo: async (userIds, sinceMs, limit) =>
      database.told.length === 0
        ? []
        : line.ask(() =>
            copied(
              database.told
                .filter(({ userId, atMs }) => userIds.includes(userId) && atMs >= sinceMs)
                .slice(-limit),
            ),
          ),
    recordsAt: (places) =>
      line.ask(() =>
        copied(
          places.flatMap(({ ownerId, n }) =>
            (database.records.get(ownerId) ?? []).flatMap((record) =>
              record.n === n ? [{ ...record, ownerId }] : [],
            ),
          ),
        ),
      ),
    pruneRecords: (beforeMs) =>
      line.ask(() => {
        for (const [ownerId, records] of database.records) {
          const young = records.filter(({ atMs }) => atMs >= beforeMs);
          if (young.length < records.length) hits.add('record_age_ms');
          database.records.set(ownerId, young);
        }
      }),
    keepSnapshots: (snapshots) => {
      const kept = copied(snapshots);
      return line
        .ask(() => {
          for (const { fence } of kept) database.check(fence);
          for (const { ownerId, atMs, data } of kept) database.snapshots.set(ownerId, { atMs, data });
        })
        .catch((error) => {
          throw error instanceof Stale ? staleFault(error) : error;
        });
    },
    snapshot: (ownerId) => line.ask(() => copied(database.snapshots.get(ownerId) ?? null)),
    dropSnapshots: (ownerIds) =>
      line.ask(() => {
        for (const id of ownerIds) database.snapshots.delete(id);
      }),
  };
}
