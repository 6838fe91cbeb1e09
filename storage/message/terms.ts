import type { StoredMessage } from '../../engine/guild/guild.ts';

/** Kinds of what a message can have, as the search names them. */
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

function kindsOf(message: StoredMessage): HasKind[] {
  const { attachments = [], embeds = [], content = '', sticker_items: stickers = [], poll } = message;
  const media = attachments.flatMap(({ content_type: type }) => MEDIA[type?.split('/')[0] ?? ''] ?? []);
  const embedded = embeds.flatMap(({ type }) => EMBEDDED[type ?? ''] ?? []);
  return [
    ...(hostsIn(content).length > 0 ? (['link'] as const) : []),
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
export function termsOf(ownerId: string, message: StoredMessage): string[] {
  const { author, mentions = [], mention_roles: roles = [], mention_everyone: everyone } = message;
  const { content = '', embeds = [], attachments = [] } = message;
  const names = attachments.map(({ filename }) => filename);
  const replied = message.message_reference?.message_id;
  const of = (kind: TermKind, values: readonly string[]): string[] =>
    values.filter((value) => value !== '').map((value) => termOf(kind, value));
  return [
    ...new Set([
      ...of('owner', [ownerId]),
      ...of('author', [author.id]),
      ...of('authorType', [authorType(message)]),
      ...of(
        'mention',
        mentions.map(({ id }) => id),
      ),
      ...of('role', roles),
      ...of('everyone', everyone ? ['yes'] : []),
      ...of('reply', replied === undefined ? [] : [replied]),
      ...of('has', kindsOf(message)),
      ...of('host', hostsIn(content)),
      ...of(
        'provider',
        embeds.flatMap(({ provider }) => provider?.name ?? []),
      ),
      ...of(
        'embedType',
        embeds.flatMap(({ type }) => type ?? []),
      ),
      ...of('extension', names.flatMap(extensionOf)),
      ...of('filename', names),
    ]),
  ];
}
