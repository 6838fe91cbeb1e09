import { AttachmentList } from './attachments.tsx';
import type { Chat } from './chat.ts';
import { colourOf, RemotePicture } from './embed.tsx';
import { entitiesOf, type GuildEntities } from './entities.ts';
import { EmojiSign, Formatted, Link, type Names } from './formatted.tsx';
import { ownPath } from './ownpath.ts';
import type { ChatMessage, EmojiRef } from './shapes.ts';

interface Media {
  readonly url: string;
  readonly content_type?: string;
}

/** A component of a message, as far as the page shows it. */
interface Part {
  readonly type: number;
  readonly custom_id?: string;
  readonly label?: string;
  readonly style?: number;
  readonly url?: string;
  /** What a premium button sells. The page sells nothing. */
  readonly sku_id?: string;
  readonly emoji?: EmojiRef;
  readonly disabled?: boolean;
  readonly placeholder?: string;
  readonly content?: string;
  readonly description?: string | null;
  readonly min_values?: number;
  readonly max_values?: number;
  readonly accent_color?: number | null;
  readonly divider?: boolean;
  readonly name?: string;
  readonly size?: number;
  readonly channel_types?: readonly number[];
  readonly default_values?: readonly { readonly id: string }[];
  readonly options?: readonly {
    readonly label: string;
    readonly value: string;
    readonly default?: boolean;
  }[];
  readonly media?: Media;
  readonly file?: Media;
  readonly items?: readonly { readonly media: Media; readonly description?: string | null }[];
  readonly components?: readonly object[];
  readonly accessory?: object;
}

interface PlaceProps {
  readonly message: ChatMessage;
  readonly chat: Chat;
  readonly known: GuildEntities;
  readonly names: Names;
}

interface PartProps extends PlaceProps {
  readonly part: Part;
}

const ROW = 1;
const BUTTON = 2;
const SELECTS: readonly number[] = [3, 5, 6, 7, 8];
const SECTION = 9;
const TEXT = 10;
const THUMBNAIL = 11;
const GALLERY = 12;
const FILE = 13;
const SEPARATOR = 14;
const CONTAINER = 17;
const STYLES = ['', 'primary', '', 'good', 'leave', ''] as const;

const isPart = (one: object): one is Part => 'type' in one;

/** The components of a message, in their order. */
export function Components({ message, ...place }: PlaceProps) {
  const parts = (message.components ?? []).filter(isPart);
  if (parts.length === 0) return null;
  return (
    <div class="parts">
      <Parts parts={parts} message={message} {...place} />
    </div>
  );
}

function Parts({ parts, ...place }: PlaceProps & { readonly parts: readonly object[] }) {
  return (
    <>
      {parts.filter(isPart).map((part, index) => (
        <Shown key={part.custom_id ?? index} part={part} {...place} />
      ))}
    </>
  );
}

function Shown({ part, ...place }: PartProps) {
  const { type, components = [], accessory, accent_color: accent } = part;
  if (type === BUTTON) return <Button part={part} {...place} />;
  if (SELECTS.includes(type)) return <Select part={part} {...place} />;
  if (type === TEXT) return <Formatted text={part.content ?? ''} names={place.names} />;
  if (type === SEPARATOR) return part.divider === false ? <div class="gap" /> : <hr />;
  if (type === THUMBNAIL && part.media)
    return <RemotePicture url={part.media.url} name={part.description ?? 'Picture'} small />;
  if (type === FILE && part.file)
    return (
      <AttachmentList attachments={[{ ...part.file, filename: part.name ?? 'File', size: part.size ?? 0 }]} />
    );
  if (type === GALLERY) return <Gallery part={part} />;
  if (type === SECTION)
    return (
      <div class="section">
        <div>
          <Parts parts={components} {...place} />
        </div>
        {accessory && <Parts parts={[accessory]} {...place} />}
      </div>
    );
  if (type === CONTAINER) {
    const line = colourOf(accent);
    return (
      <div class="embed" style={line === undefined ? {} : { '--accent-line': line }}>
        <Parts parts={components} {...place} />
      </div>
    );
  }
  return (
    <div class={type === ROW ? 'buttons' : 'parts'}>
      <Parts parts={components} {...place} />
    </div>
  );
}

function Gallery({ part: { items = [] } }: { readonly part: Part }) {
  return (
    <div class="gallery">
      {items.map(({ media, description }, index) =>
        ownPath(media.url) !== null && media.content_type?.startsWith('video/') ? (
          <AttachmentList key={index} attachments={[{ ...media, filename: description ?? 'Video' }]} />
        ) : (
          <RemotePicture key={index} url={media.url} name={description ?? 'Picture'} />
        ),
      )}
    </div>
  );
}

function Button({ part, message, chat }: PartProps) {
  const { custom_id: id = '', label = '', url, emoji, disabled = false, style = 1, sku_id: sku } = part;
  const inside = (
    <>
      {emoji && <EmojiSign emoji={emoji} />} {label}
    </>
  );
  if (url !== undefined)
    return /^https?:\/\//i.test(url) ? <Link url={url}>{inside}</Link> : <span>{inside}</span>;
  return (
    <button
      type="button"
      class={STYLES[style] ?? ''}
      disabled={disabled || sku !== undefined}
      onClick={() => void chat.click(message, id)}
    >
      {sku === undefined ? inside : 'Premium'}
    </button>
  );
}

/** A select of texts, or of what the guild has. It is sent when the choice of one is made, or of several is left. */
function Select({ part, message, chat, known }: PartProps) {
  const { custom_id: id = '', max_values: max = 1, disabled = false, placeholder } = part;
  const options = entitiesOf(part, known) ?? part.options ?? [];
  const send = (select: HTMLSelectElement): void => {
    const values = [...select.selectedOptions].map(({ value }) => value).filter((value) => value !== '');
    if (values.length >= (part.min_values ?? 1)) void chat.select(message, id, values);
  };
  return (
    <select
      aria-label={placeholder ?? id}
      disabled={disabled}
      multiple={max > 1}
      onChange={({ currentTarget }) => {
        if (max === 1) send(currentTarget);
      }}
      onBlur={({ currentTarget }) => {
        if (max > 1) send(currentTarget);
      }}
    >
      {max === 1 && <option value="">{placeholder ?? 'Choose …'}</option>}
      {options.map((option) => (
        <option key={option.value} value={option.value} selected={option.default === true}>
          {option.label}
        </option>
      ))}
    </select>
  );
}
