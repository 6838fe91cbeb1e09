import { codeOf } from '../../../protocol/thrown.ts';
import { ErrorType } from '../../enums.ts';
import { ClientError } from '../../result.ts';
import type { DaveGroup } from '../../voice/daveflow.ts';

/** Audio format of calls: 48 kHz, two channels, frames of 20 ms. */
export const RATE_HZ = 48_000;
export const CHANNELS = 2;
export const FRAME_MS = 20;
/** Samples of each channel in a frame. */
export const FRAME_SAMPLES = (RATE_HZ / 1000) * FRAME_MS;

/** Opus encoder and decoder of one member. */
export interface OpusCodec {
  /** @param samples One frame, interleaved. */
  encode(samples: Int16Array): Uint8Array;
  /** Returns interleaved samples. @throws when the bytes are no Opus packet. */
  decode(packet: Uint8Array): Int16Array;
  close(): void;
}

/** Optional packages that calls need. */
export interface CallPackages {
  newCodec(): OpusCodec;
  newGroup(version: number, userId: string, channelId: string): DaveGroup;
}

/** A package that calls need is not installed. */
export class PackageMissing extends ClientError {
  readonly packageName: string;

  constructor(packageName: string) {
    super(ErrorType.Disabled, `Calls in Node need the package ${packageName}: npm install ${packageName}`);
    this.packageName = packageName;
  }
}

/** The parts of the packages used here. */
interface Opus {
  readonly default: {
    new (
      rateHz: number,
      channels: number,
      application: number,
    ): {
      encode(samples: Buffer, frameSamples: number): Buffer;
      decode(packet: Buffer): Buffer;
      delete(): void;
    };
    readonly Application: { readonly VOIP: number };
  };
}
interface Dave {
  readonly DAVESession: new (version: number, userId: string, channelId: string) => DaveGroup;
}

/** Loads a package by name. */
export type Installed = Readonly<Record<'opusscript' | '@snazzah/davey', () => Promise<unknown>>>;

const INSTALLED: Installed = {
  opusscript: () => import('opusscript'),
  '@snazzah/davey': () => import('@snazzah/davey'),
};

/** @throws PackageMissing */
export async function loadPackages(installed: Installed = INSTALLED): Promise<CallPackages> {
  const { default: OpusScript } = (await found('opusscript', installed)) as Opus;
  const { DAVESession } = (await found('@snazzah/davey', installed)) as Dave;
  return {
    newCodec() {
      const codec = new OpusScript(RATE_HZ, CHANNELS, OpusScript.Application.VOIP);
      return {
        encode: (samples) => codec.encode(bytesOf(samples), FRAME_SAMPLES),
        decode: (packet) => samplesOf(codec.decode(bytesOf(packet))),
        close: () => codec.delete(),
      };
    },
    newGroup: (...group) => new DAVESession(...group),
  };
}

async function found(packageName: keyof Installed, installed: Installed): Promise<unknown> {
  try {
    return await installed[packageName]();
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND') throw new PackageMissing(packageName);
    throw error;
  }
}

const bytesOf = ({ buffer, byteOffset, byteLength }: Int16Array | Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);

/** Returns a copy: the decoder reuses its memory, and a view of 16-bit samples must begin at an even address. */
const samplesOf = (bytes: Uint8Array): Int16Array => new Int16Array(Uint8Array.from(bytes).buffer);
