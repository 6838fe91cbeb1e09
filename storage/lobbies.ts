import type { LobbyFacts } from '../engine/lobby/facts.ts';
import type { Sql } from './driver.ts';
import type { LobbyStore } from './ports.lobbies.ts';
import type { StatementTable } from './statement.ts';

export const lobbyStatements: StatementTable<LobbyFacts> = {};

export const lobbyStore = (_sql: Sql): LobbyStore => ({});
