const UPGRADE = /^GET [\s\S]*\r\nupgrade: websocket\r\n/i;
const TEXT = 1;
const BINARY = 2;
const LENGTH_16 = 126;
const LENGTH_64 = 127;
const MASKED = 4;

/** The opcode of a gateway payload of a client: JSON, or ETF with its key `op`. */
function opcodeOf(type, data) {
  if (type === TEXT || data[0] === 0x7b)
    try {
      return JSON.parse(data.toString()).op;
    } catch {
      return null;
    }
  const found = type === BINARY ? /op(?:a|b\0\0\0)([\s\S])/.exec(data.toString('latin1')) : null;
  return found ? found[1].charCodeAt(0) : null;
}

/** Where the first frame's data begins and ends; null: not all of it is there. */
function boundsOf(bytes) {
  if (bytes.length < 2) return null;
  const short = bytes[1] & 0x7f;
  const more = short === LENGTH_16 ? 2 : short === LENGTH_64 ? 8 : 0;
  const start = 2 + more + MASKED;
  if (bytes.length < start) return null;
  const length = more === 0 ? short : more === 2 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2));
  return bytes.length < start + length ? null : { start, end: start + length };
}

/** Reads what a client sends on a connection, and reports the opcodes of its payloads when the connection is a WebSocket. */
export function opcodeReader(onOpcode) {
  let bytes = Buffer.alloc(0);
  let isUpgraded = null;
  return (chunk) => {
    if (isUpgraded === false) return;
    bytes = Buffer.concat([bytes, chunk]);
    if (isUpgraded === null) {
      const end = bytes.indexOf('\r\n\r\n');
      if (end === -1) return;
      isUpgraded = UPGRADE.test(bytes.toString('latin1', 0, end + 2));
      bytes = isUpgraded ? bytes.subarray(end + 4) : Buffer.alloc(0);
    }
    for (let bounds = boundsOf(bytes); isUpgraded && bounds; bounds = boundsOf(bytes)) {
      const { start, end } = bounds;
      const mask = bytes.subarray(start - MASKED, start);
      const data = Buffer.from(bytes.subarray(start, end));
      for (let at = 0; at < data.length; at += 1) data[at] ^= mask[at % MASKED];
      const opcode = opcodeOf(bytes[0] & 0x0f, data);
      if (typeof opcode === 'number') onOpcode(opcode);
      bytes = bytes.subarray(end);
    }
  };
}
