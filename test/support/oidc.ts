import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import { generate } from 'selfsigned';

/** What a request is answered with. */
export interface Answer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

interface Key {
  readonly jwk: JWK;
  readonly privateKey: CryptoKey;
}

/**
 * An OIDC issuer on HTTPS with a certificate of its own: discovery, keys that rotate, and ID tokens. `override`
 * answers a path in another way.
 */
export async function openIssuer() {
  const tls = await certificate();
  const keys: Key[] = [];
  const requests: string[] = [];
  const overrides = new Map<string, Answer | (() => Answer)>();
  const server = createServer({ key: tls.key, cert: tls.cert }, (request, response) => {
    const path = request.url ?? '/';
    requests.push(path);
    const given = overrides.get(path);
    const {
      status = 200,
      headers = {},
      body = '',
    } = (typeof given === 'function' ? given() : given) ?? usual(path);
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body);
  });
  await listening(server);
  const issuer = `https://localhost:${(server.address() as AddressInfo).port}`;

  function usual(path: string): Answer {
    if (path === '/.well-known/openid-configuration') return { body: JSON.stringify(discovery()) };
    if (path === '/jwks') return { body: JSON.stringify({ keys: keys.map(({ jwk }) => jwk) }) };
    return { status: 404 };
  }
  const discovery = () => ({
    issuer,
    jwks_uri: `${issuer}/jwks`,
    id_token_signing_alg_values_supported: ['RS256', 'ES256'],
  });

  /** Makes a key that signs from now on; earlier ones stay unless `alone`. */
  async function rotate(alg: 'RS256' | 'ES256' = 'ES256', alone = false): Promise<string> {
    const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
    const kid = `key-${rotations++}`;
    if (alone) keys.length = 0;
    keys.push({ jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' }, privateKey });
    return kid;
  }
  let rotations = 0;
  await rotate();

  /** An ID token as of the current key; claims and header may be bent. */
  async function idToken(
    claims: Readonly<Record<string, unknown>> = {},
    header: Readonly<Record<string, unknown>> = {},
    nowMs = Date.now(),
  ): Promise<string> {
    const { jwk, privateKey } = keys.at(-1)!;
    const nowSec = Math.floor(nowMs / 1000);
    const usualClaims = { iss: issuer, aud: 'game', sub: 'player', iat: nowSec, exp: nowSec + 3600 };
    return new SignJWT({ ...usualClaims, ...claims })
      .setProtectedHeader({ alg: jwk.alg!, kid: jwk.kid!, ...header })
      .sign(privateKey);
  }

  return {
    issuer,
    ca: tls.cert,
    requests,
    keys,
    discovery,
    rotate,
    idToken,
    override: (path: string, answer: Answer | (() => Answer) | null) =>
      answer === null ? overrides.delete(path) : overrides.set(path, answer),
    close: () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

const listening = (server: Server) =>
  new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));

let made: Promise<{ key: string; cert: string }> | null = null;
/** One for all issuers of a test file: making a key takes its time. */
function certificate(): Promise<{ key: string; cert: string }> {
  made ??= generate([{ name: 'commonName', value: 'localhost' }], {
    keyType: 'ec',
    curve: 'P-256',
    extensions: [
      { name: 'basicConstraints', cA: true },
      { name: 'subjectAltName', altNames: [{ type: 2, value: 'localhost' }] },
    ],
  }).then(({ private: key, cert }) => ({ key, cert }));
  return made;
}
