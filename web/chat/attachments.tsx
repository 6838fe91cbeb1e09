import { Link } from './formatted.tsx';
import { ownPath } from './ownpath.ts';
import type { Attachment } from './shapes.ts';

const WIDTH_MAX = 420;
const HEIGHT_MAX = 320;
export function AttachmentList({ attachments }: { readonly attachments: readonly Attachment[] }) {
  return (
    <>
      {attachments.map((one) => (
        <Shown key={one.url} file={one} />
      ))}
    </>
  );
}

function Shown({ file }: { readonly file: Attachment }) {
  const { filename, url, size, content_type: type = '', description } = file;
  const path = ownPath(url);
  if (path !== null && type.startsWith('image/') && !type.includes('svg'))
    return <Picture file={file} path={path} />;
  if (path !== null && type.startsWith('audio/'))
    return (
      <audio controls preload="none" src={path} aria-label={description ?? filename}>
        <track kind="captions" />
      </audio>
    );
  if (path !== null && type.startsWith('video/'))
    return (
      <video class="picture" controls preload="none" src={path} aria-label={description ?? filename}>
        <track kind="captions" />
      </video>
    );
  return (
    <p class="file">
      <Link url={path === null ? url : new URL(path, location.origin).href}>{filename}</Link>{' '}
      {size !== undefined && <span class="dim small">{sizeText(size)}</span>}
    </p>
  );
}

/** Has its size before it is loaded, so that nothing moves. */
function Picture({ file, path }: { readonly file: Attachment; readonly path: string }) {
  const { width, height, filename, description } = file;
  const scale = width && height ? Math.min(1, WIDTH_MAX / width, HEIGHT_MAX / height) : 1;
  const box = width && height ? { width: Math.round(width * scale), height: Math.round(height * scale) } : {};
  return (
    <a class="picture" href={path} target="_blank" rel="noreferrer noopener">
      <img src={path} alt={description ?? filename} {...box} loading="lazy" />
    </a>
  );
}

export function sizeText(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  return bytes < 1024 ** 2 ? `${Math.round(bytes / 1024)} KB` : `${(bytes / 1024 ** 2).toFixed(1)} MB`;
}
