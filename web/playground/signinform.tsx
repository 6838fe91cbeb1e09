import { useState } from 'preact/hooks';
import type { SignedIn } from '../tabaccount.ts';

interface SignInProps {
  readonly complaint: string | null;
  readonly signIn: (signedIn: SignedIn) => void;
}

export function SignInForm({ complaint, signIn }: SignInProps) {
  const [token, setToken] = useState('');
  const submit = (event: Event): void => {
    event.preventDefault();
    const given = token.trim().replace(/^(Bot|Bearer) /, '');
    if (given !== '') signIn({ token: given, demo: null });
  };
  return (
    <main class="signin">
      <div class="card">
        <h1>Guildhall</h1>
        <p class="dim">Chat, voice rooms and lobbies of this server, and the gateway frames behind them.</p>
        {complaint !== null && (
          <p class="notice bad" role="alert">
            {complaint}
          </p>
        )}
        <a class="button primary" href="/login?next=%2F">
          Sign in with your account
        </a>
        <form class="form" onSubmit={submit}>
          <label for="token">Or with a token</label>
          <input
            id="token"
            type="password"
            autocomplete="off"
            spellcheck={false}
            required
            value={token}
            onInput={({ currentTarget }) => setToken(currentTarget.value)}
          />
          <p class="dim small">
            Of a user or a bot. It stays in this tab and is forgotten when you close it.
          </p>
          <button type="submit">Sign in</button>
        </form>
      </div>
    </main>
  );
}
