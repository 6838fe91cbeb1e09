import { lookup as systemLookup } from 'node:dns';
import { type RequestOptions, request as startRequest } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { rootCertificates } from 'node:tls';
import type { Outgoing, OutgoingRequest } from '../../services/players/ports.ts';
import { isPublicAddress } from './address.ts';

export interface OutgoingSettings {
  /** Origins (`https://host:port`) that are reached although they are private. */
  readonly privateOrigins: ReadonlySet<string>;
  /** Certificates, PEM, that are trusted besides the usual ones. */
  readonly extraCa: string | null;
  /** Of a whole request. */
  readonly timeoutMs: number;
  /** Of an answer's body. */
  readonly bytesMax: number;
  /** Requests at one time; beyond it they fail. */
  readonly requestsMax: number;
}

/** All addresses of a host name. */
export type Resolve = (
  host: string,
  done: (error: Error | null, addresses: readonly { address: string; family: number }[]) => void,
) => void;

const resolveBySystem: Resolve = (host, done) => systemLookup(host, { all: true, verbatim: true }, done);

/** Why a request came to nothing; it quotes neither secrets nor what was answered. */
class OutgoingFault extends Error {
  override readonly name = 'OutgoingFault';
}

/**
 * HTTPS to hosts that strangers name. A name is resolved once, all its addresses must be public, and the connection
 * goes to one of these very addresses, so that no second answer of the name's owner can lead it elsewhere. Redirects
 * are not followed. Everything is bounded: time, size, and requests at one time.
 */
export function createOutgoing(settings: OutgoingSettings, resolve: Resolve = resolveBySystem): Outgoing {
  const ca = settings.extraCa === null ? undefined : [...rootCertificates, settings.extraCa];
  let under = 0;

  const allowsPrivate = (url: string): boolean =>
    URL.canParse(url) && settings.privateOrigins.has(new URL(url).origin);

  return {
    allowsPrivate,
    async json(order) {
      if (under >= settings.requestsMax) throw new OutgoingFault('Too many requests are under way.');
      under += 1;
      try {
        return JSON.parse(await textOf(order));
      } catch (error) {
        throw error instanceof SyntaxError ? new OutgoingFault('The answer is no JSON.') : error;
      } finally {
        under -= 1;
      }
    },
  };

  function textOf({ url: text, method = 'GET', headers = {}, body }: OutgoingRequest): Promise<string> {
    const url = new URL(text);
    if (url.protocol !== 'https:') throw new OutgoingFault('Only https is spoken.');
    const isPrivate = allowsPrivate(text);
    const host = url.hostname.replace(/^\[|\]$/g, '');
    // An address is connected to without being resolved.
    if (isIP(host) !== 0 && !isPrivate && !isPublicAddress(host)) throw new OutgoingFault(PRIVATE);
    return exchange(url, body, {
      method,
      headers: {
        accept: 'application/json',
        'accept-encoding': 'identity',
        'user-agent': 'guildhall',
        ...headers,
        ...(body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }),
      },
      agent: false,
      signal: AbortSignal.timeout(settings.timeoutMs),
      lookup: checkedLookup(resolve, isPrivate),
      ...(ca && { ca }),
    });
  }

  function exchange(url: URL, body: string | undefined, options: RequestOptions): Promise<string> {
    return new Promise((resolve, reject) => {
      const fail = (error: Error) => reject(error instanceof OutgoingFault ? error : faultOf(error));
      const sent = startRequest(url, options, (answer) => {
        const end = (fault: string) => {
          sent.destroy();
          reject(new OutgoingFault(fault));
        };
        if (answer.statusCode !== 200) return end(`The answer has status ${answer.statusCode}.`);
        const chunks: Buffer[] = [];
        let bytes = 0;
        answer.on('data', (chunk: Buffer) => {
          bytes += chunk.length;
          if (bytes > settings.bytesMax) return end('The answer is too large.');
          chunks.push(chunk);
        });
        answer.on('end', () => resolve(Buffer.concat(chunks).toString('utf8')));
        answer.on('error', fail);
      });
      sent.on('error', fail);
      sent.end(body);
    });
  }
}

const PRIVATE = 'The host is not public.';

/** A driver's error names addresses and certificates of the inside: only its code goes on. */
function faultOf(error: Error): OutgoingFault {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name;
  return new OutgoingFault(`The request failed: ${code}.`);
}

/** Resolves a name for a connection, and refuses it when any of its addresses is private. */
function checkedLookup(resolve: Resolve, isPrivate: boolean): LookupFunction {
  return (host, options, done) => {
    resolve(host, (error, addresses) => {
      const [first] = addresses ?? [];
      if (error || !first) return done(error ?? new OutgoingFault('The host has no address.'), '', 0);
      if (!isPrivate && !addresses.every(({ address }) => isPublicAddress(address)))
        return done(new OutgoingFault(PRIVATE), '', 0);
      if (options.all) return done(null, [...addresses]);
      done(null, first.address, first.family);
    });
  };
}
