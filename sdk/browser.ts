import { createBrowserAudio } from './call/browser.ts';
import type { Host, RedirectPlace } from './host.ts';
import type { OpenSocket } from './voice/wire.ts';

interface BrowserSocket {
  binaryType: string;
  readonly readyState: number;
  onmessage: ((event: { readonly data: string | ArrayBuffer }) => void) | null;
  onclose: ((event: { readonly code: number; readonly reason: string }) => void) | null;
  send(data: string | Uint8Array<ArrayBuffer>): void;
  close(code?: number): void;
}

interface Popup {
  readonly closed: boolean;
  location: { href: string };
  close(): void;
}

/** The part of the DOM used here, declared so that the library needs no DOM types. */
interface Page {
  readonly WebSocket: new (url: string) => BrowserSocket;
  readonly location?: { readonly origin: string; readonly href: string };
  readonly open?: (url: string, target: string, features?: string) => Popup | null;
  readonly close?: () => void;
  readonly crossOriginIsolated?: boolean;
}

const page = (): Page => globalThis as Page;

const OPEN = 1;
/** Channel on which the redirect page passes its URL to the page that asked. */
const CHANNEL = 'guildhall.authorize';
const CALLBACK_PATH = '/callback';
/** Poll interval for a closed popup, milliseconds: browsers send no event. */
const LOOK_MS = 500;
/** Polls to wait after a popup closed: the redirect page closes itself at once, and its message may arrive later. */
const CLOSED_LOOKS = 5;

const openSocket: OpenSocket = (url, events) => {
  const socket = new (page().WebSocket)(url);
  socket.binaryType = 'arraybuffer';
  socket.onmessage = ({ data }) => events.message(typeof data === 'string' ? data : new Uint8Array(data));
  socket.onclose = ({ code, reason }) => events.closed(code, reason);
  return {
    send(data) {
      if (socket.readyState === OPEN) socket.send(data);
    },
    close: (code) => socket.close(code),
  };
};

/**
 * Sign-in in a popup. The popup is opened empty while the click is handled, because browsers block it later, and
 * navigated when the URL is known.
 */
function signInWindow(): Pick<Host, 'openUrl' | 'awaitRedirect'> {
  let popup: Popup | null = null;
  const open = (url: string) => page().open?.(url, '_blank', 'popup,width=520,height=760') ?? null;
  return {
    openUrl(url) {
      if (popup !== null && !popup.closed) popup.location.href = url;
      else popup = open(url);
    },
    async awaitRedirect(arrived, gone, meant): Promise<RedirectPlace> {
      const { location } = page();
      if (location === undefined) throw new Error('The sign-in needs a browser page to return to.');
      const redirect = new URL(meant ?? CALLBACK_PATH, location.href);
      if (redirect.origin !== location.origin)
        throw new Error('redirectPage must be on the origin of this page.');
      const own = open('about:blank');
      popup = own;
      const channel = new BroadcastChannel(CHANNEL);
      channel.onmessage = (event: unknown) => {
        const { data } = event as { data: unknown };
        if (typeof data === 'string') arrived(data);
      };
      // A cross-origin isolated page cannot see a popup on another origin and would report it as closed.
      let closedLooks = 0;
      const looking = setInterval(() => {
        if (own?.closed && !page().crossOriginIsolated) closedLooks += 1;
        if (closedLooks === CLOSED_LOOKS) gone();
      }, LOOK_MS);
      return {
        redirectUri: redirect.href,
        close() {
          clearInterval(looking);
          channel.close();
          own?.close();
          if (popup === own) popup = null;
        },
      };
    },
  };
}

/**
 * Call this on the page at `/callback`, or at `redirectPage`: it passes the redirect URL to the page that asked,
 * and closes the window.
 */
export function completeAuthorizePage(): void {
  const { location, close } = page();
  const channel = new BroadcastChannel(CHANNEL);
  channel.postMessage(location?.href ?? '');
  channel.close();
  close?.();
}

/** Browser environment: API of the page's own origin, popups for sign-in, no log files. */
export const browserHost = (): Host => ({
  os: 'web',
  openSocket,
  fetch: (input, init) => fetch(input, init),
  origin: page().location?.origin ?? null,
  ...signInWindow(),
  openLocal: null,
  registerLaunch: null,
  openLog: null,
  createAudio: () => createBrowserAudio(),
});
