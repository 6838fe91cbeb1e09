import { openMeter } from './meter.ts';

/** A microphone that is open: its track, and how loud it is. */
export interface Microphone {
  readonly track: MediaStreamTrack;
  /** Root mean square of the last 40 ms, 0 to 1. */
  level(): number;
  close(): void;
}

export interface MicrophoneChoice {
  /** Empty: the system's choice. */
  readonly deviceId: string;
  /** Whether the browser takes out noise and echo, which is good for speech and bad for music. */
  readonly cleaned: boolean;
}

/**
 * Opens a microphone.
 *
 * @throws Error with a sentence for the person.
 */
export async function openMicrophone(
  context: AudioContext,
  { deviceId, cleaned }: MicrophoneChoice,
): Promise<Microphone> {
  const wanted = {
    ...(deviceId !== '' && { deviceId: { exact: deviceId } }),
    echoCancellation: cleaned,
    noiseSuppression: cleaned,
    autoGainControl: cleaned,
  };
  const stream = await navigator.mediaDevices.getUserMedia({ audio: wanted }).catch((error: unknown) => {
    throw new Error(complaintOf(error));
  });
  const [track] = stream.getAudioTracks();
  if (track === undefined) throw new Error('The microphone gave no sound.');
  const meter = openMeter(context, stream);
  return {
    track,
    level: meter.level,
    close() {
      meter.close();
      track.stop();
    },
  };
}

function complaintOf(error: unknown): string {
  const name = error instanceof DOMException ? error.name : '';
  if (name === 'NotAllowedError')
    return 'The microphone is not allowed for this page. You can hear, not speak.';
  if (name === 'NotFoundError' || name === 'OverconstrainedError')
    return 'There is no such microphone. You can hear, not speak.';
  return 'The microphone could not be opened; another program may hold it. You can hear, not speak.';
}

export interface Devices {
  readonly inputs: readonly MediaDeviceInfo[];
  /** Empty where a browser does not let pages choose. */
  readonly outputs: readonly MediaDeviceInfo[];
}

/** Devices by kind; their names are known once a microphone was allowed. */
export async function listDevices(): Promise<Devices> {
  const all = await navigator.mediaDevices.enumerateDevices();
  const of = (kind: MediaDeviceKind) =>
    all.filter((device) => device.kind === kind && device.deviceId !== '');
  return {
    inputs: of('audioinput'),
    outputs: 'setSinkId' in HTMLAudioElement.prototype ? of('audiooutput') : [],
  };
}
