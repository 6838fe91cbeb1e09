import { useEffect, useState } from 'preact/hooks';
import { messageOf } from '../../protocol/thrown.ts';
import { Client } from '../../sdk/index.ts';
import { isJson } from '../../sdk/voice/wire.ts';
import { callApi, jsonBody } from '../api.ts';
import { Game } from '../players/game.ts';
import { Lobby } from '../players/lobby.tsx';
import { JoinForm } from '../players/signin.tsx';
import { useStore } from '../store.ts';

interface LobbyViewProps {
  readonly token: string;
  readonly applicationId: string;
}

const CALLBACK = '/voice-room/players/callback.html';

/** Lobbies of a game, as the signed-in user: the user agrees that the game acts for them, and plays. */
export function LobbyView({ token, applicationId }: LobbyViewProps) {
  const [game] = useState(() => new Game({ keeps: false }));
  useEffect(() => () => game.signOut(), [game]);
  const state = useStore(game.store);
  if (state.phase === 'ready' || state.phase === 'reconnecting') return <Playing game={game} />;
  return <Agree game={game} token={token} applicationId={applicationId} />;
}

function Playing({ game }: { readonly game: Game }) {
  const state = useStore(game.store);
  const { lobbyId, complaint } = state;
  const lobby = lobbyId === null ? null : game.client.getLobbyHandle(lobbyId);
  return (
    <div class="lobbyview">
      {complaint !== null && (
        <p class="notice bad" role="alert">
          {complaint}
        </p>
      )}
      {lobby !== null && <Lobby game={game} state={state} lobby={lobby} key={lobby.id} />}
      <JoinForm game={game} />
    </div>
  );
}

function Agree({ game, token, applicationId }: LobbyViewProps & { readonly game: Game }) {
  const [given, setGiven] = useState(applicationId);
  const [complaint, setComplaint] = useState<string | null>(null);
  const { phase, complaint: refused } = useStore(game.store);
  const begin = async (event: Event): Promise<void> => {
    event.preventDefault();
    setComplaint(null);
    try {
      await game.enter(await gameToken(game.client, token, given.trim()));
    } catch (error) {
      setComplaint(messageOf(error));
    }
  };
  const shown = complaint ?? refused;
  return (
    <form class="card" onSubmit={(event) => void begin(event)}>
      <h2>Lobbies</h2>
      <p class="dim">
        Lobbies belong to a game. Going on lets this game act for you in them: it sees your name, friends and
        messages there. Take it back in your account's settings.
      </p>
      {shown !== null && (
        <p class="notice bad" role="alert">
          {shown}
        </p>
      )}
      <label for="application">Application id of the game</label>
      <input
        id="application"
        inputmode="numeric"
        pattern="\s*\d+\s*"
        required
        value={given}
        onInput={({ currentTarget }) => setGiven(currentTarget.value)}
      />
      <button type="submit" class="primary" disabled={phase === 'connecting'}>
        Agree and open the lobbies
      </button>
    </form>
  );
}

/** A token of the game for this user: the answer of the consent page, given here with the user's own token. */
async function gameToken(client: Client, token: string, applicationId: string): Promise<string> {
  const { verifier, challenge } = await client.createAuthorizationCodeVerifier();
  const redirectUri = location.origin + CALLBACK;
  const query = new URLSearchParams({
    ...{ client_id: applicationId, response_type: 'code', redirect_uri: redirectUri },
    scope: Client.getDefaultCommunicationScopes(),
    ...{ code_challenge: challenge.challenge, code_challenge_method: 'S256' },
  });
  const decided = await callApi(token, `/oauth2/authorize?${query}`, jsonBody('POST', { authorize: true }));
  const answer = isJson(decided) ? new URL(String(decided.location)).searchParams : null;
  const code = answer?.get('code');
  if (!code) throw new Error(answer?.get('error_description') ?? 'The game may not act for you.');
  return (await client.getToken(applicationId, code, verifier, redirectUri)).accessToken;
}
