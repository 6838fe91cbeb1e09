import { useEffect, useState } from 'preact/hooks';
import { messageOf } from '../../protocol/thrown.ts';
import { hashOf, pageIn } from './address.ts';
import { Admin, keep, list, signInFromAddress, text } from './admin.ts';
import { ChaosPage } from './chaos.tsx';
import { Deliveries, Matchmaking, Sessions } from './live.tsx';
import { LobbyPage, Moderation } from './moderation.tsx';
import { Explorer } from './operation.tsx';
import { Overview } from './overview.tsx';
import { SCROLLED_BY_KEYS, useLoaded } from './parts.tsx';
import { Applications, Guilds, People } from './records.tsx';
import { Calls, Log, Settings, Shards, Trail } from './running.tsx';

const PAGES = {
  Overview,
  Guilds,
  People,
  Applications,
  Sessions,
  Lobbies: LobbyPage,
  Matchmaking,
  Calls,
  'Webhook deliveries': Deliveries,
  Moderation,
  Shards,
  'API explorer': Explorer,
  Failures: ChaosPage,
  Log,
  Trail,
  Settings,
} as const;
type PageName = keyof typeof PAGES;
const isPage = (name: string): name is PageName => name in PAGES;
const NAMES = Object.keys(PAGES).filter(isPage);

/** The console: signs in with a one-time link or an admin token. */
export function App() {
  const [admin, setAdmin] = useState<Admin | null>(null);
  const [isLooking, setLooking] = useState(true);
  const [complaint, setComplaint] = useState<string | null>(null);

  const enter = async (token: string): Promise<void> => {
    const next = new Admin(token);
    await next.get('/trail');
    keep(token);
    setAdmin(next);
  };
  const attempt = (run: () => Promise<void>): void => {
    setComplaint(null);
    run()
      .catch((error: unknown) => {
        keep(null);
        setComplaint(messageOf(error));
      })
      .finally(() => setLooking(false));
  };
  useEffect(() => {
    attempt(async () => {
      const token = await signInFromAddress();
      if (token !== null) await enter(token);
    });
  }, []);

  if (admin !== null) {
    const signOut = (): void => {
      keep(null);
      setAdmin(null);
    };
    return <Pages admin={admin} signOut={signOut} choose={(shard) => setAdmin(admin.at(shard))} />;
  }
  if (isLooking) return <p class="dim center">Signing in …</p>;
  return <SignIn complaint={complaint} enter={(token) => attempt(() => enter(token))} />;
}

interface PagesProps {
  readonly admin: Admin;
  readonly signOut: () => void;
  readonly choose: (shard: string | null) => void;
}

/** Chooses the shard that answers; nothing where one process serves all. */
function ShardChoice({ admin, choose }: Pick<PagesProps, 'admin' | 'choose'>) {
  const { body } = useLoaded(() => admin.get('/cluster'), 'shards', 10_000);
  const ids = list(body?.shards).map(({ id }) => text(id));
  if (body?.supervisor_pid === undefined || ids.length < 2) return null;
  return (
    <label class="shardchoice">
      Shard
      <select value={admin.shard ?? ''} onChange={({ currentTarget }) => choose(currentTarget.value || null)}>
        <option value="">any</option>
        {ids.map((id) => (
          <option key={id} value={id}>
            {id}
          </option>
        ))}
      </select>
    </label>
  );
}

/** The page that the address names, so that a reload and the Back key lead to where one was. */
function useShownPage(): PageName {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const changed = (): void => setHash(location.hash);
    addEventListener('hashchange', changed);
    return () => removeEventListener('hashchange', changed);
  }, []);
  return pageIn(hash, NAMES) ?? 'Overview';
}

function Pages({ admin, signOut, choose }: PagesProps) {
  const name = useShownPage();
  const Page = PAGES[name];
  return (
    <div class="console">
      <header class="top">
        <h1>Guildhall console</h1>
        <ShardChoice admin={admin} choose={choose} />
        <button type="button" class="quiet" onClick={signOut}>
          Sign out
        </button>
      </header>
      <nav aria-label="Console">
        <ul>
          {NAMES.map((one) => (
            <li key={one}>
              <button
                type="button"
                class="entry"
                aria-current={one === name ? 'page' : undefined}
                onClick={() => location.assign(hashOf(one))}
              >
                {one}
              </button>
            </li>
          ))}
        </ul>
      </nav>
      <main {...SCROLLED_BY_KEYS}>
        <Page key={`${name} ${admin.shard}`} admin={admin} />
      </main>
    </div>
  );
}

function SignIn({
  complaint,
  enter,
}: {
  readonly complaint: string | null;
  readonly enter: (token: string) => void;
}) {
  const [token, setToken] = useState('');
  return (
    <main class="signin">
      <form
        class="card"
        onSubmit={(event) => {
          event.preventDefault();
          enter(token.trim());
        }}
      >
        <h1>Guildhall console</h1>
        {complaint !== null && (
          <p class="notice bad" role="alert">
            {complaint}
          </p>
        )}
        <label for="token">Admin token</label>
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
          The server prints it when it starts, or says where it keeps it. It stays in this tab.
        </p>
        <button type="submit" class="primary">
          Sign in
        </button>
      </form>
    </main>
  );
}
