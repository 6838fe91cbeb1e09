import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject } from 'node:crypto';
import { OPUS_PAYLOAD_TYPE, type TransportMode } from '../../../protocol/voice.ts';

/** The only supported encryption mode; every voice server offers it. */
export const TRANSPORT_MODE: TransportMode = 'aead_aes256_gcm_rtpsize';

export const KEY_BYTES = 32;
const TAG_BYTES = 16;
const COUNTER_BYTES = 4;
const NONCE_BYTES = 12;
const TAG_LENGTH = { authTagLength: TAG_BYTES };
const HEADER_BYTES = 12;
/** RTP version 2 in the first two bits. */
const VERSION = 0x80;

/** Transport encryption of one member: `clear | ciphertext | tag | counter (u32)`, where the clear part is authenticated. */
export class TransportCipher {
  readonly #key: KeyObject;
  #counter = 0;

  /** @param key 32 bytes. @throws RangeError for another length. */
  constructor(key: Uint8Array) {
    if (key.length !== KEY_BYTES) throw new RangeError('A transport key must have 32 bytes.');
    this.#key = createSecretKey(key);
  }

  seal(clear: Uint8Array, plain: Uint8Array): Buffer {
    const nonce = Buffer.alloc(NONCE_BYTES);
    this.#counter = (this.#counter + 1) >>> 0;
    nonce.writeUInt32BE(this.#counter);
    const cipher = createCipheriv('aes-256-gcm', this.#key, nonce, TAG_LENGTH);
    cipher.setAAD(clear);
    const sealed = [cipher.update(plain), cipher.final()];
    return Buffer.concat([clear, ...sealed, cipher.getAuthTag(), nonce.subarray(0, COUNTER_BYTES)]);
  }

  /** Decrypts what follows the first `clearBytes`; null when authentication fails. */
  open(packet: Uint8Array, clearBytes: number): Buffer | null {
    const counterAt = packet.length - COUNTER_BYTES;
    const tagAt = counterAt - TAG_BYTES;
    if (tagAt < clearBytes) return null;
    const nonce = Buffer.alloc(NONCE_BYTES);
    nonce.set(packet.subarray(counterAt));
    const decipher = createDecipheriv('aes-256-gcm', this.#key, nonce, TAG_LENGTH);
    decipher.setAAD(packet.subarray(0, clearBytes)).setAuthTag(packet.subarray(tagAt, counterAt));
    const opened = decipher.update(packet.subarray(clearBytes, tagAt));
    try {
      decipher.final();
    } catch {
      return null;
    }
    return opened;
  }
}

export interface AudioPacket {
  /** u16. */
  readonly seq: number;
  /** u32. */
  readonly timestamp: number;
  readonly ssrc: number;
  readonly payload: Uint8Array;
}

/** Builds an encrypted RTP packet with an Opus payload. */
export function writeAudio(cipher: TransportCipher, { seq, timestamp, ssrc, payload }: AudioPacket): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header[0] = VERSION;
  header[1] = OPUS_PAYLOAD_TYPE;
  header.writeUInt16BE(seq, 2);
  header.writeUInt32BE(timestamp, 4);
  header.writeUInt32BE(ssrc, 8);
  return cipher.seal(header, payload);
}

/**
 * Parses an RTP packet with an Opus payload. The fixed header, the CSRC list and the first four bytes of an
 * extension are clear; the rest is encrypted.
 *
 * @returns null when the packet is something else, or not authentic.
 * @source RFC 3550, sections 5.1 and 5.3.1;
 * https://docs.discord.com/developers/topics/voice-connections#transport-encryption-modes
 */
export function readAudio(cipher: TransportCipher, packet: Buffer): AudioPacket | null {
  if (packet.length < HEADER_BYTES) return null;
  const [first, second] = [packet[0]!, packet[1]!];
  if (first >> 6 !== 2 || (second & 0x7f) !== OPUS_PAYLOAD_TYPE) return null;
  const fixedBytes = HEADER_BYTES + 4 * (first & 0x0f);
  const isExtended = (first & 0x10) !== 0;
  const clearBytes = fixedBytes + (isExtended ? 4 : 0);
  const plain = cipher.open(packet, clearBytes);
  if (plain === null) return null;
  const extensionBytes = isExtended ? 4 * packet.readUInt16BE(fixedBytes + 2) : 0;
  const paddingBytes = (first & 0x20) !== 0 ? (plain.at(-1) ?? 0) : 0;
  if (extensionBytes + paddingBytes > plain.length) return null;
  return {
    seq: packet.readUInt16BE(2),
    timestamp: packet.readUInt32BE(4),
    ssrc: packet.readUInt32BE(8),
    payload: plain.subarray(extensionBytes, plain.length - paddingBytes),
  };
}

const DISCOVERY = { bytes: 74, request: 1, reply: 2, addressAt: 8, portAt: 72 } as const;

/**
 * Builds the IP discovery request.
 *
 * @source https://docs.discord.com/developers/topics/voice-connections#ip-discovery
 */
export function writeDiscovery(ssrc: number): Buffer {
  const packet = Buffer.alloc(DISCOVERY.bytes);
  packet.writeUInt16BE(DISCOVERY.request, 0);
  packet.writeUInt16BE(DISCOVERY.bytes - 4, 2);
  packet.writeUInt32BE(ssrc, 4);
  return packet;
}

/** Parses the IP discovery response; null when the packet is something else. */
export function readDiscovery(packet: Buffer): { readonly address: string; readonly port: number } | null {
  const { bytes, reply, addressAt, portAt } = DISCOVERY;
  if (packet.length !== bytes || packet.readUInt16BE(0) !== reply) return null;
  const text = packet.toString('latin1', addressAt, portAt);
  return { address: text.split('\0', 1)[0]!, port: packet.readUInt16BE(portAt) };
}
