import type { OpenSocket } from '../sdk/voice/wire.ts';

/** Adapts the browser's WebSocket to the interface of the SDK's connections. */
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

/** WebSocket URL of a path on the server of this page. */
export const socketUrl = (path: string): string =>
  `${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}${path}`;
