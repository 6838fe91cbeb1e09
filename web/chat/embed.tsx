import { Formatted, Line, Link, type Names } from './formatted.tsx';
import { ownPath } from './ownpath.ts';
import type { Embed } from './shapes.ts';

interface EmbedProps {
  readonly embed: Embed;
  readonly names: Names;
}

/** Only links to the web are followed. */
const isWeb = (url: string | undefined): url is string => url !== undefined && /^https?:\/\//i.test(url);

export const colourOf = (colour: number | null | undefined): string | undefined =>
  colour ? `#${colour.toString(16).padStart(6, '0')}` : undefined;

export function EmbedCard({ embed, names }: EmbedProps) {
  const { author, title, url, description, fields = [], image, thumbnail, footer, timestamp, color } = embed;
  const accent = colourOf(color);
  return (
    <div class="embed" style={accent === undefined ? {} : { '--accent-line': accent }}>
      {thumbnail && <RemotePicture url={thumbnail.url} name="Thumbnail" small />}
      {author?.name && (
        <p class="small name">
          {isWeb(author.url) ? <Link url={author.url}>{author.name}</Link> : author.name}
        </p>
      )}
      {title && (
        <p class="name">
          {isWeb(url) ? <Link url={url}>{title}</Link> : <Line text={title} names={names} />}
        </p>
      )}
      {description && <Formatted text={description} names={names} />}
      {fields.length > 0 && (
        <dl class="fields">
          {fields.map(({ name, value, inline }, index) => (
            <div key={index} class={inline ? 'inline' : ''}>
              <dt>
                <Line text={name} names={names} />
              </dt>
              <dd>
                <Formatted text={value} names={names} />
              </dd>
            </div>
          ))}
        </dl>
      )}
      {image && <RemotePicture url={image.url} name="Image" />}
      {(footer?.text || timestamp) && (
        <p class="dim small">
          {[footer?.text, timestamp && new Date(timestamp).toLocaleString()].filter(Boolean).join(' · ')}
        </p>
      )}
    </div>
  );
}

interface PictureProps {
  readonly url: string;
  readonly name: string;
  readonly small?: boolean;
}

/** A picture of this server; one elsewhere is a link, because loading it would tell that host who reads. */
export function RemotePicture({ url, name, small = false }: PictureProps) {
  const path = ownPath(url);
  if (path !== null)
    return <img class={small ? 'picture thumb' : 'picture'} src={path} alt={name} loading="lazy" />;
  return isWeb(url) ? (
    <p class="small">
      <Link url={url}>
        {name}: {new URL(url).host}
      </Link>
    </p>
  ) : null;
}
