import { type Static, type TSchema, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import type { VoiceCodec, VoiceIdentify, VoiceResume, VoiceSession } from '../../../actors/call/ports.ts';
import { idOf, type Moment, Nullish, Snowflake } from '../../gateway/opcodes/opcode.ts';

export { idOf, Nullish, Snowflake };

/** What is sent back of a heartbeat. A bigint is a nonce beyond 2^53. */
type Nonce = number | bigint | null;
export type Heartbeat = Nonce | { readonly t: Nonce };

/** The connection as a handler sees it. */
export interface VoiceConnection {
  /** 4 to 9. */
  readonly version: number;
  /** Answers a heartbeat with `d`; `seqAck` is null when it acknowledges nothing. */
  heartbeat(d: Heartbeat, seqAck: number | null): void;
  identify(identify: Omit<VoiceIdentify, 'version'>): void;
  resume(resume: Omit<VoiceResume, 'version'>): void;
  /** Op 16. */
  tellVersion(): void;
  /** Op 1 named something that is neither `udp` nor `webrtc`. */
  unknownProtocol(): void;
}

/** One client opcode: when it may come, what its `d` must be, and what it does. */
export interface VoiceOpcode {
  readonly moment: Moment;
  /** False: `d` is not what the opcode takes (4020). `session` is there when `moment` is `identified`. */
  accept(connection: VoiceConnection, d: unknown, session: VoiceSession | null): boolean;
}

/** An opcode for a connection that has a session. A handler that returns false finds `d` malformed after all. */
export function sessionOpcode<S extends TSchema>(
  schema: S,
  handle: (session: VoiceSession, d: Static<S>, connection: VoiceConnection) => boolean,
): VoiceOpcode {
  const check = Compile(schema);
  return {
    moment: 'identified',
    accept: (connection, d, session) =>
      check.Check(d) && session !== null && handle(session, d as Static<S>, connection),
  };
}

/** An opcode of the connection itself; of what its handler returns the same holds. */
export function connectionOpcode<S extends TSchema>(
  moment: Moment,
  schema: S,
  handle: (connection: VoiceConnection, d: Static<S>) => boolean,
): VoiceOpcode {
  const check = Compile(schema);
  return { moment, accept: (connection, d) => check.Check(d) && handle(connection, d as Static<S>) };
}

/** An opcode that comes as a binary frame; what is in it is judged by the delivery service. */
export function daveOpcode(op: number): VoiceOpcode {
  return {
    moment: 'identified',
    accept(_, d, session) {
      if (!(d instanceof Uint8Array) || !session) return false;
      session.dave(op, d);
      return true;
    },
  };
}

export const Ssrc = Type.Integer({ minimum: 0, maximum: 0xffff_ffff });
export const TransitionId = Type.Object({ transition_id: Type.Integer({ minimum: 0, maximum: 0xffff }) });
/** Names of codecs, layers, kinds of stream and modes. */
export const Word = Type.String({ maxLength: 64 });
export const Quality = Type.Number({ minimum: 0, maximum: 100 });
/** Tickets and session ids are of our own making, and far shorter. */
export const Secret = Type.String({ maxLength: 256 });

export const STREAMS_MAX = 8;
/** The first version whose Identify and Resume must name the channel. */
export const CHANNEL_VERSION = 9;

const PayloadType = Type.Integer({ minimum: 0, maximum: 127 });
const Codec = Type.Object({
  name: Word,
  type: Type.Union([Type.Literal('audio'), Type.Literal('video')]),
  priority: Type.Integer(),
  payload_type: PayloadType,
  rtx_payload_type: Nullish(PayloadType),
  encode: Nullish(Type.Boolean()),
  decode: Nullish(Type.Boolean()),
});
export const Codecs = Type.Array(Codec, { maxItems: 32 });

export const codecsOf = (codecs: Static<typeof Codecs>): VoiceCodec[] =>
  codecs.map(({ name, type, priority, payload_type, rtx_payload_type, encode, decode }) => ({
    name,
    type,
    priority,
    payloadType: payload_type,
    rtxPayloadType: rtx_payload_type ?? null,
    encode: encode ?? true,
    decode: decode ?? true,
  }));
