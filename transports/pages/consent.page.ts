import type { AuthorizeQuery } from '../../engine/oauth/request.ts';
import { isGuildId } from '../../protocol/ids.ts';
import { AUTHORIZE_PARAMETERS } from '../../protocol/oauth.ts';
import { P } from '../../protocol/permissions.ts';
import { expandScopes, type Scope, scopeRow } from '../../protocol/scopes.ts';
import type { Consent, Decision, WaitingDevice } from '../../services/oauth/ports.ts';
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
import { type Html, html, type Part } from './html.ts';
import { formTarget } from './origin.ts';
import type { PageRoutes, SignedInCall } from './routes.ts';
import { statusOf } from './signing.page.ts';

const VALUE_CHARACTERS_MAX = 4_096;

/** Parses the query parameters; null when one is too long, or repeated and therefore ambiguous. */
function queryOf(params: URLSearchParams): AuthorizeQuery | null {
  const found: Partial<Record<keyof AuthorizeQuery, string | null>> = {};
  for (const name of AUTHORIZE_PARAMETERS) {
    const values = params.getAll(name);
    if (values.length > 1 || (values[0]?.length ?? 0) > VALUE_CHARACTERS_MAX) return null;
    found[name] = values[0] || null;
  }
  return found as AuthorizeQuery;
}

/** A list of what the application may do, without duplicates; a scope that implies others is described by them. */
function scopeList(scopes: Iterable<Scope>): Html {
  const words = [...expandScopes(scopes)]
    .filter((scope) => (scopeRow(scope).implies ?? []).length === 0)
    .map((scope) => scopeRow(scope).words);
  return html`<ul>${[...new Set(words)].map((each) => html`<li>${each}</li>`)}</ul>`;
}

const permissionWords = (name: string): string => name.toLowerCase().replaceAll('_', ' ');

function permissionChoice(asked: bigint): Part {
  const bits = Object.entries(P).filter(([, bit]) => (asked & bit) !== 0n);
  if (bits.length === 0) return null;
  return html`<fieldset><legend>What its bot may do there</legend>${bits.map(
    ([name, bit]) =>
      html`<label class="check"><input type="checkbox" name="permission" value="${String(bit)}" checked> ${permissionWords(name)}</label>`,
  )}</fieldset>`;
}

function guildChoice({ guilds, request }: Consent, messages: Messages): Part {
  if (guilds === null) return null;
  const wrong = messages.get('guild_id');
  if (guilds.length === 0) return html`<p>You may manage no server that it could be added to.</p>`;
  return html`<div class="field"><label for="guild_id">Server</label>
${wrong !== undefined && html`<p class="error" id="guild_id-error">${wrong}</p>`}
<select id="guild_id" name="guild_id" required${wrong !== undefined && html` aria-invalid="true" aria-describedby="guild_id-error"`}>
${request.guildId === null && html`<option value="">Choose a server</option>`}
${guilds.map(
  ({ id, name }) => html`<option value="${id}"${id === request.guildId && html` selected`}>${name}</option>`,
)}</select></div>`;
}

/** The redirect's target in a form that users can judge: a host, or a program's own scheme. */
function destination(uri: string): string {
  const { protocol, host } = new URL(uri);
  return protocol === 'https:' || protocol === 'http:' ? host : `a program on this device (${protocol})`;
}

const DECIDE = html`<div class="buttons"><button name="decision" value="approve">Authorize</button>
<button class="second" name="decision" value="deny" formnovalidate>Cancel</button></div>`;

function consentPage(
  call: SignedInCall,
  consent: Consent,
  messages: Messages = NO_MESSAGES,
  status = 200,
): Page {
  const { request, guilds } = consent;
  const { application, scopes, redirectUri } = request;
  const body = html`${errorSummary(messages)}
<p><strong>${application.name}</strong> wants to act for you, <strong>${call.frame.who}</strong>.</p>
${application.description !== '' && html`<p class="panel">${application.description}</p>`}
<h2>It will be able to</h2>
${scopeList(scopes)}
<p>It will not be able to learn your password. You can take this back in your <a href="/settings">settings</a>.</p>
${redirectUri !== null && html`<p>Afterwards you are sent to <strong>${destination(redirectUri)}</strong>.</p>`}
${form(`/oauth2/authorize?${call.query}`, call.frame, [
  guildChoice(consent, messages),
  guilds !== null && guilds.length > 0 && scopes.includes('bot') && permissionChoice(request.permissions),
  DECIDE,
])}`;
  const target = redirectUri === null ? null : formTarget(redirectUri);
  return { ...page(`Authorize ${application.name}`, body, status), formTarget: target };
}

function decisionOf({ fields }: SignedInCall): Decision {
  const guildId = fields.get('guild_id');
  // Each bit is added once, even if a field is repeated; the authorization drops bits that were not requested.
  const bits = new Set(fields.getAll('permission').filter((text) => /^\d{1,20}$/.test(text)));
  const permissions = [...bits].reduce((all, bit) => all | BigInt(bit), 0n);
  return {
    authorize: fields.get('decision') === 'approve',
    permissions: String(permissions),
    guildId: isGuildId(guildId) ? guildId : null,
    integrationType: null,
  };
}

const BAD_LINK = notice(
  'A link that leads nowhere',
  'The link that brought you here is malformed. Report it to the developers of the application.',
  null,
  400,
);

function refusedPage(messages: Messages): PageAnswer {
  return notice(
    'This cannot be authorized',
    [...messages.values()].join(' '),
    html`<p>The link that brought you here is malformed. Report it to the developers of the application.</p>`,
    400,
  );
}

async function decide(call: SignedInCall, query: AuthorizeQuery, decision: Decision): Promise<PageAnswer> {
  const { consents } = call.deps.oauth;
  const decided = await consents.decide(call.browserSession.userId, query, decision);
  if (decided.kind === 'decided') {
    if (decided.location !== null) return redirect(decided.location);
    return decision.authorize
      ? notice('Done', 'The application is authorized. You can close this page.')
      : notice('Cancelled', 'Nothing was authorized. You can close this page.');
  }
  const messages = messagesOf(decided.refusal);
  const described = await consents.describe(call.browserSession.userId, query);
  return described.kind === 'consent'
    ? consentPage(call, described.consent, messages, statusOf(decided.refusal))
    : refusedPage(messages);
}

const CODE_LENGTH_MAX = 16;

function codeEntry(call: SignedInCall, messages: Messages = NO_MESSAGES, status = 200): Page {
  const code = {
    name: 'user_code',
    label: 'Code',
    hint: 'Eight letters, as your device shows them.',
    value: (call.fields.get('user_code') ?? call.query.get('user_code') ?? '').slice(0, CODE_LENGTH_MAX),
    autocomplete: 'off',
  };
  const body = html`${errorSummary(messages)}
<p>Type the code that your device or game shows.</p>
${form('/activate', call.frame, [field(code, messages), html`<div class="buttons"><button>Go on</button></div>`])}`;
  return page('Connect a device', body, status);
}

/** For a device that will act as the user, as after a sign-in with a password. */
function signInPage(call: SignedInCall, userCode: string): Page {
  const body = html`<p>A program on the device that shows <strong>${userCode}</strong>
wants to be signed in as you, <strong>${call.frame.who}</strong>.</p>
<p>Go on only if you have begun this yourself and the device is yours. Nobody has a reason to send you a code.</p>
<h2>It will be able to</h2>
<ul><li>do everything that you can do here, until you sign it out</li></ul>
${form('/activate', call.frame, [hidden('user_code', userCode), DECIDE])}`;
  return page('Sign a device in', body);
}

function devicePage(call: SignedInCall, { application, scopes }: WaitingDevice, userCode: string): Page {
  if (application === null) return signInPage(call, userCode);
  const body = html`<p><strong>${application.name}</strong> on the device that shows <strong>${userCode}</strong>
wants to act for you, <strong>${call.frame.who}</strong>.</p>
<p>Go on only if you have begun this yourself and the device is yours. Nobody has a reason to send you a code.</p>
<h2>It will be able to</h2>
${scopeList(scopes)}
${form('/activate', call.frame, [hidden('user_code', userCode), DECIDE])}`;
  return page(`Connect ${application.name}`, body);
}

const UNKNOWN_CODE: Messages = new Map([
  ['user_code', 'This code is invalid or has expired. Request a new one on your device.'],
]);
const TOO_MANY: Messages = new Map([['', 'There were too many codes. Try again in a minute.']]);

/** The consent pages: which application asks, what it could do, and where the user is sent. */
export const consentPages: PageRoutes = {
  '/oauth2/authorize': {
    signedIn: true,
    async get(call) {
      const query = queryOf(call.query);
      if (query === null) return BAD_LINK;
      const described = await call.deps.oauth.consents.describe(call.browserSession.userId, query);
      if (described.kind === 'refused') return refusedPage(messagesOf(described.refusal));
      if (described.kind === 'redirect') return redirect(described.location);
      const { consent } = described;
      if (!consent.agreed || consent.request.prompt !== 'none') return consentPage(call, consent);
      const asBefore = { authorize: true, permissions: null, guildId: null, integrationType: null };
      return decide(call, query, asBefore);
    },
    async post(call) {
      const query = queryOf(call.query);
      return query === null ? BAD_LINK : decide(call, query, decisionOf(call));
    },
  },

  '/activate': {
    signedIn: true,
    get: (call) => codeEntry(call),
    async post(call) {
      const { deps, browserSession, fields } = call;
      if (deps.take('device code', browserSession.userId) > 0) return codeEntry(call, TOO_MANY, 429);
      const userCode = (fields.get('user_code') ?? '').trim().slice(0, CODE_LENGTH_MAX);
      const device = await deps.oauth.devices.look(userCode);
      if (device?.state !== 'pending') return codeEntry(call, UNKNOWN_CODE, 422);
      const decision = fields.get('decision');
      // A code in a link is not enough: the page shows who asks, and the user confirms with a second press.
      if (decision === null) return devicePage(call, device, userCode);
      const isGranted = decision === 'approve';
      if (!(await deps.oauth.devices.finish(browserSession.userId, userCode, isGranted)))
        return codeEntry(call, UNKNOWN_CODE, 422);
      return isGranted
        ? notice('Connected', 'Your device goes on by itself. You can close this page.')
        : notice('Cancelled', 'The device was not connected. You can close this page.');
    },
  },
};
