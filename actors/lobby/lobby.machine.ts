import type { LobbyState } from '../../engine/lobby/lobby.ts';
import { residentMachine } from '../runtime/resident.machine.ts';

/** Lifecycle of one lobby that is in use, on the owning shard. */
export const lobbyMachine = residentMachine<LobbyState>('lobby');
