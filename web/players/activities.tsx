import { useEffect, useState } from 'preact/hooks';
import type { LobbyHandle } from '../../sdk/index.ts';
import { Activities } from '../activities.tsx';
import { callApi } from '../api.ts';
import type { Guild } from '../directory.ts';
import { Session } from '../session.ts';
import { useStore } from '../store.ts';
import { keep, keptSignIn, signInWithAccount } from '../tabaccount.ts';
import type { Game } from './game.ts';

interface GameActivitiesProps {
  readonly game: Game;
  /** The lobby that is shown. */
  readonly lobby: LobbyHandle | null;
}

/** Ends the session that shows activities: its token is of no use any more. */
export function forgetAccount(): void {
  const kept = keptSignIn();
  keep(null);
  if (kept !== null) callApi(kept.token, '/auth/logout', { method: 'POST' }).catch(() => undefined);
}

/**
 * The activities of the channel that the lobby is linked to, or of the player's guilds. An application's token may not join
 * activities or give consent for the person, so they are shown with a token of the account of this browser.
 */
export function GameActivities({ game, lobby }: GameActivitiesProps) {
  const [token, setToken] = useState(() => keptSignIn()?.token ?? null);
  const [session, setSession] = useState<Session | null>(null);
  const [isSignedOut, setSignedOut] = useState(false);
  const [complaint, setComplaint] = useState<string | null>(null);

  useEffect(() => {
    if (token === null) return;
    const begun = new Session({
      token,
      ended(reason) {
        keep(null);
        setToken(null);
        setComplaint(reason);
      },
    });
    setSession(begun);
    return () => {
      setSession(null);
      begun.close();
    };
  }, [token]);

  const show = async (): Promise<void> => {
    setComplaint(null);
    const signedIn = await signInWithAccount();
    setSignedOut(signedIn === null);
    if (signedIn === null) return;
    keep(signedIn);
    setToken(signedIn.token);
  };
  if (session !== null) return <OwnActivities game={game} lobby={lobby} session={session} />;
  const back = encodeURIComponent(location.pathname + location.search);
  return (
    <section class="card" aria-label="Activities of your servers">
      <h2>Activities</h2>
      {complaint !== null && <p class="notice bad">{complaint}</p>}
      {isSignedOut ? (
        <p class="dim">
          Activities are opened with an account, and nobody is signed in in this browser.{' '}
          <a href={`/login?next=${back}`}>Sign in</a>
        </p>
      ) : (
        <button type="button" onClick={() => void show()}>
          Show activities
        </button>
      )}
    </section>
  );
}

function OwnActivities({ game, lobby, session }: GameActivitiesProps & { readonly session: Session }) {
  const { self, guilds } = useStore(session.store).directory;
  const [chosenId, setChosenId] = useState<string | null>(null);
  if (self === null) return <p class="dim center">Connecting …</p>;
  if (self.id !== game.client.getCurrentUserV2()?.id)
    return (
      <p class="notice">
        No activities are shown: this browser is signed in as {self.name}, and the player is somebody else.
      </p>
    );
  const linked = lobby?.linkedChannel ?? null;
  const guild =
    guilds.get(linked?.guildId ?? chosenId ?? '') ?? (linked === null ? [...guilds.values()][0] : undefined);
  const { applicationId } = game;
  const asked = applicationId === null ? null : { applicationId, customId: null, referrerId: null };
  if (guild === undefined) return <p class="dim">You are in no server where activities could be opened.</p>;
  const shown = linked === null ? guild : onlyChannel(guild, linked.id);
  return (
    <>
      {linked === null && guilds.size > 1 && (
        <label>
          Activities of{' '}
          <select value={guild.id} onChange={({ currentTarget }) => setChosenId(currentTarget.value)}>
            {[...guilds.values()].map(({ id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </select>
        </label>
      )}
      <Activities
        key={linked?.id ?? guild.id}
        session={session}
        guild={shown}
        asked={asked}
        empty="No activity runs here."
      />
    </>
  );
}

/** The guild as if it had this channel alone. */
function onlyChannel(guild: Guild, channelId: string): Guild {
  const only = <T,>(channels: ReadonlyMap<string, T>): ReadonlyMap<string, T> =>
    new Map([...channels].filter(([id]) => id === channelId));
  return { ...guild, channels: only(guild.channels), texts: only(guild.texts) };
}
