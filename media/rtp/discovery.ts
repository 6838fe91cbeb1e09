/**
 * The datagrams of clients that are not RTP: IP discovery and keepalives. A response is never longer than its request, so
 * that a forged source address amplifies nothing.
 *
 * @source https://docs.discord.com/developers/topics/voice-connections#ip-discovery;
 * https://github.com/discordjs/discord.js, @discordjs/voice, for the bare keepalive
 */
export const DISCOVERY_BYTES = 74;
export const KEEPALIVE_BYTES = 8;

const REQUEST = 1;
const RESPONSE = 2;
/** Bytes after the length field. */
const BODY_BYTES = 70;
const ADDRESS_AT = 8;
const ADDRESS_BYTES = 64;
const PORT_AT = 72;

/** @returns the SSRC in the request, or -1 if the datagram is not a discovery request. */
export function discoveryRequest(bytes: Buffer, length: number): number {
  if (length !== DISCOVERY_BYTES) return -1;
  if (bytes.readUInt16BE(0) !== REQUEST || bytes.readUInt16BE(2) !== BODY_BYTES) return -1;
  return bytes.readUInt32BE(4);
}

/** Writes the response: the source address of the request, as text of at most 63 bytes. */
export function writeDiscoveryResponse(
  into: Buffer,
  offset: number,
  ssrc: number,
  address: string,
  port: number,
): void {
  into.fill(0, offset, offset + DISCOVERY_BYTES);
  into.writeUInt16BE(RESPONSE, offset);
  into.writeUInt16BE(BODY_BYTES, offset + 2);
  into.writeUInt32BE(ssrc, offset + 4);
  into.write(address, offset + ADDRESS_AT, ADDRESS_BYTES - 1, 'latin1');
  into.writeUInt16BE(port, offset + PORT_AT);
}

const PING = 0x1337_cafe;
const PONG = 0x1337_f00d;

export const isPing = (bytes: Buffer, length: number): boolean =>
  length === KEEPALIVE_BYTES && bytes.readUInt32BE(0) === PING;

/** Writes the response to a ping: another magic word, the same sequence number. */
export function writePong(into: Buffer, offset: number, ping: Buffer): void {
  into.writeUInt32BE(PONG, offset);
  into.writeUInt32BE(ping.readUInt32BE(4), offset + 4);
}
