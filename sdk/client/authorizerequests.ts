import { Status } from '../enums.ts';
import { path } from '../http.ts';
import type { Disposer } from '../signal.ts';
import type { Core } from './core.ts';

/** Requests from outside of the game to link an account. The session subscribes to them explicitly. */
export class AuthorizeRequests {
  readonly #core: Core;
  #isSubscribed = false;

  constructor(core: Core) {
    this.#core = core;
    // A new session loses the subscription; a resume keeps it.
    core.sessionReady.add((fresh) => {
      if (fresh && this.#isSubscribed) this.#setSubscription('PUT');
    });
    core.dispatched.add((name) => {
      if (name === 'AUTHORIZE_REQUEST' && this.#isSubscribed) core.signals.authorizeRequest.emit();
    });
  }

  /** The callback should call `authorize`. Needs an application id; stays registered over reconnects. */
  registerAuthorizeRequestCallback(callback: () => void): Disposer {
    this.#core.applicationIdOr();
    const dispose = this.#core.signals.authorizeRequest.set(callback);
    if (!this.#isSubscribed) {
      this.#isSubscribed = true;
      this.#setSubscription('PUT');
    }
    return () => {
      dispose();
      if (!this.#core.signals.authorizeRequest.hasCallbacks) this.#remove();
    };
  }

  removeAuthorizeRequestCallback(): void {
    this.#core.signals.authorizeRequest.set(() => {})();
    this.#remove();
  }

  #remove(): void {
    if (!this.#isSubscribed) return;
    this.#isSubscribed = false;
    this.#setSubscription('DELETE');
  }

  #setSubscription(method: 'PUT' | 'DELETE'): void {
    const { session, http, log } = this.#core;
    const { sessionId } = session;
    if (session.status !== Status.Ready || sessionId === null) return;
    http
      .call({ method, path: path`/guildhall/v1/sessions/${sessionId}/authorize-requests` })
      .catch((error: unknown) => log.warn(`Requests to authorize are not as wanted: ${String(error)}`));
  }
}
