import type { RowRange } from '../../engine/guild/memberlist.changes.ts';
import { CAPABILITY } from '../../protocol/capabilities.ts';
import { ALL_INTENTS } from '../../protocol/intents.ts';
import { OP } from '../../protocol/opcodes.ts';
import { ClientVoice } from './clientvoice.ts';
import type { Judge } from './judge.ts';
import { Life } from './life.ts';
import type { LobbyTruth } from './lobbytruth.ts';
import { takesLobbyChanges } from './lobbyview.ts';
import type { Truth } from './truth.ts';
import type { VoiceDoors } from './voicelines.ts';
import type { ReceivedDispatch, ReceivedInteraction, Wire, WireEnd } from './wire.ts';
import type { World } from './world.ts';

/** Where clients find a shard to connect to; null while none accepts. */
type Doors = (client: WireEnd) => Wire | null;

/** Close codes after which a session cannot be resumed, and after which the client must not reconnect. */
const BEGIN_ANEW: ReadonlySet<number> = new Set([4007, 4009]);
const UNAUTHORIZED = 4004;
const FATAL: ReadonlySet<number> = new Set([4001, 4002, 4003, 4004, 4005, 4010, 4011, 4012, 4013, 4014]);

interface ClientPorts {
  readonly world: World;
  readonly judge: Judge;
  readonly truth: Truth;
  /** Set for the clients of games, which receive lobby events. */
  readonly lobbies?: LobbyTruth;
  readonly doors: Doors;
  /** Whether the token still stands: that of a client of a game ends with the grant, when the account is parted from the game. */
  readonly isAuthorized: (userId: string) => boolean;
  /** Called when a session of the invoker or the bot receives an interaction. */
  readonly interacted: (interaction: ReceivedInteraction) => void;
  /** Where voice clients connect; absent in runs without calls. */
  readonly voiceDoors?: VoiceDoors;
  /** How long a session without a connection can be resumed; 0: it may be lost at any time. */
  readonly resumableMs: number;
}

/** A gateway client like common libraries: it heartbeats, resumes at any shard, and identifies again when it must. */
export class SimClient implements WireEnd {
  readonly name: string;
  readonly userId: string;
  readonly #token: string;
  readonly #ports: ClientPorts;
  life: Life;
  /** The voice of its session; null in runs without calls. */
  voice: ClientVoice | null = null;
  /** Its earlier sessions. */
  readonly past: Life[] = [];
  /** Whether READY or RESUMED was received on this connection. */
  up = false;
  /** Whether its token was revoked, so that it does not return. */
  revoked = false;
  /** Sessions that ended by op 9, or by a close code that says so. */
  lost = 0;
  resumed = 0;
  /** The last status that it sent for its user. */
  status = 'online';
  #wire: Wire | null = null;
  #lives = 0;
  #acked = true;
  #beat = 0;
  /** When it last had its session, by the world's clock. */
  #upMs = 0;
  #awayUntilMs = 0;

  constructor(name: string, userId: string, token: string, ports: ClientPorts) {
    this.name = name;
    this.userId = userId;
    this.#token = token;
    this.#ports = ports;
    this.life = this.#born();
  }

  connect(): void {
    if (this.#wire) return;
    const awayMs = this.#awayUntilMs - this.#ports.world.nowMs;
    if (awayMs > 0) {
      if (Number.isFinite(awayMs)) this.#later(awayMs);
      return;
    }
    this.#down();
    this.#wire = this.#ports.doors(this);
    if (!this.#wire) this.#later(500);
  }

  /** Sends a payload when the client is connected. */
  say(op: number, d: unknown): boolean {
    if (!this.up || !this.#wire) return false;
    if (this.voice) this.#ports.world.note(`${this.life.name} sends op ${op}: ${JSON.stringify(d)}`);
    this.#wire.say(op, d);
    return true;
  }

  /** Subscribes to rows of a member list, in place of what it was subscribed to in the guild. */
  watch(guildId: string, channelId: string, ranges: readonly RowRange[], isProbe: boolean): void {
    const channels = ranges.length === 0 ? {} : { [channelId]: ranges };
    if (this.say(OP.GUILD_SUBSCRIPTIONS, { guild_id: guildId, channels }))
      this.life.lists.asked(guildId, channelId, ranges, isProbe);
  }

  /** Sends the presence of its user; a lost update is not repeated. */
  present(status: string): void {
    if (this.say(OP.PRESENCE_UPDATE, { since: null, activities: [], status, afk: false }))
      this.status = status;
  }

  /** The connection breaks, and the client notices. */
  drop(serverMs: number): void {
    this.#wire?.lose(0, serverMs);
  }

  /** The connection breaks, and the client reconnects after `forMs`. */
  stayAway(forMs: number): void {
    this.#awayUntilMs = this.#ports.world.nowMs + forMs;
    this.drop(0);
  }

  /** Frames for the client wait at its shard for `forMs`. */
  stopReading(forMs: number): void {
    const { world } = this.#ports;
    const wire = this.#wire;
    if (!wire?.stopReading()) return;
    world.note(`${this.name} reads nothing for ${Math.round(forMs)} ms`);
    world.after(forMs, () => wire.readOn());
  }

  /** Ends its session for good. */
  leave(): void {
    this.#awayUntilMs = Number.POSITIVE_INFINITY;
    this.voice?.lines.leaveAll();
    this.#wire?.leave(1000);
    this.#down();
    this.#wire = null;
    this.#beat += 1;
  }

  heard(heard: ReceivedDispatch): void {
    const { world } = this.#ports;
    switch (heard.op) {
      case OP.HELLO:
        this.#acked = true;
        this.#heartbeat((heard.d as { heartbeat_interval: number }).heartbeat_interval, ++this.#beat);
        this.#begin();
        return;
      case OP.HEARTBEAT_ACK:
        this.#acked = true;
        return;
      case OP.RECONNECT:
        this.#again(4000);
        return;
      case OP.INVALID_SESSION:
        world.note(`${this.name} is told op 9`);
        if (heard.d !== true) this.#lose();
        this.#again(1000);
        return;
      case OP.DISPATCH:
        if (heard.t === 'RESUMED') this.resumed += 1;
        if (heard.t === 'READY' || heard.t === 'RESUMED') {
          this.up = true;
          world.note(`${this.name} hears ${heard.t}, s ${heard.s}`);
        }
        this.life.heard(heard);
        if (heard.t !== null) this.voice?.heard(heard.t, heard.d as object);
        // Requests that have no rows for sure may have been lost with the connection before.
        if (heard.t === 'RESUMED')
          for (const [guildId, { channelId, ranges, isProbe, isRepeated, id }] of this.life.lists.wishes)
            if (id === null || isRepeated) this.watch(guildId, channelId, ranges, isProbe);
        if (heard.t === 'INTERACTION_CREATE') this.#ports.interacted(heard.d as ReceivedInteraction);
    }
  }

  closed(code: number): void {
    const { world, judge } = this.#ports;
    world.note(`${this.name} is closed with ${code}`);
    this.#down();
    this.#wire = null;
    this.#beat += 1;
    if (code === UNAUTHORIZED && !this.#ports.isAuthorized(this.userId)) {
      this.revoked = true;
      return;
    }
    judge.expect(!FATAL.has(code), 'close code', () => `${this.name} is closed with ${code}`);
    if (BEGIN_ANEW.has(code)) this.#lose();
    this.#later(world.between(50, 600));
  }

  #born(): Life {
    this.#lives += 1;
    const { world, truth, judge, lobbies = null, voiceDoors } = this.#ports;
    const name = `${this.name}.${this.#lives}`;
    const life = new Life(name, this.userId, truth, judge, lobbies);
    this.voice?.lines.leaveAll();
    this.voice = voiceDoors
      ? new ClientVoice({ world, doors: voiceDoors, name }, this.userId, () => life.sessionId)
      : null;
    return life;
  }

  #down(): void {
    // The shard may have closed the connection of a slow client long before the client reads the close.
    if (this.up) this.#upMs = this.#wire?.slowSinceMs ?? this.#ports.world.nowMs;
    this.up = false;
  }

  #lose(): void {
    const { world, judge, resumableMs } = this.#ports;
    if (this.life.sessionId) {
      this.past.push(this.life);
      this.lost += 1;
      this.#down();
      const awayMs = world.nowMs - this.#upMs;
      judge.expect(
        awayMs >= resumableMs,
        'kept session',
        () => `${this.life.name} is lost after ${Math.round(awayMs)} ms without a connection`,
      );
    }
    this.life = this.#born();
    this.status = 'online';
  }

  #begin(): void {
    const { sessionId, seq } = this.life;
    const token = this.#token;
    if (sessionId) this.#wire?.say(OP.RESUME, { token, session_id: sessionId, seq });
    else {
      // Dispatches before READY are ignored.
      this.life = seq > 0 ? this.#born() : this.life;
      this.status = 'online';
      const capabilities = takesLobbyChanges(this.userId) ? CAPABILITY.LOBBY_CHANGES : 0;
      const asked = { intents: ALL_INTENTS, properties: {}, large_threshold: 250, capabilities };
      this.#wire?.say(OP.IDENTIFY, { token, ...asked });
    }
  }

  #again(code: number): void {
    this.#wire?.leave(code);
    this.#down();
    this.#wire = null;
    this.#beat += 1;
    this.#later(this.#ports.world.between(50, 1_000));
  }

  #later(delayMs: number): void {
    this.#ports.world.after(delayMs, () => this.connect());
  }

  #heartbeat(intervalMs: number, beat: number): void {
    this.#ports.world.after(intervalMs * this.#ports.world.between(0.8, 1), () => {
      if (beat !== this.#beat || !this.#wire) return;
      if (!this.#acked) {
        this.#ports.world.note(`${this.name} hears no heartbeats`);
        this.#again(4000);
        return;
      }
      this.#acked = false;
      this.#wire.say(OP.HEARTBEAT, this.life.seq);
      this.#heartbeat(intervalMs, beat);
    });
  }
}
