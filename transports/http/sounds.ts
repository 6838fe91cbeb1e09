import { SOUND_FILES } from './sounds.generated.ts';

/** MP3 of the default sound with a number; null for any other number. */
export function defaultSoundFile(id: string): Uint8Array | null {
  const text = Object.hasOwn(SOUND_FILES, id) ? SOUND_FILES[id] : undefined;
  return text === undefined ? null : Buffer.from(text, 'base64');
}
