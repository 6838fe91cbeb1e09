import { isRecord } from '../../protocol/json.ts';
import type { Dictionary } from './schemanode.ts';

/** Nesting bound. The deepest answer is a gallery in a container of a forwarded message in a page of pins. */
const DEPTH_MAX = 20;

/**
 * Signs the attachment URLs of an answer, including those shown by components. Stored messages have unsigned URLs, since a
 * signature expires long before its message. Copies only the path to each attachment; the rest is shared with the guild's
 * state.
 */
export function signAttachments(body: unknown, sign: (url: string) => string, depth = 0): unknown {
  if (depth > DEPTH_MAX) return body;
  if (Array.isArray(body)) return sameOr(body, (item) => signAttachments(item, sign, depth + 1));
  // A shared message has no attachments.
  if (!isRecord(body) || Object.isFrozen(body)) return body;
  let copy: Record<string, unknown> | null = null;
  for (const key of Object.keys(body)) {
    const value = body[key];
    if (typeof value !== 'object' || value === null) continue;
    const signItem = SIGNED.get(key);
    const next =
      signItem && Array.isArray(value)
        ? sameOr(value, (one) => signItem(one, sign))
        : key === 'attachments' || key === 'attachment'
          ? signedFiles(value, sign)
          : signAttachments(value, sign, depth + 1);
    if (next === value) continue;
    copy ??= { ...body };
    copy[key] = next;
  }
  return copy ?? body;
}

/** Dispatches that contain a message or files. */
const WITH_MESSAGE: ReadonlySet<string> = new Set(['MESSAGE_CREATE', 'MESSAGE_UPDATE', 'INTERACTION_CREATE']);

/** Signs the attachment URLs of dispatches, each once for all its recipients; one without any is returned unchanged. */
export const dispatchSigner =
  (sign: (url: string) => string) =>
  <D extends { readonly t: string; readonly d: object }>(dispatch: D): D => {
    if (!WITH_MESSAGE.has(dispatch.t)) return dispatch;
    const d = signAttachments(dispatch.d, sign) as object;
    return d === dispatch.d ? dispatch : { ...dispatch, d };
  };

/** Lists that the server fills. URLs elsewhere come from clients and are never signed. */
const SIGNED: ReadonlyMap<string, (item: unknown, sign: (url: string) => string) => unknown> = new Map([
  ['attachments', signed],
  ['components', signedComponent],
]);

/** Keys of a component that show a file, and keys that contain further components. */
const MEDIA_KEYS: ReadonlySet<string> = new Set(['media', 'file']);
const HOLDER_KEYS: ReadonlySet<string> = new Set(['components', 'items', 'accessory']);

function signedComponent(component: unknown, sign: (url: string) => string): unknown {
  if (!isRecord(component)) return component;
  let copy: Record<string, unknown> | null = null;
  for (const [key, value] of Object.entries(component)) {
    const next = signedPart(key, value, sign);
    if (next === value) continue;
    copy ??= { ...component };
    copy[key] = next;
  }
  return copy ?? component;
}

function signedPart(key: string, value: unknown, sign: (url: string) => string): unknown {
  // Only uploads are signed: a URL sent by a client may point to a file that the client may not read.
  if (MEDIA_KEYS.has(key))
    return isRecord(value) && typeof value.attachment_id === 'string' ? signed(value, sign) : value;
  if (!HOLDER_KEYS.has(key)) return value;
  return Array.isArray(value)
    ? sameOr(value, (one) => signedComponent(one, sign))
    : signedComponent(value, sign);
}

/** Returns the same list if `change` left every element unchanged. */
function sameOr(list: readonly unknown[], change: (item: unknown) => unknown): readonly unknown[] {
  if (list.length === 0) return list;
  const next = list.map(change);
  return next.every((item, index) => item === list[index]) ? list : next;
}

/** One attachment, or attachments by id. */
function signedFiles(value: object, sign: (url: string) => string): unknown {
  if ('url' in value) return signed(value, sign);
  return Object.fromEntries(Object.entries(value).map(([id, file]) => [id, signed(file, sign)]));
}

function signed(attachment: unknown, sign: (url: string) => string): unknown {
  if (!isRecord(attachment)) return attachment;
  const { url, proxy_url } = attachment;
  const fresh: Record<string, string> = {};
  if (typeof url === 'string') fresh.url = sign(url);
  if (typeof proxy_url === 'string') fresh.proxy_url = sign(proxy_url);
  return Object.keys(fresh).length > 0 ? ({ ...attachment, ...fresh } satisfies Dictionary) : attachment;
}
