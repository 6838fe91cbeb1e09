import {
  type APIAttachment,
  type APIUnfurledMediaItem,
  UnfurledMediaItemLoadingState,
} from 'discord-api-types/v10';
import { COMPONENT } from '../../protocol/components.ts';
import type { FreshId } from '../../protocol/ids.ts';
import { wrongScheme } from '../../protocol/links.ts';
import { NO_FLAGS } from '../../protocol/objects.ts';
import type { FoundComponent, Json } from './components.read.ts';
import { ATTACHMENT_SCHEME, isNamed } from './files.ts';
import type { FieldPath, Form } from './form.ts';

/** Uploads that the components of one message may refer to. */
export interface Uploads {
  /** Found by `attachment://name`: files of the request and files that an edit keeps. */
  readonly named: readonly APIAttachment[];
  /** Found by URL: all files of the message. Clients that edit a message send back the components they received. */
  readonly owned: readonly APIAttachment[];
  /** The next snowflake, for media that are no attachment. */
  nextId(): FreshId;
}

/** A media item of the wire; only uploads have a `size`, in bytes. */
type Media = APIUnfurledMediaItem & { readonly id: string; readonly size?: number };

/**
 * Replaces the URL of every media item by the object that clients read: for an upload its URL, type and size. A web
 * address stays as it is: this server does not fetch it, so its type and size are unknown.
 *
 * @returns Ids of the uploads that are shown.
 * @source https://docs.discord.com/developers/components/reference#unfurled-media-item
 */
export function resolveMedia(
  form: Form,
  found: readonly FoundComponent[],
  uploads: Uploads,
): ReadonlySet<string> {
  const shownIds = new Set<string>();
  const resolve = (holder: Json, key: 'media' | 'file', path: FieldPath): APIAttachment | null => {
    const { url } = holder[key] as { readonly url: string };
    const upload = uploadOf(url, uploads);
    if (upload) shownIds.add(upload.id);
    else problemOf(form, [...path, key, 'url'], url, key);
    holder[key] = upload ? mediaOf(upload) : webMedia(url, uploads.nextId());
    return upload;
  };
  for (const { component, path } of found) {
    switch (component.type) {
      case COMPONENT.THUMBNAIL:
        resolve(component, 'media', path);
        break;
      case COMPONENT.MEDIA_GALLERY:
        for (const [index, item] of (component.items as Json[]).entries()) {
          resolve(item, 'media', [...path, 'items', index]);
          item.description ??= null;
          item.spoiler ??= false;
        }
        break;
      case COMPONENT.FILE: {
        const upload = resolve(component, 'file', path);
        component.name = upload?.filename ?? null;
        component.size = upload?.size ?? null;
        break;
      }
      default:
    }
  }
  return shownIds;
}

/** Ids of the uploads that stored components show. */
export function shownBy(components: readonly object[]): ReadonlySet<string> {
  const ids = new Set<string>();
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    const { attachment_id } = value as { readonly attachment_id?: unknown };
    if (typeof attachment_id === 'string') ids.add(attachment_id);
    for (const inner of Object.values(value)) visit(inner);
  };
  visit(components);
  return ids;
}

function problemOf(form: Form, path: FieldPath, url: string, key: 'media' | 'file'): void {
  if (url.startsWith(ATTACHMENT_SCHEME)) {
    const name = url.slice(ATTACHMENT_SCHEME.length, ATTACHMENT_SCHEME.length + 64);
    const message = `The message has no attachment named "${name}"; send it as a file of the request.`;
    form.add(path, 'ATTACHMENT_NOT_FOUND', message);
  } else if (key === 'file') {
    const { code, message } = wrongScheme(url.slice(0, url.indexOf(':')), ['attachment']);
    form.add(path, code, message);
  }
}

function uploadOf(url: string, { named, owned }: Uploads): APIAttachment | null {
  if (url.startsWith(ATTACHMENT_SCHEME)) {
    const name = url.slice(ATTACHMENT_SCHEME.length);
    return named.find((one) => isNamed(one, name)) ?? null;
  }
  // URLs are signed at every display, so the signature is cut off.
  const bare = url.split(/[?#]/, 1)[0];
  return owned.find((one) => one.url === bare) ?? null;
}

function mediaOf({ id, url, proxy_url, content_type, size, width, height }: APIAttachment): Media {
  return {
    id,
    url,
    proxy_url,
    width: width ?? null,
    height: height ?? null,
    content_type: content_type ?? 'application/octet-stream',
    size,
    flags: NO_FLAGS,
    loading_state: UnfurledMediaItemLoadingState.LoadedSuccess,
    attachment_id: id,
  };
}

const webMedia = (url: string, id: string): Media => ({
  id,
  url,
  proxy_url: url,
  width: null,
  height: null,
  flags: NO_FLAGS,
  loading_state: UnfurledMediaItemLoadingState.Unknown,
});
