import type { ErrorTree, Refusal } from '../../protocol/refusal.ts';
import { type Html, html, type Part } from './html.ts';

/** A page before serialization. */
export interface Page {
  readonly kind: 'page';
  readonly status: number;
  readonly title: string;
  readonly body: Html;
  /** Another target that a form of the page may redirect to: a CSP source expression. */
  readonly formTarget?: string | null;
  /** Path of this server to load at once. */
  readonly refresh?: string;
}

interface Redirect {
  readonly kind: 'redirect';
  readonly location: string;
}

export type PageAnswer = (Page | Redirect) & {
  /** A `Set-Cookie` header. */
  readonly cookie?: string | readonly string[];
};

export const page = (title: string, body: Html, status = 200): Page => ({
  kind: 'page',
  status,
  title,
  body,
});
export const redirect = (location: string): Redirect => ({ kind: 'redirect', location });

/** The token in the page's forms, and the viewer. */
export interface Frame {
  readonly csrf: string;
  /** Username of the signed-in user; null for others. */
  readonly who: string | null;
}

export function layout({ title, body, refresh }: Page, { csrf, who }: Frame): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
${refresh !== undefined && html`<meta http-equiv="refresh" content="0;url=${refresh}">`}
<title>${title} &ndash; Guildhall</title>
<link rel="stylesheet" href="/pages/style.css">
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header><nav aria-label="Site"><strong>Guildhall</strong>
${
  who !== null &&
  html`<a href="/settings">Settings</a>
<form method="post" action="/logout">${hidden('csrf', csrf)}<button class="plain">Sign out ${who}</button></form>`
}</nav></header>
<main id="main" tabindex="-1">
<h1>${title}</h1>
${body}
</main>
</body>
</html>
`;
}

export const hidden = (name: string, value: string): Html =>
  html`<input type="hidden" name="${name}" value="${value}">`;

/** Messages of a refusal by field; messages without a field have an empty key. */
export type Messages = ReadonlyMap<string, string>;
export const NO_MESSAGES: Messages = new Map();

/** A refusal's messages for a form: one per field, or one sentence. */
export function messagesOf(refused: Refusal): Messages {
  const found = new Map<string, string>();
  for (const [field, node] of Object.entries(refused.errors ?? {})) {
    const message = firstMessage(node as ErrorTree);
    if (message !== null && ![...found.values()].includes(message)) found.set(field, message);
  }
  if (found.size === 0) found.set('', sentenceOf(refused));
  return found;
}

const firstMessage = (node: ErrorTree): string | null => node._errors?.[0]?.message ?? null;

function sentenceOf({ status, message, retryAfterSec }: Refusal): string {
  if (status === 429) return `There were too many attempts. Try again in ${waitWords(retryAfterSec ?? 60)}.`;
  if (status === 503) return 'The server is busy. Try again in a moment.';
  return /[.!?]$/.test(message) ? message : `${message}.`;
}

const waitWords = (sec: number): string => (sec < 90 ? `${sec} seconds` : `${Math.ceil(sec / 60)} minutes`);

/** Summary of errors above the form, with links to the fields. It gets the focus, so that screen readers read it first. */
export function errorSummary(messages: Messages): Part {
  if (messages.size === 0) return null;
  return html`<div class="errors" role="alert" id="errors" tabindex="-1" autofocus>
<h2>Something is not right</h2>
<ul>${[...messages].map(([field, message]) =>
    field === '' ? html`<li>${message}</li>` : html`<li><a href="#${field}">${message}</a></li>`,
  )}</ul>
</div>`;
}

export interface Field {
  readonly name: string;
  /** Unique in the page, so needed where several forms have a field of this name. Default: the name. Messages are looked up by it. */
  readonly id?: string;
  readonly label: string;
  readonly type?: 'text' | 'password' | 'email';
  readonly value?: string;
  readonly hint?: string;
  /** The kind of value, for password managers and phones. */
  readonly autocomplete: string;
  readonly optional?: true;
  readonly numeric?: true;
}

/** A field with label, hint and error, associated for screen readers. */
export function field(
  { name, id = name, label, type = 'text', value = '', hint, autocomplete, optional, numeric }: Field,
  messages: Messages,
): Html {
  const wrong = messages.get(id);
  const described = [hint && `${id}-hint`, wrong && `${id}-error`].filter(Boolean).join(' ');
  return html`<div class="field">
<label for="${id}">${label}${optional && ' (optional)'}</label>
${hint && html`<p class="hint" id="${id}-hint">${hint}</p>`}
${wrong && html`<p class="error" id="${id}-error">${wrong}</p>`}
<input id="${id}" name="${name}" type="${type}" value="${type === 'password' ? '' : value}" autocomplete="${autocomplete}"${
    type === 'text' && html` autocapitalize="none" spellcheck="false"`
  }${numeric && html` inputmode="numeric"`}${!optional && html` required`}${wrong && html` aria-invalid="true"`}${
    described !== '' && html` aria-describedby="${described}"`
  }>
</div>`;
}

/** A form of this server. `next` is the page to show afterwards. */
export function form(action: string, frame: Frame, content: Part, next: string | null = null): Html {
  return html`<form method="post" action="${action}">
${hidden('csrf', frame.csrf)}${next !== null && hidden('next', next)}
${content}
</form>`;
}

/** A page with a message only. */
export const notice = (title: string, text: string, more: Part = null, status = 200): Page =>
  page(title, html`<p>${text}</p>${more}`, status);

/** A time as text, with a machine-readable value. */
export function time(ms: number): Html {
  const iso = new Date(ms).toISOString();
  return html`<time datetime="${iso}">${iso.slice(0, 16).replace('T', ' ')} UTC</time>`;
}
