import { machineAddress } from './address.ts';

/** As `machineAddress`. @throws Error when the machine has no address beside loopback. */
export async function outwardAddress(): Promise<string> {
  const address = await machineAddress();
  if (address === null)
    throw new Error(
      'voice_webrtc_address is auto, and this machine has no address beside loopback: connect it to a network, or leave ' +
        'the setting out and use a browser that sends calls to 127.0.0.1, such as Chromium.',
    );
  return address;
}
