import { createHash, createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

const CREDENTIALS = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCY' };
const REGION = 'eu-test-1';
const BUCKET = 'guild-hall';

const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();
const sha256 = (bytes: string | Buffer): string => createHash('sha256').update(bytes).digest('hex');

/**
 * The signature that a request must carry, worked out from the request as it arrived.
 *
 * @source https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-auth-using-authorization-header.html
 */
function authorizationOf(request: IncomingMessage, signedHeaders: string): string {
  const date = String(request.headers['x-amz-date']);
  const scope = `${date.slice(0, 8)}/${REGION}/s3/aws4_request`;
  const headers = signedHeaders.split(';').map((name) => `${name}:${String(request.headers[name]).trim()}\n`);
  const canonical = [
    request.method,
    request.url,
    '',
    headers.join(''),
    signedHeaders,
    request.headers['x-amz-content-sha256'],
  ].join('\n');
  const key = ['eu-test-1', 's3', 'aws4_request'].reduce<Buffer>(
    hmac,
    hmac(`AWS4${CREDENTIALS.secretAccessKey}`, date.slice(0, 8)),
  );
  const signature = hmac(key, ['AWS4-HMAC-SHA256', date, scope, sha256(canonical)].join('\n')).toString(
    'hex',
  );
  return `AWS4-HMAC-SHA256 Credential=${CREDENTIALS.accessKeyId}/${scope}, SignedHeaders=${signedHeaders}, Signature=${signature}`;
}

function genuine(request: IncomingMessage, body: Buffer): boolean {
  const given = request.headers.authorization ?? '';
  const signedHeaders = /SignedHeaders=([^,]+)/.exec(given)?.[1] ?? '';
  const digest = request.headers['x-amz-content-sha256'];
  const digestFits = digest === 'UNSIGNED-PAYLOAD' ? body.length === 0 : digest === sha256(body);
  const complete = ['host', 'x-amz-content-sha256', 'x-amz-date'].every((name) =>
    signedHeaders.split(';').includes(name),
  );
  return complete && digestFits && given === authorizationOf(request, signedHeaders);
}

interface Stored {
  readonly bytes: Buffer;
  readonly contentType: string;
}

function answer(
  stored: Map<string, Stored>,
  request: IncomingMessage,
  reply: ServerResponse,
  body: Buffer,
): void {
  const path = request.url ?? '';
  if (!genuine(request, body)) return void reply.writeHead(403).end();
  if (!path.startsWith(`/${BUCKET}/`)) return void reply.writeHead(404).end();
  if (request.method === 'PUT') {
    stored.set(path, { bytes: body, contentType: request.headers['content-type'] ?? '' });
    return void reply.writeHead(200).end();
  }
  if (request.method === 'DELETE') {
    stored.delete(path);
    return void reply.writeHead(204).end();
  }
  const blob = stored.get(path);
  if (!blob) return void reply.writeHead(404).end();
  const range = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '');
  if (range && Number(range[1]) >= blob.bytes.length) return void reply.writeHead(416).end();
  const bytes = range ? blob.bytes.subarray(Number(range[1]), Number(range[2]) + 1) : blob.bytes;
  reply.writeHead(range ? 206 : 200, { 'content-type': blob.contentType, 'content-length': bytes.length });
  reply.end(request.method === 'HEAD' ? undefined : bytes);
}

/** As much of the S3 protocol as the blob store speaks, on loopback and in memory; a wrong signature gets 403. */
export async function startS3() {
  const stored = new Map<string, Stored>();
  const server = createServer(async (request, reply) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part);
    answer(stored, request, reply, Buffer.concat(parts));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  };
  return { options: { endpoint, bucket: BUCKET, region: REGION, ...CREDENTIALS }, stored, close };
}
