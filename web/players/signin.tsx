import { useState } from 'preact/hooks';
import type { Game, GameState } from './game.ts';

export function SignIn({ game, state }: { game: Game; state: GameState }) {
  const [applicationId, setApplicationId] = useState(game.applicationId ?? '');
  const [token, setToken] = useState('');
  const { phase, complaint } = state;
  const submit = (act: () => Promise<void>) => (event: Event) => {
    event.preventDefault();
    void act();
  };
  if (phase === 'connecting') return <p class="dim center">Connecting …</p>;
  return (
    <main class="signin">
      <form class="card" onSubmit={submit(() => game.signIn(applicationId.trim()))}>
        <h1>Players</h1>
        <p class="dim">
          Meet in a lobby by a secret, write and talk. A window asks whether the game may act for you.
        </p>
        {complaint !== null && (
          <p class="notice bad" role="alert">
            {complaint}
          </p>
        )}
        <label for="application">Application id of the game</label>
        <input
          id="application"
          inputmode="numeric"
          pattern="\s*\d+\s*"
          required
          value={applicationId}
          onInput={({ currentTarget }) => setApplicationId(currentTarget.value)}
        />
        {phase === 'asking' ? (
          <button type="button" onClick={() => game.client.abortAuthorize()}>
            Give up
          </button>
        ) : (
          <button type="submit" class="primary">
            Sign in with an account
          </button>
        )}
      </form>
      <form class="card" onSubmit={submit(() => game.enter(token.trim().replace(/^Bearer /, '')))}>
        <label for="token">Or with a token that the game gave you</label>
        <input
          id="token"
          type="password"
          autocomplete="off"
          spellcheck={false}
          required
          value={token}
          onInput={({ currentTarget }) => setToken(currentTarget.value)}
        />
        <button type="submit">Begin</button>
      </form>
    </main>
  );
}

export function JoinForm({ game }: { game: Game }) {
  const [secret, setSecret] = useState('');
  const submit = (event: Event): void => {
    event.preventDefault();
    void game.join(secret).then(() => setSecret(''));
  };
  return (
    <form class="card join" onSubmit={submit}>
      <label for="secret">Secret of a lobby</label>
      <input
        id="secret"
        maxlength={250}
        autocomplete="off"
        required
        value={secret}
        onInput={({ currentTarget }) => setSecret(currentTarget.value)}
      />
      <button type="submit">Join</button>
      <p class="dim small">Whoever gives the same secret is in the same lobby; the first one makes it.</p>
    </form>
  );
}
