import { type Static, type TProperties, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { isRecord } from './json.ts';

const closed = { additionalProperties: false } as const;
const Words = Type.Union([
  Type.String({ minLength: 1, maxLength: 100 }),
  Type.Array(Type.String({ minLength: 1, maxLength: 100 }), { minItems: 1, maxItems: 100 }),
]);
const Seconds = Type.Number({ minimum: 0, maximum: 86_400 });
const Milliseconds = Type.Integer({ minimum: 1, maximum: 600_000 });

/** When a rule strikes. All conditions must hold. */
const CONDITIONS = {
  /** A user's or bot's id. */
  user: Type.Optional(Words),
  probability: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
  /** Most strikes in total. */
  times: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000 })),
  /** Seconds after the rule was added. */
  from: Type.Optional(Seconds),
  until: Type.Optional(Seconds),
};

/** The triggers of a rule for sockets; without one it applies to frames of any kind. */
const TRIGGERS = {
  /** After, or for `drop` and `delay` instead of, a dispatch with this name. */
  event: Type.Optional(Words),
  /** Instead of the answer to this opcode of a client: IDENTIFY, RESUME or HEARTBEAT. */
  opcode: Type.Optional(Type.Enum(['IDENTIFY', 'RESUME', 'HEARTBEAT'])),
  /** Once on each open connection, so many seconds after the rule was added. */
  at: Type.Optional(Seconds),
  /** On each connection, again and again after so many seconds. */
  every: Type.Optional(Type.Number({ minimum: 1, maximum: 86_400 })),
};

const rest = <const Name extends string, Fields extends TProperties>(name: Name, fields: Fields) =>
  Type.Object(
    {
      ...{ on: Type.Literal('rest'), do: Type.Literal(name) },
      /** OperationIds; none for every operation. */
      operation: Type.Optional(Words),
      ...CONDITIONS,
      ...fields,
    },
    closed,
  );
const socket = <const Place extends string, const Name extends string, Fields extends TProperties>(
  on: Place,
  name: Name,
  fields: Fields,
) =>
  Type.Object(
    { on: Type.Literal(on), do: Type.Literal(name), ...TRIGGERS, ...CONDITIONS, ...fields },
    closed,
  );

const RuleSchema = Type.Union([
  rest('rate_limit', {
    scope: Type.Enum(['user', 'shared', 'global']),
    retry_after: Type.Optional(Type.Number({ minimum: 0.001, maximum: 600 })),
  }),
  rest('error', { status: Type.Optional(Type.Integer({ minimum: 500, maximum: 599 })) }),
  rest('latency', { ms: Milliseconds }),
  socket('gateway', 'reconnect', {}),
  socket('gateway', 'invalid_session', { resumable: Type.Optional(Type.Boolean()) }),
  socket('gateway', 'close', { code: Type.Integer({ minimum: 4000, maximum: 4014 }) }),
  socket('gateway', 'drop', {}),
  socket('gateway', 'delay', { ms: Milliseconds }),
  socket('gateway', 'zombie', {}),
  socket('voice', 'close', { code: Type.Integer({ minimum: 4001, maximum: 4022 }) }),
  socket('voice', 'zombie', {}),
  Type.Object(
    {
      ...{ on: Type.Literal('udp'), do: Type.Literal('loss') },
      /** Direction of the packets: members send (`in`) or receive (`out`) them; absent for both. */
      direction: Type.Optional(Type.Enum(['in', 'out'])),
      ...CONDITIONS,
    },
    closed,
  ),
]);

/** One failure and when it happens. */
export type ChaosRule = Static<typeof RuleSchema>;
export type RestRule = Extract<ChaosRule, { on: 'rest' }>;
export type GatewayRule = Extract<ChaosRule, { on: 'gateway' }>;
export type VoiceRule = Extract<ChaosRule, { on: 'voice' }>;

/** Failures to be injected. The same seed and the same requests give the same failures. */
export interface ChaosScenario {
  readonly seed?: number;
  readonly rules?: readonly ChaosRule[];
}

/** A rule that is in force, and how often it has struck. */
export interface ChaosStatus {
  readonly id: string;
  readonly rule: ChaosRule;
  readonly strikes: number;
}

/** Most rules of a scenario. */
export const CHAOS_RULES_MAX = 1000;

const validRule = Compile(RuleSchema);
const validScenario = Compile(
  Type.Object(
    {
      seed: Type.Optional(Type.Integer({ minimum: 0, maximum: 0xffff_ffff })),
      rules: Type.Optional(Type.Array(Type.Unknown(), { maxItems: CHAOS_RULES_MAX })),
    },
    closed,
  ),
);

/** The actions of each place, for error messages. */
const ACTIONS: Readonly<Record<string, readonly string[]>> = {
  rest: ['rate_limit', 'error', 'latency'],
  gateway: ['reconnect', 'invalid_session', 'close', 'drop', 'delay', 'zombie'],
  voice: ['close', 'zombie'],
  udp: ['loss'],
};

const fieldOf = (value: unknown, key: string): unknown => (isRecord(value) ? value[key] : undefined);

/** Reads a rule. @throws RangeError that names what is wrong. */
export function chaosRule(value: unknown, name = 'The rule'): ChaosRule {
  if (validRule.Check(value)) return value;
  const on = String(fieldOf(value, 'on'));
  const actions = ACTIONS[on];
  if (!actions) throw new RangeError(`${name}: on must be ${Object.keys(ACTIONS).join(', ')}.`);
  const action = String(fieldOf(value, 'do'));
  if (!actions.includes(action)) throw new RangeError(`${name}: on ${on}, do must be ${actions.join(', ')}.`);
  throw new RangeError(`${name}: ${action} on ${on} has a field that is missing, unknown or out of bounds.`);
}

/** Reads a scenario. @throws RangeError that names what is wrong. */
export function chaosScenario(value: unknown): ChaosScenario {
  if (!validScenario.Check(value))
    throw new RangeError('A scenario has a list of rules and, if you like, a seed, which is a whole number.');
  const { seed, rules = [] } = value;
  return {
    ...(seed !== undefined && { seed }),
    rules: rules.map((rule, at) => chaosRule(rule, `Rule ${at + 1}`)),
  };
}
