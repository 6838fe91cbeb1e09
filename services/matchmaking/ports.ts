import type { Reply } from '../../engine/kernel/aggregate.ts';
import type { Authority } from '../../engine/kernel/authority.ts';
import type { Metadata } from '../../engine/lobby/metadata.ts';
import type { Properties, Ticket, Widening } from '../../engine/matchmaking/tickets.ts';
import type { ApplicationId, ChannelId, TicketId, UserId } from '../../protocol/ids.ts';

export type { Ticket };

/** How a queue forms matches, and the lobbies it creates for them. */
export interface QueueDefinition {
  /** Players in a match, 1 to 1000. */
  readonly size: number;
  /** Properties that must be equal for all players of a match. */
  readonly same?: readonly string[];
  /** Numeric properties that must be close, and how the range widens while a ticket waits. */
  readonly widen?: Readonly<Record<string, Widening>>;
  /** Time after which an unmatched ticket ends. 120000 when absent. */
  readonly timeoutMs?: number;
  /** Interval between passes, 100 to 60000. 1000 when absent. */
  readonly everyMs?: number;
  /**
   * Replaces the rules: returns lists of ticket ids, given oldest first. Invalid matches are skipped, and an exception
   * counts as no matches.
   */
  readonly match?: (tickets: readonly Ticket[], nowMs: number) => readonly (readonly string[])[];
  /** Settings of the lobby of a match. */
  readonly lobby?: (match: readonly Ticket[]) => {
    readonly metadata?: Metadata;
    /** The game that starts when all players are in. */
    readonly game?: string;
    readonly hostGraceSeconds?: number;
  };
}

export type TicketStatus = 'waiting' | 'matched' | 'timed_out' | 'cancelled' | 'failed';

/** The wire object of a ticket. */
export type TicketObject = {
  readonly id: TicketId;
  readonly queue: string;
  readonly status: TicketStatus;
  readonly user_ids: readonly UserId[];
  readonly properties: Properties;
  readonly created_at: string;
  readonly expires_at: string;
  /** The lobby of a matched ticket, else null. */
  readonly lobby_id: ChannelId | null;
};

/** `lobbyId` enters the members of a lobby as a party; `userIds` is for the application's server. */
export interface TicketDraft {
  readonly queue: string;
  readonly properties: Properties;
  readonly lobbyId: ChannelId | null;
  readonly userIds: readonly UserId[] | null;
}

/**
 * Matchmaking tickets, kept in memory on the owner shard of their application. They end with the process, and fail when
 * the application moves to another shard; players then enter again.
 */
export interface Matchmaking {
  /** @throws RangeError for an invalid or duplicate name, or a number out of range. */
  define(name: string, definition: QueueDefinition): void;
  enter(draft: TicketDraft, authority: Authority): Promise<Reply<TicketObject>>;
  /** For the ticket's players and their application's server. Ended tickets are kept for a minute. */
  get(id: TicketId, authority: Authority): Promise<Reply<TicketObject>>;
  cancel(id: TicketId, authority: Authority): Promise<Reply<TicketObject>>;
  /** Queues of applications with waiting tickets in this process, at most `limit`. */
  queues(limit: number): readonly QueueView[];
}

/** A queue of one application as the operator sees it. */
export interface QueueView {
  readonly applicationId: ApplicationId;
  readonly queue: string;
  readonly waiting: number;
  readonly players: number;
  /** Lobbies being created for matches. */
  readonly making: number;
  /** Creation time of the oldest waiting ticket, Unix milliseconds; null without one. */
  readonly oldestMs: number | null;
}
