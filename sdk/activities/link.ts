import {
  EMBEDDED_COMMANDS,
  EMBEDDED_EVENTS,
  EMBEDDED_OP,
  type EmbeddedCommand,
  type EmbeddedEvent,
  hasNeeded,
  RPC_CLOSE,
  RPC_ERROR,
} from '../../protocol/embedded.ts';

/** Why a command of an activity fails. */
export class RpcError extends Error {
  override readonly name = 'RpcError';
  readonly code: number;

  constructor(code: keyof typeof RPC_ERROR, message: string) {
    super(message);
    this.code = RPC_ERROR[code];
  }
}

export type Args = Readonly<Record<string, unknown>>;
/** What an activity may do since it has authenticated. */
export interface Authenticated {
  readonly token: string;
  readonly scopes: ReadonlySet<string>;
  /** What AUTHENTICATE answers. */
  readonly body: object;
}

/** Does what an activity asks. Everything in `args` comes from a stranger. */
export interface CommandRunner {
  authenticate(args: Args): Promise<Authenticated>;
  run(
    command: Exclude<EmbeddedCommand, 'AUTHENTICATE' | 'SUBSCRIBE' | 'UNSUBSCRIBE'>,
    args: Args,
    by: Authenticated | null,
  ): Promise<unknown>;
  /** Checks the arguments of a subscription. @throws RpcError */
  subscribed(event: EmbeddedEvent, args: Args): void;
}

interface LinkPorts {
  readonly clientId: string;
  readonly frameId: string;
  /** `data` of READY. */
  readonly ready: object;
  readonly runner: CommandRunner;
  /** Monotonic milliseconds. */
  readonly nowMs: () => number;
  send(message: readonly [number, object]): void;
  /** The activity has ended the connection, or has been cut off. */
  ended(code: number, message: string): void;
}

/** Bounds of what an activity may ask; the platform publishes none. */
const VALUES_MAX = 4_096;
const CHARS_MAX = 64 << 10;
const DEPTH_MAX = 16;
const NONCE_CHARS_MAX = 128;
const IN_PROGRESS_MAX = 32;
const [MESSAGES_MAX, WINDOW_MS] = [300, 5_000];
/** So many messages beyond the bound end the connection. */
const EXCESS_MAX = 3_000;

const isCommand = (name: string): name is EmbeddedCommand => Object.hasOwn(EMBEDDED_COMMANDS, name);
const isEvent = (name: string): name is EmbeddedEvent => Object.hasOwn(EMBEDDED_EVENTS, name);
const isObject = (value: unknown): value is Args =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Whether a message is small enough to look at. Stops counting as soon as it is not. */
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

/** One activity's side of the protocol: handshake, commands with their scopes, subscriptions, and bounds. */
export class ActivityLink {
  readonly #ports: LinkPorts;
  readonly #subscriptions = new Set<EmbeddedEvent>();
  #isReady = false;
  #isOver = false;
  #authenticated: Authenticated | null = null;
  #inProgress = 0;
  #window = { sinceMs: Number.NEGATIVE_INFINITY, count: 0 };
  #excess = 0;
  /** Of the page in the frame: it may be loaded again while commands of the last one are under way. */
  #generation = 0;

  constructor(ports: LinkPorts) {
    this.#ports = ports;
  }

  /** Takes a message of the frame. */
  receive(message: unknown): void {
    if (this.#isOver || !this.#isWithinRate()) return;
    if (!Array.isArray(message) || !isSmall(message)) return;
    const [op, payload]: unknown[] = message;
    if (!isObject(payload)) return;
    if (op === EMBEDDED_OP.HANDSHAKE) this.#shake(payload);
    else if (op === EMBEDDED_OP.CLOSE) this.#end(RPC_CLOSE.NORMAL, 'The activity has closed.');
    else if (op === EMBEDDED_OP.FRAME && this.#isReady) this.#framed(payload);
  }

  /** Sends an event to an activity that has subscribed to it and still has its scopes. */
  emit(event: EmbeddedEvent, data: object): void {
    if (this.#isOver || !this.#subscriptions.has(event) || !this.#mayHear(event)) return;
    this.#dispatch(event, data);
  }

  close(code: number = RPC_CLOSE.NORMAL, message = 'The activity has ended.'): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#ports.send([EMBEDDED_OP.CLOSE, { code, message }]);
  }

  #isWithinRate(): boolean {
    const nowMs = this.#ports.nowMs();
    if (nowMs - this.#window.sinceMs >= WINDOW_MS) this.#window = { sinceMs: nowMs, count: 0 };
    this.#window.count += 1;
    if (this.#window.count <= MESSAGES_MAX) return true;
    this.#excess += 1;
    if (this.#excess > EXCESS_MAX) this.#end(RPC_CLOSE.RATELIMITED, 'The activity sends too much.');
    return false;
  }

  #shake({ v, encoding = 'json', client_id: clientId, frame_id: frameId }: Args): void {
    const ports = this.#ports;
    const isOwn = clientId === ports.clientId && frameId === ports.frameId;
    if (v !== 1) this.#end(RPC_CLOSE.INVALID_VERSION, 'There is only version 1.');
    else if (encoding !== 'json') this.#end(RPC_CLOSE.INVALID_ENCODING, 'There is only JSON.');
    else if (!isOwn) this.#end(RPC_CLOSE.INVALID_CLIENTID, 'This frame belongs to another application.');
    if (this.#isOver) return;
    this.#isReady = true;
    this.#generation += 1;
    this.#authenticated = null;
    this.#subscriptions.clear();
    this.#dispatch('READY', ports.ready);
  }

  #framed({ cmd, args = {}, nonce, evt }: Args): void {
    if (typeof nonce !== 'string' || nonce.length > NONCE_CHARS_MAX || typeof cmd !== 'string') return;
    const generation = this.#generation;
    const answer = (frame: object): void => {
      if (!this.#isOver && generation === this.#generation)
        this.#ports.send([EMBEDDED_OP.FRAME, { cmd, nonce, ...frame }]);
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
    this.#run(cmd, isObject(args) ? args : {}, evt)
      .then((data) => answer({ evt: null, data: data ?? null }), fail)
      .finally(() => {
        this.#inProgress -= 1;
      });
  }

  async #run(cmd: string, args: Args, evt: unknown): Promise<unknown> {
    const command: EmbeddedCommand | null = isCommand(cmd) ? cmd : null;
    if (command === null) throw new RpcError('INVALID_COMMAND', `There is no command ${cmd}.`);
    if (!hasNeeded(EMBEDDED_COMMANDS[command], this.#scopes)) throw NOT_PERMITTED;
    if (command === 'SUBSCRIBE' || command === 'UNSUBSCRIBE') return this.#subscribe(command, args, evt);
    if (command !== 'AUTHENTICATE') return this.#ports.runner.run(command, args, this.#authenticated);
    const generation = this.#generation;
    const authenticated = await this.#ports.runner.authenticate(args);
    if (generation === this.#generation) this.#authenticated = authenticated;
    return authenticated.body;
  }

  #subscribe(command: 'SUBSCRIBE' | 'UNSUBSCRIBE', args: Args, evt: unknown): object {
    if (typeof evt !== 'string' || !isEvent(evt))
      throw new RpcError('INVALID_EVENT', 'There is no such event.');
    const event = evt;
    if (command === 'UNSUBSCRIBE') this.#subscriptions.delete(event);
    else {
      if (!this.#mayHear(event)) throw NOT_PERMITTED;
      this.#ports.runner.subscribed(event, args);
      this.#subscriptions.add(event);
    }
    return { evt: event };
  }

  get #scopes(): ReadonlySet<string> | null {
    return this.#authenticated?.scopes ?? null;
  }

  #mayHear(event: EmbeddedEvent): boolean {
    return hasNeeded(EMBEDDED_EVENTS[event], this.#scopes);
  }

  #dispatch(evt: string, data: object): void {
    this.#ports.send([EMBEDDED_OP.FRAME, { cmd: 'DISPATCH', evt, nonce: null, data }]);
  }

  #end(code: number, message: string): void {
    this.close(code, message);
    this.#ports.ended(code, message);
  }
}

const NOT_PERMITTED = new RpcError(
  'INVALID_PERMISSIONS',
  'The activity has not authenticated with the scope that this needs.',
);
