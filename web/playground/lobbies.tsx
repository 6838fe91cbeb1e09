import { useEffect, useState } from 'preact/hooks';
import { messageOf } from '../../protocol/thrown.ts';
import type { LobbyView } from './lobbyview.tsx';

interface LobbiesProps {
  /** The user's own token: with it the page asks for a token of the game. */
  readonly token: string;
  readonly applicationId: string;
}

/** Lobbies of a game. The client library for them is loaded when they are first opened. */
export function Lobbies({ token, applicationId }: LobbiesProps) {
  const [View, setView] = useState<{ readonly view: typeof LobbyView } | null>(null);
  const [complaint, setComplaint] = useState<string | null>(null);
  useEffect(() => {
    import('./lobbyview.tsx').then(
      ({ LobbyView: view }) => setView({ view }),
      (error: unknown) => setComplaint(messageOf(error)),
    );
  }, []);
  if (complaint !== null)
    return (
      <p class="notice bad" role="alert">
        {complaint}
      </p>
    );
  return View === null ? (
    <p class="dim center">Loading …</p>
  ) : (
    <View.view token={token} applicationId={applicationId} />
  );
}
