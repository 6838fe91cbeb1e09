import { type Dictionary, isDictionary } from './node.ts';

/** No answer nests attachments deeper than a forwarded message in a list. */
const DEPTH_MAX = 8;

/**
 * Puts fresh signatures on the attachment URLs of an answer. Messages keep bare URLs, since a signature ends long
 * before its message does. Copies only what leads to an attachment: the rest is shared with the guild's state.
 */
export function signAttachments(body: unknown, sign: (url: string) => string, depth = 0): unknown {
  if (depth > DEPTH_MAX) return body;
  if (Array.isArray(body)) return sameOr(body, (item) => signAttachments(item, sign, depth + 1));
  if (!isDictionary(body)) return body;
  let copy: Record<string, unknown> | null = null;
  for (const [key, value] of Object.entries(body)) {
    if (typeof value !== 'object' || value === null) continue;
    const isAttachments = key === 'attachments' && Array.isArray(value);
    const next = isAttachments
      ? sameOr(value, (attachment) => signed(attachment, sign))
      : signAttachments(value, sign, depth + 1);
    if (next === value) continue;
    copy ??= { ...body };
    copy[key] = next;
  }
  return copy ?? body;
}

/** The list itself when `change` left every element as it was. */
function sameOr(list: readonly unknown[], change: (item: unknown) => unknown): readonly unknown[] {
  const next = list.map(change);
  return next.every((item, index) => item === list[index]) ? list : next;
}

function signed(attachment: unknown, sign: (url: string) => string): unknown {
  if (!isDictionary(attachment)) return attachment;
  const { url, proxy_url } = attachment;
  const fresh: Record<string, string> = {};
  if (typeof url === 'string') fresh.url = sign(url);
  if (typeof proxy_url === 'string') fresh.proxy_url = sign(proxy_url);
  return Object.keys(fresh).length > 0 ? ({ ...attachment, ...fresh } satisfies Dictionary) : attachment;
}
