import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import { generate } from 'selfsigned';

/** Response to a request. */
interface Answer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Never answered. */
  readonly hang?: boolean;
}

/** Recorded fields of a request. */
interface ReceivedRequest {
  readonly method: string | undefined;
  readonly authorization: string | undefined;
  readonly body: string;
}

interface Key {
  readonly jwk: JWK;
  readonly privateKey: CryptoKey;
}

type Override = Answer | ((asked: ReceivedRequest) => Answer);

/**
 * An OIDC issuer on HTTPS with a certificate of its own: discovery, keys that rotate, and ID tokens. `override`
 * answers a path in another way.
 */
export async function openIssuer() {
  const keys: Key[] = [];
  const overrides = new Map<string, Override>();
  const usual = (path: string): Answer => {
    if (path === '/.well-known/openid-configuration') return { body: JSON.stringify(discovery()) };
    if (path === '/jwks') return { body: JSON.stringify({ keys: keys.map(({ jwk }) => jwk) }) };
    return { status: 404 };
  };
  const { issuer, ca, requests, close } = await serve((path, asked) => {
    const given = overrides.get(path);
    return (typeof given === 'function' ? given(asked) : given) ?? usual(path);
  });
  const discovery = () => ({
    issuer,
    jwks_uri: `${issuer}/jwks`,
    id_token_signing_alg_values_supported: ['RS256', 'ES256'],
  });

  let rotations = 0;
  /** Makes a key that signs from now on; earlier ones stay unless `alone`. */
  async function rotate(alg: 'RS256' | 'ES256' = 'ES256', alone = false): Promise<string> {
    const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
    const kid = `key-${rotations++}`;
    if (alone) keys.length = 0;
    keys.push({ jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' }, privateKey });
    return kid;
  }
  await rotate();

  return {
    issuer,
    ca,
    requests,
    keys,
    discovery,
    rotate,
    close,
    /** An ID token as of the current key; claims and header may be bent. */
    idToken: (claims: object = {}, header: object = {}, nowMs = Date.now()) =>
      sign(keys.at(-1)!, { iss: issuer, ...claims }, header, nowMs),
    override: (path: string, answer: Override | null) =>
      void (answer === null ? overrides.delete(path) : overrides.set(path, answer)),
  };
}

function sign({ jwk, privateKey }: Key, claims: object, header: object, nowMs: number): Promise<string> {
  const nowSec = Math.floor(nowMs / 1000);
  return new SignJWT({ aud: 'game', sub: 'player', iat: nowSec, exp: nowSec + 3600, ...claims })
    .setProtectedHeader({ alg: jwk.alg!, kid: jwk.kid!, ...header })
    .sign(privateKey);
}

/** An HTTPS server on a free port of localhost. */
async function serve(answer: (path: string, asked: ReceivedRequest) => Answer) {
  const { key, cert } = await certificate();
  const requests: string[] = [];
  const server = createServer({ key, cert }, (request, response) => {
    const path = request.url ?? '/';
    requests.push(path);
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method, headers } = request;
      const body = Buffer.concat(chunks).toString();
      const {
        status = 200,
        hang,
        ...given
      } = answer(path, {
        method,
        authorization: headers.authorization,
        body,
      });
      if (hang) return;
      response.writeHead(status, { 'content-type': 'application/json', ...given.headers }).end(given.body);
    });
  });
  await listening(server);
  const close = () =>
    new Promise<void>((resolve) => {
      server.closeAllConnections();
      server.close(() => resolve());
    });
  const { port } = server.address() as AddressInfo;
  return { issuer: `https://localhost:${port}`, ca: cert, requests, close };
}

const listening = (server: Server) =>
  new Promise<void>((resolve) => server.listen(0, 'localhost', () => resolve()));

let made: Promise<{ key: string; cert: string }> | null = null;
/** One for all issuers of a test file: making a key takes its time. */
function certificate(): Promise<{ key: string; cert: string }> {
  made ??= generate([{ name: 'commonName', value: 'localhost' }], {
    keyType: 'ec',
    curve: 'P-256',
    algorithm: 'sha256',
    extensions: [
      { name: 'basicConstraints', cA: true },
      { name: 'subjectAltName', altNames: [{ type: 2, value: 'localhost' }] },
    ],
  }).then(({ private: key, cert }) => ({ key, cert }));
  return made;
}
