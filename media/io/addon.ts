import { createRequire } from 'node:module';
import { arch, platform } from 'node:process';
import { fileURLToPath } from 'node:url';

/** Exports of media/io/native/. Its files describe the functions. */
export interface MediaAddon {
  bind(
    address: string,
    port: number,
    received: Uint8Array,
    receivedWords: Uint32Array,
    sent: Uint8Array,
    sentWords: Uint32Array,
    counters: Uint32Array,
    onReceived: (count: number) => void,
  ): object;
  port(socket: object): number;
  source(socket: object, slot: number): string;
  resolve(address: string, port: number, words: Uint32Array): boolean;
  send(socket: object, count: number): void;
  close(socket: object, closed: () => void): void;
  cipher(owner: object, isXChaCha: boolean, key: Uint8Array): number;
  seal(
    cipher: number,
    packet: Uint8Array,
    offset: number,
    header: Uint8Array,
    plain: Uint8Array,
    nonce: number,
  ): number;
  open(cipher: number, packet: Uint8Array, length: number, headerBytes: number, plain: Uint8Array): number;
  releaseMemory(): boolean;
}

/** The addon, or why it cannot be used here. */
type AddonFinding =
  | { readonly addon: MediaAddon; readonly file: string }
  | { readonly addon: null; readonly reason: string };

const IS_BUILT = import.meta.url.endsWith('.js');
/** scripts/addon.mjs writes it there. */
const ADDON_FILE = fileURLToPath(
  new URL(`${IS_BUILT ? '../../' : '../../dist/'}native/media-${platform}-${arch}.node`, import.meta.url),
);

/** Loads the addon. Every thread may call it; Node loads the file once. */
export function loadAddon(file = ADDON_FILE): AddonFinding {
  try {
    const addon: MediaAddon = createRequire(import.meta.url)(file);
    return { addon, file };
  } catch (error) {
    const [reason = ''] = String(error instanceof Error ? error.message : error).split('\n');
    return { addon: null, reason };
  }
}

/**
 * Gives freed memory of C and C++ back to the system; some milliseconds. The threads that compile a program as it starts
 * leave tens of megabytes, which glibc keeps. Without the addon it does nothing.
 */
export function releaseMemory(): void {
  loadAddon().addon?.releaseMemory();
}
