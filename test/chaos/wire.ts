import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** `cut`: connections are reset and refused. `held`: nothing arrives, nothing is refused; what was sent arrives later. */
type WireState = 'whole' | 'cut' | 'held';

/** Stands between a process and what it talks to over TCP. */
export interface Wire {
  readonly port: number;
  /** For all that it carries, or for connections of the client that this name begins. */
  set(state: WireState, client?: string): void;
  close(): Promise<void>;
}

interface Line {
  /** The client's name once it has identified; empty before. */
  client: string;
  readonly ends: readonly [Socket, Socket];
}

const LOOPBACK = '127.0.0.1';
/** A client has identified within this many bytes. */
const NAME_WITHIN_BYTES = 64 << 10;

/** Where a wire ends; loopback unless another address is named. */
interface WireEnds {
  readonly port: number;
  readonly from?: string;
  readonly to?: string;
}

/**
 * Opens a wire to a port, which need not be served yet. `nameIn` finds in what a client has sent first who it is.
 */
export async function openWire(
  { port, from = LOOPBACK, to = LOOPBACK }: WireEnds,
  nameIn: (said: Buffer) => string | null = () => null,
): Promise<Wire> {
  const lines = new Set<Line>();
  const states = new Map<string, WireState>();
  const stateOf = ({ client }: Line): WireState => {
    const all = states.get('') ?? 'whole';
    return all === 'whole' ? (states.get(client) ?? 'whole') : all;
  };

  function apply(line: Line): void {
    const state = stateOf(line);
    for (const end of line.ends) {
      if (state === 'cut') end.resetAndDestroy();
      else if (state === 'held') end.pause();
      else end.resume();
    }
  }

  const server = createServer((socket) => {
    const onward = connect(port, to);
    const line: Line = { client: '', ends: [socket, onward] };
    lines.add(line);
    listen(socket, nameIn, (name) => {
      line.client = name;
      apply(line);
    });
    for (const [end, other] of [
      [socket, onward],
      [onward, socket],
    ] as const) {
      end.setNoDelay(true);
      end.on('data', (bytes) => {
        // The receiver's slowness is the sender's.
        if (stateOf(line) === 'cut' || other.write(bytes)) return;
        end.pause();
        other.once('drain', () => apply(line));
      });
      end.on('error', () => end.destroy());
      end.on('close', () => {
        lines.delete(line);
        other.destroy();
      });
    }
    apply(line);
  });
  await once(server.listen(0, from), 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    set(state, client = '') {
      states.set(client, state);
      for (const line of [...lines]) apply(line);
    },
    async close() {
      for (const { ends } of lines) for (const end of ends) end.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Listens until the client has said who it is, or for long enough. */
function listen(from: Socket, nameIn: (said: Buffer) => string | null, heard: (name: string) => void): void {
  let said = Buffer.alloc(0);
  const hear = (bytes: Buffer): void => {
    said = Buffer.concat([said, bytes]);
    const name = nameIn(said);
    if (name === null && said.length < NAME_WITHIN_BYTES) return;
    from.off('data', hear);
    heard(name ?? '');
  };
  from.on('data', hear);
}
