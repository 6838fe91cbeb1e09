import type { APIUser } from 'discord-api-types/v10';
import type { Subscriber } from '../../engine/fanout/body.ts';
import { refOf } from '../../engine/fanout/direct.ts';
import { type Authority, SYSTEM } from '../../engine/kernel/authority.ts';
import type { Reply } from '../../engine/kernel/outcome.ts';
import type { LobbyCommands } from '../../engine/lobby/rules.ts';
import type { ChannelId } from '../../protocol/ids.ts';
import {
  createEmptyLobby,
  type LobbiesPorts,
  type LobbyContext,
  type LobbyOwners,
  type SecretRequest,
} from './context.ts';
import type { LobbyOperations } from './ports.ts';
import { withSessions } from './sessionreferences.ts';

/** Commands to lobbies, wherever they are owned. Between shards a session goes by its name, and is reached by it. */
export function commandCaller({ registry, routing, telling }: LobbiesPorts): LobbyOperations['call'] {
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
  if (routing.alone) return run;
  const toRoute = (session: Subscriber): Subscriber => telling.route(session);
  const toName = (session: Subscriber): Subscriber => refOf(session) as Subscriber;
  const received: typeof run = (id, type, input, authority, commandKey) =>
    run(id, type, withSessions(input, toRoute), authority, commandKey);
  const { call } = routing.asks<{ call: typeof run }>('lobby', { call: received }, { keyed: true });
  return (id, type, input, authority) => call(id, type, withSessions(input, toName), authority);
}

/** What runs where a lobby, or a secret, is owned. */
export function createLobbyOwners(context: Omit<LobbyContext, 'owners'>): LobbyOwners {
  const { registry, routing, storage, secrets, call, onFault } = context;
  const queries = routing.asks(
    'lobbies',
    {
      /** The lobby of a secret, made when there is none; `not`: that one has ended. */
      async ofSecret(
        hash: string,
        { applicationId, lobby, full, not }: SecretRequest,
      ): Promise<ChannelId | null> {
        if (not !== null) secrets.forget(not);
        // Who may be in no other lobby makes none.
        return secrets.lobby(applicationId, hash, async (kept) =>
          full ? null : createEmptyLobby(context, applicationId, lobby, kept, true),
        );
      },
      /** Resolves when what the lobby has committed is durable: its end too. */
      settled: async (_lobbyId: ChannelId): Promise<void> => storage.writer.flush(),
    },
    { again: true },
  );
  const notifications = routing.tells('lobbies', {
    changeUser(id: ChannelId, user: APIUser): void {
      // Lobbies that are not at hand read the account when they are.
      if (registry.peek(id)) call(id, 'changeUser', { user }, SYSTEM).catch((fault) => onFault(fault, id));
    },
  });
  return { ...queries, ...notifications };
}
