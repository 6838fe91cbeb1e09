import type { Reply } from '../../engine/kernel/aggregate.ts';
import { type Authority, SYSTEM } from '../../engine/kernel/authority.ts';
import type { LobbyCommands } from '../../engine/lobby/rules.ts';
import type { ChannelId } from '../../protocol/ids.ts';
import type { APIUser } from '../../protocol/objects.ts';
import {
  createEmptyLobby,
  type LobbiesPorts,
  type LobbyContext,
  type LobbyOwners,
  type SecretRequest,
} from './context.ts';
import type { LobbyOperations } from './ports.ts';

/** Sends commands to the owner shards of lobbies. */
export function commandCaller({ registry, routing }: LobbiesPorts): LobbyOperations['call'] {
  const run = <K extends keyof LobbyCommands>(
    id: ChannelId,
    type: K,
    input: LobbyCommands[K]['input'],
    authority: Authority,
    commandKey: string | null = null,
  ): Promise<Reply<LobbyCommands[K]['value']>> =>
    new Promise((resolve, reject) => {
      registry.workWith(id, (shell) => shell.command(type, input, authority, resolve, reject, commandKey));
    });
  return routing.ask('lobby.command', run);
}

/** Operations on the owner shard of a lobby or a secret. */
export function createLobbyOwners(context: Omit<LobbyContext, 'owners'>): LobbyOwners {
  const { registry, routing, storage, secrets, call, onFault } = context;
  return {
    /** The lobby of a secret, created if there is none. `not` is a lobby that has ended. */
    ofSecret: routing.ask(
      'lobbies.ofSecret',
      async (hash: string, { applicationId, lobby, full, not }: SecretRequest): Promise<ChannelId | null> => {
        if (not !== null) secrets.forget(not);
        // A user in as many lobbies as allowed creates none.
        return secrets.lobby(applicationId, hash, async (kept) =>
          full ? null : createEmptyLobby(context, applicationId, lobby, kept, true),
        );
      },
    ),
    /** Resolves when all commits of the lobby are durable, including its end. */
    settled: routing.ask(
      'lobbies.settled',
      async (_lobbyId: ChannelId): Promise<void> => storage.writer.flush(),
    ),
    changeUser: routing.tell('lobbies.changeUser', (id: ChannelId, user: APIUser): void => {
      // Only resident lobbies need the change; others load the account when they start.
      if (registry.peek(id)) call(id, 'changeUser', { user }, SYSTEM).catch((fault) => onFault(fault, id));
    }),
  };
}
