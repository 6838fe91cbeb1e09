import type { VoiceOutcome, VoiceSession, VoiceSink } from '../../actors/call/ports.ts';
import { VOICE_CLOSE } from '../../protocol/voice.ts';
import type { SimShard } from './shard.ts';
import type { World } from './world.ts';

/** The address of a call and the ticket for it, from a dispatch of the main gateway. */
export interface Ticket {
  readonly serverId: string;
  readonly userId: string;
  readonly sessionId: string;
  readonly token: string;
  readonly endpoint: string;
}

/** The running shard of an endpoint; null when it is down. */
export type VoiceDoors = (endpoint: string) => SimShard | null;

export interface LinePorts {
  readonly world: World;
  readonly doors: VoiceDoors;
  readonly name: string;
}

const WAY_MS = { from: 1, to: 40 };
const AGAIN_MS = { from: 200, to: 1_500 };
/** How often a client tries the endpoint that it knows. */
const TRIES_MAX = 20;
/** The session is over; the client waits for another ticket. */
const OVER: ReadonlySet<number> = new Set([
  VOICE_CLOSE.DISCONNECTED.code,
  VOICE_CLOSE.CALL_TERMINATED.code,
  VOICE_CLOSE.SESSION_INVALID.code,
  VOICE_CLOSE.SESSION_TIMEOUT.code,
  VOICE_CLOSE.AUTHENTICATION_FAILED.code,
  VOICE_CLOSE.SERVER_NOT_FOUND.code,
]);

/** One client's voice connection to one server: it identifies with each ticket, and resumes when the connection breaks. */
class VoiceLine {
  readonly ticket: Ticket;
  readonly #ports: LinePorts;
  /** Whether its session was opened, so that it resumes. */
  #hasSession = false;
  #over = false;
  #tries = 0;
  /** Number of the connection; events of earlier ones are ignored. */
  #connection = 0;
  #open: { readonly shard: SimShard; readonly session: VoiceSession; readonly sink: VoiceSink } | null = null;

  constructor(ticket: Ticket, ports: LinePorts) {
    this.ticket = ticket;
    this.#ports = ports;
    this.#connect();
  }

  /** The client disconnects for good. */
  leave(): void {
    this.#over = true;
    this.#detach(false);
  }

  /** The connection breaks. */
  drop(): void {
    if (!this.#open) return;
    this.#ports.world.note(`the voice connection of ${this.#ports.name} to ${this.ticket.serverId} breaks`);
    this.#detach(true);
    this.#again();
  }

  #detach(resumable: boolean): void {
    const open = this.#open;
    this.#open = null;
    this.#connection += 1;
    if (open)
      this.#ports.world.after(this.#wayMs, () => open.session.detach(open.sink, resumable), open.shard.host);
  }

  get #wayMs(): number {
    return this.#ports.world.between(WAY_MS.from, WAY_MS.to);
  }

  #again(): void {
    const { world } = this.#ports;
    if (++this.#tries <= TRIES_MAX)
      world.after(world.between(AGAIN_MS.from, AGAIN_MS.to), () => this.#connect());
  }

  #connect(): void {
    const { world, doors } = this.#ports;
    if (this.#over || this.#open) return;
    const shard = doors(this.ticket.endpoint);
    if (!shard) {
      this.#again();
      return;
    }
    this.#connection += 1;
    const connection = this.#connection;
    const isCurrent = (): boolean => connection === this.#connection && !this.#over;
    const sink: VoiceSink = {
      ...{ address: '127.0.0.1', send: () => undefined, sendBinary: () => undefined },
      close: (code) => world.after(this.#wayMs, () => isCurrent() && this.#closed(code)),
    };
    shard.onKilled(() => world.after(this.#wayMs * 3, () => isCurrent() && this.#closed(1006)));
    world.after(
      this.#wayMs,
      () => {
        // The client gave it up before its Hello arrived.
        if (this.#over && !this.#hasSession) return;
        const outcome = this.#opened(shard, sink);
        world.note(`${this.#ports.name} in voice of ${this.ticket.serverId}: ${outcome.kind}`);
        if (outcome.kind === 'closed') sink.close(outcome.code, outcome.reason);
        else
          world.after(this.#wayMs, () => {
            if (isCurrent()) this.#open = { shard, session: outcome.session, sink };
            else world.after(this.#wayMs, () => outcome.session.detach(sink, !this.#over), shard.host);
            this.#hasSession = true;
          });
      },
      shard.host,
    );
  }

  /** At the shard. */
  #opened({ voice }: SimShard, sink: VoiceSink): VoiceOutcome {
    const { serverId, userId, sessionId, token } = this.ticket;
    if (!voice) throw new Error('This run has no voice.');
    if (this.#hasSession)
      return voice.calls.resume({ version: 8, serverId, sessionId, token, seqAck: -1 }, sink);
    const media = { maxDaveVersion: 0, video: false, streams: [] };
    return voice.calls.identify(
      { version: 8, serverId, channelId: null, userId, sessionId, token, ...media },
      sink,
    );
  }

  #closed(code: number): void {
    this.#ports.world.note(
      `the voice of ${this.#ports.name} in ${this.ticket.serverId} is closed with ${code}`,
    );
    this.#open = null;
    this.#connection += 1;
    if (!OVER.has(code)) this.#again();
  }
}

/** All voice connections of one gateway session. */
export class VoiceLines {
  readonly #ports: LinePorts;
  readonly #byServer = new Map<string, VoiceLine>();

  constructor(ports: LinePorts) {
    this.#ports = ports;
  }

  /** Connects with a ticket, in place of the connection before. */
  connect(ticket: Ticket): void {
    this.leave(ticket.serverId);
    this.#byServer.set(ticket.serverId, new VoiceLine(ticket, this.#ports));
  }

  leave(serverId: string): void {
    this.#byServer.get(serverId)?.leave();
    this.#byServer.delete(serverId);
  }

  leaveAll(): void {
    for (const serverId of [...this.#byServer.keys()]) this.leave(serverId);
  }

  /** One of the connections breaks. */
  drop(): void {
    const lines = [...this.#byServer.values()];
    if (lines.length > 0) this.#ports.world.random.pick(lines).drop();
  }
}
