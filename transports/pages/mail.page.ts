import {
  errorSummary,
  type Field,
  field,
  form,
  hidden,
  type Messages,
  messagesOf,
  NO_MESSAGES,
  notice,
  type Page,
  page,
} from './frame.ts';
import { html } from './html.ts';
import type { PageCall, PageRoutes } from './routes.ts';
import { statusOf } from './signing.page.ts';

const SIGN_IN = html`<p><a href="/login">Sign in</a></p>`;
const ASK_AGAIN = html`<p><a href="/reset">Ask for a new link</a></p>`;

function askPage(call: PageCall): Page {
  const login = { name: 'login', label: 'Username or e-mail address', autocomplete: 'username' };
  return page(
    'Forgotten password',
    html`<p>We send a link to the confirmed address of your account.</p>
${form('/reset', call.frame, [
  field(login, NO_MESSAGES),
  html`<div class="buttons"><button>Send the link</button></div>`,
])}`,
  );
}

function choosePage(call: PageCall, token: string, messages: Messages = NO_MESSAGES, status = 200): Page {
  const password: Field = {
    name: 'password',
    label: 'New password',
    type: 'password',
    hint: '8 characters or more. Everything that is signed in now will be signed out.',
    autocomplete: 'new-password',
  };
  return page(
    'Choose a new password',
    html`${errorSummary(messages)}
${form('/reset', call.frame, [
  hidden('token', token),
  field(password, messages),
  html`<div class="buttons"><button>Save the password</button></div>`,
])}`,
    status,
  );
}

/** The pages that e-mail links lead to. Opening one changes nothing, because mail programs open links too. */
export const mailPages: PageRoutes = {
  '/verify-email': {
    signedIn: false,
    get: (call) =>
      page(
        'Confirm your e-mail address',
        form('/verify-email', call.frame, [
          hidden('token', call.query.get('token') ?? ''),
          html`<p>Is the mailbox yours in which you found the link?</p>
<div class="buttons"><button>Yes, it is mine</button></div>`,
        ]),
      ),
    async post(call) {
      const reply = await call.deps.accounts.confirmEmail(call.fields.get('token') ?? '');
      if (reply.ok) return notice('Confirmed', 'The address is yours. You can sign in with it.', SIGN_IN);
      const [message = ''] = messagesOf(reply.refusal).values();
      return notice('Not confirmed', message, SIGN_IN, statusOf(reply.refusal));
    },
  },

  '/reset': {
    signedIn: false,
    get: (call) => {
      const token = call.query.get('token');
      return token === null ? askPage(call) : choosePage(call, token);
    },
    async post(call) {
      const { accounts } = call.deps;
      const token = call.fields.get('token');
      if (token === null) {
        await accounts.forgot(call.fields.get('login') ?? '', call.place);
        return notice(
          'Look into your mailbox',
          'If there is such an account and it has a confirmed address, a letter is on its way.',
          SIGN_IN,
        );
      }
      const reply = await accounts.reset(token, call.fields.get('password') ?? '');
      if (reply.ok) return notice('Saved', 'Your password was changed.', SIGN_IN);
      const messages = messagesOf(reply.refusal);
      const status = statusOf(reply.refusal);
      return messages.has('token')
        ? notice('Expired', messages.get('token') ?? '', ASK_AGAIN, status)
        : choosePage(call, token, messages, status);
    },
  },
};
