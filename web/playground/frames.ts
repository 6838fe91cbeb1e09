import type { OpenSocket } from '../../sdk/voice/wire.ts';
import { createStore } from '../store.ts';
import { frameOf, type PassedFrame } from './frame.ts';

const FRAMES_MAX = 500;

/** The frames of this tab's gateway connection, newest last; older ones are dropped. */
export class FrameLog {
  readonly store = createStore<{ frames: readonly PassedFrame[]; isPaused: boolean }>({
    frames: [],
    isPaused: false,
  });
  #passed = 0;

  /** Opens sockets whose frames are noted here. */
  tapped(open: OpenSocket): OpenSocket {
    return (url, events) => {
      const socket = open(url, {
        ...events,
        message: (data) => {
          if (typeof data === 'string') this.#note(data, false);
          events.message(data);
        },
      });
      return {
        close: (code) => socket.close(code),
        send: (data) => {
          if (typeof data === 'string') this.#note(data, true);
          socket.send(data);
        },
      };
    };
  }

  pause(isPaused: boolean): void {
    this.store.set({ isPaused });
  }

  clear(): void {
    this.store.set({ frames: [] });
  }

  #note(data: string, isSent: boolean): void {
    if (this.store.value.isPaused) return;
    this.#passed++;
    const frame = frameOf(data, isSent, this.#passed, Date.now());
    this.store.set({ frames: [...this.store.value.frames, frame].slice(-FRAMES_MAX) });
  }
}
