import { type CallPorts, createCalls } from '../../compose/calls.ts';
import type { MediaPlane, MediaRoom } from '../../media/plane.ts';

/** A media plane without media: it numbers the members of rooms. */
function silentPlane(): Pick<MediaPlane, 'open'> {
  let ssrc = 0;
  const nothing = (): void => undefined;
  const room: MediaRoom = {
    address: { ip: '127.0.0.1', port: 1 },
    join: () => {
      ssrc += 1;
      return { ssrc, streams: [] };
    },
    connectPeer: () => Promise.resolve(null),
    ...{ leave: nothing, connectUdp: nothing, setPayloadTypes: nothing, setGate: nothing, close: nothing },
    ...{ setAudience: nothing, setStreams: nothing, setSinkWants: nothing, setEncryptedOnly: nothing },
  };
  return { open: () => room };
}

export type SimVoice = ReturnType<typeof createCalls>;

/** The calls of one shard as they are, with no media. @param endpoint Where clients connect to them. */
export function createSimVoice(ports: CallPorts, endpoint: string): SimVoice {
  const plane = silentPlane();
  return createCalls(
    ports,
    () => plane,
    () => endpoint,
  );
}
