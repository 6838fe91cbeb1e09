/** Languages of one header that are read. */
const LANGUAGES_MAX = 16;
const LANGUAGE = /^\s*([a-z0-9-]{1,16})\s*(?:;\s*q=([01](?:\.\d{0,3})?)\s*)?$/i;

/**
 * The language tags that a client prefers, best first: its `X-Discord-Locale`, or else its `Accept-Language`. Malformed
 * parts are skipped.
 *
 * @source https://docs.discord.com/developers/interactions/application-commands#retrieving-localized-commands; RFC
 * 9110, section 12.5.4
 */
export function languagesOf(headers: { get(name: string): string | undefined }): readonly string[] {
  const header = headers.get('x-discord-locale') ?? headers.get('accept-language') ?? '';
  const found = header.split(',', LANGUAGES_MAX).flatMap((part) => {
    const [, tag, quality = '1'] = LANGUAGE.exec(part) ?? [];
    return tag === undefined || Number(quality) === 0 ? [] : [{ tag, quality: Number(quality) }];
  });
  // The sort is stable: languages of equal quality keep their order.
  return found.sort((a, b) => b.quality - a.quality).map(({ tag }) => tag);
}
