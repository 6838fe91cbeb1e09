import http from 'node:http';
import https from 'node:https';
import { isIP } from 'node:net';
import { rootCertificates } from 'node:tls';
import type {
  EndpointAnswer,
  EndpointFailure,
  EndpointRequest,
  EndpointTransport,
} from '../../services/applications/endpoint.ts';
import { isLoopbackAddress, isPublicAddress } from './address.ts';
import { checkedLookup, OutgoingFault, type Resolve, resolveBySystem } from './connection.ts';

/** Exceptions from the rule that only the public Internet may be contacted. */
export type Permitted = Pick<EndpointSettings, 'privateOrigins' | 'allowsLoopback'>;

export interface EndpointSettings {
  /** Origins (`https://host:port`, or with `http`) that may be contacted although they are private. */
  readonly privateOrigins: ReadonlySet<string>;
  /** Whether this machine's own addresses may be contacted, also without TLS. */
  readonly allowsLoopback: boolean;
  /** CA certificates, PEM, trusted besides the usual ones. */
  readonly extraCa: string | null;
  /** Bound of a whole request, milliseconds. */
  readonly timeoutMs: number;
  /** Largest form with files in an answer, bytes. The forms of one group that are being read share it too. */
  readonly formBytesMax: number;
}

/** Largest answer without files that is read: an interaction's answer with the largest message is below 64 KiB. */
const ANSWER_BYTES_MAX = 1 << 20;
/** The forms of all groups that are being read share this many times `formBytesMax`. */
const FORMS_MAX = 4;
const IN_PROGRESS_MAX = 4_000;
/** A few slow applications may not take all. */
const IN_PROGRESS_PER_GROUP_MAX = 400;
const SOCKETS_PER_GROUP_MAX = 64;
const IDLE_SOCKETS_MAX = 256;
/** Servers close idle connections after about 5 s; a request on one that is being closed fails. */
const IDLE_MS = 4_000;

/**
 * HTTP to URLs that applications and webhooks name. Connections persist; each is made to an address that was checked when it was made. HTTP
 * redirects are not followed. Time, size and concurrent requests are bounded, the latter also for each group.
 */
export function createEndpointTransport(
  settings: EndpointSettings,
  resolve: Resolve = resolveBySystem,
): EndpointTransport & { close(): void } {
  const { extraCa, timeoutMs } = settings;
  const options = {
    ...{ keepAlive: true, maxSockets: SOCKETS_PER_GROUP_MAX, maxFreeSockets: IDLE_SOCKETS_MAX },
    ...{ timeout: IDLE_MS, scheduling: 'lifo' as const },
  };
  const plain = new PlainAgent(options);
  const secure = new SecureAgent({
    ...options,
    ...(extraCa !== null && { ca: [...rootCertificates, extraCa] }),
  });
  const inProgress = new Map<string, number>();
  let total = 0;
  const openForm = formMemory(settings.formBytesMax);

  async function send(request: EndpointRequest): Promise<EndpointAnswer> {
    const { url: text, group } = request;
    if (!mayContact(settings, text)) return failed('refused');
    const own = inProgress.get(group) ?? 0;
    if (total >= IN_PROGRESS_MAX || own >= IN_PROGRESS_PER_GROUP_MAX) return failed('busy');
    total += 1;
    inProgress.set(group, own + 1);
    const url = new URL(text);
    const agent = url.protocol === 'https:' ? secure : plain;
    const lookup = checkedLookup(resolve, (address) => mayContactAt(settings, url, address));
    try {
      const signal = AbortSignal.timeout(timeoutMs);
      return await exchange(url, request, { agent, group, lookup, signal, openForm });
    } finally {
      total -= 1;
      const left = (inProgress.get(group) ?? 1) - 1;
      if (left === 0) inProgress.delete(group);
      else inProgress.set(group, left);
    }
  }

  return {
    send,
    allows: (url) => mayContact(settings, url),
    close() {
      plain.destroy();
      secure.destroy();
    },
  };
}

type Grouped = { readonly group?: string };

/** Agents that keep the sockets of each group apart, so that one that is slow holds up no other of the same host. */
class PlainAgent extends http.Agent {
  override getName(options?: http.ClientRequestArgs & Grouped): string {
    return `${options?.group} ${super.getName(options)}`;
  }
}

class SecureAgent extends https.Agent {
  override getName(options?: https.RequestOptions & Grouped): string {
    return `${options?.group} ${super.getName(options)}`;
  }
}

/** Whether a URL may be contacted at an address of its host. */
export function mayContactAt(
  { privateOrigins, allowsLoopback }: Permitted,
  url: URL,
  address: string,
): boolean {
  if (privateOrigins.has(url.origin)) return true;
  const isPublic = isPublicAddress(address) && url.protocol === 'https:';
  return isPublic || (allowsLoopback && isLoopbackAddress(address));
}

/** A name is checked when it is resolved; an IP address is connected to without look-up, so it is checked here. */
export function mayContact(settings: Permitted, text: string): boolean {
  if (!URL.canParse(text)) return false;
  const url = new URL(text);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return false;
  const host = hostOf(url);
  if (isIP(host) !== 0) return mayContactAt(settings, url, host);
  const { privateOrigins, allowsLoopback } = settings;
  return url.protocol === 'https:' || privateOrigins.has(url.origin) || allowsLoopback;
}

/** The bytes of one form that is being read. */
interface FormAccount {
  /** @returns false when the group or all groups have no room for more bytes, and after `close`. */
  take(bytes: number): boolean;
  close(): void;
}

/** Opens accounts in the memory for forms; one application cannot take all of it. */
type OpenForm = (group: string) => FormAccount;

function formMemory(bytesMax: number): OpenForm {
  const held = new Map<string, number>();
  let all = 0;
  return (group) => {
    let own = 0;
    let isOpen = true;
    const add = (bytes: number): void => {
      own += bytes;
      all += bytes;
      const ofGroup = (held.get(group) ?? 0) + bytes;
      if (ofGroup === 0) held.delete(group);
      else held.set(group, ofGroup);
    };
    return {
      take(bytes) {
        const fits = all + bytes <= FORMS_MAX * bytesMax && (held.get(group) ?? 0) + bytes <= bytesMax;
        if (isOpen && fits) add(bytes);
        return isOpen && fits;
      },
      close() {
        isOpen = false;
        add(-own);
      },
    };
  };
}

type Connection = Pick<http.RequestOptions, 'agent' | 'lookup' | 'signal'> & {
  readonly group: string;
  readonly openForm: OpenForm;
};

function exchange(
  url: URL,
  request: Pick<EndpointRequest, 'headers' | 'body'>,
  connection: Connection,
  isRepeat = false,
): Promise<EndpointAnswer> {
  const { headers, body } = request;
  const { openForm: _openForm, ...options } = connection;
  return new Promise((settle) => {
    const sent = (url.protocol === 'https:' ? https : http).request(
      url,
      {
        ...{ method: body ? 'POST' : 'GET', ...options },
        headers: { ...HEADERS, ...headers, ...(body && { 'content-length': body.length }) },
      },
      (answer) => {
        read(answer, connection).then(
          (bytes) =>
            settle({
              ...{ ok: true, status: answer.statusCode ?? 0, body: bytes },
              contentType: answer.headers['content-type'] ?? null,
            }),
          (error: Error) => settle(failed(reasonOf(error))),
        );
      },
    );
    sent.on('error', (error) => {
      // The host closed an idle connection at the moment of its reuse, so it has not read the request.
      const isStale = sent.reusedSocket && 'code' in error && error.code === 'ECONNRESET';
      const isRepeated = isStale && !isRepeat;
      settle(isRepeated ? exchange(url, request, connection, true) : failed(reasonOf(error)));
    });
    sent.end(body ?? undefined);
  });
}

const HEADERS = { 'user-agent': 'guildhall', accept: '*/*', 'accept-encoding': 'identity' } as const;
const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, '');
const failed = (reason: EndpointFailure): EndpointAnswer => ({ ok: false, reason });

function reasonOf(error: Error): EndpointFailure {
  if (error instanceof OutgoingFault) return 'refused';
  return error.name === 'TimeoutError' || error.name === 'AbortError' ? 'timeout' : 'unreachable';
}

/** @throws Error when the answer is too large, or ends early. */
function read(answer: http.IncomingMessage, { group, openForm }: Connection): Promise<Buffer> {
  const isForm = /^multipart\/form-data\b/i.test(answer.headers['content-type'] ?? '');
  const form = isForm ? openForm(group) : null;
  let bytes = 0;
  const complete = new Promise<Buffer>((resolve, reject) => {
    const chunks: Buffer[] = [];
    answer.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (form?.take(chunk.length) ?? bytes <= ANSWER_BYTES_MAX) chunks.push(chunk);
      else answer.destroy(new Error('The answer is too large.'));
    });
    answer.on('end', () => resolve(Buffer.concat(chunks)));
    answer.on('error', reject);
    answer.on('aborted', () => reject(new Error('The answer ended early.')));
  });
  return complete.finally(() => form?.close());
}
