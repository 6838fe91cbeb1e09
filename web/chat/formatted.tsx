import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { type Block, blocksOf, type Piece, piecesOf } from './markdown.ts';
import type { EmojiRef } from './shapes.ts';

/** Names for the ids in a text. */
export interface Names {
  user(id: string): string;
  role(id: string): string;
  channel(id: string): string;
}

interface FormattedProps {
  readonly text: string;
  readonly names: Names;
}

/** A text with the platform's Markdown, as elements. */
export function Formatted({ text, names }: FormattedProps) {
  return (
    <div class="formatted">
      {blocksOf(text).map((block, index) => (
        <OneBlock key={index} block={block} names={names} />
      ))}
    </div>
  );
}

/** One line of such a text. */
export const Line = ({ text, names }: FormattedProps) => <Pieces pieces={piecesOf(text)} names={names} />;

function OneBlock({ block, names }: { readonly block: Block; readonly names: Names }) {
  if (block.kind === 'fence')
    return (
      <pre data-language={block.language}>
        <code>{block.text}</code>
      </pre>
    );
  if (block.kind === 'quote')
    return (
      <blockquote>
        {block.blocks.map((inner, index) => (
          <OneBlock key={index} block={inner} names={names} />
        ))}
      </blockquote>
    );
  if (block.kind === 'list') {
    const items = block.items.map((pieces, index) => (
      <li key={index}>
        <Pieces pieces={pieces} names={names} />
      </li>
    ));
    return block.ordered ? <ol>{items}</ol> : <ul>{items}</ul>;
  }
  const inside = <Pieces pieces={block.inside} names={names} />;
  if (block.kind === 'small') return <p class="dim small">{inside}</p>;
  // Not heading elements: a message must not change the outline of the page.
  if (block.kind === 'heading') return <p class={`head head${block.level}`}>{inside}</p>;
  return <p class="text">{inside}</p>;
}

function Pieces({ pieces, names }: { readonly pieces: readonly Piece[]; readonly names: Names }) {
  return (
    <>
      {pieces.map((piece, index) => (
        <OnePiece key={index} piece={piece} names={names} />
      ))}
    </>
  );
}

function OnePiece({ piece, names }: { readonly piece: Piece; readonly names: Names }) {
  switch (piece.kind) {
    case 'text':
      return <>{piece.text}</>;
    case 'break':
      return <br />;
    case 'code':
      return <code>{piece.text}</code>;
    case 'user':
      return <span class="mention">@{names.user(piece.id)}</span>;
    case 'role':
      return <span class="mention">@{names.role(piece.id)}</span>;
    case 'channel':
      return <span class="mention">#{names.channel(piece.id)}</span>;
    case 'command':
      return <span class="mention">/{piece.name}</span>;
    case 'emoji':
      return <CustomEmoji {...piece} />;
    case 'time':
      return <Moment ms={piece.ms} style={piece.style} />;
    default:
      return <Wrapped piece={piece} names={names} />;
  }
}

type Wrapping = Extract<Piece, { readonly inside: readonly Piece[] }>;

function Wrapped({ piece, names }: { readonly piece: Wrapping; readonly names: Names }) {
  const inside = <Pieces pieces={piece.inside} names={names} />;
  switch (piece.kind) {
    case 'bold':
      return <strong>{inside}</strong>;
    case 'italic':
      return <em>{inside}</em>;
    case 'underline':
      return <u>{inside}</u>;
    case 'strike':
      return <s>{inside}</s>;
    case 'spoiler':
      return <Spoiler>{inside}</Spoiler>;
    case 'link':
      return <Link url={piece.url}>{inside}</Link>;
  }
}

/** A link of a user: the page it opens learns nothing of this one. */
export const Link = ({ url, children }: { readonly url: string; readonly children: ComponentChildren }) => (
  <a href={url} target="_blank" rel="noreferrer noopener nofollow">
    {children}
  </a>
);

function Spoiler({ children }: { readonly children: ComponentChildren }) {
  const [isOpen, setOpen] = useState(false);
  if (isOpen) return <span class="spoiler">{children}</span>;
  return (
    <button type="button" class="spoiler hidden" onClick={() => setOpen(true)}>
      <span class="sr">Hidden: show it</span>
      <span aria-hidden="true">▇▇▇▇</span>
    </button>
  );
}

interface EmojiProps {
  readonly id: string;
  readonly name: string;
  readonly animated?: boolean;
}

const CustomEmoji = ({ id, name, animated = false }: EmojiProps) => (
  <img
    class="emoji"
    src={`/emojis/${id}.${animated ? 'gif' : 'png'}`}
    alt={`:${name}:`}
    title={`:${name}:`}
  />
);

export const EmojiSign = ({ emoji: { id, name, animated } }: { readonly emoji: EmojiRef }) =>
  id ? <CustomEmoji id={id} name={name ?? ''} animated={animated === true} /> : <span>{name}</span>;

const FORMATS: Readonly<Record<string, Intl.DateTimeFormatOptions>> = {
  t: { timeStyle: 'short' },
  T: { timeStyle: 'medium' },
  d: { dateStyle: 'short' },
  D: { dateStyle: 'long' },
  f: { dateStyle: 'long', timeStyle: 'short' },
  F: { dateStyle: 'full', timeStyle: 'short' },
};
const DATE_MS_MAX = 8.64e15;

function Moment({ ms, style }: { readonly ms: number; readonly style: string }) {
  if (Math.abs(ms) > DATE_MS_MAX) return <>{ms}</>;
  const date = new Date(ms);
  const text =
    style === 'R' ? relative(ms - Date.now()) : date.toLocaleString(undefined, FORMATS[style] ?? FORMATS.f);
  return (
    <time dateTime={date.toISOString()} title={date.toLocaleString()}>
      {text}
    </time>
  );
}

const UNITS: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ['year', 365 * 86_400_000],
  ['month', 30 * 86_400_000],
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1000],
];

function relative(deltaMs: number): string {
  const [unit, ms] = UNITS.find(([, size]) => Math.abs(deltaMs) >= size) ?? ['second', 1000];
  return new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' }).format(Math.round(deltaMs / ms), unit);
}
