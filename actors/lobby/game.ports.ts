import type { Metadata } from '../../engine/lobby/metadata.ts';

/** A member as a game sees it. */
export interface GameMember {
  readonly id: string;
  readonly username: string;
  readonly metadata: Metadata | null;
  /** A session of the lobby's application is open. */
  readonly connected: boolean;
}

/** What a game may do with its lobby. The same object for the whole of the game. */
export interface GameLobby<State> {
  readonly id: string;
  readonly applicationId: string;
  readonly metadata: Metadata | null;
  readonly hostId: string | null;
  /** In the order of joining. */
  readonly members: readonly GameMember[];
  /** The program's own: what `onCreate` returned. It ends with the game. */
  state: State;
  /** Unix milliseconds, by the engine's clock. */
  nowMs(): number;
  /** At least 0, below 1, by the engine's randomness. */
  random(): number;
  /**
   * Tells everyone who is connected (GUILDHALL_LOBBY_MESSAGE), as `data` is now, encoded once. Nothing of it is stored.
   *
   * @throws TypeError for what is no JSON.
   */
  broadcast(type: string, data: unknown): void;
  /** Sends to one member. @returns whether the member is connected. */
  send(userId: string, type: string, data: unknown): boolean;
  /** Resolves once it is durable; rejects with an error that says why not. */
  setMetadata(metadata: Metadata | null): Promise<void>;
  kick(userId: string): Promise<void>;
  /** Ends the lobby. */
  close(): Promise<void>;
}

/** `deleted`: the lobby is gone. `changed`: it was given another game. `failed`: a handler threw. `stopped`: the server. */
export type GameEnd = 'deleted' | 'changed' | 'failed' | 'stopped';

export interface GameMessage {
  readonly from: string;
  readonly type: string;
  readonly data: unknown;
}

export interface GameTick {
  /** 1, 2, 3, …: those that were skipped are counted. */
  readonly tick: number;
  /** How long after the last one this should come: a multiple of `tickMs`. */
  readonly elapsedMs: number;
  /** Ticks that were due and did not come, because something held the process up. */
  readonly skipped: number;
}

/**
 * A game that the server referees. Handlers are synchronous and run one at a time. One that throws, or whose promise
 * rejects, ends the game of its lobby and nothing else.
 */
export interface LobbyHandlers<State = unknown> {
  /** 10 to 60000; without it there are no ticks. */
  readonly tickMs?: number;
  /** Makes the program's state. Who is in the lobby by now follows through `onJoin`. */
  onCreate?(lobby: GameLobby<State | undefined>): State;
  onJoin?(lobby: GameLobby<State>, member: GameMember): void;
  onMessage?(lobby: GameLobby<State>, message: GameMessage): void;
  onTick?(lobby: GameLobby<State>, tick: GameTick): void;
  onLeave?(lobby: GameLobby<State>, member: GameMember): void;
  onClose?(lobby: GameLobby<State>, reason: GameEnd): void;
}
