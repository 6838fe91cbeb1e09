import type { CreateCipher, Endpoint, UdpOutput } from '../sfu/ports.ts';

/** Longer than any packet that fits a link's MTU; longer datagrams are reported with their length, and cut. */
export const DATAGRAM_BYTES_MAX = 2000;

/** The implementation that sends and receives, and, for node:dgram, why not the addon. */
export interface UdpSender {
  readonly kind: 'native' | 'dgram';
  readonly reason: string | null;
}

/** A bound UDP socket of a lane. */
export interface MediaSocket extends UdpOutput {
  readonly sender: UdpSender;
  readonly port: number;
  /** Creates the ciphers that this socket encrypts with fastest. */
  readonly createCipher: CreateCipher;
  /** Whether so many packets wait that no further input should be taken. */
  readonly isOverloaded: boolean;
  /** Packets that the system refused. */
  readonly failed: number;
  /** The oldest waiting packets that were dropped for newer ones. */
  readonly dropped: number;
  /** Sends what was collected since the last call. */
  flush(): void;
  /** Resolves when the port is free. */
  close(): Promise<void>;
}

/** Callbacks of a socket; none may throw. */
export interface DatagramListener {
  /** The first `length` bytes are the datagram's, valid during the call and may be changed; `from` may be kept. */
  datagram(bytes: Buffer, length: number, from: Endpoint): void;
  /** Called after the datagrams that arrived together. */
  settled(): void;
}
