import { type SoundId, snowflakeOf } from './ids.ts';

/** A sound that every guild may play, as a wire object. */
interface DefaultSound {
  readonly name: string;
  readonly sound_id: SoundId;
  /** 0 to 1. */
  readonly volume: number;
  readonly emoji_id: null;
  readonly emoji_name: string;
  readonly available: true;
}

const sound = (id: number, name: string, emoji: string): DefaultSound => ({
  name,
  sound_id: snowflakeOf(BigInt(id)),
  volume: 1,
  emoji_id: null,
  emoji_name: emoji,
  available: true,
});

/**
 * The default sounds of the soundboard, with names, numbers and files of our own. The CDN serves the file under the
 * number.
 */
export const DEFAULT_SOUNDS: readonly DefaultSound[] = [
  sound(1, 'gate bell', '🔔'),
  sound(2, 'anvil', '🔨'),
  sound(3, 'tavern cheer', '🍻'),
  sound(4, 'raven', '🐦‍⬛'),
  sound(5, 'war horn', '📯'),
  sound(6, 'coin toss', '🪙'),
];

/** The default sound with a number; undefined when the number is unknown. */
export const defaultSound = (soundId: string): DefaultSound | undefined =>
  DEFAULT_SOUNDS.find(({ sound_id }) => sound_id === soundId);
