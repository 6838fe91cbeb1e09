import { renderSVG } from 'uqr';
import type { Reply } from '../../engine/kernel/aggregate.ts';
import { isApplicationId, isSnowflake } from '../../protocol/ids.ts';
import { scopeRow } from '../../protocol/scopes.ts';
import type { Secret } from '../../protocol/secret.ts';
import type { FactorOffer, Profile } from '../../services/accounts/ports.ts';
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
  type PageAnswer,
  page,
  redirect,
  time,
} from './frame.ts';
import { type Html, html, type Part, trusted } from './html.ts';
import type { PageRoute, PageRoutes, SignedInCall } from './routes.ts';
import { statusOf } from './signing.page.ts';

/** Confirmations by the keyword in the URL; text from a link is never shown. */
const DONE: Readonly<Record<string, string>> = {
  profile: 'Your names are saved.',
  password: 'Your password is saved, and everything else is signed out.',
  email: 'We have sent a link to the new address. It is yours once you have opened it.',
  factor: 'Two-step sign-in is off.',
  browsers: 'Signed out.',
  applications: 'The application no longer has access to your account.',
};

const button = (text: string, kind = ''): Html =>
  html`<div class="buttons"><button class="${kind}">${text}</button></div>`;
const current = (id: string): Field => ({
  name: id,
  label: 'Current password',
  type: 'password',
  autocomplete: 'current-password',
});

/** The outcome of a form of the page: its messages are shown at its own fields. */
interface Trouble {
  readonly at: string;
  readonly messages: Messages;
}

const section = (id: string, title: string, content: Part): Html =>
  html`<section aria-labelledby="${id}-title"><h2 id="${id}-title">${title}</h2>${content}</section>`;

function profileForm(call: SignedInCall, profile: Profile, messages: Messages): Html {
  const { username, globalName } = profile;
  return form('/settings/profile', call.frame, [
    field({ name: 'username', label: 'Username', value: username, autocomplete: 'username' }, messages),
    field(
      {
        name: 'global_name',
        label: 'Display name',
        value: globalName ?? '',
        autocomplete: 'nickname',
        optional: true,
      },
      messages,
    ),
    button('Save names'),
  ]);
}

function emailForm(call: SignedInCall, { email, claimedEmail }: Profile, messages: Messages): Html {
  return html`<p>${email === null ? 'No address is confirmed.' : html`Confirmed: <strong>${email}</strong>`}</p>
${
  claimedEmail !== null &&
  html`<p>Waits to be confirmed: <strong>${claimedEmail}</strong></p>
${form('/settings/email/again', call.frame, button('Send the link again', 'second'))}`
}
${form('/settings/email', call.frame, [
  field({ name: 'email', label: 'New e-mail address', type: 'email', autocomplete: 'email' }, messages),
  field(current('email_current'), messages),
  button('Change the address'),
])}`;
}

function passwordForm(call: SignedInCall, { loginName }: Profile, messages: Messages): Html {
  return form('/settings/password', call.frame, [
    // For password managers, which save both fields together.
    html`<input type="hidden" autocomplete="username" value="${loginName}">`,
    field(current('current'), messages),
    field(
      { name: 'password', label: 'New password', type: 'password', autocomplete: 'new-password' },
      messages,
    ),
    button('Change the password'),
  ]);
}

function factorPart(call: SignedInCall, { hasFactor, recoveryCodesLeft }: Profile, messages: Messages): Html {
  if (!hasFactor)
    return html`<p>With two-step sign-in a thief of your password cannot get in without your device.</p>
<p><a href="/settings/two-step">Switch it on</a></p>`;
  return html`<p>On. Recovery codes left: ${recoveryCodesLeft}.</p>
${form('/settings/two-step/off', call.frame, [field(current('factor_current'), messages), button('Switch it off', 'second')])}`;
}

const BROWSERS = [
  ['Edg', 'Edge'],
  ['OPR', 'Opera'],
  ['Firefox', 'Firefox'],
  ['Chrome', 'Chrome'],
  ['Safari', 'Safari'],
] as const;
/** In this order: systems whose user agents contain another one's name come first. */
const SYSTEMS = ['Android', 'iPhone', 'iPad', 'Windows', 'Mac OS X', 'CrOS', 'Linux'] as const;

/** A readable name of the browser; its user agent when that is unknown. */
function browserName(agent: string): string {
  const browser = BROWSERS.find(([mark]) => agent.includes(`${mark}/`))?.[1];
  const system = SYSTEMS.find((mark) => agent.includes(mark));
  if (browser === undefined) return agent === '' ? 'A browser' : agent;
  return system === undefined ? browser : `${browser} on ${system}`;
}

async function browsersPart(call: SignedInCall): Promise<Html> {
  const sessions = await call.deps.accounts.browserSessions(call.browserSession.userId);
  return html`<ul class="list">${sessions.map(
    ({ id, agent, address, startedMs, seenMs }) => html`<li class="panel">
<p><strong>${browserName(agent)}</strong>${id === call.browserSession.signInId && ' (this one)'}<br>
${address}, since ${time(startedMs)}, last seen ${time(seenMs)}</p>
${form('/settings/browsers', call.frame, [hidden('id', id), html`<button class="second" aria-label="Sign out ${browserName(agent)}">Sign out</button>`])}
</li>`,
  )}</ul>
${form('/settings/browsers', call.frame, [hidden('id', ''), button('Sign out everything else, programs too', 'second')])}`;
}

async function applicationsPart(call: SignedInCall): Promise<Html> {
  const grants = await call.deps.oauth.grants(call.browserSession.userId);
  if (grants.length === 0) return html`<p>You have let no application act for you.</p>`;
  const named = await Promise.all(
    grants.map(async ({ applicationId, scopes }) => ({
      applicationId,
      scopes,
      name: (await call.deps.applications.get(applicationId))?.name ?? applicationId,
    })),
  );
  return html`<ul class="list">${named.map(
    ({ applicationId, scopes, name }) => html`<li class="panel"><p><strong>${name}</strong> may</p>
<ul>${scopes.map((scope) => html`<li>${scopeRow(scope).words}</li>`)}</ul>
${form('/settings/applications', call.frame, [hidden('id', applicationId), html`<div class="buttons"><button class="second">Take it back from ${name}</button></div>`])}
</li>`,
  )}</ul>`;
}

async function settings(
  call: SignedInCall,
  trouble: Trouble | null = null,
  status = 200,
): Promise<PageAnswer> {
  const profile = await call.deps.accounts.profile(call.browserSession.userId);
  if (profile === null) return notice('No account', 'This account cannot be changed here.', null, 403);
  const at = (id: string) => (trouble?.at === id ? trouble.messages : NO_MESSAGES);
  const done = DONE[call.query.get('done') ?? ''];
  const body = html`${trouble && errorSummary(trouble.messages)}
${done !== undefined && trouble === null && html`<div class="done" role="status"><p>${done}</p></div>`}
${section('profile', 'Names', profileForm(call, profile, at('profile')))}
${section('email', 'E-mail address', emailForm(call, profile, at('email')))}
${section('password', 'Password', passwordForm(call, profile, at('password')))}
${section('factor', 'Two-step sign-in', factorPart(call, profile, at('factor')))}
${section('browsers', 'Where you are signed in', await browsersPart(call))}
${section('applications', 'Applications that act for you', await applicationsPart(call))}`;
  return page('Settings', body, status);
}

/**
 * A route for a form of the settings page. Afterwards the page shows a confirmation, or the errors; `fields` maps names of
 * refused fields to those on the page, where they differ.
 */
function change(
  done: string,
  run: (call: SignedInCall, value: (name: string) => string) => Promise<Reply<unknown>>,
  fields: Readonly<Record<string, string>> = {},
): PageRoute {
  return {
    signedIn: true,
    get: () => redirect('/settings'),
    async post(call) {
      const reply = await run(call, (name) => call.fields.get(name) ?? '');
      if (reply.ok) return redirect(`/settings?done=${done}`);
      const named = [...messagesOf(reply.refusal)].map(
        ([name, message]) => [fields[name] ?? name, message] as const,
      );
      return settings(call, { at: done, messages: new Map(named) }, statusOf(reply.refusal));
    },
  };
}

const DONE_REPLY = { ok: true, value: null } as const;

/** The picture needs no description: the key beside it can be typed. */
function offerPage(
  call: SignedInCall,
  offer: FactorOffer,
  messages: Messages = NO_MESSAGES,
  status = 200,
): PageAnswer {
  const key = offer.secret.reveal().replace(/(.{4})(?=.)/g, '$1 ');
  const code: Field = {
    name: 'code',
    label: 'Code that the app shows',
    autocomplete: 'one-time-code',
    numeric: true,
  };
  const body = html`${errorSummary(messages)}
<ol><li>Scan this with an authenticator app, or type the key into it.</li><li>Type the code that it shows.</li></ol>
<div class="picture" role="img" aria-label="The key as a QR code">${trusted(renderSVG(offer.uri.reveal(), { border: 4 }))}</div>
<p>Key: <code>${key}</code></p>
${form('/settings/two-step', call.frame, [
  hidden('sealed', offer.sealed),
  field(code, messages),
  field(current('current'), messages),
  button('Switch two-step sign-in on'),
])}
<p><a href="/settings">Not now</a></p>`;
  return page('Two-step sign-in', body, status);
}

function codesPage(codes: readonly Secret[]): PageAnswer {
  const body = html`<p>Two-step sign-in is on. Keep these recovery codes where a thief of your device does not find them.
Each gets you in once, instead of a code. They are not shown again.</p>
<ul class="panel codes list">${codes.map((code) => html`<li>${code.reveal()}</li>`)}</ul>
<p><a href="/settings">I have kept them</a></p>`;
  return page('Your recovery codes', body);
}

async function offered(
  call: SignedInCall,
  sealed?: string,
  messages?: Messages,
  status?: number,
): Promise<PageAnswer> {
  const reply = await call.deps.accounts.offerFactor(call.browserSession.userId, sealed);
  return reply.ok ? offerPage(call, reply.value, messages, status) : redirect('/settings');
}

/** The settings page of an account. */
export const settingsPages: PageRoutes = {
  '/settings': { signedIn: true, get: (call) => settings(call) },

  '/settings/profile': change('profile', ({ deps, browserSession }, value) =>
    deps.accounts.rename(browserSession.userId, {
      username: value('username'),
      globalName: value('global_name'),
    }),
  ),
  '/settings/email': change(
    'email',
    ({ deps, browserSession, place }, value) => {
      const given = { email: value('email'), current: value('email_current') };
      return deps.accounts.changeEmail(browserSession.userId, given, place);
    },
    { current: 'email_current' },
  ),
  '/settings/email/again': change('email', ({ deps, browserSession, place }) =>
    deps.accounts.askToConfirm(browserSession.userId, place),
  ),
  '/settings/password': change('password', ({ deps, browserSession, place }, value) => {
    const given = { current: value('current'), password: value('password') };
    return deps.accounts.changePassword(browserSession.userId, given, browserSession.signInId, place);
  }),
  '/settings/browsers': change('browsers', async ({ deps, browserSession }, value) => {
    const id = value('id');
    if (id === '') await deps.accounts.closeAll(browserSession.userId, browserSession.signInId);
    else if (isSnowflake(id)) await deps.accounts.close(browserSession.userId, id);
    return DONE_REPLY;
  }),
  '/settings/applications': change('applications', async ({ deps, browserSession }, value) => {
    const id = value('id');
    if (isApplicationId(id)) await deps.oauth.deauthorize(browserSession.userId, id);
    return DONE_REPLY;
  }),

  '/settings/two-step': {
    signedIn: true,
    get: (call) => offered(call),
    async post(call) {
      const value = (name: string) => call.fields.get(name) ?? '';
      const given = { sealed: value('sealed'), code: value('code'), current: value('current') };
      const reply = await call.deps.accounts.enableFactor(call.browserSession.userId, given, call.place);
      if (reply.ok) return codesPage(reply.value);
      return offered(call, given.sealed, messagesOf(reply.refusal), statusOf(reply.refusal));
    },
  },
  '/settings/two-step/off': change(
    'factor',
    ({ deps, browserSession, place }, value) =>
      deps.accounts.disableFactor(browserSession.userId, { current: value('factor_current') }, place),
    { current: 'factor_current' },
  ),
};
