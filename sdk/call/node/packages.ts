import { ErrorType } from '../../enums.ts';
import { ClientError } from '../../result.ts';
import type { DaveGroup } from '../../voice/daveflow.ts';

/** All sound here: 48 kHz, two channels, 20 ms a frame. */
export const RATE_HZ = 48_000;
export const CHANNELS = 2;
export const FRAME_MS = 20;
/** Of each channel in a frame. */
export const FRAME_SAMPLES = (RATE_HZ / 1000) * FRAME_MS;

/** Both directions of Opus for one voice. */
export interface OpusCodec {
  /** @param samples One frame, interleaved. */
  encode(samples: Int16Array): Uint8Array;
  /** Interleaved. @throws when it is no packet of Opus. */
  decode(packet: Uint8Array): Int16Array;
  close(): void;
}

/** What calls need of packages that not every program has. */
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

/** The parts used of the packages. */
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

/** How packages are found, by their names. */
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
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND') throw new PackageMissing(packageName);
    throw error;
  }
}

const bytesOf = ({ buffer, byteOffset, byteLength }: Int16Array | Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);

/** A copy: the decoder uses its memory again, and a view of 16 bits must begin at an even address. */
const samplesOf = (bytes: Uint8Array): Int16Array => new Int16Array(Uint8Array.from(bytes).buffer);
