import type { APIAuditLogEntry } from 'discord-api-types/v10';
import type { SessionView } from '../../actors/session/views.ts';
import type { ApplicationId, ChannelId, GuildId, UserId } from '../../protocol/ids.ts';
import type { Storage } from '../../storage/ports.ts';
import type { DeliveryAttempt } from '../applications/deliverylog.ts';
import type { QueueView } from '../matchmaking/ports.ts';

/** A lobby as the operator sees it. */
interface LobbyView {
  readonly id: ChannelId;
  readonly members: number;
  readonly game: string | null;
  readonly linkedChannelId: ChannelId | null;
  /** Since when no member is connected, Unix milliseconds; null while one is. */
  readonly idleSinceMs: number | null;
}

/** An event that waits to be sent to an application's URL. */
interface DeliveryView {
  readonly id: string;
  readonly applicationId: ApplicationId;
  readonly type: string;
  readonly atMs: number;
  /** Origin of the event's own URL, without its path, which may contain a secret; null for the application's URL. */
  readonly origin: string | null;
  /** Failed attempts in a row for the application, as far as this process sends its events. */
  readonly attempts: number;
  /** Unix milliseconds; null when the last attempt did not fail. */
  readonly failingSinceMs: number | null;
}

/** A user who asks to become a full member of a guild. */
interface JoinRequestView {
  readonly id: string;
  readonly userId: UserId;
  readonly username: string;
  readonly status: string;
}

/** Lists of the console besides records. Every list is bounded by `limit` and continues after its last entry. */
export interface Inspection {
  /** Gateway sessions of this process with handles above `after`. */
  sessions(after: number, limit: number): readonly SessionView[];
  /** Matchmaking queues of this process with waiting tickets, at most `limit`. */
  queues(limit: number): readonly QueueView[];
  lobbies(
    applicationId: ApplicationId,
    after: ChannelId | null,
    limit: number,
  ): Promise<readonly LobbyView[]>;
  /** Queued webhook events of applications with ids above `after`: the oldest of each of `limit` applications. */
  deliveries(after: ApplicationId | null, limit: number): Promise<readonly DeliveryView[]>;
  /** Attempts of this process to send webhook events with numbers below `before`, newest first. */
  attempts(before: number | null, limit: number): readonly DeliveryAttempt[];
  /** Entries with ids below `before`, newest first. */
  auditLog(guildId: GuildId, before: string | null, limit: number): Promise<readonly APIAuditLogEntry[]>;
  /** Undecided requests with ids below `before`, newest first. */
  joinRequests(guildId: GuildId, before: string | null, limit: number): Promise<readonly JoinRequestView[]>;
}

interface InspectionPorts {
  readonly storage: Pick<Storage, 'lobbies' | 'webhookEvents' | 'guilds'>;
  sessions(after: number, limit: number): readonly SessionView[];
  queues(limit: number): readonly QueueView[];
  attempts(before: number | null, limit: number): readonly DeliveryAttempt[];
  /** Failed attempts in a row to send events of an application; null when the last one succeeded. */
  failing(id: ApplicationId): { readonly attempts: number; readonly sinceMs: number } | null;
}

/** Queued events listed for each application. */
const EVENTS_EACH = 20;

export const createInspection = ({
  storage,
  sessions,
  queues,
  attempts,
  failing,
}: InspectionPorts): Inspection => ({
  ...{ sessions, queues, attempts },

  async lobbies(applicationId, after, limit) {
    const ids = await storage.lobbies.ofApplication(applicationId, after, limit);
    const found = await Promise.all(ids.map((id) => storage.lobbies.load(id)));
    return found.flatMap((loaded) => {
      if (!loaded) return [];
      const { lobby, members } = loaded;
      return {
        ...{ id: lobby.id, members: members.length, game: lobby.settings?.game ?? null },
        ...{ linkedChannelId: lobby.linked?.channel.id ?? null, idleSinceMs: lobby.idle_since_ms },
      };
    });
  },

  async deliveries(after, limit) {
    const waiting = await storage.webhookEvents.waiting(after, limit);
    const events = await Promise.all(waiting.map((id) => storage.webhookEvents.pending(id, EVENTS_EACH)));
    return events.flat().map(({ id, applicationId, type, atMs, url }) => {
      const failure = failing(applicationId);
      return {
        ...{ id, applicationId, type, atMs },
        origin: url === undefined ? null : new URL(url).origin,
        ...{ attempts: failure?.attempts ?? 0, failingSinceMs: failure?.sinceMs ?? null },
      };
    });
  },

  auditLog: (guildId, before, limit) =>
    storage.guilds.auditLog(guildId, { limit, ...(before !== null && { before }) }),

  async joinRequests(guildId, before, limit) {
    const { requests } = await storage.guilds.joinRequests(guildId, {
      ...{ statuses: ['SUBMITTED'], limit },
      ...(before !== null && { before }),
    });
    return requests.map(({ id, user, status }) => ({
      ...{ id, userId: user.id, username: user.username, status },
    }));
  },
});
