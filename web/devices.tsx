import { useEffect, useState } from 'preact/hooks';
import { type AudioDevice, type CallAudio, DEFAULT_DEVICE } from '../sdk/call/media.ts';
import type { Call } from './call.ts';

/** Devices chosen in this tab; a new call starts with them. */
export const chosenInput = (): string => sessionStorage.getItem('input') ?? DEFAULT_DEVICE;
export const chosenOutput = (): string => sessionStorage.getItem('output') ?? DEFAULT_DEVICE;
export const isCleaned = (): boolean => sessionStorage.getItem('raw') === null;

/** Applies the choice whether the browser removes noise and echo, which suits speech but not music. */
export function cleanAsChosen(audio: CallAudio): void {
  const wanted = isCleaned();
  audio.setProcessing({ echoCancellation: wanted, noiseSuppression: wanted, automaticGainControl: wanted });
}

interface Devices {
  readonly inputs: readonly AudioDevice[];
  readonly outputs: readonly AudioDevice[];
}

/** Delay after the request for the microphone until the names of devices are available. */
const NAMED_MS = 1500;

export function DeviceChoice({ call }: { call: Call }) {
  const [devices, setDevices] = useState<Devices>({ inputs: [], outputs: [] });
  const [cleaned, setCleaned] = useState(isCleaned());
  const { audio } = call;
  useEffect(() => {
    const look = (): void => {
      Promise.all([audio.inputDevices(), audio.outputDevices()]).then(
        ([inputs, outputs]) => setDevices({ inputs, outputs }),
        // Without devices there is nothing to choose.
        () => {},
      );
    };
    look();
    const unwatch = audio.watchDevices(look);
    const soon = setTimeout(look, NAMED_MS);
    return () => {
      clearTimeout(soon);
      unwatch();
    };
  }, []);
  const chooseInput = (deviceId: string): void => {
    sessionStorage.setItem('input', deviceId);
    void call.useInput(deviceId);
  };
  const chooseOutput = (deviceId: string): void => {
    sessionStorage.setItem('output', deviceId);
    void audio.useOutput(deviceId);
  };
  const clean = (wanted: boolean): void => {
    if (wanted) sessionStorage.removeItem('raw');
    else sessionStorage.setItem('raw', 'yes');
    setCleaned(wanted);
    cleanAsChosen(audio);
  };
  return (
    <div class="devices">
      <Choice name="Microphone" chosen={chosenInput()} devices={devices.inputs} choose={chooseInput} />
      {devices.outputs.length > 0 && (
        <Choice name="Speaker" chosen={chosenOutput()} devices={devices.outputs} choose={chooseOutput} />
      )}
      <label class="check">
        <input
          type="checkbox"
          checked={cleaned}
          onChange={({ currentTarget }) => clean(currentTarget.checked)}
        />
        Take out noise and echo
      </label>
    </div>
  );
}

interface ChoiceProps {
  readonly name: string;
  readonly chosen: string;
  readonly devices: readonly AudioDevice[];
  readonly choose: (deviceId: string) => void;
}

function Choice({ name, chosen, devices, choose }: ChoiceProps) {
  return (
    <label>
      {name}
      <select value={chosen} onChange={({ currentTarget }) => choose(currentTarget.value)}>
        {devices.map((device, index) => (
          <option key={device.id} value={device.id}>
            {device.name || `${name} ${index + 1}`}
          </option>
        ))}
      </select>
    </label>
  );
}
