import { useEffect, useState } from 'preact/hooks';
import { Activities } from './activities.tsx';
import { ChatCard } from './chatcard.tsx';
import { GameControlCard } from './gamecontrolcard.tsx';
import { Lobby } from './lobby.tsx';
import { Room } from './room.tsx';
import { Session } from './session.ts';
import { SignIn } from './signin.tsx';
import { useStore } from './store.ts';

const KEPT = 'token';
/** `?guild=…&channel=…` opens the chat of a channel, `?activity=…` an activity. */
const ASKED = new URLSearchParams(location.search);
const askedActivity = ASKED.has('activity')
  ? {
      applicationId: ASKED.get('activity') ?? '',
      customId: ASKED.get('custom_id'),
      referrerId: ASKED.get('referrer_id'),
    }
  : null;

/** The voice-room page: sign in, choose a channel, join its call. The token is kept only for this tab. */
export function App() {
  const [token, setToken] = useState(() => sessionStorage.getItem(KEPT));
  const [complaint, setComplaint] = useState<string | null>(null);
  const [session, setSession] = useState<Session | null>(null);

  const signOut = (reason: string | null): void => {
    sessionStorage.removeItem(KEPT);
    setComplaint(reason);
    setToken(null);
  };

  useEffect(() => {
    if (token === null) return;
    sessionStorage.setItem(KEPT, token);
    const begun = new Session({ token, ended: signOut });
    setSession(begun);
    return () => {
      setSession(null);
      begun.close();
    };
  }, [token]);

  if (token === null) return <SignIn complaint={complaint} signIn={setToken} />;
  return session === null ? null : <SignedIn session={session} signOut={() => signOut(null)} />;
}

function SignedIn({ session, signOut }: { session: Session; signOut: () => void }) {
  const state = useStore(session.store);
  const { directory, place, call } = state;
  const guild = place === null ? undefined : directory.guilds.get(place.guildId);
  const channel = place === null ? undefined : guild?.channels.get(place.channelId);
  const asked = directory.guilds.get(ASKED.get('guild') ?? '');
  const shown = guild ?? asked ?? [...directory.guilds.values()][0];
  return (
    <>
      <header class="bar">
        <h1>Voice room</h1>
        <span class="who">{directory.self?.name ?? ''}</span>
        <button type="button" class="quiet" onClick={signOut}>
          Sign out
        </button>
      </header>
      <main>
        {state.phase === 'offline' && (
          <p class="notice">The connection to the server was lost. Trying again …</p>
        )}
        {state.complaint !== null && (
          <p class="notice bad" role="alert">
            {state.complaint}
          </p>
        )}
        {guild !== undefined && channel !== undefined && call !== null ? (
          <Room session={session} call={call} guild={guild} channel={channel} directory={directory} />
        ) : (
          <Lobby session={session} state={state} />
        )}
        <GameControlCard session={session} />
        {shown !== undefined && (
          <Activities key={`activities ${shown.id}`} session={session} guild={shown} asked={askedActivity} />
        )}
        {shown !== undefined && (
          <ChatCard
            key={shown.id}
            session={session}
            known={{ guild: shown, people: directory.people }}
            asked={ASKED.get('channel')}
          />
        )}
      </main>
    </>
  );
}
