import type { Authority } from '../../engine/kernel/authority.ts';
import type { Reply } from '../../engine/kernel/outcome.ts';
import type { Metadata } from '../../engine/lobby/metadata.ts';
import type { Properties, Ticket, Widening } from '../../engine/matchmaking/tickets.ts';
import type { ChannelId, UserId } from '../../protocol/ids.ts';

export type { Ticket };

/** How a queue forms matches, and what becomes of them. */
export interface QueueDefinition {
  /** Players of a match, 1 to 1000. */
  readonly size: number;
  /** Properties that must be the same for all in a match. */
  readonly same?: readonly string[];
  /** Numbers that must be near each other, and how that widens while a ticket waits. */
  readonly widen?: Readonly<Record<string, Widening>>;
  /** After so long without a match a ticket ends. 120000 when absent. */
  readonly timeoutMs?: number;
  /** How often matches are looked for, 100 to 60000. 1000 when absent. */
  readonly everyMs?: number;
  /**
   * Chooses instead of the rules: lists of ticket ids, oldest first as given. What is no sound match is passed over, and
   * what it throws counts as nothing.
   */
  readonly match?: (tickets: readonly Ticket[], nowMs: number) => readonly (readonly string[])[];
  /** What the lobby of a match is made with. */
  readonly lobby?: (match: readonly Ticket[]) => {
    readonly metadata?: Metadata;
    /** The game that begins once everyone is in. */
    readonly game?: string;
    readonly hostGraceSeconds?: number;
  };
}

export type TicketStatus = 'waiting' | 'matched' | 'timed_out' | 'cancelled' | 'failed';

/** A ticket as the wire shows it. */
export type TicketObject = {
  readonly id: string;
  readonly queue: string;
  readonly status: TicketStatus;
  readonly user_ids: readonly UserId[];
  readonly properties: Properties;
  readonly created_at: string;
  readonly expires_at: string;
  /** Where the players are, once it is matched. */
  readonly lobby_id: ChannelId | null;
};

/** What `lobbyId` names: its members are a party. `userIds`: for the application's server alone. */
export interface TicketDraft {
  readonly queue: string;
  readonly properties: Properties;
  readonly lobbyId: ChannelId | null;
  readonly userIds: readonly UserId[] | null;
}

/**
 * Tickets, those of an application with its owner. They are not stored: with the process they are gone, and players ask
 * again; where an application changes hands they fail.
 */
export interface Matchmaking {
  /** @throws RangeError for a name that is taken or none, or numbers out of bounds. */
  define(name: string, definition: QueueDefinition): void;
  enter(draft: TicketDraft, authority: Authority): Promise<Reply<TicketObject>>;
  /** For the ticket's players and their application's server. What has ended is remembered for a minute. */
  get(id: string, authority: Authority): Promise<Reply<TicketObject>>;
  cancel(id: string, authority: Authority): Promise<Reply<TicketObject>>;
  close(): void;
}
