import { useEffect, useState } from 'preact/hooks';
import { messageOf } from '../../protocol/thrown.ts';
import { callApi } from '../api.ts';
import { Session } from '../session.ts';
import { openSocket } from '../socket.ts';
import {
  keep,
  keptSignIn,
  type SignedIn,
  signInWithAccount,
  signInWithCode,
  takeCode,
} from '../tabaccount.ts';
import { connectClient, createClient } from './client.ts';
import { FrameLog } from './frames.ts';
import { Playground } from './playground.tsx';
import { SignInForm } from './signinform.tsx';
import { createWorld, type WorldStore } from './worldstore.ts';

interface Running {
  readonly session: Session;
  readonly log: FrameLog;
  readonly world: WorldStore;
}

/** The page at `/`: signs in with a one-time link, the account of this browser, or a token; then shows the chat. */
export function App() {
  const [signedIn, setSignedIn] = useState<SignedIn | null>(null);
  const [isLooking, setLooking] = useState(true);
  const [complaint, setComplaint] = useState<string | null>(null);
  const [running, setRunning] = useState<Running | null>(null);

  const enter = (next: SignedIn | null, reason: string | null = null): void => {
    keep(next);
    setComplaint(reason);
    setSignedIn(next);
    setLooking(false);
  };

  useEffect(() => {
    const code = takeCode();
    const looked = code === null ? Promise.resolve(keptSignIn()) : signInWithCode(code);
    looked.then(
      async (found) => enter(found ?? (await signInWithAccount())),
      (error: unknown) => enter(null, messageOf(error)),
    );
  }, []);

  useEffect(() => {
    if (signedIn === null) return;
    const log = new FrameLog();
    const client = createClient(log.tapped(openSocket));
    const world = createWorld(client);
    const session = new Session({
      token: signedIn.token,
      link: (events) => connectClient(client, signedIn.token, events),
      ended: (reason) => enter(null, reason),
    });
    setRunning({ session, log, world });
    return () => {
      setRunning(null);
      session.close();
    };
  }, [signedIn]);

  if (signedIn === null)
    return isLooking ? (
      <p class="dim center">Signing in …</p>
    ) : (
      <SignInForm complaint={complaint} signIn={enter} />
    );
  if (running === null) return null;
  const signOut = (): void => {
    callApi(signedIn.token, '/auth/logout', { method: 'POST' }).catch(() => undefined);
    enter(null);
  };
  return <Playground {...running} signedIn={signedIn} signOut={signOut} />;
}
