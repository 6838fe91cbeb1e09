import { lookup as systemLookup } from 'node:dns';
import type { LookupFunction } from 'node:net';

/** Resolves all addresses of a host name. */
export type Resolve = (
  host: string,
  done: (error: Error | null, addresses: readonly { address: string; family: number }[]) => void,
) => void;

export const resolveBySystem: Resolve = (host, done) =>
  systemLookup(host, { all: true, verbatim: true }, done);

/** Why a request failed; the message quotes neither secrets nor the response. */
export class OutgoingFault extends Error {
  override readonly name = 'OutgoingFault';
}

export const PRIVATE = 'The host is not public.';

/** Keeps only an error's code, because messages of the network name internal addresses and certificates. */
export function faultOf(error: Error): OutgoingFault {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name;
  return new OutgoingFault(`The request failed: ${code}.`);
}

/** Resolves a name for a connection; fails unless all its addresses are allowed. */
export function checkedLookup(resolve: Resolve, allows: (address: string) => boolean): LookupFunction {
  return (host, options, done) => {
    resolve(host, (error, addresses) => {
      const [first] = addresses ?? [];
      if (error || !first) return done(error ?? new OutgoingFault('The host has no address.'), '', 0);
      if (!addresses.every(({ address }) => allows(address))) return done(new OutgoingFault(PRIVATE), '', 0);
      if (options.all) return done(null, [...addresses]);
      done(null, first.address, first.family);
    });
  };
}

/** The origins of a list in a setting. */
export const originsOf = (list: string | null): ReadonlySet<string> =>
  new Set(
    (list ?? '').split(',').flatMap((text) => (URL.canParse(text.trim()) ? [new URL(text).origin] : [])),
  );
