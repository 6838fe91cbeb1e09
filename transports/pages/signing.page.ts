import { KNOWN_MS, withDeviceName } from '../../protocol/devices.ts';
import type { UserId } from '../../protocol/ids.ts';
import type { Refusal } from '../../protocol/refusal.ts';
import {
  errorSummary,
  field,
  form,
  hidden,
  type Messages,
  messagesOf,
  NO_MESSAGES,
  notice,
  type Page,
  type PageAnswer,
  page,
  redirect,
} from './frame.ts';
import { html } from './html.ts';
import { safeNext } from './origin.ts';
import type { PageCall, PageRoutes } from './routes.ts';

/** The longest duration of a browser session; the server ends it earlier. */
const COOKIE_SEC = 90 * 24 * 3600;
/** Random bytes of the browser's identifier. */
const DEVICE_BYTES = 32;
const HOME = '/settings';

const nextOf = ({ query, fields }: PageCall): string | null =>
  safeNext(fields.get('next') ?? query.get('next'));
const withNext = (path: string, next: string | null): string =>
  next === null ? path : `${path}?next=${encodeURIComponent(next)}`;
/** The status of a form that is shown again. */
export const statusOf = ({ status }: Refusal): number => (status === 400 ? 422 : status);

function loginPage(call: PageCall, messages: Messages = NO_MESSAGES, status = 200): Page {
  const next = nextOf(call);
  const { accounts } = call.deps;
  const body = html`${errorSummary(messages)}
${form(
  '/login',
  call.frame,
  [
    field(
      {
        name: 'login',
        label: 'Username or e-mail address',
        value: call.fields.get('login') ?? '',
        autocomplete: 'username',
      },
      messages,
    ),
    field(
      { name: 'password', label: 'Password', type: 'password', autocomplete: 'current-password' },
      messages,
    ),
    html`<div class="buttons"><button>Sign in</button></div>`,
  ],
  next,
)}
<p><a href="/reset">I have forgotten my password</a></p>
${accounts.registrationOpen && html`<p>No account yet? <a href="${withNext('/register', next)}">Make one</a></p>`}`;
  return page('Sign in', body, status);
}

function codePage(call: PageCall, ticket: string, messages: Messages = NO_MESSAGES, status = 200): Page {
  const code = {
    name: 'code',
    label: 'Code',
    hint: 'Six digits of your device, or a recovery code.',
    autocomplete: 'one-time-code',
  };
  const body = html`${errorSummary(messages)}
${form(
  '/login/code',
  call.frame,
  [
    hidden('ticket', ticket),
    field(code, messages),
    html`<div class="buttons"><button>Sign in</button></div>`,
  ],
  nextOf(call),
)}
<p><a href="/login">Begin again</a></p>`;
  return page('One more step', body, status);
}

/** Starts a browser session with a new cookie, so that a cookie planted by an attacker is useless. */
async function enter(
  call: PageCall & { readonly browserSession: { readonly userId: UserId; readonly signInId: string } | null },
  userId: UserId,
): Promise<PageAnswer> {
  const { accounts } = call.deps;
  if (call.browserSession !== null)
    await accounts.close(call.browserSession.userId, call.browserSession.signInId);
  const device = `${userId}.${Buffer.from(call.deps.randomBytes(DEVICE_BYTES)).toString('base64url')}`;
  const token = await accounts.open(userId, call.place, device);
  const { cookies, place } = call;
  const cookie = [
    cookies.set(cookies.session, token.reveal(), COOKIE_SEC),
    cookies.set(cookies.device, withDeviceName(userId, device, place.devices), KNOWN_MS / 1000),
  ];
  const next = nextOf(call) ?? HOME;
  return { ...(next.startsWith('/oauth2/') ? goOn(next) : redirect(next)), cookie };
}

/**
 * The consent page may redirect to an application at once. Browsers apply a form's policy to all redirects after it, and this
 * form's policy names no application; so the browser continues from a page instead of the form.
 */
function goOn(next: string): Page {
  return { ...page('Signed in', html`<p><a href="${next}">Go on</a></p>`), refresh: next };
}

function registerPage(call: PageCall, messages: Messages = NO_MESSAGES, status = 200): Page {
  if (!call.deps.accounts.registrationOpen)
    return notice(
      'No sign-ups here',
      'This server takes no sign-ups. Ask the people who run it for an account.',
      html`<p><a href="/login">Sign in</a></p>`,
      403,
    );
  const value = (name: string) => call.fields.get(name) ?? '';
  const body = html`${errorSummary(messages)}
${form(
  '/register',
  call.frame,
  [
    field(
      {
        name: 'username',
        label: 'Username',
        hint: 'Others find you by it. Letters a to z, digits, underscores and dots.',
        value: value('username'),
        autocomplete: 'username',
      },
      messages,
    ),
    field(
      {
        name: 'email',
        label: 'E-mail address',
        type: 'email',
        hint: 'To get back in when you forget your password. We send you a link to confirm it.',
        value: value('email'),
        autocomplete: 'email',
        optional: true,
      },
      messages,
    ),
    field(
      {
        name: 'password',
        label: 'Password',
        type: 'password',
        hint: '8 characters or more.',
        autocomplete: 'new-password',
      },
      messages,
    ),
    html`<div class="buttons"><button>Make an account</button></div>`,
  ],
  nextOf(call),
)}
<p>You have one already? <a href="${withNext('/login', nextOf(call))}">Sign in</a></p>`;
  return page('Make an account', body, status);
}

/** Pages for sign-up, sign-in and sign-out. */
export const signingPages: PageRoutes = {
  '/login': {
    signedIn: false,
    get: (call) => (call.browserSession === null ? loginPage(call) : redirect(nextOf(call) ?? HOME)),
    async post(call) {
      const { accounts } = call.deps;
      const login = call.fields.get('login') ?? '';
      const password = call.fields.get('password') ?? '';
      const reply = await accounts.signIn({ login, password }, call.place);
      if (!reply.ok) return loginPage(call, messagesOf(reply.refusal), statusOf(reply.refusal));
      const { value } = reply;
      return value.kind === 'signedIn' ? enter(call, value.userId) : codePage(call, value.ticket);
    },
  },

  '/login/code': {
    signedIn: false,
    get: () => redirect('/login'),
    async post(call) {
      const ticket = call.fields.get('ticket') ?? '';
      const code = call.fields.get('code') ?? '';
      const reply = await call.deps.accounts.secondFactor(ticket, code, call.place);
      if (reply.ok) return enter(call, reply.value);
      const messages = new Map([['code', [...messagesOf(reply.refusal).values()].join(' ')]]);
      return codePage(call, ticket, messages, statusOf(reply.refusal));
    },
  },

  '/register': {
    signedIn: false,
    get: (call) => (call.browserSession === null ? registerPage(call) : redirect(nextOf(call) ?? HOME)),
    async post(call) {
      const value = (name: string) => call.fields.get(name) ?? '';
      const email = value('email').trim() === '' ? null : value('email');
      const form = { username: value('username'), email, password: value('password') };
      const reply = await call.deps.accounts.register(form, call.place);
      if (reply.ok) return enter(call, reply.value);
      return registerPage(call, messagesOf(reply.refusal), statusOf(reply.refusal));
    },
  },

  '/logout': {
    signedIn: true,
    get: (call) =>
      page(
        'Sign out',
        form('/logout', call.frame, html`<div class="buttons"><button>Sign out</button></div>`),
      ),
    async post(call) {
      await call.deps.accounts.close(call.browserSession.userId, call.browserSession.signInId);
      return { ...redirect('/login'), cookie: call.cookies.set(call.cookies.session, null, 0) };
    },
  },
};
