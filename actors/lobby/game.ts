import { isConnected, type LobbyMember, type LobbyState } from '../../engine/lobby/lobby.ts';
import type { Metadata } from '../../engine/lobby/metadata.ts';
import type { UserId } from '../../protocol/ids.ts';
import type { Timer } from '../runtime/clock.ts';
import type { GameEnd, GameLobby, GameMember, LobbyHandlers } from './game.ports.ts';
import type { GamePorts } from './games.ts';

/** The operations of a lobby that a game uses. */
export interface GameTable {
  readonly state: LobbyState;
  /** Sends to all sessions, or to those of one user. @returns The number of sessions. */
  tell(type: string, data: unknown, from: string | null, userId: string | null): number;
  setMetadata(metadata: Metadata | null): Promise<void>;
  kick(userId: UserId): Promise<void>;
  close(): Promise<void>;
}

const memberOf = (state: LobbyState, { user, metadata }: LobbyMember): GameMember => ({
  id: user.id,
  username: user.username,
  metadata,
  connected: isConnected(state, user.id),
});

/** Runs the handlers of one lobby's game, in turns of the lobby's actor and on its own ticks. */
export class LobbyGame {
  readonly name: string;
  readonly #handlers: LobbyHandlers<unknown>;
  readonly #table: GameTable;
  readonly #ports: GamePorts;
  readonly #lobby: GameLobby<unknown>;
  /** Members whose `onJoin` has run. */
  readonly #joined = new Set<string>();
  /** `creating` until `onCreate` has returned: before, `onClose` would have no state. */
  #phase: 'creating' | 'playing' | 'over' = 'creating';
  #startedMs = 0;
  #tick = 0;
  #timer: Timer | null = null;

  constructor(name: string, handlers: LobbyHandlers<unknown>, table: GameTable, ports: GamePorts) {
    this.name = name;
    this.#handlers = handlers;
    this.#table = table;
    this.#ports = ports;
    this.#lobby = lobbyOf(table, ports);
  }

  get over(): boolean {
    return this.#phase === 'over';
  }

  /** Whether `onJoin` has run for the member. */
  hasJoined(userId: string): boolean {
    return this.#joined.has(userId);
  }

  start(): void {
    this.#guarded(() => {
      this.#lobby.state = this.#handlers.onCreate?.(this.#lobby);
      if (this.#phase === 'creating') this.#phase = 'playing';
    });
    for (const member of this.#table.state.members.values()) this.joined(member);
    this.#startedMs = this.#ports.monotonic();
    this.#schedule();
  }

  joined(member: LobbyMember): void {
    if (this.#joined.has(member.user.id)) return;
    this.#joined.add(member.user.id);
    this.#guarded(() => this.#handlers.onJoin?.(this.#lobby, memberOf(this.#table.state, member)));
  }

  left(member: LobbyMember): void {
    if (!this.#joined.delete(member.user.id)) return;
    this.#guarded(() => this.#handlers.onLeave?.(this.#lobby, memberOf(this.#table.state, member)));
  }

  message(from: string, type: string, data: unknown): void {
    this.#guarded(() => this.#handlers.onMessage?.(this.#lobby, { from, type, data }));
  }

  close(reason: GameEnd): void {
    if (this.over) return;
    const isCreated = this.#phase === 'playing';
    this.#phase = 'over';
    this.#timer?.cancel();
    this.#timer = null;
    if (isCreated) this.#run(() => this.#handlers.onClose?.(this.#lobby, reason));
    if (reason !== 'deleted') this.#table.tell('guildhall.game_ended', { reason }, null, null);
  }

  /** Each tick is due at a multiple of `tickMs` after the start, so delays do not accumulate. */
  #schedule(): void {
    const { tickMs, onTick } = this.#handlers;
    if (this.over || tickMs === undefined || !onTick) return;
    const dueMs = this.#startedMs + (this.#tick + 1) * tickMs;
    this.#timer = this.#ports.wheel.add(() => this.#ticked(tickMs), dueMs - this.#ports.monotonic());
  }

  #ticked(tickMs: number): void {
    const tick = Math.max(this.#tick + 1, Math.floor((this.#ports.monotonic() - this.#startedMs) / tickMs));
    const passed = tick - this.#tick;
    this.#tick = tick;
    this.#guarded(() =>
      this.#handlers.onTick?.(this.#lobby, { tick, elapsedMs: passed * tickMs, skipped: passed - 1 }),
    );
    this.#schedule();
  }

  #guarded(run: () => unknown): void {
    if (!this.over && !this.#run(run)) this.close('failed');
  }

  /** @returns false when the handler threw. If its promise rejects, the game ends then. */
  #run(run: () => unknown): boolean {
    try {
      const answer = run();
      if (answer instanceof Promise)
        answer.catch((error: unknown) => {
          this.#ports.onFault(error, this.#lobby.id);
          this.close('failed');
        });
      return true;
    } catch (error) {
      this.#ports.onFault(error, this.#lobby.id);
      return false;
    }
  }
}

/**
 * Copies a value as JSON: a body may be encoded long after the call, while the program keeps changing its state. Throws in
 * the handler when the value is not JSON.
 */
const snapshot = (data: unknown): unknown => JSON.parse(JSON.stringify(data ?? null) ?? 'null');

function lobbyOf(table: GameTable, ports: GamePorts): GameLobby<unknown> {
  const { state } = table;
  return {
    state: undefined,
    id: state.lobby.id,
    applicationId: state.lobby.application_id,
    get metadata() {
      return state.lobby.metadata;
    },
    get hostId() {
      return state.lobby.host_id ?? null;
    },
    get members() {
      return [...state.members.values()].map((member) => memberOf(state, member));
    },
    nowMs: ports.nowMs,
    random: ports.random,
    broadcast: (type, data) => void table.tell(type, snapshot(data), null, null),
    send: (userId, type, data) => table.tell(type, snapshot(data), null, userId) > 0,
    setMetadata: (metadata) => table.setMetadata(metadata),
    kick: (userId) => table.kick(userId as UserId),
    close: () => table.close(),
  };
}
