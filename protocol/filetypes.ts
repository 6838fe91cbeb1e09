/**
 * A group of file types, or an extension with its dot. The length of an extension is ours.
 *
 * @source https://docs.discord.com/developers/reference#file-type-filtering
 */
const FILE_TYPE = /^(?:image|video|audio|\.[a-z0-9][a-z0-9_+-]{0,30})$/;

/** The groups, as the extensions that belong to them. */
const GROUPS: Readonly<Record<string, readonly string[]>> = {
  image: ['.png', '.gif', '.jpg', '.jpeg', '.jfif', '.webp', '.avif'],
  video: ['.mp4', '.mov', '.qt', '.webm'],
  audio: ['.mp3', '.m4a', '.wav', '.ogg', '.opus', '.flac'],
};

export const FILE_TYPE_INVALID = 'Must be image, video, audio, or an extension such as ".pdf".';

/** A file type in lower case, as it is stored; null for anything else. */
export function fileTypeOf(raw: unknown): string | null {
  const type = typeof raw === 'string' ? raw.toLowerCase() : '';
  return FILE_TYPE.test(type) ? type : null;
}

/** Whether a file's name has one of the types; its content is not looked at. */
export function hasFileType(filename: string, types: readonly string[]): boolean {
  const extension = /\.[^.]*$/.exec(filename.toLowerCase())?.[0] ?? '';
  return types.some((type) => type === extension || GROUPS[type]?.includes(extension));
}
