import type { ActivityPage } from './commands.ts';

/** The parts of the DOM used here, declared so that the library needs no DOM types. */
export interface FrameElement {
  replaceChildren(...children: unknown[]): void;
}

interface Element extends FrameElement {
  textContent: string | null;
  src: string;
  allow: string;
  title: string;
  type: string;
  accept: string;
  className: string;
  disabled: boolean;
  setAttribute(name: string, value: string): void;
  append(...children: Element[]): void;
  remove(): void;
  click(): void;
  showModal(): void;
  addEventListener(name: string, listener: () => void): void;
  readonly files: ArrayLike<Blob> | null;
  readonly contentWindow: { postMessage(message: unknown, origin: string): void } | null;
}

interface Incoming {
  readonly source: unknown;
  readonly origin: string;
  readonly data: unknown;
}

interface ScreenOrientation {
  readonly type: string;
  addEventListener(name: 'change', listener: () => void): void;
  removeEventListener(name: 'change', listener: () => void): void;
}

interface Browser {
  readonly document: { createElement(name: string): Element; readonly body: Element };
  readonly navigator: { readonly language: string };
  /** Absent in old browsers. */
  readonly screen?: { readonly orientation?: ScreenOrientation };
  open(url: string, target: string, features: string): unknown;
  addEventListener(name: 'message', listener: (event: Incoming) => void): void;
  removeEventListener(name: 'message', listener: (event: Incoming) => void): void;
}

const isBrowser = (scope: object): scope is Browser => 'document' in scope && 'navigator' in scope;

function browser(): Browser {
  const scope: object = globalThis;
  if (!isBrowser(scope)) throw new Error('Activities are shown by browsers.');
  return scope;
}

interface FrameOptions {
  readonly url: string;
  readonly origin: string;
  readonly sandbox: string;
  readonly allow: string;
  received(message: unknown): void;
}

/** Puts a frame into an element. Only what its own window sends from its own origin is received. */
export function frameWindow(container: FrameElement, options: FrameOptions) {
  const { document, addEventListener, removeEventListener } = browser();
  const frame = document.createElement('iframe');
  frame.setAttribute('sandbox', options.sandbox);
  frame.allow = options.allow;
  frame.title = 'Activity';
  frame.className = 'activity';
  frame.src = options.url;
  const listener = ({ source, origin, data }: Incoming): void => {
    if (source === frame.contentWindow && origin === options.origin) options.received(data);
  };
  addEventListener('message', listener);
  container.replaceChildren(frame);
  return {
    send: (message: unknown) => frame.contentWindow?.postMessage(message, options.origin),
    remove(): void {
      removeEventListener('message', listener);
      frame.remove();
    },
  };
}

/** A key or a click that was meant for the activity may come so late. */
const UNASKED_MS = 700;

/**
 * A dialog on top of everything, also of the frame: the activity can neither cover nor press it. The person may be playing when
 * it opens, so it can be agreed to only a moment later, and a key refuses.
 */
function ask(
  title: string,
  lines: readonly string[],
  [yes, no]: readonly [string, string],
): Promise<boolean> {
  const { document } = browser();
  const made = (name: string, content: string): Element => {
    const element = document.createElement(name);
    element.textContent = content;
    return element;
  };
  const dialog = document.createElement('dialog');
  dialog.className = 'activity-dialog';
  const [agree, refuse] = [made('button', yes), made('button', no)];
  const list = document.createElement('ul');
  list.append(...lines.map((line) => made('li', line)));
  dialog.append(made('h2', title), list, agree, refuse);
  agree.disabled = true;
  const timer = setTimeout(() => {
    agree.disabled = false;
  }, UNASKED_MS);
  document.body.append(dialog);
  return new Promise((resolve) => {
    const settle = (isAgreed: boolean) => () => {
      clearTimeout(timer);
      dialog.remove();
      resolve(isAgreed);
    };
    agree.addEventListener('click', settle(true));
    refuse.addEventListener('click', settle(false));
    dialog.addEventListener('cancel', settle(false));
    dialog.showModal();
  });
}

/** The browser's default implementation of a page for an activity. */
export const browserPage = (): ActivityPage => ({
  locale: browser().navigator.language,
  consent: ({ application, scopes }) =>
    ask(`${application.name} wants to act for you`, scopes, ['Authorize', 'Cancel']),
  confirm: (question) => ask('The activity asks', [question], ['Yes', 'No']),
  openExternal: (url) => {
    browser().open(url, '_blank', 'noopener,noreferrer');
    return true;
  },
  watchOrientation(turned) {
    const orientation = browser().screen?.orientation;
    const listener = () => turned(orientation?.type.startsWith('landscape') === true);
    orientation?.addEventListener('change', listener);
    return () => orientation?.removeEventListener('change', listener);
  },
  chooseImage: () =>
    new Promise((resolve) => {
      const input = browser().document.createElement('input');
      input.type = 'file';
      input.accept = 'image/*';
      input.addEventListener('change', () => resolve(input.files?.[0] ?? null));
      input.addEventListener('cancel', () => resolve(null));
      input.click();
    }),
});
