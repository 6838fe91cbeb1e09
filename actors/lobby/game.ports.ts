import type { Metadata } from '../../engine/lobby/metadata.ts';

/** A member as a game sees it. */
export interface GameMember {
  readonly id: string;
  readonly username: string;
  readonly metadata: Metadata | null;
  /** A session of the lobby's application is open. */
  readonly connected: boolean;
}

/** The lobby of a game, as handlers see and change it; the same object until the game ends. */
export interface GameLobby<State> {
  readonly id: string;
  readonly applicationId: string;
  readonly metadata: Metadata | null;
  readonly hostId: string | null;
  /** In the order of joining. */
  readonly members: readonly GameMember[];
  /** The value that `onCreate` returned; discarded when the game ends. */
  state: State;
  /** Unix milliseconds, by the engine's clock. */
  nowMs(): number;
  /** At least 0, below 1, by the engine's randomness. */
  random(): number;
  /**
   * Sends `data` as GUILDHALL_LOBBY_MESSAGE to all connected members. It is encoded once, during the call, and not stored.
   *
   * @throws TypeError when `data` is not JSON.
   */
  broadcast(type: string, data: unknown): void;
  /** Sends to one member as `broadcast` does. @returns whether the member is connected. */
  send(userId: string, type: string, data: unknown): boolean;
  /** Resolves when the change is durable; rejects with the reason when it is refused. */
  setMetadata(metadata: Metadata | null): Promise<void>;
  kick(userId: string): Promise<void>;
  /** Ends the lobby. */
  close(): Promise<void>;
}

/** `deleted`: the lobby was deleted. `changed`: it got another game. `failed`: a handler threw. `stopped`: the server stops. */
export type GameEnd = 'deleted' | 'changed' | 'failed' | 'stopped';

export interface GameMessage {
  readonly from: string;
  readonly type: string;
  readonly data: unknown;
}

export interface GameTick {
  /** Counts from 1, including skipped ticks. */
  readonly tick: number;
  /** Scheduled time since the previous tick: a multiple of `tickMs`. */
  readonly elapsedMs: number;
  /** Ticks skipped before this one, because the process was blocked. */
  readonly skipped: number;
}

/**
 * A game that the server referees. Handlers are synchronous and run one at a time. A handler that throws, or whose promise
 * rejects, ends only the game of its lobby.
 */
export interface LobbyHandlers<State = unknown> {
  /** Interval of `onTick`, 10 to 60000; without it there are no ticks. */
  readonly tickMs?: number;
  /** Creates the state. `onJoin` is called afterwards for the members who are already in the lobby. */
  onCreate?(lobby: GameLobby<State | undefined>): State;
  onJoin?(lobby: GameLobby<State>, member: GameMember): void;
  onMessage?(lobby: GameLobby<State>, message: GameMessage): void;
  onTick?(lobby: GameLobby<State>, tick: GameTick): void;
  onLeave?(lobby: GameLobby<State>, member: GameMember): void;
  onClose?(lobby: GameLobby<State>, reason: GameEnd): void;
}
