import type { APIEmbed } from 'discord-api-types/v10';
import type { StoredMessage } from './guild.ts';

/** The fields that a message and the copy in a forward have in common. */
type MessageContent = Pick<StoredMessage, 'content' | 'embeds' | 'attachments' | 'components'>;

type Texts = readonly (string | null | undefined)[];

/**
 * All that a message says, one text per line: its content, its poll, its embeds, the descriptions of its files, its
 * components, and what it forwards.
 */
export function allTextOf(message: StoredMessage): string {
  const { poll, message_snapshots: snapshots = [] } = message;
  const polled = poll ? [poll.question.text, ...poll.answers.map((each) => each.poll_media.text)] : [];
  const forwarded = snapshots.flatMap((snapshot) => textsOf(snapshot.message));
  return [...textsOf(message), ...polled, ...forwarded].filter(Boolean).join('\n');
}

const textsOf = ({ content, embeds, attachments, components = [] }: MessageContent): Texts => [
  content,
  ...embeds.flatMap(embeddedTexts),
  ...attachments.map(({ description }) => description),
  ...componentTexts(components),
];

const embeddedTexts = ({ title, description, url, author, footer, fields = [] }: APIEmbed): Texts => [
  ...[title, description, url, author?.name, author?.url, footer?.text],
  ...fields.flatMap(({ name, value }) => [name, value]),
];

/** The address of a picture or file is not what a message says. */
const MEDIA: ReadonlySet<string> = new Set(['media', 'file']);

/** The keys of components, and of options in them, whose texts readers see or open. */
const SHOWN: ReadonlySet<string> = new Set(['content', 'label', 'description', 'placeholder', 'url']);

/** The texts that a message's components show. Their number and depth were bounded when they were read. */
function componentTexts(components: readonly object[]): Texts {
  const texts: string[] = [];
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    for (const [key, inner] of Object.entries(value)) {
      if (typeof inner === 'string') texts.push(...(SHOWN.has(key) ? [inner] : []));
      else if (!MEDIA.has(key)) visit(inner);
    }
  };
  visit(components);
  return texts;
}
