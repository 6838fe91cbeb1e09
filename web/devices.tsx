import { useEffect, useState } from 'preact/hooks';
import type { Call } from './call.ts';
import { type Devices, listDevices, type MicrophoneChoice } from './microphone.ts';

/** What was chosen in this tab; a new call begins with it. */
export const chosenInput = (): MicrophoneChoice => ({
  deviceId: sessionStorage.getItem('input') ?? '',
  cleaned: sessionStorage.getItem('raw') === null,
});
export const chosenOutput = (): string => sessionStorage.getItem('output') ?? '';

/** How long after the microphone was asked for the names of devices are known. */
const NAMED_MS = 1500;

export function DeviceChoice({ call }: { call: Call }) {
  const [devices, setDevices] = useState<Devices>({ inputs: [], outputs: [] });
  const [cleaned, setCleaned] = useState(chosenInput().cleaned);
  useEffect(() => {
    const look = (): void => {
      // Without devices there is nothing to choose from.
      listDevices().then(setDevices, () => {});
    };
    look();
    navigator.mediaDevices.addEventListener('devicechange', look);
    const soon = setTimeout(look, NAMED_MS);
    return () => {
      clearTimeout(soon);
      navigator.mediaDevices.removeEventListener('devicechange', look);
    };
  }, []);
  const chooseInput = (deviceId: string): void => {
    sessionStorage.setItem('input', deviceId);
    void call.useInput(chosenInput());
  };
  const chooseOutput = (deviceId: string): void => {
    sessionStorage.setItem('output', deviceId);
    call.useOutput(deviceId);
  };
  const clean = (wanted: boolean): void => {
    if (wanted) sessionStorage.removeItem('raw');
    else sessionStorage.setItem('raw', 'yes');
    setCleaned(wanted);
    void call.useInput(chosenInput());
  };
  return (
    <div class="devices">
      <Choice
        name="Microphone"
        chosen={chosenInput().deviceId}
        devices={devices.inputs}
        choose={chooseInput}
      />
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
  readonly devices: readonly MediaDeviceInfo[];
  readonly choose: (deviceId: string) => void;
}

function Choice({ name, chosen, devices, choose }: ChoiceProps) {
  return (
    <label>
      {name}
      <select value={chosen} onChange={({ currentTarget }) => choose(currentTarget.value)}>
        <option value="">System default</option>
        {devices
          .filter(({ deviceId }) => deviceId !== 'default')
          .map(({ deviceId, label }, index) => (
            <option key={deviceId} value={deviceId}>
              {label || `${name} ${index + 1}`}
            </option>
          ))}
      </select>
    </label>
  );
}
