import { ErrorType } from '../../enums.ts';
import { ClientError } from '../../result.ts';
import { type AudioProcessing, DEFAULT_DEVICE } from '../media.ts';
import { sourceOf } from './context.ts';
import { openMeter } from './meter.ts';
import { type PageAudioContext, type PageStream, type PageTrack, page } from './page.ts';

/**
 * An open microphone. Its own track is sent, so that it works while the audio context is suspended; only a volume
 * other than 1 goes through the context.
 */
export interface Microphone {
  /** Track to send; it changes with the volume and the context's state. Null: the volume is 0. */
  readonly track: PageTrack | null;
  setVolume(volume: number): void;
  /** Root mean square after the volume, 0 to 1; null while the context is suspended and cannot measure. */
  level(): number | null;
  close(): void;
}

interface MicrophoneChoice {
  readonly deviceId: string;
  readonly processing: AudioProcessing;
  readonly volume: number;
}

/** @throws ClientError with a message for the user. */
export async function openMicrophone(
  context: PageAudioContext,
  { deviceId, processing, volume }: MicrophoneChoice,
): Promise<Microphone> {
  const { echoCancellation, noiseSuppression, automaticGainControl } = processing;
  const devices = page().navigator.mediaDevices;
  if (devices === undefined) throw failed('This page may not use microphones.');
  const audio = {
    ...(deviceId !== DEFAULT_DEVICE && { deviceId: { exact: deviceId } }),
    echoCancellation,
    noiseSuppression,
    autoGainControl: automaticGainControl,
  };
  const stream = await devices.getUserMedia({ audio }).catch((error: unknown) => {
    throw failed(complaintOf(error));
  });
  const own = stream.getAudioTracks()[0]!;
  const graph = graphOf(context, stream);
  let wanted = volume;
  graph?.setVolume(volume);
  const runs = (): boolean => graph !== null && context.state === 'running';
  return {
    get track() {
      if (wanted === 0) return null;
      return wanted === 1 || !runs() ? own : graph!.track;
    },
    setVolume(next) {
      wanted = next;
      graph?.setVolume(next);
    },
    level() {
      if (wanted === 0) return 0;
      return runs() ? graph!.level() : null;
    },
    close() {
      graph?.close();
      for (const track of stream.getAudioTracks()) track.stop();
    },
  };
}

/** Audio graph that applies the volume to the microphone and measures it. */
function graphOf(context: PageAudioContext, stream: PageStream) {
  const source = sourceOf(context, stream);
  if (source === null) return null;
  const gain = context.createGain();
  const sink = context.createMediaStreamDestination();
  source.connect(gain);
  gain.connect(sink);
  const meter = openMeter(context, gain);
  return {
    track: sink.stream.getAudioTracks()[0]!,
    setVolume(volume: number) {
      gain.gain.value = volume;
    },
    level: meter.level,
    close() {
      meter.close();
      source.disconnect();
      gain.disconnect();
    },
  };
}

const failed = (sentence: string): ClientError => new ClientError(ErrorType.Disabled, sentence);

function complaintOf(error: unknown): string {
  const { name } = error as { readonly name?: string };
  if (name === 'NotAllowedError')
    return 'The microphone is not allowed for this page. You can hear, not speak.';
  if (name === 'NotFoundError' || name === 'OverconstrainedError')
    return 'There is no such microphone. You can hear, not speak.';
  return 'The microphone could not be opened; another program may hold it. You can hear, not speak.';
}
