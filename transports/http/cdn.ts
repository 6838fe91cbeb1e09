import type { Logger } from 'pino';
import { isSnowflake } from '../../protocol/ids.ts';
import { refusal } from '../../protocol/refusal.ts';
import { IMAGE_BYTES_MAX } from '../../protocol/schemas/request.ts';
import { defaultSound } from '../../protocol/sounds.ts';
import { standardSticker } from '../../protocol/stickers.ts';
import type { Blobs } from '../../storage/blob/blobs.ts';
import { attachmentKey, type ImageKind, imageKey } from '../rest/image.ts';
import { resultOf } from '../rest/pipeline.ts';
import { defaultAvatar } from './avatars.ts';
import { attachmentDisposition, isShown, servedType } from './disposition.ts';
import { CORS, Exchange } from './exchange.ts';
import { type Pictures, readWanted } from './pictures.ts';
import { readRange } from './range.ts';
import type { Installer } from './server.ts';
import type { UrlSigner } from './signature.ts';
import { defaultSoundFile } from './sounds.ts';
import { streamBody } from './stream.ts';

interface CdnDeps {
  readonly blobs: Blobs;
  readonly pictures: Pictures;
  readonly signer: UrlSigner;
  /** Whether an attachment URL without a signature is refused. */
  readonly signaturesRequired: boolean;
  readonly clock: { now(): number };
  readonly logger: Pick<Logger, 'error'>;
}

const ROOTS = [
  'attachments',
  'avatars',
  'banners',
  'icons',
  'channel-icons',
  'splashes',
  'discovery-splashes',
  'app-icons',
  'role-icons',
  'guild-events',
  'guild-tag-badges',
  'guilds',
  'embed',
] as const;
/** Files named by an id alone, and the endings of their paths. */
const EXPRESSIONS: Readonly<Record<'emojis' | 'stickers' | 'soundboard-sounds', RegExp>> = {
  emojis: /^(\d{1,20})\.(?:png|jpe?g|webp|gif|avif)$/,
  stickers: /^(\d{1,20})\.(?:png|json|gif|webp)$/,
  'soundboard-sounds': /^(\d{1,20})(?:\.(?:mp3|ogg))?$/,
};
const IMAGE_KINDS: ReadonlySet<string> = new Set(ROOTS.slice(1, -2));
const IMAGE_FILE = /^((?:a_)?[0-9a-f]{32})\.(?:png|jpe?g|webp|gif)$/;
const FILENAME_LENGTH_MAX = 300;

/** Cache headers: every URL here identifies its content, so copies never become stale. */
const FOREVER = 'public, max-age=31536000, immutable';

/** Headers of every file: no content may run as a script, whatever type its uploader declared. */
const SAFE: Readonly<Record<string, string>> = {
  ...CORS,
  'Cross-Origin-Resource-Policy': 'cross-origin',
  'X-Content-Type-Options': 'nosniff',
  'Content-Security-Policy': "default-src 'none'; sandbox",
  'Accept-Ranges': 'bytes',
  'Cache-Control': FOREVER,
};

/** The file that a path names. */
type Target =
  | { readonly kind: 'image'; readonly key: string }
  | { readonly kind: 'attachment'; readonly key: string; readonly filename: string }
  | { readonly kind: 'default'; readonly avatar: number }
  | { readonly kind: 'sound'; readonly id: string };

/** Serves files at the paths the platform's clients build: attachments, avatars, icons and similar. GET and HEAD only. */
export function cdnRoutes(deps: CdnDeps): Installer {
  return (app, state) => {
    for (const root of [...ROOTS, ...Object.keys(EXPRESSIONS)]) {
      app.any(`/${root}/*`, (res, req) => {
        const exchange = new Exchange(res, req, state);
        const answering = serve(exchange, deps).catch((fault: unknown) => {
          deps.logger.error({ err: fault, path: exchange.path }, 'Serving a file failed.');
          exchange.answer(resultOf(refusal('SERVICE_UNAVAILABLE')));
        });
        void state.run(answering);
      });
    }
  };
}

async function serve(exchange: Exchange, deps: CdnDeps): Promise<void> {
  const { method } = exchange;
  if (method === 'OPTIONS') return exchange.preflight();
  if (method !== 'GET' && method !== 'HEAD') return exchange.answer(resultOf(refusal('METHOD_NOT_ALLOWED')));
  const target = targetOf(exchange.path);
  if (target === null) return exchange.answer(resultOf(refusal('NOT_FOUND')));
  if (target.kind === 'default') return serveBuiltIn(exchange, defaultAvatar(target.avatar), 'image/png');
  if (target.kind === 'sound') return serveBuiltIn(exchange, defaultSoundFile(target.id), 'audio/mpeg');
  if (target.kind === 'attachment' && !isAllowed(exchange, deps)) return gone(exchange);
  const found = await deps.blobs.head(target.key);
  if (found === null) return exchange.answer(resultOf(refusal('NOT_FOUND')));
  if (target.kind === 'image' && (await servePicture(exchange, target.key, found, deps))) return;
  await serveBlob(exchange, target, found, deps.blobs);
}

/** Serves an image in another size or format, if one is wanted. @returns false to serve it as it is stored. */
async function servePicture(
  exchange: Exchange,
  key: string,
  { contentType, size }: { readonly size: number; readonly contentType: string },
  { blobs, pictures }: CdnDeps,
): Promise<boolean> {
  // A sticker's PNG may move, which would be lost.
  const mayMove = key.startsWith('stickers/') && exchange.path.endsWith('.png');
  const wanted = mayMove ? null : readWanted(exchange.path, exchange.query, contentType);
  if (wanted === null || size > IMAGE_BYTES_MAX) return false;
  const picture = await pictures.render(key, wanted, () => wholeBlob(blobs, key));
  if (picture === null) return false;
  const { type, bytes } = picture;
  const { size: side, isAnimated, isLossless } = wanted;
  const variant = [type.slice('image/'.length), side, isAnimated && 'animated', isLossless && 'lossless'];
  const tag = `"${key.replaceAll('/', '-')}-${variant.filter(Boolean).join('-')}"`;
  const { 'Accept-Ranges': _, ...safe } = SAFE;
  const headers: Record<string, string> = { ...safe, ETag: tag };
  if (matches(exchange.headers.get('if-none-match'), tag)) exchange.send(304, headers, null);
  else {
    headers['Content-Type'] = type;
    if (exchange.method === 'HEAD') exchange.sendHead(200, headers, bytes.length);
    else exchange.send(200, headers, bytes);
  }
  return true;
}

export async function wholeBlob(blobs: Blobs, key: string): Promise<Uint8Array | null> {
  const chunks = await blobs.read(key);
  if (chunks === null) return null;
  const parts: Uint8Array[] = [];
  for await (const chunk of chunks) parts.push(Buffer.from(chunk));
  return Buffer.concat(parts);
}

function isAllowed({ path, query }: Exchange, { signer, clock, signaturesRequired }: CdnDeps): boolean {
  const check = signer.check(path, query, clock.now());
  return check === 'valid' || (check === 'bare' && !signaturesRequired);
}

function gone(exchange: Exchange): void {
  const body = 'This content is no longer available.';
  exchange.send(404, { ...CORS, 'Content-Type': 'text/plain;charset=utf-8' }, body);
}

/** Serves a file that comes with the server, whole or a part of it. */
async function serveBuiltIn(exchange: Exchange, bytes: Uint8Array | null, type: string): Promise<void> {
  if (bytes === null) return exchange.answer(resultOf(refusal('NOT_FOUND')));
  const size = bytes.length;
  const headers: Record<string, string> = { ...SAFE, 'Content-Type': type };
  const range = readRange(exchange.headers.get('range'), size);
  if (range.kind === 'unsatisfiable')
    return exchange.send(416, { ...CORS, 'Content-Range': `bytes */${size}` }, null);
  const { start, end } = range.kind === 'part' ? range : { start: 0, end: size };
  if (range.kind === 'part') headers['Content-Range'] = `bytes ${start}-${end - 1}/${size}`;
  const status = range.kind === 'part' ? 206 : 200;
  if (exchange.method === 'HEAD') exchange.sendHead(status, headers, end - start);
  else exchange.send(status, headers, bytes.subarray(start, end));
}

async function serveBlob(
  exchange: Exchange,
  target: Exclude<Target, { kind: 'default' | 'sound' }>,
  { size, contentType }: { readonly size: number; readonly contentType: string },
  blobs: Blobs,
): Promise<void> {
  const type = servedType(contentType);
  const tag = `"${target.key.replaceAll('/', '-')}"`;
  const headers: Record<string, string> = { ...SAFE, ETag: tag };
  const { headers: asked } = exchange;
  if (matches(asked.get('if-none-match'), tag)) return exchange.send(304, headers, null);
  headers['Content-Type'] = type;
  if (!isShown(type)) {
    const filename = target.kind === 'attachment' ? target.filename : 'file';
    headers['Content-Disposition'] = attachmentDisposition(filename);
  }
  // A part of another version would be appended to the version the client already has.
  const condition = asked.get('if-range');
  const range = readRange(
    condition === undefined || condition === tag ? asked.get('range') : undefined,
    size,
  );
  if (range.kind === 'unsatisfiable')
    return exchange.send(416, { ...CORS, 'Content-Range': `bytes */${size}` }, null);
  const { start, end } = range.kind === 'part' ? range : { start: 0, end: size };
  if (range.kind === 'part') headers['Content-Range'] = `bytes ${start}-${end - 1}/${size}`;
  const status = range.kind === 'part' ? 206 : 200;
  if (exchange.method === 'HEAD') return exchange.sendHead(status, headers, end - start);
  if (end === start) return exchange.send(status, headers, null);
  const chunks = await blobs.read(target.key, { start, end });
  if (chunks === null) return exchange.answer(resultOf(refusal('NOT_FOUND')));
  await streamBody(exchange, status, headers, end - start, chunks);
}

function matches(header: string | undefined, tag: string): boolean {
  if (header === undefined) return false;
  return header.split(',').some((each) => each.trim() === '*' || each.trim().replace(/^W\//, '') === tag);
}

/** Parses a CDN path. Keys are built only from ids, hashes and digests, so no path leads outside the store. */
export function targetOf(path: string): Target | null {
  const segments = path.slice(1).split('/', 8);
  const [root = '', first = '', second = '', third = ''] = segments;
  if (root === 'attachments' && segments.length === 4) return attachmentOf(first, second, third);
  if (root === 'embed' && segments.length === 3 && first === 'avatars') {
    const avatar = /^(\d)\.png$/.exec(second)?.[1];
    return avatar === undefined ? null : { kind: 'default', avatar: Number(avatar) };
  }
  if (segments.length === 2) return expressionOf(root, first);
  if (root === 'guilds' && segments.length === 6) return memberImageOf(segments);
  if (!IMAGE_KINDS.has(root) || segments.length !== 3) return null;
  return imageOf(root as ImageKind, first, second);
}

function imageOf(kind: ImageKind, ownerId: string, file: string): Target | null {
  const hash = IMAGE_FILE.exec(file)?.[1];
  if (hash === undefined || (ownerId !== '' && !isSnowflake(ownerId))) return null;
  return { kind: 'image', key: imageKey(kind, ownerId, hash) };
}

/** The stored file, whatever the ending asks. */
function expressionOf(root: string, file: string): Target | null {
  if (root !== 'emojis' && root !== 'stickers' && root !== 'soundboard-sounds') return null;
  const id = EXPRESSIONS[root].exec(file)?.[1];
  // A standard sticker shows the default avatar of the number before its own.
  if (root === 'stickers' && id !== undefined && standardSticker(id))
    return { kind: 'default', avatar: Number(id) - 1 };
  if (root === 'soundboard-sounds' && id !== undefined && defaultSound(id)) return { kind: 'sound', id };
  return id !== undefined && isSnowflake(id) ? { kind: 'image', key: imageKey(root, '', id) } : null;
}

function memberImageOf(segments: readonly string[]): Target | null {
  const [, guildId = '', users, userId = '', kind, file = ''] = segments;
  if (users !== 'users' || !isSnowflake(guildId) || !isSnowflake(userId)) return null;
  if (kind !== 'avatars' && kind !== 'banners') return null;
  return imageOf(`guilds/${guildId}/users/${userId}/${kind}`, '', file);
}

function attachmentOf(channelId: string, attachmentId: string, file: string): Target | null {
  if (!isSnowflake(channelId) || !isSnowflake(attachmentId) || file.length > FILENAME_LENGTH_MAX * 9)
    return null;
  try {
    const filename = decodeURIComponent(file);
    if (filename === '' || filename.length > FILENAME_LENGTH_MAX) return null;
    return { kind: 'attachment', key: attachmentKey(channelId, attachmentId, filename), filename };
  } catch {
    return null;
  }
}
