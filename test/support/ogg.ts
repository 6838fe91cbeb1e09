/** Ogg pages around Opus packets (RFC 7845), one packet a page: a file that any player of Opus reads. */
export function oggOpus(packets: readonly Uint8Array[], serial = 1): Buffer {
  const pages = [page(opusHead(), { serial, index: 0, granule: 0n, flags: FIRST })];
  pages.push(page(opusTags(), { serial, index: 1, granule: 0n, flags: 0 }));
  packets.forEach((packet, at) => {
    const flags = at === packets.length - 1 ? LAST : 0;
    pages.push(page(packet, { serial, index: at + 2, granule: BigInt((at + 1) * SAMPLES_PER_FRAME), flags }));
  });
  return Buffer.concat(pages);
}

const FIRST = 2;
const LAST = 4;
const SAMPLES_PER_FRAME = 960;
const HEADER_BYTES = 27;
const CRC_AT = 22;

interface PageHead {
  readonly serial: number;
  readonly index: number;
  readonly granule: bigint;
  readonly flags: number;
}

function page(packet: Uint8Array, { serial, index, granule, flags }: PageHead): Buffer {
  const lacing = [...Array<number>(Math.floor(packet.length / 255)).fill(255), packet.length % 255];
  const head = Buffer.alloc(HEADER_BYTES);
  head.write('OggS', 0, 'latin1');
  head[5] = flags;
  head.writeBigUInt64LE(granule, 6);
  head.writeUInt32LE(serial, 14);
  head.writeUInt32LE(index, 18);
  head[26] = lacing.length;
  const whole = Buffer.concat([head, Buffer.from(lacing), packet]);
  whole.writeUInt32LE(crc(whole), CRC_AT);
  return whole;
}

function opusHead(): Buffer {
  const head = Buffer.alloc(19);
  head.write('OpusHead', 0, 'latin1');
  head[8] = 1;
  head[9] = 2;
  head.writeUInt32LE(48_000, 12);
  return head;
}

function opusTags(): Buffer {
  const vendor = 'guildhall';
  const tags = Buffer.alloc(8 + 4 + vendor.length + 4);
  tags.write('OpusTags', 0, 'latin1');
  tags.writeUInt32LE(vendor.length, 8);
  tags.write(vendor, 12, 'latin1');
  return tags;
}

/** Ogg's checksum: polynomial 0x04c11db7, most significant bit first, no reflection (RFC 3533, section 6). */
function crc(bytes: Uint8Array): number {
  let sum = 0;
  for (const byte of bytes) {
    sum ^= byte << 24;
    for (let bit = 0; bit < 8; bit++) sum = sum & 0x80000000 ? (sum << 1) ^ 0x04c11db7 : sum << 1;
  }
  return sum >>> 0;
}
