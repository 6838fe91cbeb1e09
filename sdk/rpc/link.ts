import {
  hasNeeded,
  RPC_CLOSE,
  RPC_COMMANDS,
  RPC_ERROR,
  RPC_EVENTS,
  RPC_LIMITS,
  RPC_OP,
  RPC_SCOPE,
  type RpcCommand,
  type RpcEvent,
} from '../../protocol/rpc.ts';

/** Why a command fails. */
export class RpcError extends Error {
  override readonly name = 'RpcError';
  readonly code: number;

  constructor(code: keyof typeof RPC_ERROR, message: string) {
    super(message);
    this.code = RPC_ERROR[code];
  }
}

/** Why a connection is refused or ended. */
export class RpcClosed extends Error {
  override readonly name = 'RpcClosed';
  readonly code: number;

  constructor(code: keyof typeof RPC_CLOSE, message: string) {
    super(message);
    this.code = RPC_CLOSE[code];
  }
}

export type Args = Readonly<Record<string, unknown>>;
/** Rights of an application that has authenticated. */
export interface Authenticated {
  readonly token: string;
  readonly scopes: ReadonlySet<string>;
  /** The reply to AUTHENTICATE. */
  readonly body: object;
}

/** Runs an application's command. `args` is untrusted. */
export interface CommandRunner {
  authenticate(args: Args): Promise<Authenticated>;
  run(
    command: Exclude<RpcCommand, 'AUTHENTICATE' | 'SUBSCRIBE' | 'UNSUBSCRIBE'>,
    args: Args,
    by: Authenticated | null,
  ): Promise<unknown>;
  /**
   * Checks the arguments of a subscription.
   *
   * @returns the id of the guild or channel that it is for; null for an event without one. @throws RpcError
   */
  subscribed(event: RpcEvent, args: Args): string | null;
}

/** An application whose handshake was accepted. */
export interface Accepted {
  /** `data` of READY. */
  readonly ready: object;
  readonly runner: CommandRunner;
}

interface LinkPorts {
  /** Scopes that follow from how the application is connected. */
  readonly scopes: readonly string[];
  /** Identifies the application; version and encoding are checked. May be called again, for a frame that was reloaded. @throws RpcClosed */
  accept(handshake: Args): Accepted | Promise<Accepted>;
  /** Monotonic milliseconds. */
  readonly nowMs: () => number;
  send(message: readonly [number, object]): void;
  /** The application has ended the connection, or has been cut off. */
  ended(code: number, message: string): void;
}

/** Bounds of an application's requests; the platform publishes no bounds. */
const VALUES_MAX = 4_096;
const CHARS_MAX = RPC_LIMITS.frame_bytes_max;
const DEPTH_MAX = 16;
const NONCE_CHARS_MAX = 128;
const IN_PROGRESS_MAX = 32;
const SUBSCRIPTIONS_MAX = 256;
const [MESSAGES_MAX, WINDOW_MS] = [300, 5_000];
/** This many messages beyond the bound close the connection. */
const EXCESS_MAX = 3_000;

const isCommand = (name: string): name is RpcCommand => Object.hasOwn(RPC_COMMANDS, name);
const isEvent = (name: string): name is RpcEvent => Object.hasOwn(RPC_EVENTS, name);
export const isObject = (value: unknown): value is Args =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Whether a message is within the bound. Stops counting at the bound. */
function isSmall(message: unknown): boolean {
  let values = 0;
  let chars = 0;
  const fits = (value: unknown, depth: number): boolean => {
    values += 1;
    if (values > VALUES_MAX || depth > DEPTH_MAX) return false;
    if (typeof value === 'string') {
      chars += value.length;
      return chars <= CHARS_MAX;
    }
    if (typeof value !== 'object' || value === null) return true;
    if (
      ArrayBuffer.isView(value) ||
      value instanceof ArrayBuffer ||
      value instanceof Map ||
      value instanceof Set
    )
      return false;
    for (const key in value) {
      chars += key.length;
      if (chars > CHARS_MAX || !fits(Reflect.get(value, key), depth + 1)) return false;
    }
    return true;
  };
  return fits(message, 0);
}

/** One application's side of the protocol: handshake, commands with their scopes, subscriptions, and bounds. */
export class RpcLink {
  readonly #ports: LinkPorts;
  /** Events, each with the guilds or channels that it is wanted for; null stands for any. */
  readonly #subscriptions = new Map<RpcEvent, Set<string | null>>();
  #runner: CommandRunner | null = null;
  #isOver = false;
  #authenticated: Authenticated | null = null;
  #inProgress = 0;
  #window = { sinceMs: Number.NEGATIVE_INFINITY, count: 0 };
  #excess = 0;
  /** Number of the page in a frame: it may be loaded again while commands of the last one are under way. */
  #generation = 0;

  constructor(ports: LinkPorts) {
    this.#ports = ports;
  }

  /** Takes a message: an opcode and its payload. */
  receive(message: unknown): void {
    if (this.#isOver || !this.#isWithinRate()) return;
    if (!Array.isArray(message) || !isSmall(message)) return;
    const [op, payload]: unknown[] = message;
    if (!isObject(payload)) return;
    if (op === RPC_OP.HANDSHAKE) this.#shake(payload);
    else if (op === RPC_OP.CLOSE) this.#end(RPC_CLOSE.NORMAL, 'The application has closed.');
    else if (op === RPC_OP.FRAME && this.#runner !== null) this.#framed(payload, this.#runner);
  }

  /**
   * Sends an event to an application that has subscribed to it and still has its scopes.
   *
   * @param of The guild or channel of the event; null for one without.
   */
  emit(event: RpcEvent, data: object, of: string | null = null): void {
    const wanted = this.#subscriptions.get(event);
    if (this.#isOver || wanted === undefined || !this.#has(RPC_EVENTS[event])) return;
    if (wanted.has(of) || wanted.has(null)) this.#dispatch(event, data);
  }

  close(code: number = RPC_CLOSE.NORMAL, message = 'The connection has ended.'): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#ports.send([RPC_OP.CLOSE, { code, message }]);
  }

  #isWithinRate(): boolean {
    const nowMs = this.#ports.nowMs();
    if (nowMs - this.#window.sinceMs >= WINDOW_MS) this.#window = { sinceMs: nowMs, count: 0 };
    this.#window.count += 1;
    if (this.#window.count <= MESSAGES_MAX) return true;
    this.#excess += 1;
    if (this.#excess > EXCESS_MAX) this.#end(RPC_CLOSE.RATELIMITED, 'The application sends too much.');
    return false;
  }

  #shake(handshake: Args): void {
    const { v, encoding = 'json' } = handshake;
    this.#generation += 1;
    this.#runner = null;
    this.#authenticated = null;
    this.#subscriptions.clear();
    // Versions are numbers in a frame, and text in the query of a WebSocket.
    if (v !== 1 && v !== '1') this.#end(RPC_CLOSE.INVALID_VERSION, 'There is only version 1.');
    else if (encoding !== 'json') this.#end(RPC_CLOSE.INVALID_ENCODING, 'There is only JSON.');
    if (this.#isOver) return;
    const generation = this.#generation;
    const begin = ({ ready, runner }: Accepted): void => {
      if (this.#isOver || generation !== this.#generation) return;
      this.#runner = runner;
      this.#dispatch('READY', ready);
    };
    const refuse = (error: unknown): void => {
      const known =
        error instanceof RpcClosed ? error : new RpcClosed('ABNORMAL', 'The connection could not begin.');
      this.#end(known.code, known.message);
    };
    try {
      const accepted = this.#ports.accept(handshake);
      if (accepted instanceof Promise) accepted.then(begin, refuse);
      else begin(accepted);
    } catch (error) {
      refuse(error);
    }
  }

  #framed({ cmd, args = {}, nonce, evt }: Args, runner: CommandRunner): void {
    if (typeof cmd !== 'string') return;
    if (typeof nonce !== 'string' || nonce.length > NONCE_CHARS_MAX) {
      const data = { code: RPC_ERROR.INVALID_PAYLOAD, message: NO_NONCE };
      this.#ports.send([RPC_OP.FRAME, { cmd, nonce: null, evt: 'ERROR', data }]);
      return;
    }
    const generation = this.#generation;
    const answer = (frame: object): void => {
      if (!this.#isOver && generation === this.#generation)
        this.#ports.send([RPC_OP.FRAME, { cmd, nonce, ...frame }]);
    };
    const fail = (error: unknown): void => {
      const known =
        error instanceof RpcError ? error : new RpcError('UNKNOWN_ERROR', 'The command has failed.');
      answer({ evt: 'ERROR', data: { code: known.code, message: known.message } });
    };
    if (this.#inProgress >= IN_PROGRESS_MAX) {
      fail(new RpcError('RATE_LIMITED', 'Too many commands are under way.'));
      return;
    }
    this.#inProgress += 1;
    this.#run(runner, cmd, isObject(args) ? args : {}, evt)
      .then((data) => answer({ evt: null, data: data ?? null }), fail)
      .finally(() => {
        this.#inProgress -= 1;
      });
  }

  async #run(runner: CommandRunner, cmd: string, args: Args, evt: unknown): Promise<unknown> {
    const command: RpcCommand | null = isCommand(cmd) ? cmd : null;
    if (command === null) throw new RpcError('INVALID_COMMAND', `There is no command ${cmd}.`);
    if (!this.#has(RPC_COMMANDS[command])) throw NOT_PERMITTED;
    if (command === 'SUBSCRIBE' || command === 'UNSUBSCRIBE')
      return this.#subscribe(runner, command, args, evt);
    if (command !== 'AUTHENTICATE') return runner.run(command, args, this.#authenticated);
    const generation = this.#generation;
    const authenticated = await runner.authenticate(args);
    if (generation === this.#generation) this.#authenticated = authenticated;
    return authenticated.body;
  }

  #subscribe(runner: CommandRunner, command: 'SUBSCRIBE' | 'UNSUBSCRIBE', args: Args, evt: unknown): object {
    if (typeof evt !== 'string' || !isEvent(evt))
      throw new RpcError('INVALID_EVENT', 'There is no such event.');
    const event = evt;
    if (command === 'SUBSCRIBE' && !this.#has(RPC_EVENTS[event])) throw NOT_PERMITTED;
    const of = runner.subscribed(event, args);
    const wanted = this.#subscriptions.get(event) ?? new Set();
    if (command === 'UNSUBSCRIBE') wanted.delete(of);
    else if (wanted.size < SUBSCRIPTIONS_MAX) wanted.add(of);
    else throw new RpcError('RATE_LIMITED', `At most ${SUBSCRIPTIONS_MAX} subscriptions to one event.`);
    if (wanted.size === 0) this.#subscriptions.delete(event);
    else this.#subscriptions.set(event, wanted);
    return { evt: event };
  }

  #has(needs: (typeof RPC_COMMANDS)[RpcCommand] | (typeof RPC_EVENTS)[RpcEvent]): boolean {
    const own = this.#authenticated;
    const scopes = own === null ? [] : [...own.scopes, RPC_SCOPE.AUTHENTICATED];
    return hasNeeded(needs, new Set([...this.#ports.scopes, ...scopes]));
  }

  #dispatch(evt: string, data: object): void {
    this.#ports.send([RPC_OP.FRAME, { cmd: 'DISPATCH', evt, nonce: null, data }]);
  }

  #end(code: number, message: string): void {
    this.close(code, message);
    this.#ports.ended(code, message);
  }
}

const NO_NONCE = `A command has a nonce, a text of at most ${NONCE_CHARS_MAX} characters.`;
const NOT_PERMITTED = new RpcError(
  'INVALID_PERMISSIONS',
  'The application has not authenticated with the scope that this needs.',
);
