import { randomBytes } from 'node:crypto';
import { createTransportCipher } from '../../media/crypto/transport.ts';
import { Forwarder } from '../../media/sfu/forwarder.ts';
import { PacketSealer } from '../../media/sfu/sealing.ts';
import { TRANSPORT_MODES, type TransportMode } from '../../protocol/voice.ts';
import { type Spread, spreadOf } from '../fanout/spread.ts';

const RECEIVERS = 50;
const PACKETS = 500;
const PACKET_MS = 20;
const PAYLOAD = randomBytes(160);
const HEADER = Buffer.from([0x80, 0x78, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);

/** One room in this thread whose packets are discarded: the cost of forwarding without system calls. */
class Inside {
  readonly mode: TransportMode;
  readonly samples: number[] = [];
  readonly #forwarder: Forwarder;
  readonly #seal: (sequence: number) => Buffer;
  #sent = 0;
  #sequence = 1;

  constructor(mode: TransportMode) {
    this.mode = mode;
    const counting = {
      send: () => {
        this.#sent += 1;
      },
      isTaken: () => true,
    };
    const sealer = new PacketSealer(counting, 64);
    this.#forwarder = new Forwarder(
      {
        setBody: (body) => sealer.setBody(body),
        sendUdp: (to, cipher, header, nonce) => sealer.sendUdp(to, cipher, header, nonce),
        sendPeer: () => {},
        event: () => {},
      },
      { cipher: createTransportCipher, silentMs: 15_000 },
    );
    this.#forwarder.open('inside');
    const ciphers = Array.from({ length: RECEIVERS + 1 }, (_, index) => this.#join(index + 1));
    const sealed = (ssrc: number, sequence: number): Buffer => {
      const packet = Buffer.alloc(256);
      HEADER.writeUInt16BE(sequence & 0xffff, 2);
      HEADER.writeUInt32BE(ssrc, 8);
      const length = ciphers[ssrc - 1]?.seal(packet, 0, HEADER, PAYLOAD, sequence) ?? 0;
      return packet.subarray(0, length);
    };
    for (let ssrc = 1; ssrc <= RECEIVERS + 1; ssrc += 1) this.#take(sealed(ssrc, 0), ssrc, 0);
    this.#seal = (sequence) => sealed(1, sequence);
  }

  #join(ssrc: number) {
    const key = randomBytes(32);
    this.#forwarder.join('inside', { ssrc, userId: String(ssrc), layers: [] }, 0);
    this.#forwarder.setGate(ssrc, { speaks: true, streams: false, receives: true });
    this.#forwarder.connectUdp(ssrc, { mode: this.mode, key, claimed: null, resume: null }, 0);
    return createTransportCipher(this.mode, key);
  }

  #take(packet: Buffer, port: number, nowMs: number): void {
    this.#forwarder.handleUdp(packet, packet.length, { address: '127.0.0.1', port }, nowMs);
  }

  heat(): void {
    const packets = Array.from({ length: PACKETS }, (_, index) => this.#seal(this.#sequence + index));
    const sentBefore = this.#sent;
    const cpu = process.cpuUsage();
    for (const packet of packets) {
      this.#take(packet, 1, this.#sequence * PACKET_MS);
      this.#sequence += 1;
    }
    const { user, system } = process.cpuUsage(cpu);
    this.samples.push((user + system) / (this.#sent - sentBefore));
  }
}

/** CPU-µs per sent packet, of forwarding and encryption alone. */
export function measureInside(rounds: number): { readonly mode: TransportMode; readonly cpu: Spread }[] {
  const rooms = TRANSPORT_MODES.map((mode) => new Inside(mode));
  for (const room of rooms) room.heat();
  for (const room of rooms) room.samples.length = 0;
  for (let round = 0; round < rounds; round += 1) for (const room of rooms) room.heat();
  return rooms.map(({ mode, samples }) => ({ mode, cpu: spreadOf(samples) }));
}
