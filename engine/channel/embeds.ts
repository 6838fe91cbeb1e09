import { type APIAttachment, type APIEmbed, type APIEmbedImage, EmbedType } from 'discord-api-types/v10';
import { LIMITS } from '../../protocol/limits.ts';
import { readLink } from '../../protocol/links.ts';
import { isoTimestamp } from '../../protocol/timestamps.ts';
import type { Reply } from '../kernel/aggregate.ts';
import { ATTACHMENT_SCHEME, isNamed } from './files.ts';
import { type FieldPath, Form } from './form.ts';
import { cleanText, textLength } from './text.ts';

/** A rich embed as a client sends it. Keys that only unfurled links use (provider, video) are ignored. */
export interface EmbedDraft {
  readonly title?: string | null;
  readonly description?: string | null;
  readonly url?: string | null;
  readonly timestamp?: string | null;
  readonly color?: number | null;
  readonly footer?: { readonly text?: string | null; readonly icon_url?: string | null } | null;
  readonly image?: { readonly url?: string | null; readonly description?: string | null } | null;
  readonly thumbnail?: { readonly url?: string | null; readonly description?: string | null } | null;
  readonly author?: {
    readonly name?: string | null;
    readonly url?: string | null;
    readonly icon_url?: string | null;
  } | null;
  readonly fields?:
    | readonly { readonly name: string; readonly value: string; readonly inline?: boolean | null }[]
    | null;
}

interface BuiltEmbeds {
  readonly embeds: readonly APIEmbed[];
  /** Attachments that an embed shows by `attachment://`: clients do not list them again. */
  readonly shownIds: ReadonlySet<string>;
}

const SHOWABLE = /\.(?:jpe?g|png|webp|gif)$/i;
const COLOR_MAX = 0xffffff;

/** State of one build: collects errors, counts characters, and notes the attachments shown. */
interface Build {
  readonly form: Form;
  readonly attachments: readonly APIAttachment[];
  readonly shownIds: Set<string>;
  characters: number;
}

/**
 * Checks and normalises the embeds of a message: trims and counts text, checks links, resolves attachments, drops
 * embeds that show nothing, and keeps the first of several embeds with one url.
 *
 * @returns A 50035 that names every wrong field, or the embeds.
 * @source https://docs.discord.com/developers/resources/message#embed-object-embed-limits
 */
export function buildEmbeds(
  drafts: readonly EmbedDraft[],
  attachments: readonly APIAttachment[],
): Reply<BuiltEmbeds> {
  const build: Build = { form: new Form(), attachments, shownIds: new Set(), characters: 0 };
  if (drafts.length > LIMITS.embeds_per_message_max)
    build.form.tooLong(['embeds'], LIMITS.embeds_per_message_max);
  const urls = new Set<string>();
  const embeds: APIEmbed[] = [];
  for (const [index, draft] of drafts.slice(0, LIMITS.embeds_per_message_max).entries()) {
    const embed = buildEmbed(build, ['embeds', index], draft);
    const repeated = embed.url !== undefined && urls.has(embed.url);
    if (repeated || !showsSomething(embed)) continue;
    if (embed.url !== undefined) urls.add(embed.url);
    embeds.push(embed);
  }
  if (build.characters > LIMITS.embeds_total_chars_max) {
    const message = `Embed size exceeds maximum size of ${LIMITS.embeds_total_chars_max}`;
    build.form.add(['embeds'], 'MAX_EMBED_SIZE_EXCEEDED', message);
  }
  const refusal = build.form.refusal();
  return refusal ? { ok: false, refusal } : { ok: true, value: { embeds, shownIds: build.shownIds } };
}

const showsSomething = (embed: APIEmbed): boolean =>
  Boolean(embed.title || embed.description || embed.image || embed.thumbnail) ||
  Boolean(embed.author || embed.footer || embed.fields?.length);

function buildEmbed(build: Build, path: FieldPath, draft: EmbedDraft): APIEmbed {
  const embed: APIEmbed = { type: EmbedType.Rich };
  const title = text(build, [...path, 'title'], draft.title, LIMITS.embed_title_chars_max);
  const description = text(
    build,
    [...path, 'description'],
    draft.description,
    LIMITS.embed_description_chars_max,
  );
  const url = link(build, [...path, 'url'], draft.url);
  if (title) embed.title = title;
  if (description) embed.description = description;
  if (url) embed.url = url;
  if (typeof draft.color === 'number') embed.color = Math.min(Math.max(draft.color, 0), COLOR_MAX);
  if (typeof draft.timestamp === 'string') stamp(build, [...path, 'timestamp'], draft.timestamp, embed);
  const image = picture(build, [...path, 'image'], draft.image);
  if (image) embed.image = image;
  const thumbnail = picture(build, [...path, 'thumbnail'], draft.thumbnail);
  if (thumbnail) embed.thumbnail = thumbnail;
  addSigned(build, path, draft, embed);
  if (draft.fields?.length) embed.fields = fields(build, [...path, 'fields'], draft.fields);
  return embed;
}

/** Footer and author: a text with an optional icon; without the text the icon is dropped. */
function addSigned(build: Build, path: FieldPath, draft: EmbedDraft, embed: APIEmbed): void {
  const footerText = text(
    build,
    [...path, 'footer', 'text'],
    draft.footer?.text,
    LIMITS.embed_footer_chars_max,
  );
  const footerIcon = media(build, [...path, 'footer', 'icon_url'], draft.footer?.icon_url);
  if (footerText) {
    embed.footer = { text: footerText };
    if (footerIcon) embed.footer.icon_url = footerIcon.url;
  }
  const name = text(build, [...path, 'author', 'name'], draft.author?.name, LIMITS.embed_author_chars_max);
  const authorUrl = link(build, [...path, 'author', 'url'], draft.author?.url);
  const authorIcon = media(build, [...path, 'author', 'icon_url'], draft.author?.icon_url);
  if (name) {
    embed.author = { name };
    if (authorUrl) embed.author.url = authorUrl;
    if (authorIcon) embed.author.icon_url = authorIcon.url;
  }
}

function fields(build: Build, path: FieldPath, drafts: NonNullable<EmbedDraft['fields']>) {
  if (drafts.length > LIMITS.embed_fields_max) build.form.tooLong(path, LIMITS.embed_fields_max);
  return drafts.slice(0, LIMITS.embed_fields_max).map((draft, index) => {
    const name = text(build, [...path, index, 'name'], draft.name, LIMITS.embed_field_name_chars_max);
    const value = text(build, [...path, index, 'value'], draft.value, LIMITS.embed_field_value_chars_max);
    if (!name) build.form.required([...path, index, 'name']);
    if (!value) build.form.required([...path, index, 'value']);
    return { name: name ?? '', value: value ?? '', inline: draft.inline ?? false };
  });
}

/** Trimmed text, counted towards the total; undefined when empty. */
function text(build: Build, path: FieldPath, raw: string | null | undefined, max: number) {
  if (typeof raw !== 'string') return undefined;
  const trimmed = cleanText(raw).trim();
  const length = textLength(trimmed);
  if (length > max) build.form.tooLong(path, max);
  build.characters += length;
  return trimmed || undefined;
}

function stamp(build: Build, path: FieldPath, raw: string, embed: APIEmbed): void {
  const ms = Date.parse(raw);
  if (Number.isNaN(ms)) {
    build.form.add(path, 'DATE_TIME_TYPE_PARSE', `Could not parse ${raw.slice(0, 64)}. Should be ISO8601.`);
  } else {
    embed.timestamp = isoTimestamp(ms);
  }
}

/** A web address, or undefined. */
function link(build: Build, path: FieldPath, raw: string | null | undefined): string | undefined {
  if (!raw) return undefined;
  const read = readLink(cleanText(raw).trim(), LIMITS.embed_url_chars_max);
  if (read.ok) return read.url;
  build.form.add(path, read.problem.code, read.problem.message);
  return undefined;
}

interface Media {
  readonly url: string;
  readonly attachment?: APIAttachment;
}

/** A web address or one of the message's own attachments. An unknown attachment is left out. */
function media(build: Build, path: FieldPath, raw: string | null | undefined): Media | undefined {
  if (!raw?.startsWith(ATTACHMENT_SCHEME)) {
    const url = link(build, path, raw);
    return url === undefined ? undefined : { url };
  }
  const filename = raw.slice(ATTACHMENT_SCHEME.length);
  const attachment = build.attachments.find((one) => SHOWABLE.test(one.filename) && isNamed(one, filename));
  if (!attachment) return undefined;
  build.shownIds.add(attachment.id);
  return { url: attachment.url, attachment };
}

function picture(build: Build, path: FieldPath, draft: EmbedDraft['image']): APIEmbedImage | undefined {
  const found = media(build, [...path, 'url'], draft?.url);
  if (!found) return undefined;
  const image: APIEmbedImage = { url: found.url };
  if (found.attachment) {
    const { proxy_url, content_type, width, height } = found.attachment;
    image.proxy_url = proxy_url;
    if (content_type) image.content_type = content_type;
    if (width && height) Object.assign(image, { width, height });
  }
  if (draft?.description) {
    const max = LIMITS.embed_description_chars_max;
    image.description = cleanText(draft.description);
    if (textLength(image.description, max) > max) build.form.tooLong([...path, 'description'], max);
  }
  return image;
}
