import { LIMITS } from '../../protocol/limits.ts';

/** An embed made of another service's report. */
export interface ReportEmbed {
  readonly title?: string;
  readonly description?: string;
  readonly url?: string;
  readonly timestamp?: string;
  readonly color?: number;
  readonly footer?: { readonly text: string; readonly icon_url?: string };
  readonly image?: { readonly url: string };
  readonly thumbnail?: { readonly url: string };
  readonly author?: { readonly name: string; readonly url?: string; readonly icon_url?: string };
  readonly fields?: readonly { readonly name: string; readonly value: string; readonly inline: boolean }[];
}

/** A message made of another service's report: it always fits a message. */
export interface Report {
  readonly content?: string;
  readonly embeds: readonly ReportEmbed[];
  readonly username?: string;
  readonly avatarUrl?: string;
}

/** The text, or as much of it as fits with an ellipsis. Lengths are code points. */
export function cut(text: string, max: number): string {
  const characters = [...text.slice(0, max * 2 + 2)];
  return characters.length <= max ? text : `${characters.slice(0, max - 1).join('')}…`;
}

type Loose<T> = { readonly [K in keyof T]: T[K] | null | undefined };

/** An embed of the non-empty parts. */
export const embedWith = (draft: Loose<ReportEmbed>): ReportEmbed => ({
  ...(draft.title && { title: draft.title }),
  ...(draft.url && { url: draft.url }),
  ...(draft.description && { description: draft.description }),
  ...(typeof draft.color === 'number' && { color: draft.color }),
  ...(draft.timestamp && { timestamp: draft.timestamp }),
  ...(draft.footer && { footer: draft.footer }),
  ...(draft.author && { author: draft.author }),
  ...(draft.image && { image: draft.image }),
  ...(draft.thumbnail && { thumbnail: draft.thumbnail }),
  ...(draft.fields?.length && { fields: draft.fields }),
});

const lengthOf = ({ title, description, footer, author, fields = [] }: ReportEmbed): number =>
  [
    title,
    description,
    footer?.text,
    author?.name,
    ...fields.flatMap(({ name, value }) => [name, value]),
  ].reduce((sum, text) => sum + (text?.length ?? 0), 0);

/** As many embeds, in order, as a message may hold. Counts UTF-16 units, which is never below the number of characters. */
export function fitting(embeds: readonly ReportEmbed[]): ReportEmbed[] {
  const kept: ReportEmbed[] = [];
  let left: number = LIMITS.embeds_total_chars_max;
  for (const embed of embeds.slice(0, LIMITS.embeds_per_message_max)) {
    left -= lengthOf(embed);
    if (left < 0) break;
    kept.push(embed);
  }
  return kept;
}
