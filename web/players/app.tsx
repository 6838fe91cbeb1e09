import { useStore } from '../store.ts';
import { forgetAccount, GameActivities } from './activities.tsx';
import type { Game } from './game.ts';
import { Lobby } from './lobby.tsx';
import { JoinForm, SignIn } from './signin.tsx';

/** The players page: sign in, meet by a secret, join a lobby. */
export function App({ game }: { game: Game }) {
  const state = useStore(game.store);
  const { phase, lobbyId, complaint } = state;
  if (phase === 'out' || phase === 'asking' || phase === 'connecting')
    return <SignIn game={game} state={state} />;
  const lobby = lobbyId === null ? null : game.client.getLobbyHandle(lobbyId);
  const signOut = (): void => {
    forgetAccount();
    game.signOut();
  };
  return (
    <>
      <header class="bar">
        <h1>Players</h1>
        <span class="who">{game.client.getCurrentUserV2()?.displayName}</span>
        <button type="button" class="quiet" onClick={signOut}>
          Sign out
        </button>
      </header>
      <main>
        {phase === 'reconnecting' && (
          <p class="notice" role="status">
            The connection to the server was lost. Trying again …
          </p>
        )}
        {complaint !== null && (
          <p class="notice bad" role="alert">
            {complaint}
          </p>
        )}
        <Lobbies game={game} shown={lobbyId} />
        {lobby !== null && <Lobby game={game} state={state} lobby={lobby} key={lobby.id} />}
        <JoinForm game={game} />
        <GameActivities game={game} lobby={lobby} />
      </main>
    </>
  );
}

/** Lists the lobbies of this player when there is more than one. */
function Lobbies({ game, shown }: { game: Game; shown: string | null }) {
  const ids = game.client.getLobbyIds();
  if (ids.length === 0 || (ids.length === 1 && shown === ids[0])) return null;
  return (
    <nav class="lobbies" aria-label="Your lobbies">
      {ids.map((id) => (
        <button
          type="button"
          key={id}
          aria-current={id === shown ? 'page' : undefined}
          onClick={() => game.show(id)}
        >
          {game.client.getLobbyHandle(id)?.metadata.name ?? `Lobby ${id.slice(-4)}`}
        </button>
      ))}
    </nav>
  );
}
