import { ErrorType } from '../../enums.ts';
import { ClientError } from '../../result.ts';
import { type AudioProcessing, DEFAULT_DEVICE } from '../media.ts';
import { openMeter } from './meter.ts';
import { type PageAudioContext, type PageTrack, page } from './page.ts';

/** A microphone that is open: its sound, after the input volume, and how loud that is. */
export interface Microphone {
  readonly track: PageTrack;
  setVolume(volume: number): void;
  /** Root mean square, 0 to 1. */
  level(): number;
  close(): void;
}

export interface MicrophoneChoice {
  readonly deviceId: string;
  readonly processing: AudioProcessing;
  readonly volume: number;
}

/** @throws ClientError with a sentence for the person. */
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
  const source = context.createMediaStreamSource(stream);
  const gain = context.createGain();
  gain.gain.value = volume;
  const sink = context.createMediaStreamDestination();
  source.connect(gain);
  gain.connect(sink);
  const meter = openMeter(context, gain);
  return {
    track: sink.stream.getAudioTracks()[0]!,
    setVolume(next) {
      gain.gain.value = next;
    },
    level: meter.level,
    close() {
      meter.close();
      source.disconnect();
      gain.disconnect();
      for (const track of stream.getAudioTracks()) track.stop();
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
