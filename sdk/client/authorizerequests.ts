import { Status } from '../enums.ts';
import { path } from '../http.ts';
import type { Disposer } from '../signal.ts';
import type { Core } from './core.ts';

/** Requests, made outside of the game, to connect an account with it. A session that wants to hear of them says so. */
export function authorizeRequests(core: Core) {
  const { session, http, signals, log } = core;
  let wanted = false;

  const tell = (method: 'PUT' | 'DELETE') => {
    const { sessionId } = session;
    if (session.status !== Status.Ready || sessionId === null) return;
    http
      .call({ method, path: path`/guildhall/v1/sessions/${sessionId}/authorize-requests` })
      .catch((error: unknown) => log.warn(`Requests to authorize are not as wanted: ${String(error)}`));
  };
  // It is lost with the session, and kept over a resume.
  core.stood.add((fresh) => {
    if (fresh && wanted) tell('PUT');
  });
  core.dispatched.add((name) => {
    if (name === 'AUTHORIZE_REQUEST' && wanted) signals.authorizeRequest.emit();
  });
  const remove = () => {
    if (!wanted) return;
    wanted = false;
    tell('DELETE');
  };

  return {
    /** Whoever is asked then calls `authorize`. Needs an application id; holds over reconnects. */
    registerAuthorizeRequestCallback(callback: () => void): Disposer {
      core.applicationIdOr();
      const dispose = signals.authorizeRequest.set(callback);
      if (!wanted) {
        wanted = true;
        tell('PUT');
      }
      return () => {
        dispose();
        if (!signals.authorizeRequest.heard) remove();
      };
    },
    removeAuthorizeRequestCallback(): void {
      signals.authorizeRequest.set(() => {})();
      remove();
    },
  };
}
