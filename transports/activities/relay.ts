import { createHash } from 'node:crypto';
import { type PagePolicy, securityHeaders } from './headers.ts';

/** No mapping can have this path: a segment does not begin with a dot. */
export const RELAY_PATH = '/.guildhall/relay';

/**
 * The stock SDK accepts messages of its own origin, so a frame of that origin stands between the activity and the page
 * that embeds it, and passes messages on. It shares its origin with a stranger's scripts, so it knows and decides nothing.
 */
const SCRIPT = `
const frame = document.createElement('iframe');
frame.allow = 'autoplay; fullscreen; gamepad; clipboard-write';
frame.sandbox = 'allow-scripts allow-same-origin allow-forms allow-pointer-lock allow-orientation-lock allow-modals allow-downloads';
frame.src = '/' + location.search;
addEventListener('message', (event) => {
  if (event.source === frame.contentWindow && event.origin === location.origin) parent.postMessage(event.data, '*');
  else if (event.source === parent && parent !== window) frame.contentWindow.postMessage(event.data, location.origin);
});
document.body.append(frame);
`;

const STYLE =
  'html,body,iframe{margin:0;padding:0;border:0;width:100%;height:100%;display:block;overflow:hidden}';

export const RELAY_PAGE = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Activity</title><style>${STYLE}</style></head>
<body><script>${SCRIPT}</script></body></html>
`;

const hashOf = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

/** Pages of other origins embed the relay; it may run only its own script. */
export function relayHeaders(policy: PagePolicy): Readonly<Record<string, string>> {
  const csp = [
    "default-src 'none'",
    `script-src ${hashOf(SCRIPT)}`,
    `style-src ${hashOf(STYLE)}`,
    ...["frame-src 'self'", "base-uri 'none'", "form-action 'none'"],
    `frame-ancestors ${policy.embedders.join(' ')}`,
  ].join('; ');
  return {
    ...securityHeaders(policy),
    'content-security-policy': csp,
    'cross-origin-resource-policy': 'cross-origin',
    'content-type': 'text/html;charset=utf-8',
    'cache-control': 'no-cache',
    'x-content-type-options': 'nosniff',
  };
}
