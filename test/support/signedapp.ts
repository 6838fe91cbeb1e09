import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { verifyKey } from 'discord-interactions';

/** An interaction as the application receives it. */
interface Received {
  readonly id: string;
  readonly type: number;
  readonly token: string;
  readonly attachment_size_limit: number;
}

/** An application behind an HTTP endpoint that checks signatures. */
export class SignedApp {
  readonly received: Received[] = [];
  /** The body that answers the next interactions; null: 202. */
  answer: FormData | null = null;
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async of(publicKey: string): Promise<SignedApp> {
    const server = createServer();
    const app = new SignedApp(server);
    server.on('request', async (request, response) => {
      const body = await bytesOf(request);
      const [signature = '', timestamp = ''] = ['x-signature-ed25519', 'x-signature-timestamp'].map((name) =>
        String(request.headers[name]),
      );
      if (!(await verifyKey(body, signature, timestamp, publicKey)))
        return void response.writeHead(401).end();
      const received: Received = JSON.parse(String(body));
      if (received.type === 1)
        return void response.writeHead(200, { 'content-type': 'application/json' }).end('{"type":1}');
      app.received.push(received);
      if (app.answer === null) return void response.writeHead(202).end();
      const whole = new Response(app.answer);
      response.writeHead(200, { 'content-type': whole.headers.get('content-type') ?? '' });
      response.end(Buffer.from(await whole.arrayBuffer()));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return app;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

async function bytesOf(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts);
}
