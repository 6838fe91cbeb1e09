import type { StoredMessage } from '../../engine/guild/guild.ts';

/** Kinds of content of a message, by their names in the search. */
export const HAS = [
  ...(['link', 'embed', 'file', 'image', 'video', 'sound', 'sticker', 'poll', 'snapshot'] as const),
];
type HasKind = (typeof HAS)[number];

/** Kinds of terms. Each begins with a control character, which no word contains. */
const PREFIXES = {
  owner: 'g',
  author: 'a',
  authorType: 't',
  mention: 'm',
  role: 'r',
  everyone: 'v',
  reply: 'q',
  has: 'h',
  host: 'l',
  provider: 'p',
  embedType: 'e',
  extension: 'x',
  filename: 'f',
} as const;

export type TermKind = keyof typeof PREFIXES;
const MARK = '\u0001';
/** A lexeme has at most 2 KiB. */
const VALUE_CHARS_MAX = 500;

export const termOf = (kind: TermKind, value: string): string =>
  `${MARK}${PREFIXES[kind]}${value.toLowerCase().slice(0, VALUE_CHARS_MAX)}`;

const URLS = /https?:\/\/[^\s<>"']+/gi;
const URLS_MAX = 50;

function hostsIn(content: string): string[] {
  const urls = (content.match(URLS) ?? []).slice(0, URLS_MAX);
  return urls.flatMap((url) => (URL.canParse(url) ? [new URL(url).hostname] : []));
}

const MEDIA: Readonly<Record<string, HasKind>> = { image: 'image', video: 'video', audio: 'sound' };
const EMBEDDED: Readonly<Record<string, HasKind>> = { image: 'image', gifv: 'image', video: 'video' };

/** @param hosts Of the links in its text. */
function kindsOf(message: StoredMessage, hosts: readonly string[]): HasKind[] {
  const { attachments = [], embeds = [], sticker_items: stickers = [], poll } = message;
  const media = attachments.flatMap(({ content_type: type }) => MEDIA[type?.split('/')[0] ?? ''] ?? []);
  const embedded = embeds.flatMap(({ type }) => EMBEDDED[type ?? ''] ?? []);
  return [
    ...(hosts.length > 0 ? (['link'] as const) : []),
    ...(embeds.length > 0 ? (['embed'] as const) : []),
    ...(attachments.length > 0 ? (['file'] as const) : []),
    ...[...media, ...embedded],
    ...(stickers.length > 0 ? (['sticker'] as const) : []),
    ...(poll ? (['poll'] as const) : []),
    ...(message.message_snapshots?.length ? (['snapshot'] as const) : []),
  ];
}

function authorType({ author, webhook_id: webhook }: StoredMessage): string {
  if (webhook !== undefined) return 'webhook';
  return author.bot ? 'bot' : 'user';
}

const extensionOf = (filename: string): string[] => {
  const found = /\.([^.]+)$/.exec(filename)?.[1];
  return found === undefined ? [] : [found];
};

/** All terms of a message, each once. Those of earlier versions lack fields. */
function termsOf(ownerId: string, message: StoredMessage): string[] {
  const { author, mentions = [], mention_roles: roles = [], mention_everyone: everyone } = message;
  const { content = '', embeds = [], attachments = [] } = message;
  const names = attachments.map(({ filename }) => filename);
  const replied = message.message_reference?.message_id;
  const terms = new Set<string>();
  const add = (kind: TermKind, values: readonly string[]): void => {
    for (const value of values) if (value !== '') terms.add(termOf(kind, value));
  };
  const hosts = hostsIn(content);
  add('owner', [ownerId]);
  add('author', [author.id]);
  add('authorType', [authorType(message)]);
  for (const { id } of mentions) add('mention', [id]);
  add('role', roles);
  if (everyone) add('everyone', ['yes']);
  if (replied !== undefined) add('reply', [replied]);
  add('has', kindsOf(message, hosts));
  add('host', hosts);
  for (const { provider, type } of embeds) {
    add('provider', [provider?.name ?? '']);
    add('embedType', [type ?? '']);
  }
  add('extension', names.flatMap(extensionOf));
  add('filename', names);
  return [...terms];
}

/** Longest part of a text that is indexed, characters. */
const TEXT_CHARS_MAX = 4_000;

/** The search column of a row `r` with `data` and `terms`; no terms stand for a message that no search finds. */
export const SEARCH_OF_ROW = `CASE WHEN r.terms IS NULL THEN ''::tsvector ELSE
  to_tsvector('simple', left(r.data->>'content', ${TEXT_CHARS_MAX})) || array_to_tsvector(r.terms) END`;

/** Messages of private channels, which own their messages, are not searched. */
export const searchTerms = (ownerId: string, message: StoredMessage): string[] | null =>
  ownerId === String(message.channel_id) ? null : termsOf(ownerId, message);
