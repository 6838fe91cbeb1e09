import type { OpenSocket } from '../sdk/voice/wire.ts';

/** The browser's WebSocket, as the links want it. */
export const openSocket: OpenSocket = (url, events) => {
  const socket = new WebSocket(url);
  socket.binaryType = 'arraybuffer';
  socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) =>
    events.message(typeof data === 'string' ? data : new Uint8Array(data));
  socket.onclose = ({ code, reason }) => events.closed(code, reason);
  return {
    send(data) {
      if (socket.readyState === WebSocket.OPEN) socket.send(data);
    },
    close: (code) => socket.close(code),
  };
};

/** A path of the server this page came from, as a WebSocket address. */
export const socketUrl = (path: string): string =>
  `${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}${path}`;
