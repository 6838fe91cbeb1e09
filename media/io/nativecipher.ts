import type { TransportMode } from '../../protocol/voice.ts';
import { createTransportCipher, type TransportCipher } from '../crypto/transport.ts';
import type { CreateCipher } from '../sfu/ports.ts';
import type { MediaAddon } from './addon.ts';

/** A transport cipher of the addon: one key schedule for all packets, in both modes. */
export class NativeCipher implements TransportCipher {
  /** How the addon finds the cipher. Valid as long as this object is reachable. */
  readonly number: number;
  readonly #addon: MediaAddon;

  /** @throws when the addon has as many ciphers as it may have. */
  constructor(addon: MediaAddon, mode: TransportMode, key: Uint8Array) {
    this.#addon = addon;
    this.number = addon.cipher(this, mode !== 'aead_aes256_gcm_rtpsize', key);
  }

  seal(packet: Buffer, offset: number, header: Buffer, plain: Buffer, nonce: number): number {
    return this.#addon.seal(this.number, packet, offset, header, plain, nonce);
  }

  open(packet: Buffer, length: number, headerBytes: number, plain: Buffer): number {
    return this.#addon.open(this.number, packet, length, headerBytes, plain);
  }
}

/** Creates ciphers of the addon; those of Node and sodium where the addon has no room for another. */
export const nativeCiphers =
  (addon: MediaAddon): CreateCipher =>
  (mode, key) => {
    try {
      return new NativeCipher(addon, mode, key);
    } catch {
      return createTransportCipher(mode, key);
    }
  };
