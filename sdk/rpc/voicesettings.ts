import { type Args, isObject, RpcError } from './link.ts';

/** The person's voice settings as applications see and change them. */
export interface VoiceSettings {
  readonly input: Args;
  readonly output: Args;
  readonly mode: Args;
  readonly automatic_gain_control: boolean;
  readonly echo_cancellation: boolean;
  readonly noise_suppression: boolean;
  readonly qos: boolean;
  readonly silence_warning: boolean;
  readonly deaf: boolean;
  readonly mute: boolean;
}

/** Without a linked page there is no sound: one device of each kind stands for what the person's own client uses. */
const DEVICE = { available_devices: [{ id: 'default', name: 'Default' }], device_id: 'default' };

export const VOICE_DEFAULTS: VoiceSettings = {
  input: { ...DEVICE, volume: 100 },
  output: { ...DEVICE, volume: 100 },
  mode: { type: 'VOICE_ACTIVITY', auto_threshold: true, threshold: -60, shortcut: [], delay: 20 },
  ...{ automatic_gain_control: true, echo_cancellation: true, noise_suppression: true },
  ...{ qos: true, silence_warning: true, deaf: false, mute: false },
};

const FLAGS = [
  'automatic_gain_control',
  'echo_cancellation',
  'noise_suppression',
  'qos',
  'silence_warning',
  'deaf',
  'mute',
] as const;
/** Percent. @source https://docs.discord.com/developers/topics/rpc#getvoicesettings */
const [INPUT_VOLUME_MAX, OUTPUT_VOLUME_MAX, SHORTCUT_KEYS_MAX] = [100, 200, 8];

const wrong = (message: string) => new RpcError('INVALID_PAYLOAD', message);

/** A number from `min` to `max`; `before` when it is absent. @throws RpcError */
export function numberIn(
  from: Args,
  key: string,
  [min, max]: readonly [number, number],
  before: unknown,
): unknown {
  const value = from[key];
  if (value === undefined || value === null) return before;
  if (typeof value !== 'number' || !(value >= min && value <= max))
    throw wrong(`${key} must be a number from ${min} to ${max}.`);
  return value;
}

function deviceIn(given: Args, key: 'input' | 'output', before: Args, volumeMax: number): Args {
  const change = given[key];
  if (change === undefined || change === null) return before;
  if (!isObject(change)) throw wrong(`${key} must be an object.`);
  const { device_id: id = before.device_id } = change;
  const devices = Array.isArray(before.available_devices) ? before.available_devices : [];
  if (!devices.some((device: Args) => device.id === id)) throw wrong(`There is no ${key} device of this id.`);
  return { ...before, device_id: id, volume: numberIn(change, 'volume', [0, volumeMax], before.volume) };
}

function modeIn({ mode }: Args, before: Args): Args {
  if (mode === undefined || mode === null) return before;
  if (!isObject(mode)) throw wrong('mode must be an object.');
  const {
    type = before.type,
    auto_threshold: auto = before.auto_threshold,
    shortcut = before.shortcut,
  } = mode;
  if (type !== 'PUSH_TO_TALK' && type !== 'VOICE_ACTIVITY')
    throw wrong('mode.type must be PUSH_TO_TALK or VOICE_ACTIVITY.');
  if (!Array.isArray(shortcut) || shortcut.length > SHORTCUT_KEYS_MAX)
    throw wrong(`mode.shortcut must be a list of at most ${SHORTCUT_KEYS_MAX} keys.`);
  return {
    type,
    auto_threshold: auto === true,
    threshold: numberIn(mode, 'threshold', [-100, 0], before.threshold),
    shortcut: shortcut.filter(isObject).map(({ type: kind, code, name }) => ({ type: kind, code, name })),
    delay: numberIn(mode, 'delay', [0, 2_000], before.delay),
  };
}

/** The settings after a change; absent fields stay. @throws RpcError INVALID_PAYLOAD that names the field */
export function changedVoice(before: VoiceSettings, given: Args): VoiceSettings {
  const flags: Partial<Record<(typeof FLAGS)[number], boolean>> = {};
  for (const flag of FLAGS) {
    const value = given[flag];
    if (value === undefined || value === null) continue;
    if (typeof value !== 'boolean') throw wrong(`${flag} must be true or false.`);
    flags[flag] = value;
  }
  return {
    ...before,
    ...flags,
    input: deviceIn(given, 'input', before.input, INPUT_VOLUME_MAX),
    output: deviceIn(given, 'output', before.output, OUTPUT_VOLUME_MAX),
    mode: modeIn(given, before.mode),
  };
}

/** Bounds of a page's reports. */
const [DEVICES_MAX, DEVICE_CHARS_MAX] = [64, 512];

function devicesIn(given: unknown): Args {
  const list: unknown = isObject(given) ? given.available_devices : null;
  if (!Array.isArray(list) || list.length > DEVICES_MAX) throw wrong(`At most ${DEVICES_MAX} devices.`);
  const devices = list.filter(isObject).map(({ id, name }) => {
    if (typeof id !== 'string' || typeof name !== 'string' || id.length + name.length > DEVICE_CHARS_MAX)
      throw wrong('A device has an id and a name.');
    return { id, name };
  });
  return { available_devices: devices, device_id: devices[0]?.id ?? null, volume: 100 };
}

/** The settings that a linked page reports, with its devices. @throws RpcError INVALID_PAYLOAD */
export function reportedVoice(given: unknown): VoiceSettings {
  if (!isObject(given)) throw wrong('settings must be an object.');
  const devices = { input: devicesIn(given.input), output: devicesIn(given.output) };
  return changedVoice({ ...VOICE_DEFAULTS, ...devices }, given);
}
