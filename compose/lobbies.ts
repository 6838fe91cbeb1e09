import { routed } from '../actors/cluster/routing/routed.ts';
import { FreshLobbies } from '../actors/lobby/fresh.ts';
import { Games } from '../actors/lobby/games.ts';
import { lobbyMachine } from '../actors/lobby/lobby.machine.ts';
import { LobbyShell } from '../actors/lobby/lobby.shell.ts';
import { Registry } from '../actors/runtime/registry.ts';
import { TimerWheel } from '../actors/runtime/wheel.ts';
import type { LobbyState } from '../engine/lobby/lobby.ts';
import { assembleLobbies, type LobbyAssembly } from '../services/lobbies/lobbies.ts';
import { secretHasher } from '../services/lobbies/secrethash.ts';
import { Matchmaker } from '../services/matchmaking/matchmaker.ts';
import type { Matchmaking } from '../services/matchmaking/ports.ts';
import { LOBBY_ROUTES, MATCHMAKING_ROUTES } from '../services/routes.ts';
import { residentMetrics } from '../transports/admin/residentmetrics.ts';
import { inviteCode } from '../transports/rest/resources/invites.ts';
import type { Features, ServiceContext } from './context.ts';

/** The shortest tick of a game, and how late one may come. */
const GAME_TICK_MS = 10;
const UINT32 = 2 ** 32;

const gamesOf = ({ clock, randomBytes, onFault }: ServiceContext, wheel: TimerWheel): Games =>
  new Games({
    wheel,
    monotonic: () => clock.monotonic(),
    nowMs: () => clock.now(),
    random: () => Buffer.from(randomBytes(4)).readUInt32LE() / UINT32,
    onFault: (error) => onFault(error, 'game'),
  });

export function createLobbies(context: ServiceContext): Pick<Features, 'lobbies' | 'games' | 'matchmaking'> {
  const { config, aggregate, clock, wheel, storage, logger, randomBytes, onFault } = context;
  const fresh = new FreshLobbies();
  const gameWheel = new TimerWheel(clock, GAME_TICK_MS);
  const games = gamesOf(context, gameWheel);
  const registry = new Registry<LobbyState, LobbyShell>({
    machine: lobbyMachine,
    backlogMax: config.guild_backlog_max,
    idleMs: config.user_idle_ms,
    supervisor: context.supervisor,
    clock,
    wheel,
    admits: context.cluster.admits,
    makeShell: (id, send) =>
      new LobbyShell(
        id,
        {
          ...aggregate,
          lobbies: storage.lobbies,
          fresh,
          messageWindowMax: config.guild_message_window_max,
          voiceListener: context.voiceListener,
          listener: assembly.listener,
          ...{ wheel, games, toEach: context.notifier.recipientOf, route: context.notifier.route },
        },
        send,
      ),
    onBug: (id, error) => logger.error({ err: error, kind: 'lobby', id }, 'A bug ended an actor.'),
  });
  const assembly: LobbyAssembly = assembleLobbies({
    ...context,
    registry,
    fresh,
    secretHash: secretHasher({ tokenSecret: config.token_secret, settings: storage.settings, randomBytes }),
    inviteCode: () => inviteCode(randomBytes),
    onFault: (error) => onFault(error, 'lobby'),
  });
  context.cluster.participants.set('lobby', registry);
  context.metrics.push(...residentMetrics('lobby', registry), {
    name: 'guildhall_lobby_members_connected',
    help: 'Members of lobbies who have a session open.',
    read: () => assembly.membersConnected(),
  });
  games.onDefined = () => {
    for (const shell of registry.shells()) shell.play();
  };
  const { lobbies } = assembly;
  const matchmaking: Matchmaking = new Matchmaker({
    ...{ lobbies, clock, wheel, nextId: context.nextId },
    ...{ notifier: context.notifier, routing: context.routing },
    onFault: (error) => onFault(error, 'matchmaking'),
  });
  const close = (): void => {
    matchmaking.close();
    lobbies.close();
    gameWheel.stop();
  };
  return {
    lobbies: routed({ ...lobbies, close }, LOBBY_ROUTES, context.cluster),
    games,
    matchmaking: routed(matchmaking, MATCHMAKING_ROUTES, context.cluster),
  };
}
