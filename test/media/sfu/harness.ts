// Goal: calls with clients that are written from the protocol's description alone, as a reference for the forwarder.
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { createRequire } from 'node:module';
import { createTransportCipher } from '../../../media/crypto/transport.ts';
import type { Gate } from '../../../media/plane.ts';
import { Forwarder } from '../../../media/sfu/forwarder.ts';
import type { Endpoint, ForwarderEvent, ForwarderMember } from '../../../media/sfu/ports.ts';
import { type DatagramOutput, PacketSealer } from '../../../media/sfu/sealing.ts';
import type { TransportMode } from '../../../protocol/voice.ts';

const sodium = createRequire(import.meta.url)('sodium-native');
export const [GCM, XCHACHA] = ['aead_aes256_gcm_rtpsize', 'aead_xchacha20_poly1305_rtpsize'] as const;
export const OPEN: Gate = { speaks: true, streams: true, receives: true };

/** The key and the nonce with which a client encrypts, as @discordjs/voice uses them. */
export function seal(
  mode: TransportMode,
  key: Uint8Array,
  header: Buffer,
  plain: Buffer,
  suffix: Buffer,
): Buffer {
  if (mode === GCM) {
    const cipher = createCipheriv('aes-256-gcm', key, Buffer.concat([suffix], 12));
    cipher.setAAD(header);
    return Buffer.concat([header, cipher.update(plain), cipher.final(), cipher.getAuthTag(), suffix]);
  }
  const sealed = Buffer.alloc(plain.length + 16);
  const nonce = Buffer.concat([suffix], 24);
  sodium.crypto_aead_xchacha20poly1305_ietf_encrypt(sealed, plain, header, null, nonce, Buffer.from(key));
  return Buffer.concat([header, sealed, suffix]);
}

/** Throws when the packet is not authentic. */
export function unseal(mode: TransportMode, key: Uint8Array, packet: Buffer, headerBytes: number): Buffer {
  const suffix = packet.subarray(-4);
  const header = packet.subarray(0, headerBytes);
  const sealed = packet.subarray(headerBytes, -4);
  if (mode === GCM) {
    const decipher = createDecipheriv('aes-256-gcm', key, Buffer.concat([suffix], 12));
    decipher.setAAD(header);
    decipher.setAuthTag(sealed.subarray(-16));
    return Buffer.concat([decipher.update(sealed.subarray(0, -16)), decipher.final()]);
  }
  const plain = Buffer.alloc(sealed.length - 16);
  const nonce = Buffer.concat([suffix], 24);
  sodium.crypto_aead_xchacha20poly1305_ietf_decrypt(plain, null, sealed, header, nonce, Buffer.from(key));
  return plain;
}

export function rtp(
  ssrc: number,
  sequence: number,
  timestamp: number,
  payloadType = 120,
  marker = false,
): Buffer {
  const header = Buffer.alloc(12);
  header[0] = 0x80;
  header[1] = payloadType | (marker ? 0x80 : 0);
  header.writeUInt16BE(sequence & 0xffff, 2);
  header.writeUInt32BE(timestamp >>> 0, 4);
  header.writeUInt32BE(ssrc, 8);
  return header;
}

/** A packet that a client received and decrypted. */
interface ReceivedPacket {
  readonly header: Buffer;
  readonly ssrc: number;
  readonly sequence: number;
  readonly timestamp: number;
  readonly payloadType: number;
  readonly marker: boolean;
  readonly payload: Buffer;
  readonly isRtcp: boolean;
  readonly nonce: number;
}

function read(header: Buffer, payload: Buffer, isRtcp: boolean, nonce: number): ReceivedPacket {
  return {
    header: Buffer.from(header),
    ssrc: isRtcp ? header.readUInt32BE(4) : header.readUInt32BE(8),
    sequence: header.readUInt16BE(2),
    timestamp: isRtcp ? 0 : header.readUInt32BE(4),
    payloadType: isRtcp ? header[1]! : header[1]! & 0x7f,
    marker: !isRtcp && (header[1]! & 0x80) !== 0,
    payload: Buffer.from(payload),
    isRtcp,
    nonce,
  };
}

export class Client {
  readonly arranged: Arranged;
  readonly ssrc: number;
  readonly mode: TransportMode | 'peer';
  readonly key: Buffer;
  at: Endpoint;
  nonce = 0;
  sequence = 1;
  readonly heard: ReceivedPacket[] = [];

  constructor(arranged: Arranged, ssrc: number, mode: TransportMode | 'peer', at: Endpoint) {
    this.arranged = arranged;
    this.ssrc = ssrc;
    this.mode = mode;
    this.key = randomBytes(32);
    this.at = at;
  }

  /** The datagram for a header and a payload, with the next nonce. */
  packet(header: Buffer, plain: Buffer, suffix = this.nextSuffix()): Buffer {
    return this.mode === 'peer'
      ? Buffer.concat([header, plain])
      : seal(this.mode, this.key, header, plain, suffix);
  }

  nextSuffix(): Buffer {
    this.nonce += 1;
    const suffix = Buffer.alloc(4);
    suffix.writeUInt32BE(this.nonce >>> 0);
    return suffix;
  }

  transmit(packet: Buffer, from = this.at): void {
    const { forwarder, nowMs } = this.arranged;
    if (this.mode === 'peer') forwarder.handlePeer(this.ssrc, Buffer.from(packet), packet.length, nowMs);
    else forwarder.handleUdp(Buffer.from(packet), packet.length, from, nowMs);
  }

  send(header: Buffer, plain: Buffer): void {
    this.transmit(this.packet(header, plain));
  }

  /** One audio frame of 20 ms. */
  speak(payload = Buffer.from('opus, end-to-end encrypted\xfa\xfa', 'latin1')): Buffer {
    this.send(rtp(this.ssrc, this.sequence, this.sequence * 960), payload);
    this.sequence += 1;
    return payload;
  }

  received(bytes: Buffer): void {
    const isRtcp = bytes[1]! >= 192 && bytes[1]! <= 223;
    const headerBytes = isRtcp ? 8 : 12;
    const isPeer = this.mode === 'peer';
    const payload =
      this.mode === 'peer' ? bytes.subarray(headerBytes) : unseal(this.mode, this.key, bytes, headerBytes);
    const nonce = isPeer ? 0 : bytes.readUInt32BE(bytes.length - 4);
    this.heard.push(read(bytes.subarray(0, headerBytes), payload, isRtcp, nonce));
  }

  /** Removes and returns the received packets. */
  take(): ReceivedPacket[] {
    return this.heard.splice(0);
  }
}

export class Arranged implements DatagramOutput {
  readonly forwarder: Forwarder;
  readonly clients = new Map<number, Client>();
  readonly events: ForwarderEvent[] = [];
  /** Datagrams to addresses without a client. */
  readonly astray: { readonly to: Endpoint; readonly bytes: Buffer }[] = [];
  nowMs = 1_000_000;
  #next = 0;

  constructor() {
    const sealer = new PacketSealer(this, 64);
    const output = {
      setBody: (body: Buffer) => sealer.setBody(body),
      sendUdp: sealer.sendUdp.bind(sealer),
      sendPeer: this.sendPeer.bind(this),
      event: this.event.bind(this),
    };
    this.forwarder = new Forwarder(output, { cipher: createTransportCipher, silentMs: 15_000 });
    this.forwarder.open('call');
  }

  send(to: Endpoint, bytes: Buffer, offset: number, length: number): void {
    const packet = Buffer.from(bytes.subarray(offset, offset + length));
    const client = [...this.clients.values()].find(
      ({ at }) => at.address === to.address && at.port === to.port,
    );
    if (!client || packet[0]! >> 6 !== 2) this.astray.push({ to: { ...to }, bytes: packet });
    else client.received(packet);
  }

  sendPeer(ssrc: number, bytes: Buffer, offset: number, length: number): void {
    this.clients.get(ssrc)?.received(bytes.subarray(offset, offset + length));
  }

  event(_: string, event: ForwarderEvent): void {
    this.events.push(event);
  }

  advance(ms: number): void {
    this.nowMs += ms;
    this.forwarder.tick(this.nowMs);
  }

  /** A member whose client is connected and, over UDP, has sent a packet of silence. */
  client(
    mode: TransportMode | 'peer' = GCM,
    {
      gate = OPEN,
      layers = [],
      callId = 'call',
    }: { gate?: Gate; layers?: ForwarderMember['layers']; callId?: string } = {},
  ): Client {
    this.#next += 1;
    const ssrc = this.#next * 1000;
    const client = new Client(this, ssrc, mode, { address: '192.0.2.1', port: 20_000 + this.#next });
    this.clients.set(ssrc, client);
    this.forwarder.join(callId, { ssrc, userId: String(ssrc), layers }, this.nowMs);
    if (mode === 'peer') this.forwarder.connectPeer(ssrc, this.nowMs);
    else {
      this.forwarder.connectUdp(ssrc, { mode, key: client.key, claimed: null, resume: null }, this.nowMs);
      client.send(rtp(ssrc, 0, 0), Buffer.of(0xf8, 0xff, 0xfe));
    }
    this.forwarder.setGate(ssrc, gate);
    return client;
  }

  forget(): void {
    this.events.length = 0;
    for (const client of this.clients.values()) client.take();
  }

  get drops() {
    return this.forwarder.metrics().drops;
  }
}
