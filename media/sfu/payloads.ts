import { OPUS_PAYLOAD_TYPE, VIDEO_CODECS } from '../../protocol/voice.ts';
import type { PayloadTypes } from './ports.ts';

/** Codecs that are forwarded; code identifies a codec by its index here. The first is the audio codec. */
export const CODECS: readonly string[] = ['opus', ...VIDEO_CODECS.map((codec) => codec.name)];
export const OPUS = 0;
export const NO_CODEC = -1;
/** Marks a codec for which a member has no payload type. */
export const NO_PAYLOAD_TYPE = -1;

const isPayloadType = (value: number | null): value is number =>
  value !== null && Number.isInteger(value) && value >= 0 && value < 128;

/** One member's payload types, used for both directions. Every table has a payload type for Opus. */
export class PayloadTable {
  readonly #codecs = new Int8Array(128).fill(NO_CODEC);
  readonly #types = new Int16Array(CODECS.length).fill(NO_PAYLOAD_TYPE);
  readonly #rtxTypes = new Int16Array(CODECS.length).fill(NO_PAYLOAD_TYPE);

  constructor(named: readonly PayloadTypes[]) {
    this.#set(OPUS, OPUS_PAYLOAD_TYPE, null);
    for (const { name, payloadType, rtxPayloadType } of named) {
      const codec = CODECS.indexOf(name);
      if (codec !== NO_CODEC && isPayloadType(payloadType)) this.#set(codec, payloadType, rtxPayloadType);
    }
  }

  #set(codec: number, payloadType: number, rtxPayloadType: number | null): void {
    this.#codecs[payloadType] = codec;
    this.#types[codec] = payloadType;
    this.#rtxTypes[codec] = isPayloadType(rtxPayloadType) ? rtxPayloadType : NO_PAYLOAD_TYPE;
  }

  /** The codec of a payload type (at most 127), or `NO_CODEC`. */
  codec(payloadType: number): number {
    return this.#codecs[payloadType]!;
  }

  type(codec: number): number {
    return this.#types[codec]!;
  }

  rtxType(codec: number): number {
    return this.#rtxTypes[codec]!;
  }
}

export const DEFAULT_PAYLOADS = new PayloadTable(VIDEO_CODECS);
