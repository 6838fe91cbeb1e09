import { createPrivateKey, type KeyObject, randomBytes, sign } from 'node:crypto';
import { createCache } from '../../actors/runtime/cache.ts';
import type { ApplicationId } from '../../protocol/ids.ts';
import type { ApplicationStore } from '../../storage/application/port.ts';

/** The answer of an application's URL, or the reason why it is missing. */
export type EndpointAnswer =
  | {
      readonly ok: true;
      readonly status: number;
      readonly contentType: string | null;
      readonly body: Uint8Array;
    }
  | { readonly ok: false; readonly reason: EndpointFailure };

/**
 * `refused`: the URL's host may not be contacted; `busy`: too many requests are in progress; `unreachable`: no connection, or
 * an answer that is too large or broken.
 */
export type EndpointFailure = 'unreachable' | 'timeout' | 'refused' | 'busy';

export interface EndpointRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Null for a GET. */
  readonly body: Buffer | null;
  /** Requests of one group share a bound, so that a slow host does not hold up others. */
  readonly group: string;
}

/** Guarded HTTP to URLs that applications and webhooks name. Never rejects. */
export interface EndpointTransport {
  /** A POST of the body, or a GET without one. */
  send(request: EndpointRequest): Promise<EndpointAnswer>;
  /** Whether a URL may be contacted, as far as its text shows. */
  allows(url: string): boolean;
}

/** Posts JSON to URLs of applications, signed with their keys. Never rejects. */
export interface EndpointSender {
  post(applicationId: ApplicationId, url: string, body: object): Promise<EndpointAnswer>;
  /** Sends a request with a signature that is not the application's: an endpoint must answer it with 401. */
  postForged(applicationId: ApplicationId, url: string, body: object): Promise<EndpointAnswer>;
}

interface SenderPorts {
  readonly applications: Pick<ApplicationStore, 'signingKey'>;
  readonly transport: EndpointTransport;
  /** Unix milliseconds. */
  readonly nowMs: () => number;
}

/** Keys in memory; a key costs about 1 KiB. */
const KEYS = { kept_max: 1_000, reads_max: 200 };
const SIGNATURE_BYTES = 64;

/**
 * Signs the time and the body, which an application checks against its public key.
 *
 * @source https://docs.discord.com/developers/interactions/overview#setting-up-an-endpoint-validating-security-request-headers
 */
export function createEndpointSender({ applications, transport, nowMs }: SenderPorts): EndpointSender {
  const keys = createCache<ApplicationId, KeyObject | null>(async (id) => {
    const text = await applications.signingKey(id);
    if (text === null) return null;
    return createPrivateKey({ key: Buffer.from(text, 'base64'), format: 'der', type: 'pkcs8' });
  }, KEYS);

  async function send(
    group: ApplicationId,
    url: string,
    body: object,
    signatureOf: (signed: Buffer) => Promise<Buffer | null>,
  ): Promise<EndpointAnswer> {
    const bytes = Buffer.from(JSON.stringify(body));
    const timestamp = String(Math.floor(nowMs() / 1000));
    const signature = await signatureOf(Buffer.concat([Buffer.from(timestamp), bytes])).catch(() => null);
    if (signature === null) return { ok: false, reason: 'unreachable' };
    const headers = {
      'content-type': 'application/json',
      'x-signature-ed25519': signature.toString('hex'),
      'x-signature-timestamp': timestamp,
    };
    return transport.send({ url, headers, body: bytes, group });
  }

  return {
    post: (id, url, body) =>
      send(id, url, body, async (signed) => {
        const key = await keys.lookUp(id);
        return key && sign(null, signed, key);
      }),
    postForged: (id, url, body) => send(id, url, body, async () => randomBytes(SIGNATURE_BYTES)),
  };
}
