import { type RequestOptions, request as startRequest } from 'node:https';
import { isIP } from 'node:net';
import { rootCertificates } from 'node:tls';
import type { OutgoingHttp, OutgoingRequest } from '../../services/players/ports.ts';
import { isPublicAddress } from './address.ts';
import {
  checkedLookup,
  faultOf,
  OutgoingFault,
  PRIVATE,
  type Resolve,
  resolveBySystem,
} from './connection.ts';

export interface OutgoingSettings {
  /** Origins (`https://host:port`) that may be requested although they are private. */
  readonly privateOrigins: ReadonlySet<string>;
  /** CA certificates, PEM, trusted besides the usual ones. */
  readonly extraCa: string | null;
  /** Bound of a whole request, milliseconds. */
  readonly timeoutMs: number;
  /** Bound of a response's body. */
  readonly bytesMax: number;
  /** Most concurrent requests; further ones fail. */
  readonly requestsMax: number;
}

/**
 * HTTPS requests to hosts that users name. A name is resolved once, all its addresses must be public, and the connection
 * uses one of these addresses, so that a second DNS answer cannot redirect it. HTTP redirects are not followed. Time, size
 * and concurrent requests are bounded.
 */
export function createOutgoing(settings: OutgoingSettings, resolve: Resolve = resolveBySystem): OutgoingHttp {
  const ca = settings.extraCa === null ? undefined : [...rootCertificates, settings.extraCa];
  let under = 0;

  const allowsPrivate = (url: string): boolean =>
    URL.canParse(url) && settings.privateOrigins.has(new URL(url).origin);

  return {
    allowsPrivate,
    async json(order) {
      if (under >= settings.requestsMax) throw new OutgoingFault('Too many requests are in progress.');
      under += 1;
      try {
        return JSON.parse(await textOf(order));
      } catch (error) {
        throw error instanceof SyntaxError ? new OutgoingFault('The response is not JSON.') : error;
      } finally {
        under -= 1;
      }
    },
  };

  function textOf({ url: text, method = 'GET', headers = {}, body }: OutgoingRequest): Promise<string> {
    const url = new URL(text);
    if (url.protocol !== 'https:') throw new OutgoingFault('Only https URLs are allowed.');
    const isPrivate = allowsPrivate(text);
    const host = url.hostname.replace(/^\[|\]$/g, '');
    // A connection to an IP address involves no look-up, so it is checked here.
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
      lookup: checkedLookup(resolve, (address) => isPrivate || isPublicAddress(address)),
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
        if (answer.statusCode !== 200) return end(`The response has status ${answer.statusCode}.`);
        const chunks: Buffer[] = [];
        let bytes = 0;
        answer.on('data', (chunk: Buffer) => {
          bytes += chunk.length;
          if (bytes > settings.bytesMax) return end('The response is too large.');
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
