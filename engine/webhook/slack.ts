import { LIMITS } from '../../protocol/limits.ts';
import { showsNothing } from '../../protocol/names.ts';
import { cut, embedWith, fitting, type Report, type ReportEmbed } from './report.ts';

type Text = string | null;

interface SlackField {
  readonly title?: Text;
  readonly name?: Text;
  readonly value?: Text;
  readonly short?: boolean | null;
  readonly inline?: boolean | null;
}

interface SlackAttachment {
  readonly title?: Text;
  readonly title_link?: Text;
  readonly text?: Text;
  readonly pretext?: Text;
  readonly fallback?: Text;
  readonly color?: Text;
  /** Unix seconds. */
  readonly ts?: number | null;
  readonly footer?: Text;
  readonly footer_icon?: Text;
  readonly author_name?: Text;
  readonly author_link?: Text;
  readonly author_icon?: Text;
  readonly image_url?: Text;
  readonly thumb_url?: Text;
  readonly fields?: readonly SlackField[] | null;
}

/** The body of a Slack incoming webhook; `channel`, `icon_emoji` and blocks have no counterpart here. */
export interface SlackBody {
  readonly text?: Text;
  readonly username?: Text;
  readonly icon_url?: Text;
  readonly attachments?: readonly SlackAttachment[] | null;
}

/**
 * Slack's markup as this platform's: links, mentions of all, bold, strikethrough, and the three escapes. Cost: linear.
 *
 * @source https://docs.slack.dev/messaging/formatting-message-text/
 */
const textOf = (text: string): string =>
  text
    .replace(/<!(everyone|channel)(?:\|[^<>\n]{0,100})?>/g, '@everyone')
    .replace(/<!here(?:\|[^<>\n]{0,100})?>/g, '@here')
    .replace(/<((?:https?|mailto):[^<>|\s]{1,2048})\|([^<>\n]{1,1000})>/g, '[$2]($1)')
    .replace(/<((?:https?|mailto):[^<>|\s]{1,2048})>/g, '$1')
    .replace(/(?<![\w*])\*(?! )([^*\n]{1,2000})\*(?![\w*])/g, '**$1**')
    .replace(/(?<![\w~])~(?! )([^~\n]{1,2000})~(?![\w~])/g, '~~$1~~')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');

/** Names of colours that Slack knows. */
const COLORS: Readonly<Record<string, number>> = { good: 0x2eb886, warning: 0xdaa038, danger: 0xa30100 };

function colorOf(color: Text | undefined): number | undefined {
  if (!color) return undefined;
  const digits = /^#?([0-9a-f]{6}|[0-9a-f]{3})$/i.exec(color)?.[1];
  if (digits === undefined) return COLORS[color];
  return Number.parseInt(digits.length === 3 ? digits.replace(/./g, '$&$&') : digits, 16);
}

/** Later years than 275760 are not valid dates. */
const TS_MAX = 8_640_000_000_000;

const stampOf = (ts: number | null | undefined): string | undefined =>
  ts === undefined || ts === null || Math.abs(ts) > TS_MAX ? undefined : new Date(ts * 1000).toISOString();

function fieldsOf(fields: readonly SlackField[]): ReportEmbed['fields'] {
  return fields.slice(0, LIMITS.embed_fields_max).flatMap(({ title, name, value, short, inline }) => {
    const shown = {
      name: cut((title ?? name ?? '').replaceAll('\0', '').trim(), LIMITS.embed_field_name_chars_max),
      value: cut(
        textOf(value ?? '')
          .replaceAll('\0', '')
          .trim(),
        LIMITS.embed_field_value_chars_max,
      ),
    };
    return showsNothing(shown.name) || showsNothing(shown.value)
      ? []
      : [{ ...shown, inline: short ?? inline ?? false }];
  });
}

function embedOf(attachment: SlackAttachment): ReportEmbed {
  const { title, title_link, text, pretext, fallback, author_name, author_link, author_icon } = attachment;
  const { footer, footer_icon, image_url, thumb_url, fields, color, ts } = attachment;
  const body = [pretext, text].filter((part) => part).join('\n');
  const picture = (url: Text | undefined) => (url ? { url } : undefined);
  const listed = fields ? fieldsOf(fields) : undefined;
  const shown = embedWith({
    title: title && cut(textOf(title), LIMITS.embed_title_chars_max),
    url: title_link,
    description: cut(textOf(body), LIMITS.embed_description_chars_max),
    color: colorOf(color),
    timestamp: stampOf(ts),
    footer: footer
      ? {
          text: cut(textOf(footer), LIMITS.embed_footer_chars_max),
          ...(footer_icon && { icon_url: footer_icon }),
        }
      : undefined,
    author: author_name
      ? {
          name: cut(author_name, LIMITS.embed_author_chars_max),
          ...(author_link && { url: author_link }),
          ...(author_icon && { icon_url: author_icon }),
        }
      : undefined,
    image: picture(image_url),
    thumbnail: picture(thumb_url),
    fields: listed,
  });
  const showsText = shown.title || shown.description || shown.author || shown.fields || shown.footer;
  if (showsText || shown.image || shown.thumbnail || !fallback) return shown;
  return { ...shown, description: cut(textOf(fallback), LIMITS.embed_description_chars_max) };
}

/**
 * The message of a Slack-compatible body. What exceeds a message is cut.
 *
 * @source https://docs.slack.dev/legacy/legacy-messaging/legacy-secondary-message-attachments/
 */
export function slackReport({ text, username, icon_url: avatarUrl, attachments }: SlackBody): Report {
  return {
    embeds: fitting((attachments ?? []).slice(0, LIMITS.embeds_per_message_max).map(embedOf)),
    ...(text ? { content: cut(textOf(text), LIMITS.content_chars_max) } : {}),
    ...(username ? { username: cut(username.trim(), LIMITS.webhook_name_chars_max) } : {}),
    ...(avatarUrl ? { avatarUrl } : {}),
  };
}
