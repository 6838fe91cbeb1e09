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
import { residentFigures } from '../transports/admin/figures.ts';
import { inviteCode } from '../transports/rest/resources/invites.ts';
import type { Parts, Site } from './site.ts';

/** The shortest tick of a game, and how late one may come. */
const GAME_TICK_MS = 10;
const UINT32 = 2 ** 32;

const gamesOf = ({ clock, randomBytes, onFault }: Site, wheel: TimerWheel): Games =>
  new Games({
    wheel,
    monotonic: () => clock.monotonic(),
    nowMs: () => clock.now(),
    random: () => Buffer.from(randomBytes(4)).readUInt32LE() / UINT32,
    onFault: (error) => onFault(error, 'game'),
  });

export function createLobbies(site: Site): Pick<Parts, 'lobbies' | 'games' | 'matchmaking'> {
  const { config, aggregate, clock, wheel, storage, logger, randomBytes, onFault } = site;
  const fresh = new FreshLobbies();
  const gameWheel = new TimerWheel(clock, GAME_TICK_MS);
  const games = gamesOf(site, gameWheel);
  const registry = new Registry<LobbyState, LobbyShell>({
    machine: lobbyMachine,
    backlogMax: config.guild_backlog_max,
    idleMs: config.user_idle_ms,
    supervisor: site.supervisor,
    clock,
    wheel,
    admits: site.cluster.admits,
    makeShell: (id, send) =>
      new LobbyShell(
        id,
        {
          ...aggregate,
          lobbies: storage.lobbies,
          fresh,
          messageWindowMax: config.guild_message_window_max,
          seats: site.seats,
          listener: house.listener,
          ...{ wheel, games, toEach: site.telling.toEach, route: site.telling.route },
        },
        send,
      ),
    onBug: (id, error) => logger.error({ err: error, kind: 'lobby', id }, 'A bug ended an actor.'),
  });
  const house: LobbyAssembly = assembleLobbies({
    ...site,
    registry,
    fresh,
    secretHash: secretHasher({ tokenSecret: config.token_secret, settings: storage.settings, randomBytes }),
    inviteCode: () => inviteCode(randomBytes),
    onFault: (error) => onFault(error, 'lobby'),
  });
  site.cluster.tenants.set('lobby', registry);
  site.figures.push(...residentFigures('lobby', registry), {
    name: 'guildhall_lobby_members_connected',
    help: 'Members of lobbies who have a session open.',
    read: () => house.membersConnected(),
  });
  games.onDefined = () => {
    for (const shell of registry.shells()) shell.play();
  };
  const { lobbies } = house;
  const matchmaking: Matchmaking = new Matchmaker({
    ...{ lobbies, clock, wheel, nextId: site.nextId, telling: site.telling, routing: site.routing },
    onFault: (error) => onFault(error, 'matchmaking'),
  });
  const close = (): void => {
    matchmaking.close();
    lobbies.close();
    gameWheel.stop();
  };
  return {
    lobbies: routed({ ...lobbies, close }, LOBBY_ROUTES, site.cluster),
    games,
    matchmaking: routed(matchmaking, MATCHMAKING_ROUTES, site.cluster),
  };
}
