import { useState } from 'preact/hooks';

interface SignInProps {
  readonly complaint: string | null;
  readonly signIn: (token: string) => void;
}

export function SignIn({ complaint, signIn }: SignInProps) {
  const [token, setToken] = useState('');
  const submit = (event: Event): void => {
    event.preventDefault();
    const given = token.trim().replace(/^(Bot|Bearer) /, '');
    if (given !== '') signIn(given);
  };
  return (
    <main class="signin">
      <form class="card" onSubmit={submit}>
        <h1>Voice room</h1>
        <p class="dim">
          Talk with everyone in a voice channel. What you say is encrypted on this device and opened only on
          theirs.
        </p>
        {complaint !== null && (
          <p class="notice bad" role="alert">
            {complaint}
          </p>
        )}
        <label for="token">Token</label>
        <input
          id="token"
          type="password"
          autocomplete="off"
          spellcheck={false}
          required
          value={token}
          onInput={({ currentTarget }) => setToken(currentTarget.value)}
        />
        <p class="dim small">Of a user or a bot. It stays in this tab and is forgotten when you close it.</p>
        <button type="submit" class="primary">
          Sign in
        </button>
      </form>
    </main>
  );
}
