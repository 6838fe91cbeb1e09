import type { Reply } from '../../engine/kernel/aggregate.ts';
import { refusal } from '../../protocol/refusal.ts';
import type { ExpressionFile } from '../../services/guilds/expressionfiles.ts';

const SECONDS_MAX = 5.2;
const CONTENT_TYPES: Readonly<Record<string, string>> = {
  mp3: 'audio/mpeg',
  opus: 'audio/ogg',
  vorbis: 'audio/ogg',
};

/**
 * A sound of MP3 or Ogg (Opus, Vorbis), as its frames say, at most 5.2 seconds long. What a header claims of the length is
 * not believed. Cost: reading stops at the first frame that ends later, so that a file takes some hundred frames at most.
 */
export async function readSound(bytes: Uint8Array): Promise<Reply<ExpressionFile>> {
  const sound = isChained(bytes) ? null : await soundOf(bytes);
  const contentType = CONTENT_TYPES[sound?.codec ?? ''];
  if (!sound || contentType === undefined) return { ok: false, refusal: refusal('INVALID_FILE') };
  if (!(sound.seconds > 0)) return { ok: false, refusal: refusal('FILE_HAS_NO_VALID_DURATION') };
  if (sound.seconds > SECONDS_MAX) return { ok: false, refusal: refusal('FILE_DURATION_TOO_LONG') };
  return { ok: true, value: { bytes, contentType } };
}

/** Codec and length of the one track of a file; null when it is not read. */
async function soundOf(
  bytes: Uint8Array,
): Promise<{ readonly codec: string; readonly seconds: number } | null> {
  // Imported late: the modules are large, and most servers are sent no sound.
  const { BufferSource, EncodedPacketSink, Input, MP3, OGG } = await import('mediabunny');
  const input = new Input({ formats: [MP3, OGG], source: new BufferSource(bytes) });
  try {
    const [track, ...others] = await input.getTracks();
    if (!track?.isAudioTrack() || others.length > 0) return null;
    const codec = await track.getCodec();
    if (codec === null) return null;
    let seconds = 0;
    for await (const packet of new EncodedPacketSink(track).packets(undefined, undefined, {
      metadataOnly: true,
    })) {
      seconds = packet.timestamp + packet.duration;
      if (seconds > SECONDS_MAX) break;
    }
    return { codec, seconds };
  } catch {
    // The parser throws for bytes that are no such file, also errors of the language, as a RangeError at a cut header.
    return null;
  } finally {
    input.dispose();
  }
}

const PAGE = 'OggS\0';
const BEGINS_STREAM = 2;

/** Whether a second stream begins in an Ogg file: a player plays it too, and the parser does not read it. @source RFC 3533, section 4 */
function isChained(bytes: Uint8Array): boolean {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = file.indexOf(PAGE, 1); at >= 0; at = file.indexOf(PAGE, at + 1))
    if (((file[at + PAGE.length] ?? 0) & BEGINS_STREAM) !== 0) return true;
  return false;
}
