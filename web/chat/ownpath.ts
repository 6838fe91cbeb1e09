/** Paths of files that this server stores. */
const STORED = /^\/(attachments|ephemeral-attachments|emojis|stickers|avatars|icons)\//;

/**
 * The path of a file of this server, whatever address it was announced under; null for a file elsewhere, which the page neither
 * loads nor shows.
 */
export function ownPath(url: string): string | null {
  if (!URL.canParse(url)) return null;
  const { protocol, pathname, search } = new URL(url);
  return /^https?:$/.test(protocol) && STORED.test(pathname) ? pathname + search : null;
}
